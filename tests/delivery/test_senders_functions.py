"""What a sender adds to a turn: functions that it makes itself, instructions, options and earlier talk."""

from dataclasses import replace
from typing import Any

from carrel.journal import entries_of_run
from carrel.kernel import TurnExtras
from carrel.runs import CallOutput, Run, continue_run, is_sender_call, open_calls, retry
from carrel.sessions import lock_lane
from tests.harness.server import Server
from tests.scripted_gateway import DROP, Gate, ScriptedGateway, call_item, calls, text

HEAR_SECONDS = 10
WEATHER = {"type": "function", "name": "get_weather", "description": "", "parameters": {}, "strict": False}


def asking(*functions: dict[str, Any], **more: Any) -> TurnExtras:
    return TurnExtras(functions=functions or (WEATHER,), **more)


async def bring(server: Server, run: Run, *texts: str, extras: TurnExtras | None = None) -> Run:
    """Give a waiting run the outputs of its pending calls, in order; the run once it rests again."""

    def work(tx: Any) -> Run:
        lock_lane(tx, server.access, run.key)
        pending = [call for call in open_calls(entries_of_run(tx, server.access, run.id)) if is_sender_call(call)]
        outputs = [CallOutput(call=call, text=said) for call, said in zip(pending, texts, strict=True)]
        return continue_run(tx, server.access, run.id, outputs=outputs, extras=extras)[0]

    return await server.settled(await server.db.write(work))


async def test_a_call_of_a_senders_function_lets_the_run_wait_for_its_output_and_go_on_with_it(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(calls(("get_weather", {"city": "Rome"})), text("Sunny in Rome."))
    run = await server.ask("weather?", extras=asking())
    assert (run.state, run.waiting_for) == ("waiting", "tool_output")
    assert "get_weather" in (run.question or "")
    ended = await bring(server, run, '{"sky": "clear"}')
    assert (ended.id, ended.state, ended.reply) == (run.id, "completed", "Sunny in Rome.")
    call, output = gateway.requests[1].json["input"][-2:]
    assert (call["type"], call["name"]) == ("function_call", "get_weather")
    assert output == {"type": "function_call_output", "call_id": call["call_id"], "output": '{"sky": "clear"}'}


async def test_our_own_tools_of_the_same_step_are_used_before_the_sender_is_waited_for(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(calls(("get_weather", {}), ("session_status", {}), ("get_weather", {})), text("done"))
    run = await server.ask("both", extras=asking())
    assert run.waiting_for == "tool_output"
    entries = await server.entries(run)
    assert [(entry.details or {})["name"] for entry in entries if entry.role == "toolResult"] == ["session_status"]
    ended = await bring(server, run, "one", "two")
    assert ended.reply == "done"
    assert sum(item.get("type") == "function_call_output" for item in gateway.requests[1].json["input"]) == 3


async def test_a_loop_over_senders_functions_is_not_counted_as_our_rounds(
    server: Server, gateway: ScriptedGateway
) -> None:
    many = server.settings.delivery.tool_rounds_max + 2
    gateway.script(*[calls(("get_weather", {"n": n})) for n in range(many)], text("enough"))
    run = await server.ask("go", extras=asking())
    for n in range(many - 1):
        run = await bring(server, run, f"out {n}")
        assert run.waiting_for == "tool_output"
    assert (await bring(server, run, "last")).reply == "enough"


async def test_what_a_sender_adds_is_put_to_the_model_beside_what_the_agent_has(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(calls(("get_weather", {})), text("done"))
    earlier = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "My name is Alice."}]}
    later = {"type": "function_call", "call_id": "c", "name": "x", "arguments": "{}", "status": "completed"}
    options = {"temperature": 0.5, "tool_choice": "required"}
    extras = asking(instructions="Be brief.", model="small", options=options, before=(earlier,), after=(later,))
    run = await server.ask("weather?", extras=extras)
    await bring(server, run, "clear", extras=asking(options={"temperature": 0.1}, before=(earlier,)))
    first, second = (request.json for request in gateway.requests)
    assert (first["model"], first["temperature"], first["tool_choice"]) == ("small", 0.5, "required")
    assert first["instructions"].endswith("Be brief.")
    assert first["instructions"].startswith(second["instructions"])
    assert first["tools"][-1] == WEATHER
    assert {"memory_search", "get_weather"} <= {tool["name"] for tool in first["tools"]}
    assert first["input"][0] == earlier
    assert first["input"][1]["content"][-1]["text"] == "weather?"
    assert first["input"][2] == later
    assert second["temperature"] == 0.1
    assert second["tool_choice"] == "auto"
    receipt = await server.receipt(run)
    assert (receipt.steps[0].instructions or "").endswith("Be brief.")


async def test_a_call_that_the_sender_insists_on_is_insisted_on_once(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(calls(("session_status", {})), text("done"))
    run = await server.ask("status", extras=TurnExtras(options={"tool_choice": "required"}))
    assert run.state == "completed"
    assert [request.json["tool_choice"] for request in gateway.requests] == ["required", "auto"]


async def test_what_is_said_beside_a_call_is_kept_with_it(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(calls(("get_weather", {}), said="Let me look."), text("done"))
    run = await server.ask("weather?", extras=asking())
    kept = [(entry.details or {}).get("said") for entry in await server.entries(run) if entry.role == "toolCall"]
    assert kept == ["Let me look."]


async def test_a_retry_asks_with_what_the_sender_added(server: Server, gateway: ScriptedGateway) -> None:
    run = await server.ask("weather?", extras=asking())
    assert run.state == "failed"
    gateway.script(text("done"))
    again = await server.db.write(lambda tx: retry(tx, server.access, run, server.rules))
    assert (await server.settled(again)).reply == "done"
    assert gateway.requests[-1].json["tools"][-1] == WEATHER


async def test_what_a_run_says_is_gathered_by_step_and_begun_anew_where_a_step_is(
    server: Server, gateway: ScriptedGateway
) -> None:
    first, second, third = Gate(), Gate(), Gate()
    aside = text("Aside.", second)
    gateway.script(
        text("Half a ", first, DROP), replace(aside, output=[*aside.output, call_item("session_status", {}, 1)]),
        text("A whole ", third, "story."),
    )  # fmt: skip
    run = await server.send("a story")
    words = server.services.live.gather(server.access.account_id, run.id)
    heard = []
    for gate in (first, second, third):
        await gate.reached()
        version = words.bell.version
        while not words.text:
            await words.bell.wait(version, HEAR_SECONDS)
            version = words.bell.version
        heard.append((words.step, words.text))
        gate.open()
    await server.settled(run)
    assert heard == [(0, "Half a "), (0, "Aside."), (1, "A whole ")]
    assert words.text == "A whole story."
