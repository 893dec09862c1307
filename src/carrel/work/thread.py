"""A task's thread: posting messages, and reading messages and activities. Everything is a view of the journal."""

from typing import Literal

from msgspec import Struct, structs

from carrel.journal import Entry, NewEntry, append_entry, entries_of_run, entries_of_task
from carrel.kernel import Access, Code, Provenance, Refusal, Shape, invalid, iso
from carrel.kernel.limits import MESSAGE_CHARS_MAX
from carrel.notices import Notified
from carrel.records import use_files
from carrel.runs import Rules
from carrel.storage import Tx
from carrel.topics import messages_of_topic, readable_topic
from carrel.work import run_store, store
from carrel.work.activities import publish
from carrel.work.audience import audience_of, notify_about
from carrel.work.directory import directory_of
from carrel.work.mentions import MentionShape, read_mentions
from carrel.work.model import CLOSING, Task
from carrel.work.permissions import Actor, readable_task
from carrel.work.shapes import Activity, TaskShape, ThreadMessage, activity_shape, task_shape, thread_messages


class Posted(Struct, frozen=True, kw_only=True):
    """A message that was posted, and who was notified of it."""

    message: ThreadMessage
    notified: list[Notified]


class Seen(Shape, frozen=True, kw_only=True):
    """How far somebody has read a thread."""

    kind: str
    id: str
    seq: int
    at: str | None


class Typing(Shape, frozen=True, kw_only=True):
    """An agent that is working on an answer."""

    agent_id: str
    run_id: str
    since: str | None


class Thread(Shape, frozen=True, kw_only=True):
    """A part of a thread, oldest first, who has read it, and who is working on an answer."""

    messages: list[ThreadMessage]
    seen_by: list[Seen]
    typing: list[Typing]


class AppliedLimits(Shape, frozen=True, kw_only=True):
    """The limits with which a history was read."""

    message_limit_applied: int
    activity_limit_applied: int


class TaskHistory(Shape, frozen=True, kw_only=True):
    """A task with its messages, oldest first, and its activities, newest first."""

    task: TaskShape
    messages: list[ThreadMessage]
    activities: list[Activity]
    meta: AppliedLimits


def post_message(
    tx: Tx, access: Access, task_id: str, content: str, rules: Rules, *, attachment_ids: tuple[str, ...] = ()
) -> Posted:  # fmt: skip
    """Post a message to a thread and notify everyone it concerns, in one transaction."""
    task, actor = readable_task(tx, access, task_id, hold=True)
    actor.require("message")
    if not content.strip() and not attachment_ids:
        raise invalid("content", "A message needs some text.")
    if len(content) > MESSAGE_CHARS_MAX:
        raise Refusal(Code.TOO_LONG, f"A message has at most {MESSAGE_CHARS_MAX} characters.", field="content")
    use_files(tx, access, actor.party_id, attachment_ids, task_id=task.id)
    # Only people mention: an agent asks another one for a response instead, so that no two mention each other for ever.
    mentions = read_mentions(content, directory_of(tx, access).mentionable()) if actor.kind == "user" else []
    entry = append_entry(tx, access, _entry(actor, task, content, mentions, attachment_ids))
    notified = distribute(tx, access, actor, task, entry, rules, mentions=mentions)
    return Posted(message=thread_messages(tx, access, [entry])[0], notified=notified)


def post_report(tx: Tx, access: Access, actor: Actor, task: Task, content: str, rules: Rules) -> None:
    """Post a program's report to the thread of a locked task, and notify everyone it concerns."""
    reported = Provenance(kind="reported", actor=actor.id, by=actor.id)
    new = structs.replace(_entry(actor, task, content, [], ()), provenance=reported)
    distribute(tx, access, actor, task, append_entry(tx, access, new), rules)


def _entry(
    actor: Actor, task: Task, content: str, mentions: list[MentionShape], attachment_ids: tuple[str, ...]
) -> NewEntry:  # fmt: skip
    by_agent = actor.kind == "agent"
    return NewEntry(
        type="conversation",
        role="assistant" if by_agent else "user",
        content=content,
        author=actor.id if by_agent else "user",
        author_kind="agent" if by_agent else "user",
        agent_id=actor.id if by_agent else None,
        provenance=Provenance(kind="internal_system" if by_agent else "external_user", actor=actor.id),
        details={"authorName": actor.name, "mentions": list(map(structs.asdict, mentions))},
        attachment_ids=attachment_ids,
        run_id=actor.run_id,
        task_id=task.id,
        topic_id=task.topic_id,
        space_id=task.space_id,
        task_view="thread",
    )


