"""Answers of OpenClaw that were lost: taken from its history, or asked for again."""

import pytest
from msgspec import structs

from carrel.gateway import Step
from carrel.gateway.openclaw.recovery import GO_ON
from carrel.wire import Wire
from tests.gateway.dialects import step, user
from tests.gateway.openclaw.test_dialect import RECORDED, answered
from tests.scripted_gateway import text
from tests.scripted_openclaw import ScriptedOpenClaw

pytestmark = pytest.mark.kinds("openclaw")


def lost(said: str, at: int) -> Step:
    return structs.replace(step([user(said)]), lost_at=at)


KEY_OF_STEP = "agent:main:carrel:writer~task~task_1~v2"


async def test_an_answer_that_was_lost_is_taken_from_the_history(gateway: ScriptedOpenClaw, wire: Wire) -> None:
    gateway.histories[KEY_OF_STEP] = RECORDED["history"][:4]
    heard: list[str] = []
    answer = await answered(gateway, wire, lost("again", RECORDED["history"][2]["timestamp"] - 10), heard)
    assert (answer.text, heard, gateway.requests) == ("I have heard 3 messages.", [answer.text], [])


async def test_calls_that_were_lost_are_taken_from_the_history(gateway: ScriptedOpenClaw, wire: Wire) -> None:
    gateway.histories[KEY_OF_STEP] = RECORDED["history"][:8]
    answer = await answered(gateway, wire, lost("CALL carrel_task_get", RECORDED["history"][4]["timestamp"]))
    assert ([one.name for one in answer.calls], gateway.requests) == (["task_get", "sessions_list"], [])


async def test_an_older_message_with_the_same_words_is_not_the_one_that_was_lost(
    gateway: ScriptedOpenClaw, wire: Wire
) -> None:
    gateway.histories[KEY_OF_STEP] = RECORDED["history"][:4]
    gateway.script(text("A new answer."))
    answer = await answered(gateway, wire, lost("again", RECORDED["history"][2]["timestamp"] + 60_000))
    assert answer.text == "A new answer."


async def test_work_that_was_begun_goes_on_and_is_not_asked_for_again(gateway: ScriptedOpenClaw, wire: Wire) -> None:
    begun = {"role": "assistant", "content": [{"type": "toolCall", "id": "1", "name": "exec", "arguments": {}}]}
    gateway.histories[KEY_OF_STEP] = [*RECORDED["history"][:3], begun]
    gateway.script(text("Done."))
    await answered(gateway, wire, lost("again", RECORDED["history"][2]["timestamp"]))
    assert [item["content"][0]["text"] for item in gateway.requests[0].talk] == [GO_ON]


async def test_a_message_that_nothing_followed_is_sent_again(gateway: ScriptedOpenClaw, wire: Wire) -> None:
    gateway.histories[KEY_OF_STEP] = RECORDED["history"][:3]
    gateway.script(text("Done."))
    await answered(gateway, wire, lost("again", RECORDED["history"][2]["timestamp"]))
    assert [item["content"][0]["text"] for item in gateway.requests[0].talk] == ["again"]
