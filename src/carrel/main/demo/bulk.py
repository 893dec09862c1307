"""The demo's bulk: a board of a thousand tasks, and a conversation of ten thousand lines."""

from functools import partial

from carrel.access import connect_spaces, make_space
from carrel.agents import BehaviorFlags, Profile, ToolRules, change_account, make_agent
from carrel.board import NewLog, record
from carrel.journal import NewEntry, append_entry
from carrel.kernel import MS_PER_MINUTE, Provenance, SessionKey
from carrel.main.demo import content
from carrel.main.demo.gateway import Say
from carrel.main.demo.world import World
from carrel.sessions import LaneChange, Session, change_lane, make_lane, open_generation
from carrel.storage import Tx
from carrel.topics import NewTopic, put_topic
from carrel.work import NewTask, Task, TaskChange, change_task, create_task

DESK = SessionKey.of("support", "web:the-help-desk")
_BATCH = 200
_OPEN_DAYS = 6


async def furnish(world: World) -> None:
    """Create the people, the spaces, the topics and the agents."""
    await world.invite(("Ann", "Ben"))
    await world.write(lambda tx: _furnish(tx, world))


def _furnish(tx: Tx, world: World) -> None:
    owner = world.owner
    change_account(tx, owner, "City library", {})
    for name, color in content.SPACES:
        make_space(tx, owner, name, color=color)
    connect_spaces(tx, owner, "space-editorial", {"space-reading-rooms": False})
    for number, (name, space) in enumerate(content.TOPICS):
        put_topic(tx, owner, NewTopic(id=topic_id_of(number), name=name, space_id=space_id_of(space), tags=()))
    for role in content.ROLES:
        asks = ToolRules(ask=("task_create",)) if role.id == "release" else ToolRules()
        flags = BehaviorFlags(can_create_tasks=role.id in ("editor", "release"), can_review_tasks=role.id == "editor")
        profile = Profile(description=role.does, model=role.model, tools=asks, behavior_flags=flags)
        make_agent(tx, owner, role.id, role.name, profile)


def space_id_of(number: int) -> str:
    """Return the id of a space of the demo."""
    return "space-" + content.SPACES[number][0].lower().replace(" ", "-")


def topic_id_of(number: int) -> str:
    """Return the id of a topic of the demo."""
    return f"topic-{number + 1}"


async def fill_board(world: World, day: int, days: int) -> None:
    """Create the day's share of the tasks that people do themselves, and move them to their status."""
    share = range(day * world.size.tasks // days, (day + 1) * world.size.tasks // days)
    await world.write(lambda tx: [_task(tx, world, number, days - day) for number in share])


def _task(tx: Tx, world: World, number: int, age_days: int) -> Task:
    person = world.people[number % len(world.people)]
    subject, action = number % len(content.SUBJECTS), number // len(content.SUBJECTS) % len(content.ACTIONS)
    topic = world.pick(range(len(content.TOPICS)))
    new = NewTask(
        title=f"{content.ACTIONS[action]} {content.SUBJECTS[subject]}",
        description="Agree on the wording first, then send it to the editor.",
        topic_id=topic_id_of(topic),
        space_id=space_id_of(content.TOPICS[topic][1]),
        priority=world.pick((1, 2, 3, 3, 3, 4, 5)),
        tags=(world.pick(content.TAGS),),
        due_date=tx.now + world.pick((2, 5, 9, 14)) * 24 * 60 * MS_PER_MINUTE if world.happens(0.4) else None,
    )
    task = create_task(tx, person, new, world.rules)
    status = _status(world, age_days)
    if status == "inbox":
        return task
    assigned = TaskChange(assigned_user_ids=(person.actor_id,))
    task = change_task(tx, person, task.id, assigned, world.rules).task
    for step in {"done": ("review", "done"), "archived": ("review", "done", "archived")}.get(status, (status,)):
        if step != task.status:
            reason = "The printer has not answered yet."
            change = TaskChange(status=step, **({"blocked_reason": reason} if step == "blocked" else {}))  # type: ignore[arg-type]
            task = change_task(tx, person, task.id, change, world.rules).task
    return task


def _status(world: World, age_days: int) -> str:
    if age_days > _OPEN_DAYS:
        return world.pick(("done",) * 16 + ("archived",) * 3 + ("blocked",))
    return world.pick(("inbox", "inbox", "assigned", "in_progress", "in_progress", "review", "blocked", "done", "done"))


async def fill_transcript(world: World, day: int, days: int) -> None:
    """Write the day's share of the lines of the help desk, its last question, and now and then a note for the board."""
    share = list(range(day * world.size.lines // days, (day + 1) * world.size.lines // days))
    for start in range(0, len(share), _BATCH):
        batch = share[start : start + _BATCH]
        await world.write(partial(_lines, world=world, batch=batch))
        world.clock.move_to(world.clock.now_ms() + 20 * MS_PER_MINUTE)
    asked, answered = content.CHAT_LINES[day % len(content.CHAT_LINES)]
    await world.say(DESK, f"The next reader: {asked}", Say(answered), by=world.people[0], channel="web")
    if day % 6 == 0:
        note = NewLog(type="note", content=content.NOTES[day // 6 % len(content.NOTES)], topic_id=topic_id_of(day % 8))
        await world.write(lambda tx: record(tx, world.owner, note))


def _lines(tx: Tx, world: World, batch: list[int]) -> None:
    person = world.people[0]
    if not batch[0]:
        make_lane(tx, person, DESK)
        change_lane(tx, person, DESK, LaneChange(display_name="Help desk", pinned_at=tx.now))
    session = open_generation(tx, person, DESK)
    for number in batch:
        append_entry(tx, person, _line(session, number, person.actor_id))


def _line(session: Session, number: int, person_id: str) -> NewEntry:
    asked, answered = content.CHAT_LINES[number // 2 % len(content.CHAT_LINES)]
    is_asked = number % 2 == 0
    return NewEntry(
        type="conversation",
        role="user" if is_asked else "assistant",
        content=f"Reader {number // 2 + 1}: {asked}" if is_asked else answered,
        author=person_id if is_asked else "support",
        provenance=Provenance(kind="external_user", actor=person_id),
        key=session.key,
        session_id=session.id,
        agent_id=session.agent_id,
        channel="web",
        classification="classified",
    )
