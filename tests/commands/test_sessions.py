"""The command /new."""

from carrel.chats.pointers import pointed_session
from tests.commands.chat import KEY, Chat
from tests.requirements.mark import requirement


async def test_a_new_session_has_the_same_agent_and_becomes_active(chat: Chat) -> None:
    done = await chat.type("/new")
    assert (done.key.agent, done.key.channel) == ("main", "web")
    assert done.key != KEY
    pointed = await chat.db.read(lambda tx: pointed_session(tx, chat.owner, "web", "tab"))
    assert pointed.key == done.key
    assert KEY.conversation in (await chat.type("/sessions")).reply
    assert (await chat.type("/sessions 1")).reply.count("\n") == 0
    assert (await chat.type(f"/sessions {'9' * 5000}")).reply.count("\n") == 1


@requirement("S2.key.scope.global")
async def test_with_one_shared_session_no_new_one_is_created(chat: Chat) -> None:
    done = await chat.type("/new", scope="global")
    assert done.key == KEY
    assert "share one session" in done.reply
