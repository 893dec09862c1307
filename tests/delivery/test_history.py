"""What later runs of a session are shown of what the agent did: calls, the beginnings of results, no control words."""

import json
from typing import Any

import pytest
from msgspec import structs

from carrel.delivery.history import NO_LONGER_SHOWN
from carrel.kernel import Access, SessionKey
from carrel.kernel.limits import EARLIER_RESULT_CHARS_MAX
from carrel.kernel.settings import (
    ContextSettings,
    DeliverySettings,
    Settings,
    ToolsAgentToAgentSettings,
    ToolsSessionsSettings,
    ToolsSettings,
)
from tests.gateway.dialects import KINDS
from tests.harness.engine import until_found
from tests.harness.server import Server, gateways_to, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Request, ScriptedGateway, calls, text
from tests.scripted_openclaw import ScriptedOpenClaw

pytestmark = pytest.mark.settings(context=ContextSettings(augment=False))
Json = dict[str, Any]
LANE = "hook:shared"


def without_context(**delivery: Any) -> Settings:
    return Settings(context=ContextSettings(augment=False), delivery=DeliverySettings(**delivery))


def brief(request: Request) -> list[str]:
    """What a request tells, item by item: who says it, or the call by its name and its output by its beginning."""
    told = []
    for item in request.json["input"]:
        match item["type"]:
            case "message":
                told.append(f"{item['role']}: {item['content'][-1]['text']}")
            case "function_call":
                told.append(f"{item['call_id']} {item['name']}{item['arguments']}")
            case _:
                told.append(f"{item['call_id']} = {item['output'][:12]}")
    return told


def calls_of(request: Request) -> list[Json]:
    return [item for item in request.json["input"] if item["type"].startswith("function_call")]


