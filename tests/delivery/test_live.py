"""Text as it streams: heard by those who listen to the lane, by nobody else, and void when the step fails."""

import asyncio

from carrel.delivery import LivePiece
from carrel.kernel.limits import CHAT_FRAMES_WAITING_MAX
from tests.harness.server import Server
from tests.scripted_gateway import DROP, Gate, ScriptedGateway, text

HEAR_SECONDS = 10


async def hear(ear: asyncio.Queue[LivePiece]) -> LivePiece:
    async with asyncio.timeout(HEAR_SECONDS):
        return await ear.get()


async def test_a_listener_hears_the_pieces_while_they_come_and_only_of_its_lane(
    server: Server, gateway: ScriptedGateway
) -> None:
    gate = Gate()
    gateway.script(text("Once ", gate, "upon a time"))
    account = server.access.account_id
    with (
        server.services.live.listening(account, "agent:main:main") as ear,
        server.services.live.listening(account, "agent:main:x") as other,
    ):
        run = await server.send("a story")
        first = await hear(ear)
        assert (first.kind, first.run_id, first.text) == ("text", run.id, "Once ")
        gate.open()
        assert (await hear(ear)).text == "upon a time"
        await server.settled(run)
        assert other.empty()


async def test_what_was_heard_of_a_step_that_fails_is_declared_void(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(text("Half a ", DROP, "story"), text("A whole story."))
    with server.services.live.listening(server.access.account_id, "agent:main:main") as ear:
        run = await server.ask("a story")
        heard = [ear.get_nowait() for _ in range(ear.qsize())]
    assert [(spoken.kind, spoken.text) for spoken in heard] == [
        ("text", "Half a "), ("restart", ""), ("text", "A whole story."),
    ]  # fmt: skip
    assert run.reply == "A whole story."


async def test_a_listener_that_does_not_keep_up_misses_pieces_and_holds_nobody_up(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(text(*["x"] * (CHAT_FRAMES_WAITING_MAX + 50)))
    with server.services.live.listening(server.access.account_id, "agent:main:main") as ear:
        run = await server.ask("a story")
        assert ear.qsize() == CHAT_FRAMES_WAITING_MAX
    assert run.reply == "x" * (CHAT_FRAMES_WAITING_MAX + 50)
