"""The loop of a turn: rounds of tool calls, their bound, silence, questions, and how a stop reaches the gateway."""

import json
import logging
from collections.abc import Callable

import pytest

from carrel.delivery.prompt import PROFILE_VERSION
from carrel.kernel import SessionKey
from carrel.kernel.limits import HISTORY_ROWS_MAX, TOOL_CALLS_PER_ROUND_MAX
from carrel.kernel.settings import DeliverySettings
from carrel.records import artifacts_of
from carrel.runs import answer, cancel
from tests.harness.engine import words
from tests.harness.server import Server, gateways_to, open_server, tuned
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Gate, Request, ScriptedGateway, calls, http_error, raw, text


@requirement("S0.x.tools.rounds")
async def test_rounds_of_calls_are_chained_up_to_their_bound(sqlite_url: str, gateway: ScriptedGateway) -> None:
    gateway.script(*[calls(("session_status", {}))] * 3, text("After three rounds."))
    async with open_server(sqlite_url, gateways_to(gateway), tuned(tool_rounds_max=3)) as server:
        run = await server.ask("hello")
    assert (run.state, run.reply) == ("completed", "After three rounds.")


@requirement("S0.x.tools.rounds")
async def test_a_round_beyond_the_bound_is_not_made_and_ends_the_run_for_good(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    gateway.rule = lambda request: calls(("artifact_add", {"text": "again"}))
    async with open_server(sqlite_url, gateways_to(gateway), tuned(tool_rounds_max=3)) as server:
        run = await server.ask("hello")
        made = await server.read(lambda tx: artifacts_of(tx, server.access, run.id))
    assert (run.state, run.error_code, run.attempt) == ("failed", "tool_rounds_exceeded", 1)
    assert len(made) == 3
    assert len(gateway.requests) == 4


async def test_sixteen_rounds_are_allowed_unless_the_settings_say_otherwise(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(*[calls(("artifact_add", {"text": f"part {n}"})) for n in range(16)], text("Done."))
    run = await server.ask("hello")
    assert run.reply == "Done."


async def test_several_calls_of_one_step_are_made_in_order_and_answered_each(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(
        calls(("artifact_add", {"text": "one", "artifactId": "a"}), ("nonsense", {}), ("session_status", {"x": 1})),
        text("Done."),
    )
    run = await server.ask("hello")
    outputs = [item for item in gateway.requests[1].json["input"] if item["type"] == "function_call_output"]
    results = [json.loads(item["output"]) for item in outputs]
    assert results[0] == {"artifactId": "a"}
    assert results[1]["error"]["code"] == "tool_not_allowed"
    assert results[2]["error"]["code"] == "invalid_params"
    assert "x" in results[2]["error"]["message"]
    assert run.reply == "Done."


async def test_what_the_model_says_beside_its_calls_is_kept_in_the_receipt(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(calls(("session_status", {}), said="Let me look."), text("Idle."))
    run = await server.ask("hello")
    receipt = await server.receipt(run)
    assert receipt.steps[0].output[0]["content"][0]["text"] == "Let me look."
    assert run.reply == "Idle."


async def test_an_empty_answer_to_a_user_is_asked_for_again_and_the_next_one_counts(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(text("  "), text(""), text("At noon."))
    run = await server.ask("when do we meet?")
    assert (run.reply, run.note, len(gateway.requests)) == ("At noon.", None, 3)


async def test_a_run_whose_answers_stay_empty_completes_without_a_reply(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(*[text("  ")] * 3)
    run = await server.ask("hello")
    assert (run.state, run.reply, run.note) == ("completed", "", "no_reply")
    assert len(gateway.requests) == DeliverySettings().no_reply_attempts
    assert [entry.role for entry in await server.entries(run)] == ["user"]


async def test_a_turn_of_more_calls_than_a_page_of_history_keeps_all_of_them_before_the_model(
    server: Server, gateway: ScriptedGateway
) -> None:
    rounds = HISTORY_ROWS_MAX // (2 * TOOL_CALLS_PER_ROUND_MAX) + 1
    # All of them different: the same one over and over would be held as a loop.
    many = [[("nonsense", {"n": (each, n)}) for n in range(TOOL_CALLS_PER_ROUND_MAX)] for each in range(rounds)]
    gateway.script(*[calls(*named) for named in many], text("Done."))
    run = await server.ask("count to a thousand")
    last = gateway.requests[-1].json["input"]
    assert run.reply == "Done."
    assert last[0]["content"][-1]["text"] == "count to a thousand"
    assert len(last) == 1 + 2 * rounds * TOOL_CALLS_PER_ROUND_MAX


async def test_usage_is_summed_over_the_steps(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(calls(("session_status", {})), text("Idle."))
    run = await server.ask("hello")
    spent = json.loads(run.usage or "{}")
    assert (spent["inputTokens"], spent["outputTokens"], spent["totalTokens"]) == (22, 14, 36)


async def test_what_failed_attempts_and_questions_cost_is_counted_with_the_run(
    either_server: Server, gateway: ScriptedGateway
) -> None:
    server = either_server
    asking = calls(("request_input", {"question": "Which?"}))
    gateway.script(calls(("session_status", {})), http_error(503), asking, text("Blue."))
    run = await server.ask("paint it")
    assert json.loads(run.usage or "{}")["totalTokens"] == 36
    await server.db.write(lambda tx: answer(tx, server.access, run.id, words("blue")))
    ended = await server.settled(run)
    assert json.loads(ended.usage or "{}") == {
        "inputTokens": 33, "outputTokens": 21, "totalTokens": 54, "costUsd": None,
    }  # fmt: skip


@requirement("P.waiting")
async def test_a_question_frees_the_lane_and_its_answer_continues_the_same_run(
    either_server: Server, gateway: ScriptedGateway
) -> None:
    server = either_server
    gateway.script(calls(("request_input", {"question": "Which colour?"})), text("Meanwhile."), text("Blue it is."))
    asking = await server.ask("paint it")
    assert (asking.state, asking.waiting_for, asking.question) == ("waiting", "input", "Which colour?")
    other = await server.ask("something else")
    assert other.reply == "Meanwhile.", "a lane does not stand still while a run waits for a person"
    await server.db.write(lambda tx: answer(tx, server.access, asking.id, words("blue")))
    ended = await server.settled(asking)
    assert (ended.state, ended.reply) == ("completed", "Blue it is.")
    last = gateway.requests[-1].json["input"]
    said = [item["content"][-1]["text"] for item in last if item["type"] == "message"]
    assert said[-1] == "blue"
    assert said.count("Which colour?") == 1
    assert [entry.role for entry in await server.entries(asking)] == [
        "user", "toolCall", "toolResult", "assistant", "user", "assistant",
    ]  # fmt: skip


@requirement("P.waiting", "S1.dispatch.waiting")
async def test_an_answer_that_waits_its_turn_is_still_the_last_thing_said_when_it_is_heard(
    server: Server, gateway: ScriptedGateway
) -> None:
    gate = Gate()
    gateway.script(
        calls(("request_input", {"question": "Which colour?"})),
        text("Slowly.", before=gate),
        calls(("session_status", {})),
        text("Blue it is."),
    )
    asking = await server.ask("paint it")
    slow = await server.send("something slow")
    await gate.reached()
    await server.db.write(lambda tx: answer(tx, server.access, asking.id, words("blue")))
    gate.open()
    assert ((await server.settled(slow)).reply, (await server.settled(asking)).reply) == ("Slowly.", "Blue it is.")
    heard, again = (request.json["input"] for request in gateway.requests[2:])
    assert [item["content"][-1]["text"] for item in heard[-3:]] == ["something slow", "Slowly.", "blue"]
    assert again[: len(heard)] == heard, "what was heard stays where it was"


@requirement("P.waiting")
async def test_a_waiting_run_can_be_cancelled(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(calls(("request_input", {"question": "Which?", "kind": "auth"})))
    asking = await server.ask("paint it")
    assert asking.waiting_for == "auth"
    await server.db.write(lambda tx: cancel(tx, server.access, asking.id, "user_cancelled"))
    assert (await server.run(asking)).state == "cancelled"


async def test_declining_ends_the_run_with_the_reason_and_is_not_retried(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(calls(("decline", {"reason": "Not my field."})))
    run = await server.ask("fly to the moon")
    assert (run.state, run.reason, run.error_message, run.attempt) == ("failed", "rejected", "Not my field.", 1)


async def test_cancelling_in_the_middle_of_a_stream_hangs_up_on_the_gateway(
    either_server: Server, gateway: ScriptedGateway
) -> None:
    server = either_server
    gate = Gate()
    gateway.script(text("Once upon ", gate, "a time"), text("Next."))
    run = await server.send("tell me a story")
    following = await server.send("and then?")
    await gate.reached()
    await server.db.write(lambda tx: cancel(tx, server.access, run.id, "user_cancelled"))
    ended = await server.settled(run)
    gateway.wait_for_disconnects(1)
    assert (ended.state, ended.reason, ended.reply) == ("cancelled", "user_cancelled", None)
    assert (await server.settled(following)).reply == "Next."
    assert b"Once upon" not in gateway.requests[-1].body, "half an answer is no answer"


async def test_a_run_that_takes_too_long_ends_by_its_time_limit_and_hangs_up(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(text("never", before=Gate()))
    run = await server.ask("hello", timeout_seconds=1)
    gateway.wait_for_disconnects(1)
    assert (run.state, run.reason, run.error_code) == ("failed", "timeout", "timeout")


async def test_lanes_work_side_by_side(server: Server, gateway: ScriptedGateway) -> None:
    gates = {name: Gate() for name in ("a", "b", "c")}
    gateway.rule = held_by(gates)
    runs = [await server.send("hello", f"task:{name}") for name in gates]
    for gate in gates.values():
        await gate.reached()
    for gate in gates.values():
        gate.open()
    assert [(await server.settled(run)).reply for run in runs] == ["from a", "from b", "from c"]


def held_by(gates: dict[str, Gate]) -> Callable[[Request], Answer]:
    def rule(request: Request) -> Answer:
        name = SessionKey.stored(request.json["user"].removesuffix(":v1")).task_id or ""
        return text(f"from {name}", before=gates[name])

    return rule


async def test_arguments_that_are_no_json_are_told_to_the_model_and_nothing_happens(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(calls(("artifact_add", '{"text": ')), text("Sorry."))
    run = await server.ask("hello")
    told = json.loads(gateway.requests[1].json["input"][-1]["output"])
    assert told["ok"] is False
    assert told["error"]["code"] == "invalid_params"
    assert run.reply == "Sorry."


async def test_an_answer_cut_short_is_kept_with_a_note(server: Server, gateway: ScriptedGateway) -> None:
    body = {
        "id": "resp_1", "object": "response", "status": "incomplete", "model": "m",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Half of"}]}],
    }  # fmt: skip
    gateway.script(raw(json.dumps(body).encode()))
    run = await server.ask("hello")
    assert (run.state, run.reply, run.note) == ("completed", "Half of", "max_output_tokens")


@requirement("S0.log.resolution", "S0.log.instructions")
async def test_every_turn_logs_where_it_is_heard_and_how_it_was_instructed(
    server: Server, gateway: ScriptedGateway, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="carrel.delivery")
    gateway.script(text("Good."), http_error(400), calls(("request_input", {"question": "Which?"})))
    runs = [await server.ask("hello", rest) for rest in ("task:task_1", "main", "web:chat-0001")]
    begun = [record.__dict__ for record in caplog.records if record.getMessage() == "turn_started"]
    ended = [record.__dict__ for record in caplog.records if record.getMessage() == "turn_finished"]
    assert [(one["run_id"], one["session_resolution"], one["generation"]) for one in begun] == [
        (run.id, resolution, 1) for run, resolution in zip(runs, ("task-scoped", "base", "base"), strict=True)
    ]
    assert [one["run_id"] for one in ended] == [run.id for run in runs]
    assert {one["instruction_profile_version"] for one in ended} == {PROFILE_VERSION}
    assert [one.get("error_code") for one in ended] == [None, "gateway_refused", None]
    assert not any(one["task_history_called"] for one in ended)


async def test_a_nul_that_a_model_writes_breaks_nothing(either_server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(calls(("artifact_add", {"text": "a\x00b", "name": "n\x00"})), text("Go", "od\x00."))
    run = await either_server.ask("hello")
    assert (run.state, run.reply) == ("completed", "Good.")
