"""A step is read, gathered and built outside of any transaction, and written down in one."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from carrel.context import Context, Line, shown_to_run
from carrel.delivery import Turns
from carrel.delivery.snapshot import Snapshot
from carrel.kernel import SessionKey
from carrel.runs import Claim, Completed
from carrel.runs.claims import claim
from carrel.sessions import close_generation, generations_of, open_generation
from carrel.storage import Database, LongTx, Tx
from tests.harness.server import Server, gateways_to, open_server
from tests.harness.wrapped_database import WrappedDatabase
from tests.scripted_gateway import ScriptedGateway, calls, text

T = TypeVar("T")
MAIN = SessionKey.of("main", "main")


class Counted(WrappedDatabase):
    """Counts the transactions that are open and those that were committed."""

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self.open = 0
        self.commits = 0

    async def write(self, work: Callable[[Tx], T]) -> T:
        self.open += 1
        try:
            done = await super().write(work)
        finally:
            self.open -= 1
        self.commits += 1
        return done


def _context(text: str) -> Context:
    """A context of one line."""
    line = Line(
        id="mem_1", kind="memory", section="Kept facts:", scope="global", source="test", score=1, reason="", line=text
    )
    return Context(block=f"Kept facts:\n{text}", layers=("A:memory",), lines=(line,))


async def held(server: Server) -> Claim:
    (taken,) = await server.db.write(lambda tx: claim(tx, "worker", 60_000, 1))
    return taken


def turns(server: Server, db: Database, gather: Callable[[Snapshot], object]) -> Turns:
    async def gathered(snapshot: Snapshot) -> Context:
        await asyncio.sleep(0)
        text = gather(snapshot)
        return _context(str(text)) if text else Context()

    return server.turns_on(db, gather=gathered)


async def test_context_is_gathered_while_no_transaction_is_open_and_shown_before_the_message(
    store_url: str, gateway: ScriptedGateway
) -> None:
    gateway.script(text("Noon."))
    async with open_server(store_url, gateways_to(gateway), working=False) as server:
        counted, seen = Counted(server.db), []
        await server.send("when do we meet?")

        def gather(snapshot: Snapshot) -> str:
            seen.append((counted.open, snapshot.run.text, snapshot.unheard))
            return "The meeting is at noon."

        outcome = await turns(server, counted, gather).take(await held(server))
        assert isinstance(outcome, Completed)
        assert seen == [(0, "when do we meet?", True)]
        roles = [(item["role"], item["content"][-1]["text"]) for item in gateway.requests[0].json["input"]]
        shown = shown_to_run("Kept facts:\nThe meeting is at noon.")
        assert roles == [("developer", shown), ("user", "when do we meet?")]


async def test_a_turn_with_a_tool_call_takes_one_commit_for_each_thing_it_writes(
    store_url: str, gateway: ScriptedGateway
) -> None:
    gateway.script(calls(("sessions_list", {})), text("Two."))
    async with open_server(store_url, gateways_to(gateway), working=False) as server:
        counted = Counted(server.db)
        await server.send("how many sessions?")
        await turns(server, counted, lambda _: None).take(await held(server))
        # Step, answer, call, step, answer.
        assert counted.commits == 5


async def test_a_request_that_was_built_for_another_generation_is_built_again(
    store_url: str, gateway: ScriptedGateway
) -> None:
    gateway.script(text("Here."))
    async with open_server(store_url, gateways_to(gateway), working=False) as server:
        run = await server.send("hello")
        planned: list[str] = []

        def gather(snapshot: Snapshot) -> None:
            planned.append(snapshot.session.address)

        class Meddled(Counted):
            """Somebody opens and closes a generation between the reading and the writing of the first step."""

            async def write(self, work: Callable[[Tx], T]) -> T:
                if not self.commits and len(planned) == 1:
                    await super().write(lambda tx: open_generation(tx, server.access, MAIN))
                    await super().write(lambda tx: close_generation(tx, server.access, MAIN, "reset"))
                return await super().write(work)

        await turns(server, Meddled(server.db), gather).take(await held(server))
        assert planned == [f"{MAIN}:v1", f"{MAIN}:v2"]
        assert [request.json["user"] for request in gateway.requests] == [f"{MAIN}:v2"]
        generations = await server.read(lambda tx: generations_of(tx, server.access, str(MAIN)))
        assert sorted(session.generation for session in generations) == [1, 2]
        entries = await server.entries(run)
        assert [(entry.role, entry.session_id) for entry in entries] == [
            ("user", generations[0].id), ("assistant", generations[0].id),
        ]  # fmt: skip


async def test_a_long_session_is_read_outside_the_loop_and_a_short_one_is_not(
    store_url: str, gateway: ScriptedGateway
) -> None:
    class Watched(Counted):
        long_reads = 0

        async def long_read(
            self, work: Callable[[LongTx], T], *, seconds_max: float = 30, urgent: bool = True, feed: bool = True
        ) -> T:
            self.long_reads += 1
            return await super().long_read(work, seconds_max=seconds_max, urgent=urgent, feed=feed)

    gateway.script(*[text("Yes.")] * 17)
    async with open_server(store_url, gateways_to(gateway), working=False) as server:
        watched, read = Watched(server.db), []
        for _ in range(17):
            await server.say(MAIN, "still there?")
            run = await held(server)
            outcome = await turns(server, watched, lambda _: None).take(run)
            await server.end(run, outcome)
            read.append(watched.long_reads)
        # Two entries a turn: the session has 32 of them when the last turn begins.
        assert read == [0] * 16 + [1]
