"""An agent that repeats what it was shown does not feed it back: not into the journal, not into later requests."""

from typing import Any

from carrel.delivery import LivePiece
from carrel.journal import ContextMarks
from carrel.journal.store import entries_since
from tests.harness.server import Server
from tests.memory.places import Notebook
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Request, ScriptedGateway, text

TURNS = 50
MARKS = (ContextMarks.BEGIN, ContextMarks.PREAMBLE, ContextMarks.END)
FACTS = ("We paint the fence green", "Olga likes short answers")


def shown_in(request: Request) -> str:
    """What a request shows besides the transcript, with its marks."""
    items: list[dict[str, Any]] = request.json["input"]
    return str(next(item["content"][0]["text"] for item in items if item.get("role") == "developer"))


def quoting(request: Request, turn: int) -> Answer:
    """Answer with the context, quoted in one of the ways that models have."""
    shown = shown_in(request)
    block = "\n".join(line for line in shown.splitlines() if line not in MARKS)
    quoted = (
        shown,
        block,
        "\n".join(f"> {line}" for line in shown.splitlines()),
        "\n".join(f"> {line}" for line in block.splitlines()),
        shown.replace(ContextMarks.END, ""),
        block.replace("- ", "* "),
    )
    return text(f"{quoted[turn % len(quoted)].rstrip()}\n\nAnswer {turn}.")


@requirement("S4.clean.loop")
async def test_fifty_turns_of_quoting_leave_nothing_of_the_block_behind(
    either_server: Server, gateway: ScriptedGateway
) -> None:
    server, notes = either_server, Notebook(either_server)
    for fact in FACTS:
        await notes.keep(fact, "session:main:main")
    gateway.rule = lambda request: quoting(request, len(gateway.requests))
    for turn in range(TURNS):
        run = await server.ask(f"question {turn}, about the fence and Olga")
        assert run.reply == f"Answer {turn + 1}."
    entries = await server.read(lambda tx: entries_since(tx, server.access, 0, limit=1000))
    assert len(entries) == 2 * TURNS
    for entry in entries:
        assert not any(part in entry.content for part in (*FACTS, "Kept facts", "CLAWBOARD"))
    for request in gateway.requests:
        assert all(request.body.decode().count(fact) == 1 for fact in FACTS)


async def test_who_listens_gets_the_reply_without_what_it_quotes(server: Server, gateway: ScriptedGateway) -> None:
    await Notebook(server).keep(FACTS[0], "session:main:main")
    gateway.rule = lambda request: quoting(request, 0)
    with server.services.live.listening(server.access.account_id, "agent:main:main") as heard:
        run = await server.ask("which colour has the fence?")
        pieces = [heard.get_nowait() for _ in range(heard.qsize())]
    last = [at for at, piece in enumerate(pieces) if piece.kind == "restart"][-1]
    assert [piece.text for piece in pieces[last + 1 :]] == [run.reply] == ["Answer 0."]
    assert all(isinstance(piece, LivePiece) for piece in pieces)


async def test_a_reply_that_quotes_nothing_is_kept_as_it_is(server: Server, gateway: ScriptedGateway) -> None:
    await Notebook(server).keep(FACTS[0], "session:main:main")
    said = "  We paint the fence green, as you know.\n\n- [ ] buy paint\n- [x] sand it "
    gateway.script(text(said))
    assert (await server.ask("which colour has the fence?")).reply == said
