"""The heading of a message about a task: the text before its words in the run's own input. Pure.

It is stored with the message when the run is heard, so that every step of the run shows the same, even if the task
changes meanwhile.
"""

from collections.abc import Collection
from typing import Any, Literal

import msgspec
from msgspec import Struct

from carrel.delivery.files import file_names
from carrel.delivery.senders import SENDER, line_before
from carrel.journal import Entry
from carrel.kernel import clip, iso, limits, minute_of, one_line
from carrel.runs import Run
from carrel.work import Task, TaskBriefing

# What separates the heading from the message where both are one text.
GAP = "\n\n"
# Factor by which a text may exceed what is shown of it before its end is ignored.
_LOOKED_AT = 4
_KINDS = {"user": "a person", "agent": "an agent", "system": "the server"}
# Why the agent was notified; one that was written to directly reads it from the message alone.
_REASONS = {
    "mention": "mentioned you",
    "assignment": "assigned you",
    "thread_update": "wrote in the thread",
    "status_change": "changed the task",
    "response_request": "asks you for a response",
    "stalled": "reminds you of the task",
}


class TaskHeading(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What a run is told about its task beside its message; stored in the details of the message."""

    heading: str
    title: str
    # Who wrote the message, if anybody did.
    sender: str = ""
    # Why the agent was notified; None when it was written to directly.
    notice: str | None = None
    author_kind: Literal["user", "agent", "system"] = "user"
    by_people: bool = False
    by_a_person: bool = False
    # The message of the thread that it brings.
    message_id: str | None = None
    is_chat: bool = False
    # The status of the task, and what the agent is to it.
    status: str = ""
    is_assigned: bool = False
    is_reviewer: bool = False
    has_co_assignees: bool = False
    may_finish: bool = False
    # Whether it works on its task of an approved plan, and whether only its answer can say that the task is done.
    is_planned: bool = False
    answer_says_done: bool = False
    # Whether it is told of its plan, which belongs to the session where the plan was made.
    tells_plan: bool = False
    # Whether the answer is posted in the thread.
    is_posted: bool = False
    # The files of the thread that it is given.
    file_ids: tuple[str, ...] = ()
    # Whether it works in a session that is not the task's own, so that its history has other things as well.
    is_elsewhere: bool = False
    # The task's last reopening when this was read; nothing older is in the heading.
    reopened_seq: int = 0

    @property
    def is_tick(self) -> bool:
        """Whether nobody wrote the message: it is a tick of an auto run."""
        return self.notice is None and self.author_kind == "system"

    @property
    def anchors(self) -> str:
        """The line with the ids that the message is tied to."""
        return self.heading.partition("\n")[0]

    def details(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


# Details that only the message's own run is shown; later runs are still shown who wrote it.
TOLD_DETAILS = frozenset(TaskHeading.__struct_encode_fields__) - {SENDER}


def task_heading(
    briefing: TaskBriefing, run: Run, chars_max: int, *, may_finish: bool, is_planned: bool = False,
    answer_says_done: bool = False, is_posted: bool = True, is_first: bool = False, plan: str = "",
    tools: Collection[str] = (), sender: str = "",
) -> TaskHeading:  # fmt: skip
    """Return what a run is told; heading and message together have at most `chars_max` characters.

    `sender` says in words what wrote the message, unless that is a person or a notification. `plan` is the text about
    its plan, `tools` are the names of its tools. The first run of a session also gets the files of earlier messages,
    which no run of it has had yet.
    """
    return TaskHeading(
        heading=_heading(briefing, run, sender or _origin(briefing), chars_max, plan, tools),
        title=as_line(briefing.task.title, limits.HEADING_TITLE_CHARS_MAX),
        sender=(sender or _author(briefing)) if briefing.joined == 1 else "",
        notice=briefing.notice,
        author_kind=briefing.author_kind,  # type: ignore[arg-type]
        by_people=briefing.by_people,
        by_a_person=briefing.by_a_person,
        message_id=None if briefing.message_id == run.message_id else briefing.message_id,
        is_chat=briefing.task.is_chat,
        status=briefing.task.status,
        is_assigned=briefing.is_assigned,
        is_reviewer=briefing.is_reviewer,
        has_co_assignees=len(briefing.assignees) > 1,
        may_finish=may_finish,
        is_planned=is_planned,
        answer_says_done=answer_says_done,
        tells_plan=bool(plan),
        is_posted=is_posted,
        file_ids=_newest_files(briefing, with_earlier=is_first),
        is_elsewhere=run.session_key.task_id != briefing.task.id,
        reopened_seq=briefing.task.reopened_seq,
    )


def files_of(entry: Entry) -> tuple[str, ...]:
    """Return the ids of the files that came with an entry, and of the thread's files that its run was given."""
    return (*entry.attachment_ids, *(entry.details or {}).get("fileIds", ()))


def _newest_files(briefing: TaskBriefing, *, with_earlier: bool) -> tuple[str, ...]:
    """Return the newest files that fit, oldest first."""
    earlier = [file for said in briefing.earlier for file in said.files] if with_earlier else []
    kept, left = list[str](), limits.THREAD_FILES_BYTES_MAX
    for file in reversed([*earlier, *briefing.files]):
        left -= file.size_bytes
        if left < 0 or len(kept) == limits.THREAD_FILES_MAX:
            break
        kept.append(file.id)
    return tuple(reversed(kept))


def recorded_heading(run: Run, own: list[Entry]) -> TaskHeading | None:
    """Return what a run was told when it was heard; None for a run without a task."""
    if run.task_id is None:
        return None
    details = next((entry.details for entry in own if entry.id == run.message_id), None) or {}
    if "heading" in details:
        return msgspec.convert(details, TaskHeading)
    # Heard by a version that stored nothing.
    return TaskHeading(heading=_anchors(run, run.message_id), title="")


def _heading(
    briefing: TaskBriefing, run: Run, origin: str, chars_max: int, plan: str, tools: Collection[str]
) -> str:  # fmt: skip
    """Return the anchors, and then, in order, whatever fits beside the message."""
    lines, last = [_anchors(run, briefing.message_id)], _before_message(briefing, origin)
    left = chars_max - len("\n".join([*lines, last])) - len(GAP) - len(run.text)
    if left < 0:
        return lines[0]
    blocks = (
        _snapshot(briefing.task, briefing.assignees),
        plan,
        _reopening(briefing, tools),
        _team(briefing) if briefing.overview or "response_request" in tools else "",
        _overview(briefing),
        as_block("What the account's owner tells you", briefing.account_briefing, limits.HEADING_BRIEFING_CHARS_MAX),
    )
    for block in blocks:
        if block and (len(block) < left or left > limits.HEADING_BLOCK_CHARS_MIN):
            lines.append(clip(block, left - 1))
            left -= len(lines[-1]) + 1
    return "\n".join([*lines, *_snippet(briefing, left), last])


def _anchors(run: Run, message_id: str) -> str:
    told = run.source().notification_id
    notification = f"notification {told} · " if told else ""
    return f"[{notification}message {message_id} · task {run.task_id}]"


def _before_message(briefing: TaskBriefing, origin: str) -> str:
    """Return the line right before the message: who wrote it, why to this agent and when, and what time it is now.

    It comes last because it differs in every run; everything before it stays the same and can be cached.
    """
    if briefing.joined == 1:
        return line_before(origin, briefing.sent_at, briefing.read_at)
    now, sent = minute_of(briefing.read_at), minute_of(briefing.sent_at)
    said = f"{briefing.joined} messages, each with its author's name above its indented lines, the first of them at"
    return f"{said} {sent} UTC, just now:" if sent == now else f"It is now {now} UTC. {said} {sent}:"


def _origin(briefing: TaskBriefing) -> str:
    """Return who wrote the message, what they are, and why the agent was notified of it."""
    author, kind = _author(briefing), _KINDS[briefing.author_kind]
    named = kind if author == kind else f"{author} ({kind})"
    if briefing.notice is None:
        return named
    return f"{named}, {'which' if briefing.author_kind == 'system' else 'who'} {_REASONS[briefing.notice]}"


def _author(briefing: TaskBriefing) -> str:
    return as_line(briefing.author, limits.NAME_CHARS_MAX)


def _snapshot(task: Task, assignees: tuple[str, ...]) -> str:
    named = as_line(", ".join(assignees), limits.HEADING_NAMES_CHARS_MAX) or "nobody"
    due = f"; due: {iso(task.due_date)}" if task.due_date is not None else ""
    lines = [
        f"Task {one_line(task.id)}: {as_line(task.title, limits.HEADING_TITLE_CHARS_MAX)}",
        f"Status: {task.status}; priority: {task.priority} (1 is the highest of 5); assigned to: {named}{due}",
    ]
    if task.blocked_reason:
        lines.append(f"Blocked because: {as_line(task.blocked_reason, limits.BLOCKED_REASON_CHARS_MAX)}")
    # A description that only repeats the title is left out.
    more = "" if task.description.strip() == task.title.strip() else task.description
    described = as_block("Description", more, limits.HEADING_DESCRIPTION_CHARS_MAX)
    return "\n".join([*lines, *([described] if described else [])])


def _overview(briefing: TaskBriefing) -> str:
    lines = []
    for one in briefing.overview:
        count = f"{one.count} or more" if one.count == limits.OVERVIEW_TASKS_MAX else str(one.count)
        top = "; ".join(map(_entry, one.top, one.assignees or ((),) * len(one.top)))
        lines.append(f"- {one.status}: {count}{', first ' + top if top else ''}")
    return "\n".join(["taskOverview:", *lines]) if lines else ""


def _entry(task: Task, assignees: tuple[str, ...]) -> str:
    by = f", {as_line(', '.join(assignees), limits.HEADING_NAMES_CHARS_MAX)}" if assignees else ""
    return f"{one_line(task.id)} {as_line(task.title, limits.HEADING_TITLE_CHARS_MAX)} (priority {task.priority}{by})"


def _reopening(briefing: TaskBriefing, tools: Collection[str]) -> str:
    if briefing.reopened_at is None:
        return ""
    by = as_line(briefing.reopened_by, limits.NAME_CHARS_MAX) or "somebody"
    where = ", but in task_history" if "task_history" in tools else ""
    return f"Reopened by {by} at {minute_of(briefing.reopened_at)}: what was said before is not shown here{where}."


def _team(briefing: TaskBriefing) -> str:
    """Return the other agents: for the orchestrator with their work and load, for others only by name."""
    if not briefing.team:
        return ""
    if not briefing.overview:
        names = ", ".join(f"{one.slug} ({as_line(one.name, limits.NAME_CHARS_MAX)})" for one in briefing.team)
        return f"Agents that response_request can ask: {names}"
    lines = [
        f"- {one.slug}: {as_line(one.name, limits.NAME_CHARS_MAX)}; "
        f"{one.load} open {'task' if one.load == 1 else 'tasks'}; "
        f"{as_line(one.description, limits.TEAM_DESCRIPTION_CHARS_MAX) or 'no description'}"
        for one in briefing.team
    ]
    return "\n".join(["Your team, by slug:", *lines])


def _snippet(briefing: TaskBriefing, chars_max: int) -> list[str]:
    """Return the newest messages that fit, oldest first."""
    head, kept = "Earlier in the thread, oldest first:", list[str]()
    if briefing.earlier_left_out:
        head = f"Earlier in the thread, oldest first ({briefing.earlier_left_out} more before these are not shown):"
    left = chars_max - len(head) - 1
    for said in reversed(briefing.earlier):
        author = as_line(said.author, limits.NAME_CHARS_MAX) + (f", {minute_of(said.at)}" if said.at else "")
        line = f"- {author}: {as_line(said.text, limits.SNIPPET_MESSAGE_CHARS_MAX)}"
        if said.files:
            line += f" {file_names(said.files)}"
        left -= len(line) + 1
        if left < 0:
            break
        kept.append(line)
    return [head, *reversed(kept)] if kept else []


def as_line(text: str, chars_max: int) -> str:
    """Return somebody's text as one line that opens no section."""
    return clip(one_line(_beginning(text, chars_max)), chars_max)


def as_block(name: str, text: str, chars_max: int) -> str:
    """Return somebody's text in indented lines of its own, so that none can be taken for a line of ours."""
    lines = [f"  {shown}" for line in _beginning(text, chars_max).splitlines() if (shown := one_line(line))]
    return f"{name}:\n{clip(chr(10).join(lines), chars_max)}" if lines else ""


def _beginning(text: str, chars_max: int) -> str:
    """Return as much of a text as is needed to show `chars_max` characters of it, however long it is."""
    return clip(text, chars_max * _LOOKED_AT)
