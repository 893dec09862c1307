"""The orchestrator chat: the one task of an account in which people talk with the agent that coordinates the others."""

from collections.abc import Callable

from msgspec import Struct, structs

from carrel.access import account_of, hold_account, update_account
from carrel.agents import AccountChanged, account_settings
from carrel.journal import DEFAULT_SPACE
from carrel.kernel import Access, not_found
from carrel.kernel.limits import OVERVIEW_TASKS_MAX, OVERVIEW_TOP_TASKS
from carrel.storage import Tx
from carrel.topics import DEFAULT_PRIORITY
from carrel.work import store
from carrel.work.model import CHAT_NAME, CHAT_TAG, OPEN, Party, Status, Task, TaskFilter


class StatusOverview(Struct, frozen=True, kw_only=True):
    """How many of the newest tasks have a status, and the most urgent of them."""

    status: str
    count: int
    top: tuple[Task, ...]
    # The names of the assignees of each of them.
    assignees: tuple[tuple[str, ...], ...] = ()


def follow_account(tx: Tx, changed: AccountChanged) -> None:
    """Create an account's orchestrator chat once it has an orchestrator, and subscribe the orchestrator."""
    access = changed.access
    orchestrator = account_settings(account_of(tx, access))["orchestratorAgentId"]
    if orchestrator is not None:
        store.subscribe(tx, access, open_chat(tx, access).id, "agent", orchestrator)


def open_chat(tx: Tx, access: Access) -> Task:
    """Return the account's orchestrator chat; create it if needed."""
    chat = store.chat_task(tx, access) or _make_chat(tx, access)
    settings = account_settings(account_of(tx, access))
    if settings["orchestratorChatTaskId"] != chat.id:
        account = hold_account(tx, access)
        update_account(tx, access, account.name, account.settings | {"orchestratorChatTaskId": chat.id})
    return chat


def named_task(tx: Tx, access: Access, name: str) -> str:
    """Return the id of a named task: `orchestrator-chat` is the chat, while there is an orchestrator."""
    if name != CHAT_NAME:
        return name
    settings = account_settings(account_of(tx, access))
    if settings["orchestratorAgentId"] is None or settings["orchestratorChatTaskId"] is None:
        raise not_found("task")
    return str(settings["orchestratorChatTaskId"])


def _make_chat(tx: Tx, access: Access) -> Task:
    chat = Task(
        id=tx.new_id("task"),
        seq=tx.tick(),
        space_id=DEFAULT_SPACE,
        title="Orchestrator chat",
        description="",
        status="in_progress",
        priority=DEFAULT_PRIORITY,
        tags=(CHAT_TAG,),
        metadata={},
        created_by="user",
        created_at=tx.now,
        updated_at=tx.now,
        status_at=tx.now,
        is_chat=True,
    )
    store.insert_task(tx, access, chat)
    made = store.chat_task(tx, access)
    assert made is not None, "the account has one now, by this transaction or by another"
    return made


def task_overview(
    tx: Tx, access: Access, name_of: Callable[[Party], str] = lambda party: party.party_id
) -> tuple[StatusOverview, ...]:  # fmt: skip
    """Return a count and the most urgent tasks of every open status, with their assignees."""
    return tuple(_of_status(tx, access, status, name_of) for status in OPEN)


def _of_status(tx: Tx, access: Access, status: Status, name_of: Callable[[Party], str]) -> StatusOverview:
    wanted = TaskFilter(status=status)
    # The orchestrator oversees the whole account.
    everywhere = structs.replace(access, space_ids=("*",))
    newest = store.listed_tasks(tx, everywhere, wanted, limit=OVERVIEW_TASKS_MAX)
    # The sort is stable, so that among equals the newest come first.
    top = sorted(newest, key=lambda task: task.priority)[:OVERVIEW_TOP_TASKS]
    parties = store.assignees_of(tx, access, [task.id for task in top])
    assignees = tuple(tuple(map(name_of, parties.get(task.id, []))) for task in top)
    return StatusOverview(status=status, count=len(newest), top=tuple(top), assignees=assignees)
