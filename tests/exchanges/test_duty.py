"""Two agents exchange messages in real turns: with the dispatcher, a model gateway, and the duty of exchanges."""

import json
from collections.abc import Callable
from typing import Any

from carrel.exchanges import Exchange, exchange_after
from carrel.kernel import SessionKey
from carrel.kernel.settings import RunsSettings
from carrel.monitoring import RunFilter, runs_newest_first
from carrel.runs import Run
from carrel.storage import Tx
from tests.exchanges.talks import ASKER, TELLER, talking_settings
from tests.harness.engine import until_found
from tests.harness.server import Server, gateways_to, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Gate, Request, ScriptedGateway, calls, text


class Play:
    """The replies of the two agents, by lane and step."""

    def __init__(self, **send: Any) -> None:
        self.send = {"sessionKey": str(TELLER), "message": "how many?"} | send
        self.primary: Callable[[], Answer] = lambda: text("three")
        self.rounds: dict[str, list[str]] = {"asker": [], "teller": []}
        self.announcement = "There are three."
        self.results: list[dict[str, Any]] = []
        self.told: list[tuple[str, str]] = []

    def __call__(self, request: Request) -> Answer:
        asked = request.json
        agent = request.headers["x-openclaw-agent-id"]
        instructions, last = asked["instructions"], asked["input"][-1]
        if last["type"] == "function_call_output":
            self.results.append(json.loads(last["output"]))
            return text("I have asked.")
        said = last["content"][-1]["text"]
        self.told.append((agent, instructions))
        if said == "ask":
            return calls(("sessions_send", self.send))
        if said == "how many?":
            return self.primary()
        if "ANNOUNCE_SKIP" in instructions:
            return text(self.announcement)
        return text(self.rounds[agent].pop(0) if self.rounds[agent] else "REPLY_SKIP")


async def open_agents(server: Server) -> None:
    await server.make_agent("asker")
    await server.make_agent("teller")


async def exchange_ended(server: Server, run_id: str) -> Exchange:
    """Return the exchange that followed a run, once it has ended."""
    ended = await until_found(
        lambda: server.read(lambda tx: exchange_after(tx, server.access, run_id)),
        lambda exchange: exchange is not None and exchange.state != "open",
    )
    assert ended is not None
    return ended


async def runs_of(server: Server, key: SessionKey) -> list[Run]:
    """Return the runs of a lane, oldest first."""

    def work(tx: Tx) -> list[Run]:
        return runs_newest_first(tx, server.access, RunFilter(key=str(key)), before=None, limit=50)

    return (await server.read(work))[::-1]


@requirement("S2.send.wait", "S2.pingpong.starts", "S2.announce.step", "S2.x.reply.once", "S2.x.nodeadlock")
async def test_two_agents_exchange_replies_and_one_announces(store_url: str, gateway: ScriptedGateway) -> None:
    gateway.rule = play = Play()
    play.rounds = {"asker": ["which?"], "teller": ["red"]}
    async with open_server(store_url, gateways_to(gateway), talking_settings()) as server:
        await open_agents(server)
        asked = await server.ask("ask", agent="asker")
        (result,) = play.results
        ended = await exchange_ended(server, result["runId"])
        heard = [await runs_of(server, key) for key in (ASKER, TELLER)]
        journal = await server.entries(heard[1][-1])
    assert (asked.reply, result["status"], result["reply"]) == ("I have asked.", "ok", "three")
    assert [[run.provenance_kind for run in lane] for lane in heard] == [
        ["external_user", "reply_back", "reply_back"],
        ["inter_session", "reply_back", "announce"],
    ]
    assert [run.reply for run in heard[1]] == ["three", "red", "There are three."]
    assert sum("three" in run.text for run in heard[0]) == 0, "what the call brought is not said again"
    assert ended.state == "delivered"
    assert [entry.role for entry in journal] == ["user", "assistant"]
    assert journal[-1].content == "There are three.", "where a chat shows what is stored, it is shown"


