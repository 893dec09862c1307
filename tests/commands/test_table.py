"""Slash commands: how they are parsed, and what they do to their session."""

import pytest
from msgspec import structs

from carrel.chats.pointers import pointed_session
from carrel.commands.model import Command, CommandContext, ParsedCommand
from carrel.commands.table import COMMANDS, read_command
from carrel.kernel import Access, Code, Refusal
from carrel.sessions import LaneChange, change_lane, lane_of
from carrel.storage import Tx
from tests.commands.chat import KEY, Chat
from tests.requirements.mark import requirement


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


async def test_a_command_that_fails_says_why_and_changes_nothing(chat: Chat) -> None:
    for text in ("/switch", "/switch nowhere-at-all", "/new nobody", "/model", "/think hardest", "/stop", "/reset"):
        done = await chat.type(text)
        assert done.key == KEY
        assert done.reply
    pointed = await chat.db.read(lambda tx: pointed_session(tx, chat.owner, "web", "tab"))
    assert pointed.source == "default"


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
