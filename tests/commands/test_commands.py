"""Slash commands: how they are parsed, and what they do to their session."""

from collections.abc import AsyncIterator
from typing import Literal

import pytest
from msgspec import structs

from carrel.access import account_by_slug
from carrel.chats.pointers import pointed_session
from carrel.commands import CommandContext, CommandResult, read_command, run_command
from carrel.commands.model import Command, ParsedCommand
from carrel.commands.table import COMMANDS
from carrel.kernel import Access, Code, Refusal, SessionKey
from carrel.kernel.settings import SessionsSettings, Settings
from carrel.modes import NewSchedule, Schedule, make_schedule
from carrel.runs import Rules
from carrel.sessions import LaneChange, change_lane, insert_lane, lane_of
from carrel.storage import Database, Tx, open_database
from tests.harness.engine import ensure_default_account
from tests.requirements.mark import requirement

KEY = SessionKey("main", "web:my-own-chat")


@pytest.mark.parametrize(
    ("text", "name", "words", "more"),
    [
        ("/help", "help", (), ""),
        ("  /STATUS  ", "status", (), ""),
        ("/new writer", "new", ("writer",), ""),
        ("/help@carrel", "help", (), ""),
        ("/send on\nand more", "send", ("on",), "and more"),
    ],
)
def test_a_message_that_starts_with_a_command_is_one(text: str, name: str, words: tuple[str, ...], more: str) -> None:
    typed = read_command(text)
    assert typed is not None
    assert (typed.name, typed.words, typed.more) == (name, words, more)


@pytest.mark.parametrize("text", ["", "/", "hello", "see /help", "//help", "/etc/hosts is a file", "/helpme", "/ help"])
def test_everything_else_is_ordinary_text(text: str) -> None:
    assert read_command(text) is None


class Chat:
    """A chat and its owner."""

    def __init__(self, db: Database, owner: Access) -> None:
        self.db = db
        self.owner = owner

    async def type(
        self, text: str, access: Access | None = None, scope: Literal["per-conversation", "global"] = "per-conversation"
    ) -> CommandResult:
        """Send a command to the chat."""
        typed = read_command(text)
        assert typed is not None
        caller = access or self.owner

        def work(tx: Tx) -> CommandResult:
            lane = lane_of(tx, caller, KEY)
            assert lane is not None
            settings = Settings(sessions=SessionsSettings(scope=scope))
            context = CommandContext(
                lane=lane, settings=settings, rules=Rules(), channel="web", client_instance_id="tab"
            )
            return run_command(tx, caller, context, typed)

        return await self.db.write(work)


@pytest.fixture
async def chat(store_url: str) -> AsyncIterator[Chat]:
    """A chat of account `default`."""
    db = open_database(store_url)
    try:
        await db.write(ensure_default_account)
        account = await db.read(lambda tx: account_by_slug(tx, "default"))
        assert account is not None
        owner = Access(account_id=account.id, account_slug="default", kind="owner", actor_id="tok_1", name="Ada")
        await db.write(lambda tx: insert_lane(tx, owner, KEY))
        yield Chat(db, owner)
    finally:
        await db.close()


@pytest.mark.anyio
async def test_help_lists_every_command(chat: Chat) -> None:
    done = await chat.type("/help")
    assert (done.command, done.key) == ("help", KEY)
    names = [line.split()[0].strip("/:") for line in done.reply.splitlines()]
    moving, aims = ["new", "sessions", "switch", "reset", "stop"], ["goal", "goals", "tasks", "plan", "plans", "auto"]
    assert names == [
        "help",
        "status",
        "whoami",
        *moving,
        "send",
        *aims,
        "schedule",
        "memory",
        "context",
        "receipt",
        "model",
        "think",
    ]
    assert all(read_command(f"/{name}") for name in names)


@pytest.mark.anyio
@requirement("S2.policy.owner")
async def test_only_an_owner_may_change_sending(chat: Chat) -> None:
    user = structs.replace(chat.owner, kind="user", actor_id="usr_1")
    with pytest.raises(Refusal) as refused:
        await chat.type("/send off", user)
    assert refused.value.code is Code.FORBIDDEN
    for crowded in ("/send off now", "/send off\nplease"):
        with pytest.raises(Refusal) as refused:
            await chat.type(crowded)
        assert refused.value.code is Code.FORBIDDEN
    await chat.type("/send off")
    lane = await chat.db.read(lambda tx: lane_of(tx, chat.owner, KEY))
    assert lane is not None
    assert lane.send_policy == "deny"


