"""What a turn writes to the journal and reads back: messages, replies, tool calls and their results.

Everything is an entry of the run, written under its claim, so that a turn can be resumed where it stopped.
"""

from typing import Any

from carrel.delivery.approvals import is_about_approval
from carrel.delivery.heading import TaskHeading
from carrel.delivery.senders import SENDER, sender_of
from carrel.journal import Entry, NewEntry, TaskView, append_entry, entries_of_run
from carrel.kernel import Access, clip
from carrel.kernel.limits import QUESTION_CHARS_MAX
from carrel.runs import NeedsInput, Run, agent_entry, is_sender_call, run_entry
from carrel.sessions import Lane, Session
from carrel.storage import Tx


def new_message(run: Run, session: Session, told: TaskHeading | None, note: dict[str, Any]) -> NewEntry:
    """The entry of a run's message, with what the run is told about it and about its task."""
    author_kind = told.author_kind if told is not None and run.provenance_kind == "notification" else None
    is_persons = run.provenance_kind == "external_user" or author_kind == "user"
    return run_entry(
        run,
        id=run.message_id,
        type="conversation",
        role="user",
        content=run.text,
        author="user" if is_persons else run.actor_id,
        author_kind=author_kind,
        provenance=run.source(),
        details=(note or None) if told is None else told.details(),
        session_id=session.id,
        message_id=run.sender_message if told is None else told.message_id or run.sender_message,
        attachment_ids=run.attached(),
        task_view="thread" if run.provenance_kind == "external_user" and run.told_task_id else None,
    )


def joined_message(tx: Tx, message: Run, run: Run, lane: Lane) -> NewEntry:
    """The entry of a message that joins a working run, in the task of that run."""
    sender = sender_of(tx, message, lane)
    return run_entry(
        run,
        id=message.message_id,
        type="conversation",
        role="user",
        content=message.text,
        author="user" if message.provenance_kind == "external_user" else message.actor_id,
        provenance=message.source(),
        details={SENDER: sender} if sender else None,
        message_id=message.sender_message,
        attachment_ids=message.attached(),
        task_view=run.question_view,
    )


def message_entry(run: Run, session: Session, told: TaskHeading | None, note: dict[str, Any]) -> Entry:
    """The same entry as it will be read after it is written; it has no number yet."""
    return new_message(run, session, told, note).written(0, run.message_id, run.created_at)


def write(
    tx: Tx, access: Access, run: Run, session: Session, role: str, content: str,
    details: dict[str, Any] | None = None, files: tuple[str, ...] = (), task_view: TaskView | None = None,
) -> Entry:  # fmt: skip
    """Write an entry of the run's agent."""
    more = {"session_id": session.id, "attachment_ids": files, "task_view": task_view}
    return append_entry(tx, access, agent_entry(run, role, content, details, **more))


def own_entries(tx: Tx, access: Access, run_id: str) -> list[Entry]:
    """Return a run's entries in its session, in order: messages, replies, tool calls and results.

    What its tools have written elsewhere, such as activities of tasks, is not included; their results report it.
    """
    return [entry for entry in entries_of_run(tx, access, run_id) if entry.session_id is not None]


def view_of_reply(run: Run) -> TaskView | None:
    """The view of its task that shows a run's reply: the thread, if it answers people or a notification."""
    is_answer = run.told_task_id is not None and run.provenance_kind in ("external_user", "notification")
    return "thread" if is_answer else None


def call_key(call: Entry) -> str:
    """The key of a call within its run; it contains the step, because some servers reuse call ids."""
    details = call.details or {}
    return f"{details['step']}:{details['callId']}"


def given_reply(own: list[Entry]) -> str | None:
    """The reply that this run has already given, if its worker was lost before the end; a question is not a reply."""
    newest = own[-1] if own else None
    if newest is not None and newest.role == "assistant" and not (newest.details or {}).get("question"):
        return newest.content
    return None


def rounds_of(own: list[Entry]) -> int:
    """How many rounds of tool calls were made since the run last received something from outside."""
    return len({(entry.details or {}).get("step") for entry in since_heard(own) if entry.role == "toolCall"})


def since_heard(own: list[Entry]) -> list[Entry]:
    """What a run did since it last received a message, an answer, or the output of its sender's functions."""
    heard = [at for at, entry in enumerate(own) if _is_from_outside(entry) and not is_about_approval(entry)]
    return own[heard[-1] + 1 :] if heard else own


def _is_from_outside(entry: Entry) -> bool:
    return entry.role == "user" or (entry.role == "toolResult" and is_sender_call(entry))


def waiting_for_sender(calls: list[Entry]) -> NeedsInput:
    """The outcome that waits for the message's sender to call its own functions."""
    names = ", ".join(dict.fromkeys((call.details or {})["name"] for call in calls))
    question = f"The program that sent this message is to call {names} and bring the output."
    return NeedsInput(question=clip(question, QUESTION_CHARS_MAX), waiting_for="tool_output")
