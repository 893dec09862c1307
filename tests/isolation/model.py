"""Who may see what: the rules of isolation, written by hand. Every answer is None or the reason why not.

It knows nothing of how the server decides; it is the specification that the server is held against. In short: what is
said stays in its lane, or in the lanes of its task; what is kept travels within spaces; a chat is its person's.
"""

from dataclasses import dataclass

from tests.isolation.facts import Agent, Facts, Lane, Person
from tests.isolation.marks import Origin

ANOTHER_ACCOUNT = "it belongs to another account"
HIDDEN_SPACE = "it is in a space that is hidden from"


@dataclass(frozen=True)
class Turn:
    """A run, as far as it decides what it may see: its lane, its task, and the person who caused it, if any."""

    lane: str
    task: str | None = None
    cause: Person | None = None


def why_hidden_from_person(facts: Facts, person: Person, mark: str, origin: Origin, *, now: bool = False) -> str | None:
    """People share the board, the lanes of agents and of tasks; a chat is its person's; the owner sees everything."""
    if origin.account != facts.slug:
        return ANOTHER_ACCOUNT
    # What somebody wrote is no secret to them, wherever it went, nor what they have copied.
    if person.is_owner or origin.by == person.name or _was_heard_by(facts, person, mark):
        return None
    if any(_lane(facts, key).person == person.name for key in _copied_to(facts, mark)):
        return None
    # Whoever has put a copy on the board has said it there.
    if _is_copied_on_board(facts, mark, now=now):
        return None
    if not _covers(person.spaces, origin.space):
        return f"{HIDDEN_SPACE} {person.name}"
    whose = _whose(facts, origin)
    if {None, person.name} & set(whose) or _is_on_board(facts, mark, origin, now=now):
        return None
    return f"it is from the chat of {' and '.join(map(str, whose))}"


def why_hidden_from_turn(facts: Facts, turn: Turn, mark: str, origin: Origin, *, now: bool = False) -> str | None:
    """What a run may be shown or recall: what was said in its lane or task, and what is kept or on the board."""
    lane, cause = _lane(facts, turn.lane), turn.cause
    if origin.account != facts.slug:
        return ANOTHER_ACCOUNT
    if cause is not None and (why := why_hidden_from_person(facts, cause, mark, origin, now=now)) is not None:
        return f"{why}, and {cause.name} caused the run"
    if _was_heard_here(facts, turn, mark) or turn.lane in _copied_to(facts, mark):
        return None
    if _is_copied_on_board(facts, mark, now=now):
        return None
    if (why := _why_beyond_agent(facts, facts.agents[lane.agent], turn, origin)) is not None:
        return why
    # A topic is named after what was said, so that a word of the board may reach every lane.
    if origin.kept or _is_on_board(facts, mark, origin, now=now):
        return None
    # A run of a plan is told what the plan says, in the lanes of its tasks.
    if origin.kind == "plan" and lane.task is not None and facts.planned_in.get(lane.task) == origin.lane:
        return None
    if origin.goal is not None or origin.kind in ("session fact", "task fact"):
        return _why_out_of_chain(facts, turn, lane, origin)
    if turn.lane in origin.lanes or lane.task in _tasks(facts, origin):
        return None
    # What a sub-agent answers is told to the lane that spawned it, and so to the lanes of its task.
    parents = _parents(facts, origin)
    if turn.lane in parents or (lane.task is not None and lane.task in [_lane(facts, key).task for key in parents]):
        return None
    return "it was said in another lane"


def why_hidden_from_agent(
    facts: Facts, agent: Agent, turn: Turn, mark: str, origin: Origin, *, now: bool = False
) -> str | None:  # fmt: skip
    """What an agent may read when it asks for it by name: lanes by its visibility rule, tasks by its spaces."""
    if origin.account != facts.slug:
        return ANOTHER_ACCOUNT
    cause = turn.cause
    if cause is not None and (why := why_hidden_from_person(facts, cause, mark, origin, now=now)) is not None:
        return f"{why}, and {cause.name} caused the run"
    present = facts.heard.get(mark, set()) | _copied_to(facts, mark)
    if any(_may_look_up(facts, agent, turn, key, now=now) for key in present):
        return None
    if (why := _why_beyond_agent(facts, agent, turn, origin)) is not None:
        return why
    if why_hidden_from_turn(facts, turn, mark, origin, now=now) is None:
        return None
    # What a goal's session keeps is shown in the lanes of the goal's tasks, and so in their receipts.
    if any(sees_lane(facts, agent, turn.lane, key) for key in _lanes_of_goal(facts, origin)):
        return None
    # The thread of a task is read by whoever may read the task; what its sub-agents answer is told there.
    if _tasks(facts, origin) or any(_lane(facts, key).task is not None for key in _parents(facts, origin)):
        return None
    if not origin.lanes or any(sees_lane(facts, agent, turn.lane, key) for key in origin.lanes):
        return None
    return f"the rule {agent.mode} hides that lane from {turn.lane}"