@pytest.mark.anyio
async def test_a_command_that_fails_says_why_and_changes_nothing(chat: Chat) -> None:
    for text in ("/switch", "/switch nowhere-at-all", "/new nobody", "/model", "/think hardest", "/stop", "/reset"):
        done = await chat.type(text)
        assert done.key == KEY
        assert done.reply
    pointed = await chat.db.read(lambda tx: pointed_session(tx, chat.owner, "web", "tab"))
    assert pointed.source == "default"


@pytest.mark.anyio
async def test_what_a_command_wrote_before_it_was_refused_is_undone(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(tx: Tx, access: Access, context: CommandContext, _parsed: ParsedCommand) -> str:
        change_lane(tx, access, context.lane.session_key, LaneChange(model="half"))
        raise Refusal(Code.CONFLICT, "It cannot be done.")

    monkeypatch.setitem(COMMANDS, "half", Command(usage="/half", effect="", act=act))
    assert (await chat.type("/half")).reply == "It cannot be done."
    lane = await chat.db.read(lambda tx: lane_of(tx, chat.owner, KEY))
    assert lane is not None
    assert lane.model is None


@pytest.mark.anyio
async def test_a_new_session_has_the_same_agent_and_becomes_active(chat: Chat) -> None:
    done = await chat.type("/new")
    assert (done.key.agent, done.key.channel) == ("main", "web")
    assert done.key != KEY
    pointed = await chat.db.read(lambda tx: pointed_session(tx, chat.owner, "web", "tab"))
    assert pointed.key == done.key
    assert KEY.conversation in (await chat.type("/sessions")).reply
    assert (await chat.type("/sessions 1")).reply.count("\n") == 0
    assert (await chat.type(f"/sessions {'9' * 5000}")).reply.count("\n") == 1


@pytest.mark.anyio
@requirement("S2.key.scope.global")
async def test_with_one_shared_session_no_new_one_is_created(chat: Chat) -> None:
    done = await chat.type("/new", scope="global")
    assert done.key == KEY
    assert "share one session" in done.reply


@pytest.mark.anyio
async def test_a_session_lists_and_deletes_its_own_schedules(chat: Chat) -> None:
    async def make(session: str) -> Schedule:
        new = NewSchedule(session=session, type="message", message="say\nit", cron="0 9 * * *")
        return await chat.db.write(lambda tx: make_schedule(tx, chat.owner, new))

    assert (await chat.type("/schedule list")).reply == "This session has no schedules."
    own, others = await make(str(KEY)), await make("main")
    listed = (await chat.type("/schedule list")).reply
    assert own.id in listed
    assert "0 9 * * * UTC  next 2" in listed
    assert "say it" in listed
    assert others.id not in listed
    assert "another session" in (await chat.type(f"/schedule delete {others.id}")).reply
    assert (await chat.type(f"/schedule delete {own.id}")).reply == f"Deleted {own.id}."
    assert "no such schedule" in (await chat.type(f"/schedule delete {own.id}")).reply
    assert "no such goal" in (await chat.type("/schedule goal goal_1 0 9 * * *")).reply
    assert "no such task" in (await chat.type("/schedule task task_1 0 9 * * * 3")).reply
    for asked in ("/schedule", "/schedule help", "/schedule delete"):
        assert "/schedule delete <id>" in (await chat.type(asked)).reply


@pytest.mark.anyio
async def test_strangers_cannot_see_or_delete_schedules(chat: Chat) -> None:
    new = NewSchedule(session=str(KEY), type="message", message="secret", cron="0 9 * * *")
    made = await chat.db.write(lambda tx: make_schedule(tx, chat.owner, new))
    stranger = structs.replace(chat.owner, kind="client", actor_id="telegram:7", agent_ids=("main",))
    for asked in ("/schedule list", f"/schedule delete {made.id}"):
        assert "Only the owner" in (await chat.type(asked, stranger)).reply
    assert made.id in (await chat.type("/schedule list")).reply
