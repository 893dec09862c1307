"""Who is notified about tasks, and how, in the transaction of the change.

An agent's notification is a queued run in its lane of the task; a person's is a line in a mailbox.
"""

from collections.abc import Iterable
from logging import getLogger
from textwrap import indent

from msgspec import Struct, structs

from carrel.journal import Entry
from carrel.kernel import Access, Envelope, Provenance, Refusal, SessionKey, clip, one_line, system_access
from carrel.kernel.limits import JOINED_MESSAGES_MAX, MESSAGE_CHARS_MAX, NOTIFICATION_SUBJECT_CHARS_MAX
from carrel.monitoring import notifies
from carrel.notifications import NewNotification, NotificationType, notify
from carrel.runs import Rules, Run, deliver, extend_queued
from carrel.storage import Tx
from carrel.work import notice_store, store
from carrel.work.directory import Directory
from carrel.work.mentions import MentionShape
from carrel.work.model import NoticeType, Party, PartyKind, Task
from carrel.work.notice_store import Notice
from carrel.work.permissions import Actor

_log = getLogger("carrel.work")
_TITLES: dict[str, str] = {
    "mention": "{name} mentioned you in: {title}",
    "assignment": "{name} assigned you to: {title}",
    "thread_update": "{name} wrote in: {title}",
    "status_change": "{title}",
    "response_request": "{name} asks you about: {title}",
    "stalled": "Stalled: {title}",
}
# In these statuses, agents only get messages that are addressed to them.
_QUIET = ("done", "blocked", "archived")


class Recipient(Struct, frozen=True, order=True):
    """Somebody who is notified, and of what."""

    kind: PartyKind
    id: str
    type: NoticeType


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


class Notified(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Somebody who was notified; `runId` is the run that notifies an agent."""

    kind: str
    id: str
    type: NoticeType
    run_id: str | None = None


class TaskNotice(Struct, frozen=True, kw_only=True):
    """A notice about a task: the text, and the thread message it comes from, if any."""

    task: Task
    actor: Actor
    text: str
    entry: Entry | None = None


def audience_of(tx: Tx, access: Access, task: Task, directory: Directory) -> Audience:
    """Return a task with everyone who could be notified about it; disabled agents cannot."""
    parties = tuple(
        party
        for party in store.parties_of(tx, access, task.id)
        if party.kind == "user" or ((agent := directory.agents.get(party.party_id)) is not None and agent.enabled)
    )
    return Audience(task=task, parties=parties, orchestrator=directory.orchestrator, reviewers=directory.reviewers)


def notify_recipients(
    tx: Tx, access: Access, news: TaskNotice, recipients: list[Recipient], rules: Rules
) -> list[Notified]:
    """Notify everyone on the list, in order, so that lanes are always locked in the same order."""
    return [told for each in recipients if (told := _notify_one(tx, access, news, each, rules)) is not None]


def _notify_one(tx: Tx, access: Access, news: TaskNotice, to: Recipient, rules: Rules) -> Notified | None:
    if to.kind == "user":
        return _notify_person(tx, access, news, to)
    try:
        run = _notify_agent(tx, access, news, to, rules)
    except Refusal as refusal:
        # A full queue or a closed lane of one agent must not lose the message for everybody else.
        extra = {"task_id": news.task.id, "agent_id": to.id, "error": refusal.message}
        _log.warning("agent_not_notified", extra=extra)
        return None
    return Notified(kind="agent", id=to.id, type=to.type, run_id=run.id)


def _notify_person(tx: Tx, access: Access, news: TaskNotice, to: Recipient) -> Notified | None:
    # To a person, a stalled task is a change of its state.
    kind: NotificationType = "status_change" if to.type == "stalled" else to.type
    if not notifies(tx, access, kind):
        return None
    title = clip(one_line(news.task.title), NOTIFICATION_SUBJECT_CHARS_MAX)
    new = NewNotification(
        type=kind,
        title=_TITLES[to.type].format(name=news.actor.name, title=title),
        body=news.text,
        task_id=news.task.id,
        entry_id=None if news.entry is None else news.entry.id,
    )
    notify(tx, access, [to.id], new)
    return Notified(kind="user", id=to.id, type=to.type)


def _notify_agent(tx: Tx, access: Access, news: TaskNotice, to: Recipient, rules: Rules) -> Run:
    key = SessionKey.of(to.id, f"task:{news.task.id}" if rules.task_scoped else "main")
    if to.type == "thread_update" and (joined := _join(tx, access, news, key)) is not None:
        return joined
    actor, ntf = news.actor.id or "system", tx.new_id("ntf")
    source = Provenance(kind="notification", notification_id=ntf, type=to.type, actor=actor)
    envelope = Envelope.internal(key, news.text, source, task_id=news.task.id, parent_run_id=news.actor.run_id)
    # The system delivers it, in the name of whoever caused it.
    system = system_access(access.account_id, access.account_slug)
    sender = structs.replace(system, actor_id=news.actor.id, space_ids=_spaces(access, news), behalf=access.speaks_for)
    run = deliver(tx, sender, envelope, rules)
    _note(tx, access, news, run.id, to.type)
    return run


def _spaces(access: Access, news: TaskNotice) -> tuple[str, ...]:
    """The spaces that both the actor and whoever it acts for may see."""
    return access.narrowed(news.actor.spaces)


def _join(tx: Tx, access: Access, news: TaskNotice, key: SessionKey) -> Run | None:
    """Add a message to the thread_update that is still queued for the agent; None if there is none."""
    if (run := notice_store.waiting_update(tx, access, str(key), news.task.id)) is None:
        return None
    known = notice_store.notices_of(tx, access, [run.id])[run.id]
    # The text of several messages already has their authors' names.
    before = _said(known[0].author_name, run.text) if len(known) == 1 else run.text
    text = f"{before}\n\n{_said(news.actor.name, news.text)}"
    if len(known) >= JOINED_MESSAGES_MAX or len(text) > MESSAGE_CHARS_MAX:
        return None
    if not extend_queued(tx, access, run.for_another(_spaces(access, news), access.speaks_for), text):
        return None
    _note(tx, access, news, run.id, "thread_update")
    return run


def _said(name: str, text: str) -> str:
    """One of several messages; its lines are indented, so that none looks like another author's name."""
    return f"{one_line(name)} wrote:\n{indent(text, '  ')}"


def _note(tx: Tx, access: Access, news: TaskNotice, run_id: str, kind: NoticeType) -> None:
    notice = Notice(
        run_id=run_id,
        seq=tx.tick() if news.entry is None else news.entry.seq,
        task_id=news.task.id,
        type=kind,
        entry_id=None if news.entry is None else news.entry.id,
        author_kind=news.actor.kind,
        author_id=news.actor.id,
        author_name=news.actor.name,
    )
    notice_store.insert_notice(tx, access, notice)
