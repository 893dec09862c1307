"""Tool calls: made once, answered from the record, bounded; and the tools of a turn."""

import json

import pytest

from carrel.kernel.limits import TOOL_RESULT_BYTES_MAX
from carrel.records import artifacts_of, has_written, tools_called
from carrel.runs import Failed, NeedsInput
from carrel.storage import Tx
from carrel.tools import CATALOG, Caller, Catalog, Result, Tool
from carrel.tools.model import Params
from tests.requirements.mark import requirement
from tests.tools.turn_caller import TurnCaller


@requirement("S0.x.tools.once")
async def test_a_repeated_call_acts_once_and_returns_the_same(turn: TurnCaller) -> None:
    first, _ = await turn.call("artifact_add", {"text": "a report"})
    again, _ = await turn.call("artifact_add", {"text": "a report"})
    another, _ = await turn.call("artifact_add", {"text": "a report"}, "2:call")
    made = await turn.server.read(lambda tx: artifacts_of(tx, turn.server.access, turn.run.id))
    assert first == again
    assert another != first
    assert len(made) == 2


async def test_a_refusal_is_a_recorded_result_that_the_model_can_read(turn: TurnCaller) -> None:
    answer, result = await turn.call("fly", {})
    assert answer["ok"] is False
    assert answer["error"]["code"] == "tool_not_allowed"
    assert "memory_search" in answer["error"]["message"]
    assert result.ends is None
    access, run_id = turn.server.access, turn.run.id
    assert await turn.server.read(lambda tx: tools_called(tx, access, run_id)) == ["fly"]
    assert not await turn.server.read(lambda tx: has_written(tx, access, run_id)), "what was refused changed nothing"


async def test_only_writing_calls_are_recorded_as_writes(turn: TurnCaller) -> None:
    access, run_id = turn.server.access, turn.run.id
    await turn.call("session_status", {}, "1:a")
    assert not await turn.server.read(lambda tx: has_written(tx, access, run_id))
    await turn.call("artifact_add", {"text": "x"}, "1:b")
    assert await turn.server.read(lambda tx: has_written(tx, access, run_id))


async def test_session_status_describes_a_session(turn: TurnCaller) -> None:
    own, _ = await turn.call("session_status", {}, "1:a")
    assert own["sessionKey"] == "agent:main:task:task_1"
    assert (own["sessionId"], own["generation"], own["state"]) == (turn.run.session_id, 1, "idle")
    assert set(own) == {
        "sessionKey", "sessionId", "generation", "state", "queuedRuns", "model", "contextTokens", "totalTokens",
        "planMode", "autoRuns", "children", "lastActivityAt",
    }  # fmt: skip
    missing, _ = await turn.call("session_status", {"sessionKey": "agent:main:task:nothing"}, "1:b")
    assert missing["error"]["code"] == "not_found"


async def test_asking_and_declining_end_the_turn(turn: TurnCaller) -> None:
    _, asked = await turn.call("request_input", {"question": "Which?", "kind": "auth"}, "1:a")
    _, declined = await turn.call("decline", {"reason": "No."}, "1:b")
    assert asked.ends == NeedsInput(question="Which?", waiting_for="auth")
    assert declined.ends == Failed(code="rejected", message="No.", reason="rejected")


class Nothing(Params, frozen=True, kw_only=True):
    """No parameters."""


def huge(_tx: Tx, _caller: Caller, _params: Nothing) -> Result:
    return Result(value={"text": "ü" * TOOL_RESULT_BYTES_MAX})


async def test_a_result_beyond_its_limit_is_truncated_and_says_so(turn: TurnCaller) -> None:
    tool = Tool(name="huge", does="say much", description="Much.", params=Nothing, effect="read", act=huge)
    answer, _ = await turn.call("huge", {}, toolset=Catalog((tool,)))
    assert answer["truncated"] is True
    assert answer["bytes"] > TOOL_RESULT_BYTES_MAX
    assert len(json.dumps(answer, ensure_ascii=False).encode()) <= TOOL_RESULT_BYTES_MAX


def breaking(tx: Tx, caller: Caller, _params: Nothing) -> Result:
    add = CATALOG.find("artifact_add")
    add.act(tx, caller, add.read_params('{"text": "half"}'))
    raise RuntimeError("in the middle")


async def test_a_tool_that_raises_leaves_neither_effect_nor_record(turn: TurnCaller) -> None:
    tool = Tool(name="breaking", does="break", description="Breaks.", params=Nothing, effect="write", act=breaking)
    with pytest.raises(RuntimeError):
        await turn.call("breaking", {}, toolset=Catalog((tool,)))
    access, run_id = turn.server.access, turn.run.id
    assert not await turn.server.read(lambda tx: artifacts_of(tx, access, run_id))
    assert not await turn.server.read(lambda tx: tools_called(tx, access, run_id))
