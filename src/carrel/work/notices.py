"""Notifying agents and people about tasks, in the transaction of the change.

An agent's notification is a queued run in its lane of the task; a person's is a line in a mailbox.
"""

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
from carrel.work.fanout import Audience, Recipient
from carrel.work.model import NoticeType, Task
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
    key = lane_of_task(to.id, news.task.id, rules)
    if to.type == "thread_update":
        joined = _join(tx, access, news, key)
        if joined is not None:
            return joined
    source = Provenance(
        kind="notification", notification_id=tx.new_id("ntf"), type=to.type, actor=news.actor.id or "system"
    )
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


def lane_of_task(agent_id: str, task_id: str, rules: Rules) -> SessionKey:
    """Return the lane in which an agent is notified about a task."""
    return SessionKey.of(agent_id, f"task:{task_id}" if rules.task_scoped else "main")


def _join(tx: Tx, access: Access, news: TaskNotice, key: SessionKey) -> Run | None:
    """Add a message to the thread_update that is still queued for the agent; None if there is none."""
    run = notice_store.waiting_update(tx, access, str(key), news.task.id)
    if run is None:
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