def why_hidden_from_client(facts: Facts, client: str, origin: Origin) -> str | None:
    """A program sees the lanes that it opened, and nothing else."""
    if origin.account != facts.slug:
        return ANOTHER_ACCOUNT
    if any(_lane(facts, key).client == client for key in origin.lanes):
        return None
    return f"{client} did not open that lane"


def why_closed_to_person(facts: Facts, person: Person, key: str) -> str | None:
    """People enter the lanes of agents and tasks in their spaces, and their own chats; the owner enters every lane."""
    root = _lane(facts, _root(facts, key))
    if person.is_owner or root.person == person.name:
        return None
    if root.person is not None:
        return f"it is the chat of {root.person}"
    space = _space(facts, root)
    return None if _covers(person.spaces, space) else f"{HIDDEN_SPACE} {person.name}"


def why_not_steered(facts: Facts, person: Person, turn: Turn) -> str | None:
    """Whoever speaks into a run sees all that it sees: it is their own, or they see everything."""
    if (why := why_closed_to_person(facts, person, turn.lane)) is not None:
        return why
    if person.is_owner or turn.cause == person:
        return None
    return "somebody else caused the run, which may see more"


def sees_lane(facts: Facts, agent: Agent, home: str, key: str) -> bool:
    """The visibility rule: self, then what was spawned from it, then the agent's lanes, then those of other agents."""
    mode = agent.mode
    if (agent.sandboxed or _lane(facts, home).sandboxed) and mode in ("agent", "all"):
        mode = "tree"
    if key == home:
        return True
    if mode == "self":
        return False
    if home in _ancestors(facts, key):
        return True
    if mode == "tree":
        return False
    return _lane(facts, key).agent == agent.name or (mode == "all" and facts.together)


def _why_beyond_agent(facts: Facts, agent: Agent, turn: Turn, origin: Origin) -> str | None:
    """An agent sees its spaces, its own lane, the task that it works on, and those that it is assigned to."""
    # What is planned in a lane is said in it, whatever space its tasks are in.
    if origin.kept and any(sees_lane(facts, agent, turn.lane, key) for key in origin.lanes):
        return None
    is_own_task = origin.task is not None and origin.task in (turn.task, _lane(facts, turn.lane).task)
    is_own = turn.lane in origin.lanes or is_own_task
    if is_own or agent.name in facts.assigned.get(origin.task or "", ()) or _covers(agent.spaces, origin.space):
        return None
    return f"{HIDDEN_SPACE} the agent {agent.name}"


def _why_out_of_chain(facts: Facts, turn: Turn, lane: Lane, origin: Origin) -> str | None:
    """A run reads its task's facts, and those of a session or goal only in that session and in the goal's tasks."""
    if origin.kind == "task fact":
        return None if origin.task in (turn.task, lane.task) else "it is kept for another task"
    if origin.lane == turn.lane:
        return None
    goal = None if lane.task is None else facts.goal_of.get(lane.task)
    if goal is not None and goal == origin.goal:
        return None
    # What the goals of a session are called is the session's, like its facts.
    is_of_session = origin.goal is None or origin.kind == "goal name"
    if goal is not None and is_of_session and facts.goals[goal] == origin.lane:
        return None
    return "it is kept for another session"


def _is_on_board(facts: Facts, mark: str, origin: Origin, *, now: bool) -> bool:
    """Whether something said is on the board: now, or at some time, when what was shown then is looked at."""
    if mark in facts.moved:
        return True
    tasks = _tasks(facts, origin)
    # Agents that are notified of what is said in a thread hear it in their lanes, which may be on the board.
    if any(_is_shared(facts, lane, now=now) for lane in facts.lanes.values() if lane.task in tasks):
        return True
    if origin.lane is None or origin.goal is not None or origin.kind.endswith("fact"):
        return origin.kept
    return any(_is_shared(facts, _lane(facts, _root(facts, key)), now=now) for key in origin.lanes)


