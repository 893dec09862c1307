"""A notice about a task, who gets it, and who got it. Pure."""

from typing import Literal

from msgspec import Struct

from carrel.journal import Entry

NoticeType = Literal["mention", "assignment", "thread_update", "status_change", "response_request", "stalled"]


class Recipient(Struct, frozen=True, order=True):
    """Somebody who is notified, and of what."""

    kind: Literal["user", "agent"]
    id: str
    type: NoticeType


class Notified(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Somebody who was notified; `runId` is the run that notifies an agent."""

    kind: str
    id: str
    type: NoticeType
    run_id: str | None = None


class NewNotice(Struct, frozen=True, kw_only=True):
    """What is said about a task, and who says it."""

    task_id: str
    task_title: str
    text: str
    author_kind: str
    author_id: str
    author_name: str
    # The run in which the author says it, and the spaces that the author may see.
    author_run_id: str | None = None
    author_spaces: tuple[str, ...] = ("*",)
    # The message of the thread that it comes from.
    entry: Entry | None = None