@requirement("A.tools.memory")
async def test_later_runs_see_the_calls_and_results_of_earlier_ones(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(
        calls(("session_status", {}), ("agents_list", {})), text("All is well."), calls(("agents_list", {})),
        text("Nobody else."), text("Yes."),
    )  # fmt: skip
    for said in ("how are you?", "who is here?", "sure?"):
        await server.ask(said, LANE)
    told = brief(gateway.requests[-1])
    first, second, third = (line.partition(" ")[0] for line in told if "{}" in line)
    assert told == [
        "user: how are you?", f"{first} session_status{{}}", f"{second} agents_list{{}}",
        f'{first} = {{"sessionKey', f'{second} = {{"requester"', "assistant: All is well.",
        "user: who is here?", f"{third} agents_list{{}}", f'{third} = {{"requester"', "assistant: Nobody else.",
        "user: sure?",
    ]  # fmt: skip
    assert len({first, second, third}) == 3, "models reuse ids, and some servers refuse that within a request"
    assert brief(gateway.requests[2])[: len(told[:6])] == told[:6], "what was shown once keeps its form"


@pytest.mark.parametrize("kind", [*KINDS, "openclaw"])
async def test_the_history_of_calls_is_in_the_form_of_every_dialect_and_sent_to_no_server_that_keeps_it(
    sqlite_url: str, kind: str
) -> None:
    scripted: dict[str, type[ScriptedGateway]] = KINDS | {"openclaw": ScriptedOpenClaw}
    with scripted[kind]() as model:
        name = "carrel_agents_list" if kind == "openclaw" else "agents_list"
        model.script(calls((name, {})), text("Nobody."), text("Yes."))
        async with open_server(sqlite_url, gateways_to(model, kind=kind), without_context()) as opened:
            await opened.ask("who is here?", LANE)
            run = await opened.ask("sure?", LANE)
        assert run.reply == "Yes."
        told = json.dumps(model.requests[-1].json.get("messages") or model.requests[-1].json["input"])
    assert told.count("allowAny") == (0 if kind == "openclaw" else 1)


@requirement("A.tools.memory")
async def test_results_are_cut_and_then_left_out_before_the_calls_are(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    gateway.rule = lambda request: (
        text("Kept.")
        if request.json["input"][-1]["type"] == "function_call_output"
        else calls(("memory_add", {"content": "word " * 380, "type": "fact"}))
    )
    async with open_server(sqlite_url, gateways_to(gateway), without_context(history_chars_max=15_000)) as opened:
        for at in range(4):
            await opened.ask(f"remember {at}", LANE)
    shown = calls_of(gateway.requests[-2])
    made, results = ([item for item in shown if ("output" in item) is is_result] for is_result in (False, True))
    assert len(made) == len(results) == 3
    assert all(len(item["arguments"]) < 1_100 and "beginning" in json.loads(item["arguments"]) for item in made)
    oldest, *newer = (item["output"] for item in results)
    assert oldest == NO_LONGER_SHOWN
    assert all(EARLIER_RESULT_CHARS_MAX <= len(output) < EARLIER_RESULT_CHARS_MAX + 40 for output in newer)


async def test_a_call_that_never_had_a_result_is_not_shown(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(calls(("request_input", {"question": "Which?"})), calls(("agents_list", {})), text("Fine."))
    asked = await server.ask("paint it", LANE)
    assert asked.state == "waiting"
    other = await server.ask("who is here?", LANE)
    assert other.reply == "Fine."
    assert "request_input" not in str(gateway.requests[-1].json["input"][-1])
    shown = calls_of(gateway.requests[-1])
    assert len({item["call_id"] for item in shown}) * 2 == len(shown), "every call has its result"


@requirement("A.tools.memory")
@pytest.mark.parametrize("word", ["REPLY_SKIP", "NO_REPLY", "ANNOUNCE_SKIP", "HEARTBEAT_OK", "@ann NO_REPLY"])
async def test_words_that_mean_silence_do_not_stay(server: Server, gateway: ScriptedGateway, word: str) -> None:
    gateway.script(text(word), text("Hello."))
    await server.ask("never mind", LANE)
    await server.ask("hello", LANE)
    assert brief(gateway.requests[-1]) == ["user: never mind", "user: hello"]


@requirement("A.tools.memory")
async def test_a_heartbeat_in_which_nothing_was_done_does_not_stay(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(text("HEARTBEAT_OK"), calls(("agents_list", {})), text("HEARTBEAT_OK"), text("Hello."))
    await server.ask("Heartbeat. Look at the first task.", LANE, kind="heartbeat")
    await server.ask("Heartbeat. Look at the second task.", LANE, kind="heartbeat")
    await server.ask("hello", LANE)
    said = [line for line in brief(gateway.requests[-1]) if line.startswith("user")]
    assert said == ["user: Heartbeat. Look at the second task.", "user: hello"]


def person(server: Server, name: str, *spaces: str) -> Access:
    """A person who sees some spaces."""
    return structs.replace(server.access, kind="user", actor_id=name, user_id=name, space_ids=spaces or ("*",))


@requirement("A.tools.memory", "I.run.both")
async def test_what_a_tool_read_for_one_person_is_shown_to_nobody_who_may_see_less(
    server: Server, gateway: ScriptedGateway
) -> None:
    ann, bob, lim = person(server, "ann"), person(server, "bob"), person(server, "lim", "space-default")
    seen: dict[str, int] = {}
    for name, who in (("ann", ann), ("bob", bob), ("lim", lim), ("ann again", ann), ("owner", server.access)):
        gateway.script(text("Let me see."), calls(("agents_list", {})), text("Nobody."))
        await server.ask("hello", "main", access=who)
        seen[name] = len(calls_of(gateway.requests[-1])) // 2
        await server.ask("who is here?", "main", access=who)
    assert seen == {"ann": 0, "bob": 0, "lim": 0, "ann again": 1, "owner": 4}


@requirement("A.once")
async def test_the_steps_of_an_exchange_hold_what_they_speak_of_once(sqlite_url: str, gateway: ScriptedGateway) -> None:
    def answer(request: Request) -> Answer:
        newest = request.json["input"][-1]
        if ":writer:" in request.json["user"]:
            return text("ANNOUNCE_SKIP" if "has ended" in str(newest) else "The fence is green.")
        if newest["type"] == "function_call_output":
            return text("I asked.")
        if "answered your message" in str(newest):
            return text("REPLY_SKIP")
        return calls(("sessions_send", {"sessionKey": "agent:writer:hook:fence", "message": "Which colour?"}))

    gateway.rule = answer
    together = ToolsSettings(
        sessions=ToolsSessionsSettings(visibility="all"), agent_to_agent=ToolsAgentToAgentSettings(enabled=True)
    )
    async with open_server(
        sqlite_url, gateways_to(gateway), structs.replace(without_context(), tools=together)
    ) as opened:
        await opened.make_agent("writer")
        await opened.ask("hello", "hook:fence", agent="writer")
        await opened.ask("ask the writer for the colour", LANE)
        lane = SessionKey.of("main", LANE)
        _, round_run = await until_found(lambda: opened.runs(lane), lambda runs: len(runs) == 2)
        await opened.settled(round_run)
        writers = SessionKey.of("writer", "hook:fence")
        await until_found(lambda: opened.runs(writers), lambda runs: len(runs) == 3 and runs[-1].ended)
    (first,) = [one for one in gateway.requests if "answered your message" in str(one.json["input"][-1])]
    assert "The fence is green." in calls_of(first)[-1]["output"]
    (last,) = [one for one in gateway.requests if "exchange with" in str(one.json["input"][-1])]
    assert str(last.json["input"]).count("Which colour?") == 1
    assert str(last.json["input"]).count("The fence is green.") == 1