def _is_shared(facts: Facts, lane: Lane, *, now: bool) -> bool:
    if lane.is_board or (lane.was_shared and not now):
        return True
    if lane.recall is not None or lane.person is not None:
        # An account's or agent's setting never puts a person's chat on the board.
        return lane.recall == "space"
    return facts.recall_of.get(lane.agent, facts.recall) == "space"


def _may_look_up(facts: Facts, agent: Agent, turn: Turn, key: str, *, now: bool) -> bool:
    """Whether an agent may look up what a tool has read in a lane: one that it sees, or on the board in its spaces."""
    root = _root(facts, key)
    is_on_board = _is_shared(facts, _lane(facts, root), now=now) and _covers(
        agent.spaces, _space(facts, _lane(facts, root))
    )
    return is_on_board or sees_lane(facts, agent, turn.lane, key)


def _was_heard_by(facts: Facts, person: Person, mark: str) -> bool:
    """Whether a tool has read it in a lane that a person may read: what an agent reads there is said there."""
    lanes = [_lane(facts, _root(facts, key)) for key in facts.heard.get(mark, ())]
    return any(
        lane.person in (None, person.name) and _covers(person.spaces, facts.tasks.get(lane.task or ""))
        for lane in lanes
    )


def _was_heard_here(facts: Facts, turn: Turn, mark: str) -> bool:
    """Whether a tool has read it in this lane, or in one of the same task."""
    task, heard = _lane(facts, turn.lane).task, facts.heard.get(mark, ())
    return turn.lane in heard or (task is not None and task in [_lane(facts, key).task for key in heard])


def _copied_to(facts: Facts, mark: str) -> set[str]:
    return facts.copies.get(mark, set())


def _is_copied_on_board(facts: Facts, mark: str, *, now: bool) -> bool:
    """Whether somebody has put a chat with a copy of it on the board."""
    return any(_is_shared(facts, _lane(facts, key), now=now) for key in _copied_to(facts, mark))


def _lanes_of_goal(facts: Facts, origin: Origin) -> list[str]:
    """The lanes of the tasks of the goal that something is kept for, or of the goals of the session, or of a plan."""
    if origin.kind == "plan":
        return [key for key, lane in facts.lanes.items() if facts.planned_in.get(lane.task or "") == origin.lane]
    if origin.kind != "goal name" and not origin.kind.endswith("fact"):
        return []
    goals = (
        {origin.goal} if origin.goal is not None else {goal for goal, key in facts.goals.items() if key == origin.lane}
    )
    return [
        lane.key for lane in facts.lanes.values() if lane.task is not None and facts.goal_of.get(lane.task) in goals
    ]


def _whose(facts: Facts, origin: Origin) -> list[str | None]:
    """The people whose chats something belongs to; None stands for a lane that people share."""
    keys = [facts.goals[origin.goal]] if origin.goal is not None else origin.lanes
    return [None] if origin.kept or not keys else [_lane(facts, _root(facts, key)).person for key in keys]


def _tasks(facts: Facts, origin: Origin) -> set[str]:
    """The tasks in whose threads or lanes something was said."""
    return {task for task in (origin.task, *(_lane(facts, key).task for key in origin.lanes)) if task is not None}


def _parents(facts: Facts, origin: Origin) -> list[str]:
    """The lanes that spawned those in which something was said."""
    return [parent for key in origin.lanes if (parent := _lane(facts, key).parent) is not None]


def _root(facts: Facts, key: str) -> str:
    return [key, *_ancestors(facts, key)][-1]


def _ancestors(facts: Facts, key: str) -> list[str]:
    found: list[str] = []
    while (parent := _lane(facts, key).parent) is not None:
        found.append(parent)
        key = parent
    return found


def _space(facts: Facts, lane: Lane) -> str | None:
    return facts.tasks.get(lane.task or "") or facts.topics.get(lane.key.partition(":topic:")[2])


def _lane(facts: Facts, key: str) -> Lane:
    return facts.lanes.get(key) or Lane(key)


def _covers(spaces: frozenset[str], space: str | None) -> bool:
    return space is None or "*" in spaces or space in spaces