def distribute(
    tx: Tx, access: Access, actor: Actor, task: Task, entry: Entry, rules: Rules, *,
    mentions: list[MentionShape] | None = None, answers: str | None = None, besides: frozenset[str] = frozenset(),
) -> list[Notified]:  # fmt: skip
    """Apply a message to a locked task: subscriptions, notifications, and the time of the last message.

    The agents in `besides` are notified in another way.
    """
    own = () if actor.kind == "system" else (actor.party,)
    for party in (*own, *((each.kind, each.id) for each in mentions or [])):
        store.subscribe(tx, access, task.id, *party)
    for party in own:
        store.mark_seen(tx, access, task.id, *party, entry.seq)
    if actor.kind == "agent":
        store.answer_request(tx, access, task.id, actor.id)
    changed = store.save_task(tx, access, structs.replace(task, last_message_at=entry.created_at))
    publish(tx, access, "task.updated", changed)
    recipients = audience_of(tx, access, changed).of_message(actor.party, mentions or [], answers=answers)
    recipients = [each for each in recipients if each.kind == "user" or each.id not in besides]
    if is_from_before(tx, access, task, entry):
        recipients = [each for each in recipients if each.kind == "user"]
    return notify_about(tx, access, actor, changed, entry.content or "(a file)", recipients, rules, entry)


def is_from_before(tx: Tx, access: Access, task: Task, entry: Entry) -> bool:
    """Return whether a message is the late reply of a run that started before the task was done or reopened.

    People read it, but agents that start afresh get nothing from a closed generation.
    """
    if entry.session_id is None or entry.run_id is None:
        return False
    if heard_before_reopening(tx, access, task, entry.run_id):
        return True
    # Notified now, agents would receive it once the task is reopened.
    return task.status in CLOSING and entries_of_run(tx, access, entry.run_id)[0].created_at <= task.status_at


def heard_before_reopening(tx: Tx, access: Access, task: Task, run_id: str) -> bool:
    if not task.reopened_seq:
        return False
    own = entries_of_run(tx, access, run_id)
    return bool(own) and own[0].seq < task.reopened_seq


def read_thread(
    tx: Tx, access: Access, item_id: str, *, of: Literal["task", "topic"] = "task", limit: int,
    before: int | None = None,
) -> Thread:  # fmt: skip
    """Return the newest messages of a task or topic below a number."""
    if of == "topic":
        entries = messages_of_topic(tx, access, readable_topic(tx, access, item_id).id, limit=limit, before=before)
        return Thread(messages=thread_messages(tx, access, entries), seen_by=[], typing=[])
    task, _ = readable_task(tx, access, item_id)
    entries = entries_of_task(tx, access, task.id, "thread", limit=limit, before=before)
    parties = [party for party in store.parties_of(tx, access, task.id) if party.seen_seq]
    running = [run for run in run_store.live_runs_of_task(tx, access, task.id) if run.state == "running"]
    return Thread(
        messages=thread_messages(tx, access, entries),
        seen_by=[Seen(kind=one.kind, id=one.party_id, seq=one.seen_seq, at=iso(one.seen_at)) for one in parties],
        typing=[Typing(agent_id=run.agent_id, run_id=run.id, since=iso(run.started_at)) for run in running],
    )


def read_history(tx: Tx, access: Access, task_id: str, *, message_limit: int, activity_limit: int) -> TaskHistory:
    """Return a task with its messages, oldest first, and its activities, newest first."""
    task, _ = readable_task(tx, access, task_id)
    messages = entries_of_task(tx, access, task.id, "thread", limit=message_limit)
    activities = entries_of_task(tx, access, task.id, "activities", limit=activity_limit)
    return TaskHistory(
        task=task_shape(tx, access, task),
        messages=thread_messages(tx, access, messages),
        activities=[activity_shape(entry) for entry in reversed(activities)],
        meta=AppliedLimits(message_limit_applied=message_limit, activity_limit_applied=activity_limit),
    )


def mark_read(tx: Tx, access: Access, task_id: str, seq: int) -> None:
    """Record that the caller has read a thread up to a number."""
    task, actor = readable_task(tx, access, task_id, hold=True)
    newest = entries_of_task(tx, access, task.id, "thread", limit=1)
    upto = min(seq, newest[-1].seq if newest else 0)
    if upto > 0:
        store.mark_seen(tx, access, task.id, *actor.party, upto)
        publish(tx, access, "task.updated", task, seenBy={"kind": actor.party[0], "id": actor.party[1], "seq": upto})
