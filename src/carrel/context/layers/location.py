"""The topic and task of a board session, with their digests."""

from carrel.context.budget import as_line
from carrel.context.model import PLACE, Line
from carrel.context.session_position import SessionPosition
from carrel.context.store import TaskRow, TopicRow
from carrel.kernel import minute_of

_NAME_CHARS, _TOPIC_DIGEST_CHARS, _TASK_DIGEST_CHARS = 120, 140, 120
_LINE_CHARS = 400


def location_lines(here: SessionPosition, *, digests: bool, in_run: bool = False) -> list[Line]:
    """Return the topic and the task of a session, with digests if the reader may see these.

    A run's message already starts with its task, so the block only adds the digest.
    """
    why, task = "this session is about it", here.task
    is_told = in_run and not (digests and task is not None and task.digest)
    return [
        *([] if here.topic is None else [topic_line(here.topic, PLACE, why, digests=digests)]),
        *([] if task is None or is_told else [task_line(task, PLACE, why, digests=digests)]),
    ]


def topic_line(topic: TopicRow, section: str, reason: str, score: float | None = None, *, digests: bool) -> Line:
    """Return the line of a topic: name and id; the digest if what is said on the board may be shown."""
    named = "- Topic: " if section == PLACE else "- "
    digest = _digest(topic.digest, _TOPIC_DIGEST_CHARS) if digests else ""
    text = f"{as_line(topic.name, _NAME_CHARS)} ({topic.id}){digest}"
    return Line(
        id=topic.id,
        kind="topic",
        section=section,
        scope=topic.space_id,
        source=topic.created_by,
        reason=reason,
        line=as_line(named + text, _LINE_CHARS),
        score=score,
    )


def task_line(
    task: TaskRow, section: str, reason: str, score: float | None = None, *, digests: bool = False
) -> Line:  # fmt: skip
    """Return the line of a task: title, id, status, due date; the digest only in lanes of that task."""
    named = "- Task: " if section == PLACE else "- "
    due = "" if task.due_date is None else f", due {minute_of(task.due_date)[:10]}"
    text = f"{as_line(task.title, _NAME_CHARS)} ({task.id}) [{task.status}{due}]"
    return Line(
        id=task.id,
        kind="task",
        section=section,
        scope=task.space_id,
        source=task.created_by,
        reason=reason,
        line=as_line(named + text + (_digest(task.digest, _TASK_DIGEST_CHARS) if digests else ""), _LINE_CHARS),
        score=score,
    )


def _digest(text: str | None, chars_max: int) -> str:
    return f": {as_line(text, chars_max)}" if text else ""
