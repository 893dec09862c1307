"""What becomes of a run whose gateway fails: some faults pass by themselves, others would come again."""

import json
import logging
from collections.abc import Callable
from functools import partial

import pytest

from carrel.kernel import NewAttachment
from carrel.kernel.settings import RunsSettings, Settings
from carrel.runs import Rules, retry
from tests.harness.engine import events_of_run
from tests.harness.server import API_KEY, Server, gateways_to, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import DROP, Answer, Request, ScriptedGateway, dropped, http_error, raw, stream_of, text

PASSING = {
    "closed without an answer": dropped(),
    "408": http_error(408),
    "429": http_error(429, retry_after="0"),
    "500": http_error(500),
    "503": http_error(503),
    "no JSON": raw(b"<html>busy</html>", content_type="text/html"),
    "half JSON": raw(b'{"id": "resp_1", "output": ['),
    "a stream that breaks off": text("Half an ", DROP, "answer"),
    "a server's own error in the stream": stream_of(
        {"type": "response.failed", "response": {"status": "failed", "error": {"code": "server_error", "message": "x"}}}
    ),
}
LASTING = {
    "400": http_error(400),
    "401": http_error(401),
    "403": http_error(403),
    "404": http_error(404),
    "422": http_error(422),
    "a refusal": raw(
        json.dumps(
            {
                "id": "r",
                "object": "response",
                "status": "completed",
                "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "I will not."}]}],
            }
        ).encode()
    ),
}


@requirement("S0.x.poison")
@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
async def test_a_fault_of_the_way_is_tried_again(server: Server, gateway: ScriptedGateway, fault: Answer) -> None:
    gateway.script(fault, text("At last."))
    run = await server.ask("hello")
    assert (run.state, run.reply, run.attempt) == ("completed", "At last.", 2)
    events = await server.read(lambda tx: events_of_run(tx, server.access, run.id))
    assert [event.name for event in events if event.name.startswith("run.")] == [
        "run.queued", "run.started", "run.retrying", "run.started", "run.completed",
    ]  # fmt: skip
    assert gateway.requests[0].body == gateway.requests[1].body


@requirement("S0.x.poison")
@pytest.mark.parametrize("fault", LASTING.values(), ids=LASTING)
async def test_a_fault_that_would_come_again_fails_at_once(
    server: Server, gateway: ScriptedGateway, fault: Answer
) -> None:
    gateway.script(fault)
    run = await server.ask("hello")
    assert (run.state, run.attempt, run.reason) == ("failed", 1, None)
    assert run.error_code is not None
    assert run.error_message
    assert len(gateway.requests) == 1


@requirement("S0.x.poison")
async def test_after_the_last_attempt_a_run_is_a_dead_letter_that_a_person_may_send_again(
    store_url: str, gateway: ScriptedGateway
) -> None:
    gateway.rule = lambda request: http_error(503, "come back later")
    settings = Settings(runs=RunsSettings(attempts_max=3))
    async with open_server(store_url, gateways_to(gateway), settings) as server:
        dead = await server.ask("hello")
        assert (dead.state, dead.reason, dead.attempt) == ("failed", "dead_letter", 3)
        assert "come back later" in (dead.error_message or "")
        gateway.rule = lambda request: text("Here now.")
        again = await server.db.write(lambda tx: retry(tx, server.access, dead, Rules()))
        ended = await server.settled(again)
    assert (ended.reply, ended.retried_from) == ("Here now.", dead.id)
    assert len(gateway.requests) == 4


async def test_a_gateway_that_is_not_there_is_named_with_what_to_do(sqlite_url: str, gateway: ScriptedGateway) -> None:
    settings = Settings(runs=RunsSettings(unreachable_hours=0.000_001))
    nobody = gateways_to(gateway, base_url="http://127.0.0.1:9")
    async with open_server(sqlite_url, nobody, settings) as server:
        run = await server.ask("hello")
    assert (run.state, run.reason, run.error_code) == ("failed", "timeout", "gateway_unreachable")
    assert "gateway.default.base_url" in (run.error_message or "")


