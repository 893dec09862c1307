"""What a run is shown of its task."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from carrel.access import account_of
from carrel.agents import account_settings, every_agent
from carrel.journal import Entry, entries_by_id, entries_of_task, unseen_messages
from carrel.kernel import Access
from carrel.kernel.limits import TEAM_SHOWN_MAX
from carrel.notices import Notice, NoticeType, notices_of
from carrel.records import FileShape, attachment_heads
from carrel.runs import Run
from carrel.storage import Tx
from carrel.work import store
from carrel.work.directory import Directory, directory_of
from carrel.work.model import PartyKind, Task
from carrel.work.orchestrator import StatusOverview, task_overview
from carrel.work.shapes import author_name
from carrel.work.thread import is_from_before

# Whether a session has a message of a thread in its history.
IsHeard = Callable[[Entry], bool]


class TaskLine(Struct, frozen=True, kw_only=True):
    """One message of a thread, as shown to an agent."""

    author: str
    text: str
    # The id of its entry.
    id: str = ""
    # When it was said; 0 if unknown.
    at: int = 0
    # The files that came with it.
    files: tuple[FileShape, ...] = ()


class Teammate(Struct, frozen=True, kw_only=True):
    """Another agent that can be asked and assigned; `load` is how many open tasks it has."""

    slug: str
    name: str
    description: str
    load: int


class TaskBriefing(Struct, frozen=True, kw_only=True):
    """What a run on a task is shown besides its message, read when it starts.

    `notice` says why it was notified; None if the message was sent to it directly. `overview` and `account_briefing`
    are only for the orchestrator in its chat.
    """

    task: Task
    assignees: tuple[str, ...]
    notice: NoticeType | None
    notification_id: str | None
    # The message of the thread that started it, the newest of several; its author, and whether that is a person or an
    # agent.
    message_id: str
    author: str
    author_kind: str
    # Whether people wrote all of it, and whether a person wrote any of it: waiting messages are joined.
    by_people: bool
    by_a_person: bool
    # The newest thread messages that the session has not seen, oldest first, none from before a reopening.
    earlier: tuple[TaskLine, ...]
    # The agent's role in the task: it works on it, or reviews others' work.
    is_assigned: bool = False
    is_reviewer: bool = False
    # The files of those thread messages; files of a message sent to the run itself belong to the run.
    files: tuple[FileShape, ...] = ()
    # The other agents, whom it may ask for a response.
    team: tuple[Teammate, ...] = ()
    # When the task was last reopened, and by whom; messages from before are not shown.
    reopened_at: int | None = None
    reopened_by: str = ""
    # How many more there are.
    earlier_left_out: int = 0
    # How many messages it brings, when the newest was sent, and when this was read; 0 if unknown.
    joined: int = 1
    sent_at: int = 0
    read_at: int = 0
    overview: tuple[StatusOverview, ...] = ()
    account_briefing: str = ""


def task_briefing(tx: Tx, run: Run, is_heard: IsHeard = lambda _: False) -> TaskBriefing | None:
    """Return what a run is shown of its task, with unseen thread messages; None for a run without a task."""
    access = run.access
    task = None if run.task_id is None else store.task_by_id(tx, access, run.task_id)
    if task is None:
        return None
    directory, source = directory_of(tx, access), run.source()
    is_of_task = run.session_key.task_id == task.id
    notices = notices_of(tx, access, [run.id]).get(run.id, [])
    newest = notices[-1] if notices else None
    author, author_kind = directory.name_of("user", run.actor_id) or "a person", "user"
    if run.auto_run_id is not None:
        author, author_kind = "Carrel", "system"
    elif run.provenance_kind == "cron":
        author, author_kind = "a schedule", "system"
    authors = {notice.author_kind for notice in notices} or {author_kind}
    assignees = store.assignees_of(tx, access, [task.id]).get(task.id, [])
    parties = {(one.kind, one.party_id) for one in assignees}
    for_orchestrator = task.is_chat and directory.orchestrator == run.agent_id
    # Only the lanes of the task see its thread: elsewhere a run sees the task alone.
    earlier, left_out = _earlier(tx, access, task, notices, is_heard) if notices or is_of_task else ((), 0)
    brought = entries_by_id(tx, access, [notice.entry_id for notice in notices if notice.entry_id is not None])
    reopened_at, reopened_by = _reopening(tx, access, task)
    return TaskBriefing(
        task=task,
        assignees=tuple(map(directory.named, assignees)),
        notice=None if newest is None else newest.type,
        notification_id=source.notification_id or None,
        message_id=(None if newest is None else newest.entry_id) or run.message_id,
        author=author if newest is None else newest.author_name,
        author_kind=author_kind if newest is None else newest.author_kind,
        by_people=authors == {"user"},
        by_a_person="user" in authors,
        is_assigned=("agent", run.agent_id) in parties,
        is_reviewer=_is_reviewer(run, task, parties, newest, directory),
        files=tuple(attachment_heads(tx, access, _attached(brought))),
        joined=max(1, len(notices)),
        sent_at=run.created_at,
        read_at=tx.now,
        earlier=earlier,
        earlier_left_out=left_out,
        reopened_at=reopened_at,
        reopened_by=reopened_by,
        team=team_of(tx, access, run.agent_id),
        overview=task_overview(tx, access, directory.named) if for_orchestrator else (),
        account_briefing=account_settings(account_of(tx, access))["briefing"] or "" if for_orchestrator else "",
    )


def _is_reviewer(
    run: Run, task: Task, assignees: set[tuple[PartyKind, str]], newest: Notice | None, directory: Directory
) -> bool:  # fmt: skip
    """Whether a run should review others' work: the task is in review, and its agent may review tasks."""
    if newest is None or task.status != "review" or assignees == {("agent", run.agent_id)}:
        return False
    may_review = run.agent_id in directory.reviewers or run.agent_id == directory.orchestrator
    return may_review and (newest.type != "thread_update" or newest.author_kind != "user")


