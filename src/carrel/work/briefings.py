"""What a run is told about its task."""

from msgspec import Struct

from carrel.access import account_of
from carrel.agents import account_settings
from carrel.journal import entries_of_task
from carrel.kernel import Access
from carrel.kernel.limits import SNIPPET_MESSAGES_MAX
from carrel.runs import Run
from carrel.storage import Tx
from carrel.work import notice_store, store
from carrel.work.directory import Directory
from carrel.work.model import NoticeType, Task
from carrel.work.notice_store import Notice
from carrel.work.orchestrator import StatusOverview, task_overview
from carrel.work.shapes import author_name
from carrel.work.thread import is_from_before


class TaskLine(Struct, frozen=True, kw_only=True):
    """One message of a thread, as an agent is shown it."""

    author: str
    text: str


class TaskBriefing(Struct, frozen=True, kw_only=True):
    """What a run on a task is told besides its message, read when it is heard.

    `notice` says why it was notified; None when it was written to directly. `overview` and `account_briefing` are for
    the orchestrator in its chat alone.
    """

    task: Task
    assignees: tuple[str, ...]
    notice: NoticeType | None
    notification_id: str | None
    # The message of the thread that it brings, the newest of several; its author, whether a person or an agent.
    message_id: str
    author: str
    author_kind: str
    # Whether people wrote all of it, and whether one wrote any of it: messages that wait are joined.
    by_people: bool
    by_a_person: bool
    # The newest messages of the thread before this one, oldest first, none from before a reopening.
    earlier: tuple[TaskLine, ...]
    # How many messages it brings.
    joined: int = 1
    overview: tuple[StatusOverview, ...] = ()
    account_briefing: str = ""


def task_briefing(tx: Tx, run: Run) -> TaskBriefing | None:
    """Return what a run is told about its task; None for a run without one."""
    access = run.access
    task = None if run.task_id is None else store.task_by_id(tx, access, run.task_id)
    if task is None:
        return None
    directory, source = Directory(tx, access), run.source()
    is_of_task = run.session_key.task_id == task.id
    notices = notice_store.notices_of(tx, access, [run.id]).get(run.id, [])
    newest = notices[-1] if notices else None
    author, author_kind = directory.name_of("user", run.actor_id) or "a person", "user"
    if run.auto_run_id is not None:
        author, author_kind = "Carrel", "system"
    authors = {notice.author_kind for notice in notices} or {author_kind}
    assignees = store.assignees_of(tx, access, [task.id]).get(task.id, [])
    for_orchestrator = task.is_chat and directory.orchestrator == run.agent_id
    return TaskBriefing(
        task=task,
        assignees=tuple(directory.name_of(one.kind, one.party_id) or one.party_id for one in assignees),
        notice=None if newest is None else newest.type,
        notification_id=source.notification_id or None,
        message_id=(None if newest is None else newest.entry_id) or run.message_id,
        author=author if newest is None else newest.author_name,
        author_kind=author_kind if newest is None else newest.author_kind,
        by_people=authors == {"user"},
        by_a_person="user" in authors,
        joined=max(1, len(notices)),
        # The thread is for the lanes of the task: elsewhere a run is told of the task alone.
        earlier=_earlier(tx, access, task, notices, directory) if notices or is_of_task else (),
        overview=task_overview(tx, access) if for_orchestrator else (),
        account_briefing=account_settings(account_of(tx, access))["briefing"] or "" if for_orchestrator else "",
    )


def _earlier(
    tx: Tx, access: Access, task: Task, notices: list[Notice], directory: Directory
) -> tuple[TaskLine, ...]:  # fmt: skip
    first = next((notice.seq for notice in notices if notice.entry_id is not None), None)
    entries = entries_of_task(
        tx, access, task.id, "thread", limit=SNIPPET_MESSAGES_MAX, before=first, after=task.reopened_seq
    )
    shown = [entry for entry in entries if not is_from_before(tx, access, task, entry)]
    return tuple(TaskLine(author=author_name(entry, directory), text=entry.content) for entry in shown)
