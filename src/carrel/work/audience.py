"""Who is notified about a task: of a message, and of a move."""

from collections.abc import Iterable

from msgspec import Struct

from carrel.journal import Entry
from carrel.kernel import Access
from carrel.notices import NewNotice, Notified, Recipient, send_notice
from carrel.runs import Rules
from carrel.storage import Tx
from carrel.work import store
from carrel.work.directory import directory_of
from carrel.work.mentions import MentionShape
from carrel.work.model import Party, PartyKind, Task
from carrel.work.permissions import Actor

# In these statuses, agents only get messages that are addressed to them.
_QUIET = ("done", "blocked", "archived")


class Audience(Struct, frozen=True, kw_only=True):
    """A task with everyone who could be notified, and their roles."""

    task: Task
    parties: tuple[Party, ...]
    orchestrator: str | None
    # The agents that may review tasks.
    reviewers: frozenset[str] = frozenset()

    @property
    def assigned_agents(self) -> frozenset[str]:
        """The ids of the assigned agents."""
        return frozenset(party.party_id for party in self._assigned if party.kind == "agent")

    @property
    def _assigned(self) -> list[Party]:
        return [party for party in self.parties if party.assigned_at is not None]

    def of_message(
        self, author: tuple[PartyKind, str], mentions: Iterable[MentionShape] = (), *, answers: str | None = None
    ) -> list[Recipient]:  # fmt: skip
        """Return who is notified of a message; `answers` is the notice that an agent's message answers."""
        mentioned = [(each.kind, each.id) for each in mentions if (each.kind, each.id) != author]
        addressed = [Recipient(kind, party, "mention") for kind, party in mentioned if self._hears(kind, party)]
        told = {(each.kind, each.id) for each in addressed} | {author}
        subscribed = [(party.kind, party.party_id) for party in self.parties if party.subscribed]
        if self.orchestrator is not None and ("agent", self.orchestrator) not in subscribed:
            subscribed.append(("agent", self.orchestrator))
        quiet = {kind for kind, _ in mentioned}
        for kind, party in subscribed:
            if (kind, party) in told:
                continue
            if kind == "user" or self._follows(party, author, quiet_agents="agent" in quiet, answers=answers):
                addressed.append(Recipient(kind, party, "thread_update"))
        return sorted(addressed)

    def _hears(self, kind: str, party: str) -> bool:
        """Whether somebody can be addressed on this task at all."""
        if kind == "user":
            return True
        if self.task.is_chat:
            return party == self.orchestrator
        return self.task.status != "archived"

    def _follows(self, agent: str, author: tuple[PartyKind, str], *, quiet_agents: bool, answers: str | None) -> bool:
        """Whether a subscribed agent gets a thread_update for a message that does not mention it."""
        if self.task.is_chat:
            return agent == self.orchestrator
        if self.task.status in _QUIET or quiet_agents:
            return False
        if author[0] == "user":
            return True
        works_on_it = agent in self.assigned_agents or (self.task.status == "review" and agent in self.reviewers)
        if author[1] == self.orchestrator:
            return works_on_it
        if answers == "thread_update":
            # Two agents would answer each other for ever.
            return False
        if answers == "assignment" and agent in self.assigned_agents and agent != self.orchestrator:
            return False
        return works_on_it or agent == self.orchestrator

    def of_move(self, actor: tuple[PartyKind, str], after: str) -> list[Recipient]:
        """Return who is notified of a new status: the assignees, and in review the orchestrator."""
        people = [party.party_id for party in self._assigned if party.kind == "user"]
        agents = frozenset() if after in _QUIET else self.assigned_agents
        if after == "review":
            agents = agents & self.reviewers | ({self.orchestrator} if self.orchestrator is not None else set())
        told = [("user", person) for person in people] + [("agent", agent) for agent in agents]
        return sorted(Recipient(kind, party, "status_change") for kind, party in told if (kind, party) != actor)  # type: ignore[arg-type]


def audience_of(tx: Tx, access: Access, task: Task) -> Audience:
    """Return a task with everyone who could be notified about it; disabled agents cannot."""
    directory = directory_of(tx, access)
    parties = tuple(
        party
        for party in store.parties_of(tx, access, task.id)
        if party.kind == "user" or ((agent := directory.agents.get(party.party_id)) is not None and agent.enabled)
    )
    return Audience(task=task, parties=parties, orchestrator=directory.orchestrator, reviewers=directory.reviewers)


def notify_about(
    tx: Tx, access: Access, actor: Actor, task: Task, text: str, recipients: list[Recipient], rules: Rules,
    entry: Entry | None = None,
) -> list[Notified]:  # fmt: skip
    """Notify everyone on the list of what an actor says about a task."""
    new = NewNotice(
        task_id=task.id,
        task_title=task.title,
        text=text,
        author_kind=actor.kind,
        author_id=actor.id,
        author_name=actor.name,
        author_run_id=actor.run_id,
        author_spaces=actor.spaces,
        entry=entry,
    )
    return send_notice(tx, access, new, recipients, rules)