def _earlier(
    tx: Tx, access: Access, task: Task, notices: list[Notice], is_heard: IsHeard
) -> tuple[tuple[TaskLine, ...], int]:  # fmt: skip
    """The newest unseen messages before those that the run brings, and how many more there are."""
    first = next((notice.seq for notice in notices if notice.entry_id is not None), None)
    newest, more = unseen_messages(tx, access, task.id, is_heard, before=first, after=task.reopened_seq, counted=True)
    shown = [entry for entry in newest if not is_from_before(tx, access, task, entry)]
    heads = {head.id: head for head in attachment_heads(tx, access, _attached(shown))}
    lines = tuple(
        TaskLine(
            author=author_name(tx, access, entry),
            text=entry.content,
            id=entry.id,
            at=entry.created_at,
            files=tuple(heads[name] for name in entry.attachment_ids if name in heads),
        )
        for entry in shown
    )
    return lines, more + len(newest) - len(lines)


def _attached(entries: Iterable[Entry]) -> tuple[str, ...]:
    return tuple(name for entry in entries for name in entry.attachment_ids)


def _reopening(tx: Tx, access: Access, task: Task) -> tuple[int | None, str]:
    """When a task was last reopened, and by whom."""
    at = task.reopened_seq
    found = entries_of_task(tx, access, task.id, "activities", limit=1, before=at + 1, after=at - 1) if at else []
    return (found[0].created_at, str((found[0].details or {}).get("authorName", ""))) if found else (None, "")


def team_of(tx: Tx, access: Access, agent_id: str) -> tuple[Teammate, ...]:
    """Return the other agents that can be assigned and asked, with their open tasks that the agent may see."""
    load = store.open_tasks_by_agent(tx, access)
    others = [agent for agent in every_agent(tx, access) if agent.enabled and agent.id != agent_id]
    return tuple(
        Teammate(slug=agent.slug, name=agent.name, description=agent.profile.description, load=load.get(agent.id, 0))
        for agent in sorted(others, key=lambda agent: agent.slug)[:TEAM_SHOWN_MAX]
    )
