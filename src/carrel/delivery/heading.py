"""The heading of a message about a task: what stands before its words in the run's own input. Pure.

It is written down with the message when the run is heard, so that every step of the run shows the same, whatever
becomes of the task meanwhile.
"""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from carrel.journal import Entry
from carrel.kernel import clip, iso, limits, one_line
from carrel.runs import Run
from carrel.work import Task, TaskBriefing

# What separates the heading from the message where both are one text.
GAP = "\n\n"
# How much longer a text may be than what is shown of it before its end is not even looked at.
_LOOKED_AT = 4
_KINDS = {"user": "a person", "agent": "an agent", "system": "the server"}
_REASONS = {
    "mention": "mentioned you",
    "assignment": "assigned you",
    "thread_update": "wrote in the thread",
    "status_change": "changed the task",
    "response_request": "asks you for a response",
    None: "wrote to you",
}


class Told(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What a run is told about its task besides its message, as the details of its message keep it."""

    heading: str
    title: str
    # Why the agent was notified; None when it was written to directly.
    notice: str | None = None
    author_kind: Literal["user", "agent", "system"] = "user"
    by_people: bool = False
    by_a_person: bool = False
    # The message of the thread that it brings.
    message_id: str | None = None
    is_chat: bool = False
    has_co_assignees: bool = False
    may_finish: bool = False
    # The task's last reopening when this was read; nothing older is in the heading.
    reopened_seq: int = 0

    @property
    def anchors(self) -> str:
        """The line with the ids that the message is tied to."""
        return self.heading.partition("\n")[0]

    def details(self) -> dict[str, Any]:
        """Return it as details of an entry."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


def tell(briefing: TaskBriefing, run: Run, chars_max: int, *, may_finish: bool) -> Told:
    """Return what a run is told; heading and message together have at most `chars_max` characters."""
    return Told(
        heading=_heading(briefing, run, chars_max),
        title=_line(briefing.task.title, limits.HEADING_TITLE_CHARS_MAX),
        notice=briefing.notice,
        author_kind=briefing.author_kind,  # type: ignore[arg-type]
        by_people=briefing.by_people,
        by_a_person=briefing.by_a_person,
        message_id=None if briefing.message_id == run.message_id else briefing.message_id,
        is_chat=briefing.task.is_chat,
        has_co_assignees=len(briefing.assignees) > 1,
        may_finish=may_finish,
        reopened_seq=briefing.task.reopened_seq,
    )


def told_before(run: Run, own: list[Entry]) -> Told | None:
    """Return what a run was told when it was heard; None for a run without a task."""
    if run.task_id is None:
        return None
    details = next((entry.details for entry in own if entry.id == run.message_id), None) or {}
    if "heading" in details:
        return msgspec.convert(details, Told)
    # Heard by a version that wrote nothing down.
    return Told(heading=_anchors(run, run.message_id), title="")


def _heading(briefing: TaskBriefing, run: Run, chars_max: int) -> str:
    """The anchors always; then, in this order and as far as there is space beside the message, everything else."""
    lines = [_anchors(run, briefing.message_id), _origin(briefing)]
    left = chars_max - len("\n".join(lines)) - len(GAP) - len(run.text)
    if left < 0:
        return lines[0]
    blocks = (
        _snapshot(briefing.task, briefing.assignees),
        _overview(briefing),
        _block("What the account's owner tells you", briefing.account_briefing, limits.HEADING_BRIEFING_CHARS_MAX),
    )
    for block in blocks:
        if block and (len(block) < left or left > limits.HEADING_BLOCK_CHARS_MIN):
            lines.append(clip(block, left - 1))
            left -= len(lines[-1]) + 1
    return "\n".join([*lines, *_snippet(briefing, left)])


def _anchors(run: Run, message_id: str) -> str:
    told = run.source().notification_id
    notification = f"notification {told} · " if told else ""
    return f"[{notification}message {message_id} · task {run.task_id}]"


def _origin(briefing: TaskBriefing) -> str:
    if briefing.joined > 1:
        return f"{briefing.joined} messages come last, each with its author's name above its indented lines."
    author, kind = _line(briefing.author, limits.NAME_CHARS_MAX), _KINDS[briefing.author_kind]
    named = kind if author == kind else f"{author} ({kind})"
    return f"{named} {_REASONS[briefing.notice]}; the message comes last."


def _snapshot(task: Task, assignees: tuple[str, ...]) -> str:
    named = _line(", ".join(assignees), limits.HEADING_NAMES_CHARS_MAX) or "nobody"
    due = f"; due: {iso(task.due_date)}" if task.due_date is not None else ""
    lines = [
        f"Task {one_line(task.id)}: {_line(task.title, limits.HEADING_TITLE_CHARS_MAX)}",
        f"Status: {task.status}; priority: {task.priority} (1 is the highest of 5); assigned to: {named}{due}",
    ]
    if task.blocked_reason:
        lines.append(f"Blocked because: {_line(task.blocked_reason, limits.BLOCKED_REASON_CHARS_MAX)}")
    described = _block("Description", task.description, limits.HEADING_DESCRIPTION_CHARS_MAX)
    return "\n".join([*lines, *([described] if described else [])])


def _overview(briefing: TaskBriefing) -> str:
    lines = []
    for one in briefing.overview:
        count = f"{one.count} or more" if one.count == limits.OVERVIEW_TASKS_MAX else str(one.count)
        top = "; ".join(
            f"{one_line(task.id)} {_line(task.title, limits.HEADING_TITLE_CHARS_MAX)} (priority {task.priority})"
            for task in one.top
        )
        lines.append(f"- {one.status}: {count}{', first ' + top if top else ''}")
    return "\n".join(["taskOverview:", *lines]) if lines else ""


def _snippet(briefing: TaskBriefing, chars_max: int) -> list[str]:
    """The newest messages that fit, oldest first."""
    head, kept = "Earlier in the thread, oldest first:", list[str]()
    left = chars_max - len(head) - 1
    for said in reversed(briefing.earlier):
        line = f"- {_line(said.author, limits.NAME_CHARS_MAX)}: {_line(said.text, limits.SNIPPET_MESSAGE_CHARS_MAX)}"
        left -= len(line) + 1
        if left < 0:
            break
        kept.append(line)
    return [head, *reversed(kept)] if kept else []


def _line(text: str, chars_max: int) -> str:
    """Somebody's text as one line that opens no section."""
    return clip(one_line(_beginning(text, chars_max)), chars_max)


def _block(name: str, text: str, chars_max: int) -> str:
    """Somebody's text in lines of its own, each indented, so that none can be taken for a line of ours."""
    lines = [f"  {shown}" for line in _beginning(text, chars_max).splitlines() if (shown := one_line(line))]
    return f"{name}:\n{clip(chr(10).join(lines), chars_max)}" if lines else ""


def _beginning(text: str, chars_max: int) -> str:
    """As much of a text as is looked at to show `chars_max` characters of it, however long it is."""
    return clip(text, chars_max * _LOOKED_AT)
