"""What is known of a world when it is judged: its people, agents, lanes, tasks and goals."""

from dataclasses import dataclass, field

EVERY_SPACE = frozenset({"*"})


@dataclass(frozen=True)
class Person:
    """Whoever reads with an owner's or a user's token; `spaces` are those of the token."""

    name: str
    is_owner: bool = False
    spaces: frozenset[str] = EVERY_SPACE


@dataclass(frozen=True)
class Agent:
    """An agent; `mode` is its visibility rule."""

    name: str
    mode: str = "tree"
    spaces: frozenset[str] = EVERY_SPACE
    sandboxed: bool = False
    is_orchestrator: bool = False


@dataclass
class Lane:
    """A lane: a chat has a person, a task lane a task, a sub-agent's lane a parent, a program's lane a client."""

    key: str
    person: str | None = None
    task: str | None = None
    parent: str | None = None
    client: str | None = None
    sandboxed: bool = False
    # On the board by nature: a chat of a topic, or the bucket of a program.
    is_board: bool = False
    # What was chosen for this session alone, and whether it ever was on the board.
    recall: str | None = None
    was_shared: bool = False
    was_reset: bool = False

    @property
    def agent(self) -> str:
        """The agent of the lane."""
        return self.key.split(":")[1]


@dataclass
class Facts:
    """One account of a world."""

    slug: str
    people: dict[str, Person] = field(default_factory=dict)
    agents: dict[str, Agent] = field(default_factory=dict)
    lanes: dict[str, Lane] = field(default_factory=dict)
    # The space of each task, the agents it was ever assigned to, and the lane of each goal.
    tasks: dict[str, str] = field(default_factory=dict)
    assigned: dict[str, set[str]] = field(default_factory=dict)
    goals: dict[str, str] = field(default_factory=dict)
    # The space of each topic that has a session.
    topics: dict[str, str] = field(default_factory=dict)
    # The goal that a task belongs to.
    goal_of: dict[str, str] = field(default_factory=dict)
    # The lane in which the plan of a task was written.
    planned_in: dict[str, str] = field(default_factory=dict)
    # `context.recall` of the account and of single agents.
    recall: str = "own"
    recall_of: dict[str, str] = field(default_factory=dict)
    # Whether agents may see one another's lanes.
    together: bool = False
    # The lanes in which tools have read something, by its mark.
    heard: dict[str, set[str]] = field(default_factory=dict)
    # The lanes that forks and replays have copied something to, by its mark.
    copies: dict[str, set[str]] = field(default_factory=dict)
    # Entries that were moved to a topic by hand, by their mark.
    moved: set[str] = field(default_factory=set)
