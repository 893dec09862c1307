"""Notifying agents and people about tasks, in the transaction of what they are notified of.

An agent's notification is a queued run in its lane of the task; a person's is a line in a mailbox.
"""

from logging import getLogger

from msgspec import Struct, structs

from carrel.journal import Entry
from carrel.kernel import (
    INTERNAL_CHANNEL,
    Access,
    Envelope,
    Message,
    Provenance,
    Refusal,
    SessionKey,
    clip,
    one_line,
    system_access,
)
from carrel.kernel.limits import JOINED_MESSAGES_MAX, MESSAGE_CHARS_MAX, NOTIFICATION_SUBJECT_CHARS_MAX
from carrel.monitoring import notifies
from carrel.notifications import NewNotification, notify
from carrel.runs import Rules, Run, deliver, extend_queued
from carrel.storage import Tx
from carrel.work import notice_store
from carrel.work.fanout import Recipient
from carrel.work.model import NoticeType, Task
from carrel.work.notice_store import Notice
from carrel.work.permissions import Actor

_log = getLogger("carrel.work")
_TITLES: dict[str, str] = {
    "mention": "{name} mentioned you: {title}",
    "assignment": "{name} assigned you: {title}",
    "thread_update": "{name} wrote: {title}",
    "status_change": "{title}",
    "response_request": "{name} asks you: {title}",
}


class Notified(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Somebody who was notified; `runId` is the run that tells an agent."""

    kind: str
    id: str
    type: NoticeType
    run_id: str | None = None


class News(Struct, frozen=True, kw_only=True):
    """What there is to tell about a task: the words, and the message of the thread they come from, if any."""

    task: Task
    actor: Actor
    text: str
    entry: Entry | None = None


def tell(tx: Tx, access: Access, news: News, recipients: list[Recipient], rules: Rules) -> list[Notified]:
    """Notify everyone on the list; in its order, so that lanes are always locked in the same one."""
    return [told for each in recipients if (told := _tell_one(tx, access, news, each, rules)) is not None]


def _tell_one(tx: Tx, access: Access, news: News, to: Recipient, rules: Rules) -> Notified | None:
    if to.kind == "user":
        return _tell_person(tx, access, news, to)
    try:
        run = _tell_agent(tx, access, news, to, rules)
    except Refusal as refusal:
        # A full queue or a closed lane of one agent must not lose the message for everybody else.
        extra = {"task_id": news.task.id, "agent_id": to.id, "error": refusal.message}
        _log.warning("agent_not_notified", extra=extra)
        return None
    return Notified(kind="agent", id=to.id, type=to.type, run_id=run.id)


def _tell_person(tx: Tx, access: Access, news: News, to: Recipient) -> Notified | None:
    if not notifies(tx, access, to.type):
        return None
    title = clip(one_line(news.task.title), NOTIFICATION_SUBJECT_CHARS_MAX)
    new = NewNotification(
        type=to.type,
        title=_TITLES[to.type].format(name=news.actor.name, title=title),
        body=news.text,
        task_id=news.task.id,
        entry_id=None if news.entry is None else news.entry.id,
    )
    notify(tx, access, [to.id], new)
    return Notified(kind="user", id=to.id, type=to.type)


def _tell_agent(tx: Tx, access: Access, news: News, to: Recipient, rules: Rules) -> Run:
    key = lane_of_task(to.id, news.task.id, rules)
    if to.type == "thread_update":
        joined = _join(tx, access, news, key)
        if joined is not None:
            return joined
    source = Provenance(
        kind="notification", notification_id=tx.new_id("ntf"), type=to.type, actor=news.actor.id or "system"
    )
    envelope = Envelope(
        key=key,
        message=Message(text=news.text, provenance=source),
        channel=INTERNAL_CHANNEL,
        task_id=news.task.id,
        parent_run_id=news.actor.run_id,
    )
    # The system delivers it, in the name of who caused it.
    sender = structs.replace(system_access(access.account_id, access.account_slug), actor_id=news.actor.id)
    run = deliver(tx, sender, envelope, rules)
    _note(tx, access, news, run.id, to.type)
    return run


def lane_of_task(agent_id: str, task_id: str, rules: Rules) -> SessionKey:
    """Return the lane in which an agent is told about a task."""
    return SessionKey.of(agent_id, f"task:{task_id}" if rules.task_scoped else "main")


def _join(tx: Tx, access: Access, news: News, key: SessionKey) -> Run | None:
    """Add a message to the thread_update that still waits for the agent; None when there is none to add it to."""
    run = notice_store.waiting_update(tx, access, str(key), news.task.id)
    if run is None:
        return None
    known = notice_store.notices_of(tx, access, [run.id])[run.id]
    text = f"{_attributed(run.text, known)}\n\n{_said(news.actor.name, news.text)}"
    if len(known) >= JOINED_MESSAGES_MAX or len(text) > MESSAGE_CHARS_MAX:
        return None
    if not extend_queued(tx, access, run.id, text):
        return None
    _note(tx, access, news, run.id, "thread_update")
    return run


def _attributed(text: str, known: list[Notice]) -> str:
    """The text of one message with its author's name; that of several has the names already."""
    return _said(known[0].author_name, text) if len(known) == 1 else text


def _said(name: str, text: str) -> str:
    return f"{one_line(name)} wrote:\n{text}"


def _note(tx: Tx, access: Access, news: News, run_id: str, kind: NoticeType) -> None:
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
