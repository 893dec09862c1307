"""Which lanes are on the board, and whether a lane recalls the board or only itself.

A lane recalls only itself (`own`), or the board in its spaces (`space`), as chosen for it, its agent or the account.
The same choice puts what is said in it on the board; but a person's chat, and what was spawned from it, only if it was
chosen for this very session: nobody else may share what a person says.
"""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from carrel.access import account_of
from carrel.agents import account_settings, agent_by_id
from carrel.journal import Entry
from carrel.kernel import Access, Refusal, SessionKey
from carrel.kernel.settings import Recall
from carrel.storage import Tx
from carrel.visibility.recall_store import LaneChoice, choices_of_lanes, is_bucket
from carrel.visibility.tree_store import PERSONAL_KINDS, private_to

ChosenBy = Literal["session", "agent", "account", "settings", "board"]


class LaneRecall(Struct, frozen=True):
    """What a lane recalls, what decided that, and whether its messages are on the board."""

    recall: Recall
    chosen_by: ChosenBy
    on_board: bool
    # Who created the chat that it is or was spawned from; None for a lane that people share.
    private_to: str | None = None


# What programs send under their own session names is on the board, and such sessions recall the board.
OF_PROGRAMS = LaneRecall("space", "board", on_board=True)
# A name without a lane: a program's own, or that of a deleted lane and its messages.
NO_LANE = LaneRecall("space", "board", on_board=False, private_to="")


class Recalls:
    """Looks up what lanes recall, each once, at one moment of the store."""

    def __init__(self, tx: Tx, access: Access, keys: Iterable[str] = ()) -> None:
        self._tx = tx
        self._access = access
        # The choices for the lanes of those keys, looked up together.
        self._choices = choices_of_lanes(tx, access, keys)
        self._known: dict[str, LaneRecall] = {}
        # By agent: the default for its lanes.
        self._of_agents: dict[str, tuple[Recall, ChosenBy]] = {}

    def of(self, key: str | None) -> LaneRecall:
        """Return what a lane recalls, existing or not; None stands for no lane."""
        if key is None:
            return OF_PROGRAMS
        if key not in self._known:
            self._known[key] = self._read(key)
        return self._known[key]

    def _read(self, key: str) -> LaneRecall:
        lane = self._choices.get(key) or choices_of_lanes(self._tx, self._access, [key]).get(key)
        if lane is None:
            return self._unopened(key)
        self._of_agents[lane.agent_id] = _inherited(lane.of_agent, lane.of_account, lane.by_default)
        owner = self._owner(lane, key)
        recall, by = self.chosen(lane.kind, lane.agent_id, lane.recall)
        # Only that person may share their chat.
        on_board = recall == "space" and (owner is None or by in ("session", "board"))
        return LaneRecall(recall, by, on_board=on_board, private_to=owner)

    def _owner(self, lane: LaneChoice, key: str) -> str | None:
        """Whose chat a lane is or was spawned from; None for one that people share."""
        if lane.spawned_by is not None:
            return private_to(self._tx, self._access, key)
        return lane.made_by if lane.kind in PERSONAL_KINDS else None

    def chosen(self, kind: str, agent_id: str, own: Recall | None) -> tuple[Recall, ChosenBy]:
        """Return what a lane of that kind and agent recalls given its own choice; and who chose."""
        if kind == "topic":
            return "space", "board"
        return (own, "session") if own is not None else self._of_agent(agent_id)

    def _unopened(self, name: str) -> LaneRecall:
        """A name without a lane: a session that was not opened yet, unless a program sends under that name."""
        try:
            key = SessionKey.parse(name)
        except Refusal:
            return NO_LANE
        if is_bucket(self._tx, self._access, name) or agent_by_id(self._tx, self._access, key.agent) is None:
            return NO_LANE
        recall, by = self.chosen(key.kind, key.agent, None)
        return LaneRecall(recall, by, on_board=False, private_to="")

    def is_lane(self, name: str | None) -> bool:
        """Return whether a name is the key of a lane."""
        return name is not None and self.of(name) is not NO_LANE

    def _of_agent(self, agent_id: str) -> tuple[Recall, ChosenBy]:
        if agent_id not in self._of_agents:
            account, agent = account_of(self._tx, self._access), agent_by_id(self._tx, self._access, agent_id)
            own, of_account = None if agent is None else agent.profile.recall, account_settings(account)["recall"]
            self._of_agents[agent_id] = _inherited(own, of_account, account.recall_default)
        return self._of_agents[agent_id]

    def is_on_board(self, entry: Entry) -> bool:
        """Return whether an entry is on the board, and not only its lane's or its task's.

        Messages of a task's thread belong to the task. What a person put under a topic is on the board, and so is what
        a program logs on purpose, except into a person's chat.
        """
        if entry.task_view is not None:
            return False
        lane = self.of(entry.key)
        is_logged = entry.run_id is None and entry.source is not None and lane.private_to is None
        is_placed = entry.topic_id is not None and entry.task_id is None
        return lane.on_board or is_logged or is_placed


def _inherited(of_agent: Recall | None, of_account: Recall | None, by_default: Recall) -> tuple[Recall, ChosenBy]:
    """The default for a lane without a choice of its own, and what decided that."""
    if of_agent is not None:
        return of_agent, "agent"
    return (of_account, "account") if of_account else (by_default, "settings")