@requirement("S2.send.context", "S2.send.provenance")
async def test_the_instructions_name_both_lanes_and_the_channel(server: Server, gateway: ScriptedGateway) -> None:
    gateway.rule = play = Play()
    await server.kill()
    server.settings = talking_settings(1)
    server.start()
    await open_agents(server)
    await server.ask("ask", "web:chat-0001", agent="asker", channel="web")
    ended = await exchange_ended(server, play.results[0]["runId"])
    told = {agent: [words for who, words in play.told if who == agent] for agent in ("asker", "teller")}
    primary, announce = told["teller"]
    reply = told["asker"][-1]
    for part in ("agent:asker:web:chat-0001", "channel webchat", str(TELLER)):
        assert part in primary
    for part in ("agent:asker:web:chat-0001", str(TELLER), "turn 1 of at most 1", "REPLY_SKIP"):
        assert part in reply
    assert "ANNOUNCE_SKIP" in announce
    assert "ANNOUNCE_SKIP" not in primary
    first = next(run for run in await runs_of(server, TELLER) if run.id == ended.first_run_id)
    said = (await server.entries(first))[0]
    assert (said.role, said.provenance.kind, said.author) == ("user", "inter_session", "asker")


@requirement("S2.x.nodeadlock", "S2.x.reply.once")
async def test_a_late_reply_reaches_the_requester_while_its_turn_still_runs(
    store_url: str, gateway: ScriptedGateway
) -> None:
    gate = Gate()
    gateway.rule = play = Play(timeoutSeconds=1)
    play.primary = lambda: text("three", before=gate)
    async with open_server(store_url, gateways_to(gateway), talking_settings()) as server:
        await open_agents(server)
        asked = await server.ask("ask", agent="asker")
        gate.open()
        await exchange_ended(server, play.results[0]["runId"])
        heard = await runs_of(server, ASKER)
    assert (asked.reply, play.results[0]["status"]) == ("I have asked.", "timeout")
    assert [run.text for run in heard] == ["ask", "three"]


@requirement("S2.x.nodeadlock")
async def test_turns_that_wait_for_one_another_take_no_slot(store_url: str, gateway: ScriptedGateway) -> None:
    gateway.rule = play = Play(timeoutSeconds=20)
    settings = talking_settings(0)
    one_place = type(settings)(tools=settings.tools, sessions=settings.sessions, runs=RunsSettings(concurrency=1))
    async with open_server(store_url, gateways_to(gateway), one_place) as server:
        await open_agents(server)
        asked = [await server.send("ask", f"hook:{n}", agent="asker") for n in range(3)]
        replies = [(await server.settled(run)).reply for run in asked]
    assert replies == ["I have asked."] * 3
    assert [result["status"] for result in play.results] == ["ok"] * 3


@requirement("S2.send.serverwait", "P.kill")
async def test_a_waiting_call_continues_on_the_next_server(store_url: str, gateway: ScriptedGateway) -> None:
    gate = Gate()
    gateway.rule = play = Play(timeoutSeconds=600)
    play.primary = lambda: text("three", before=gate)
    async with open_server(store_url, gateways_to(gateway), talking_settings()) as server:
        await open_agents(server)
        asked = await server.send("ask", agent="asker")
        await gate.reached()
        await server.kill()
        await server.let_leases_end()
        gate.open()
        server.start()
        ended = await server.settled(asked)
        (result,) = play.results
        await exchange_ended(server, result["runId"])
        heard = [await runs_of(server, key) for key in (ASKER, TELLER)]
    assert (ended.state, ended.reply, ended.attempt) == ("completed", "I have asked.", 2)
    assert (result["status"], result["reply"]) == ("ok", "three")
    assert [run.provenance_kind for run in heard[0]] == ["external_user", "reply_back"]
    assert heard[0][1].text != "three", "what the call brought is not said again"
    assert [run.provenance_kind for run in heard[1]] == ["inter_session", "announce"], "sent once"
