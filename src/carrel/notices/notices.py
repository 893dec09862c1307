"""Sends notices about tasks, in the transaction of the change that they report.

An agent's notice is a queued run in its lane of the task, or joins one that still waits; a person's is a line in a
mailbox.
"""

from logging import getLogger
from textwrap import indent

from msgspec import structs

from carrel.kernel import Access, Envelope, Provenance, Refusal, SessionKey, clip, one_line, system_access
from carrel.kernel.limits import JOINED_MESSAGES_MAX, MESSAGE_CHARS_MAX, NOTIFICATION_SUBJECT_CHARS_MAX
from carrel.monitoring import notifies
from carrel.notices import store
from carrel.notices.model import NewNotice, NoticeType, Notified, Recipient
from carrel.notices.store import Notice
from carrel.notifications import NewNotification, NotificationType, notify
from carrel.runs import Rules, Run, deliver, extend_queued
from carrel.storage import Tx

_log = getLogger("carrel.work")
_TITLES: dict[NoticeType, str] = {
    "mention": "{name} mentioned you in: {title}",
    "assignment": "{name} assigned you to: {title}",
    "thread_update": "{name} wrote in: {title}",
    "status_change": "{title}",
    "response_request": "{name} asks you about: {title}",
    "stalled": "Stalled: {title}",
}


def send_notice(tx: Tx, access: Access, new: NewNotice, recipients: list[Recipient], rules: Rules) -> list[Notified]:
    """Notify everyone on the list, in order, so that lanes are always locked in the same order."""
    return [told for each in recipients if (told := _notify_one(tx, access, new, each, rules)) is not None]


def _notify_one(tx: Tx, access: Access, new: NewNotice, to: Recipient, rules: Rules) -> Notified | None:
    if to.kind == "user":
        return _notify_person(tx, access, new, to)
    try:
        run = _notify_agent(tx, access, new, to, rules)
    except Refusal as refusal:
        # A full queue or a closed lane of one agent must not lose the message for everybody else.
        extra = {"task_id": new.task_id, "agent_id": to.id, "error": refusal.message}
        _log.warning("agent_not_notified", extra=extra)
        return None
    return Notified(kind="agent", id=to.id, type=to.type, run_id=run.id)


def _notify_person(tx: Tx, access: Access, new: NewNotice, to: Recipient) -> Notified | None:
    # To a person, a stalled task is a change of its state.
    kind: NotificationType = "status_change" if to.type == "stalled" else to.type
    if not notifies(tx, access, kind):
        return None
    title = clip(one_line(new.task_title), NOTIFICATION_SUBJECT_CHARS_MAX)
    line = NewNotification(
        type=kind,
        title=_TITLES[to.type].format(name=new.author_name, title=title),
        body=new.text,
        task_id=new.task_id,
        entry_id=None if new.entry is None else new.entry.id,
    )
    notify(tx, access, [to.id], line)
    return Notified(kind="user", id=to.id, type=to.type)


def _notify_agent(tx: Tx, access: Access, new: NewNotice, to: Recipient, rules: Rules) -> Run:
    key = SessionKey.of(to.id, f"task:{new.task_id}" if rules.task_scoped else "main")
    # Whoever gets it sees what both the author and whoever the author acts for may see.
    spaces = access.narrowed(new.author_spaces)
    if to.type == "thread_update" and (joined := _join(tx, access, new, key, spaces)) is not None:
        return joined
    actor, ntf = new.author_id or "system", tx.new_id("ntf")
    source = Provenance(kind="notification", notification_id=ntf, type=to.type, actor=actor)
    envelope = Envelope.internal(key, new.text, source, task_id=new.task_id, parent_run_id=new.author_run_id)
    # The system delivers it, in the name of whoever caused it.
    system = system_access(access.account_id, access.account_slug)
    sender = structs.replace(system, actor_id=new.author_id, space_ids=spaces, behalf=access.speaks_for)
    run = deliver(tx, sender, envelope, rules)
    _note(tx, access, new, run.id, to.type)
    return run


def _join(tx: Tx, access: Access, new: NewNotice, key: SessionKey, spaces: tuple[str, ...]) -> Run | None:
    """Add a message to the thread_update that is still queued for the agent; None if there is none."""
    if (run := store.waiting_update(tx, access, str(key), new.task_id)) is None:
        return None
    known = store.notices_of(tx, access, [run.id])[run.id]
    # The text of several messages already has their authors' names.
    before = _said(known[0].author_name, run.text) if len(known) == 1 else run.text
    text = f"{before}\n\n{_said(new.author_name, new.text)}"
    if len(known) >= JOINED_MESSAGES_MAX or len(text) > MESSAGE_CHARS_MAX:
        return None
    if not extend_queued(tx, access, run.for_another(spaces, access.speaks_for), text):
        return None
    _note(tx, access, new, run.id, "thread_update")
    return run


def _said(name: str, text: str) -> str:
    """One of several messages; its lines are indented, so that none looks like another author's name."""
    return f"{one_line(name)} wrote:\n{indent(text, '  ')}"


def _note(tx: Tx, access: Access, new: NewNotice, run_id: str, kind: NoticeType) -> None:
    notice = Notice(
        run_id=run_id,
        seq=tx.tick() if new.entry is None else new.entry.seq,
        task_id=new.task_id,
        type=kind,
        entry_id=None if new.entry is None else new.entry.id,
        author_kind=new.author_kind,
        author_id=new.author_id,
        author_name=new.author_name,
    )
    store.insert_notice(tx, access, notice)