@requirement("S0.x.secrets")
async def test_the_gateways_key_appears_in_no_receipt_event_error_or_log(
    server: Server, gateway: ScriptedGateway, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    gateway.script(http_error(400, f"the key {API_KEY} is not liked here"), text("Good."))
    failed, good = await server.ask("hello"), await server.ask("hello again")
    assert gateway.requests[0].headers["authorization"] == f"Bearer {API_KEY}"
    kept = [repr(failed), repr(good), caplog.text]
    for run in (failed, good):
        kept.append(repr(await server.receipt(run, with_body=True)))
        kept.append(repr(await server.read(partial(events_of_run, access=server.access, run_id=run.id))))
    assert not [text for text in kept if API_KEY in text]


# What a picture takes of a model's window is no matter of its bytes.
PICTURE_CHARS = 50_000
PICTURE = NewAttachment(name="all.png", mime_type="image/png", content=b"dots")


def holding(chars: int) -> Callable[[Request], Answer]:
    """A model that can hold so much talk and no more."""

    def answer(request: Request) -> Answer:
        parts = [part for item in request.json["input"] for part in item["content"]]
        talk = sum(len(part["text"]) if "text" in part else PICTURE_CHARS for part in parts)
        if talk > chars:
            return http_error(400, "the request exceeds the available context size", "exceed_context_size_error")
        return text("I remember.")

    return answer


async def test_a_session_that_outgrew_its_model_goes_on_with_what_the_model_can_hold(
    store_url: str, gateway: ScriptedGateway
) -> None:
    gateway.rule = holding(100_000)
    async with open_server(store_url, gateways_to(gateway)) as server:
        for at in range(8):
            await server.ask(f"{at} " + "word " * 400)
        gateway.rule = holding(5_000)
        run = await server.ask("what did I say last?")
        receipt = await server.receipt(run)
        asked = len(gateway.requests)
        again = await server.ask("and before that?")
    assert (run.state, run.reply, run.attempt) == ("completed", "I remember.", 1)
    omitted = [step.history_omitted for step in receipt.steps]
    assert omitted == sorted(omitted)
    assert 0 == omitted[0] < omitted[-1] < 16, "the oldest went first, and no more than had to"
    assert (again.state, len(gateway.requests)) == ("completed", asked + 1), "it is known what that model can hold"


async def test_a_message_that_is_too_long_by_itself_fails_with_what_to_do(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    gateway.rule = holding(1_000)
    async with open_server(sqlite_url, gateways_to(gateway)) as server:
        await server.ask("hello")
        run = await server.ask("word " * 400)
        next_one = await server.ask("hello again")
    assert (run.state, run.error_code) == ("failed", "gateway_prompt_too_long")
    assert run.error_message is not None
    assert "delivery.history_chars_max" in run.error_message
    assert next_one.state == "completed"


async def test_a_message_without_words_that_is_too_long_fails_also_behind_lines_without_words(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    gateway.rule = holding(1_000)
    async with open_server(sqlite_url, gateways_to(gateway)) as server:
        runs = [await server.ask("", attachments=(PICTURE,)) for _ in range(3)]
    assert {(run.state, run.error_code) for run in runs} == {("failed", "gateway_prompt_too_long")}
    assert len(gateway.requests) == 1 + 2 + 2, "a first look, then one without the lines before"


@pytest.mark.parametrize("holds", [PICTURE_CHARS // 2, PICTURE_CHARS + 1_000])
async def test_a_picture_that_leaves_no_room_takes_none_from_other_sessions(
    sqlite_url: str, gateway: ScriptedGateway, holds: int
) -> None:
    gateway.rule = holding(holds)
    async with open_server(sqlite_url, gateways_to(gateway)) as server:
        for at in range(4):
            for lane in ("main", "hook:other"):
                await server.ask(f"{at} " + "word " * 100, lane)
        await server.ask("what is this?", attachments=(PICTURE,))
        run = await server.ask("what did I say?", "hook:other")
        receipt = await server.receipt(run)
    assert [step.history_omitted for step in receipt.steps] == [0]
