"""Tool calls: made once, answered from the record, bounded; and the tools of a turn."""

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from carrel.agents import agent_by_id
from carrel.kernel.limits import TOOL_RESULT_BYTES_MAX
from carrel.records import artifacts_of, has_written, tools_called
from carrel.runs import Failed, NeedsInput, Run
from carrel.sessions import Session, lane_of, session_by_id
from carrel.storage import Tx
from carrel.tools import CATALOG, Caller, Catalog, Params, Result, Tool, ToolServices, Toolset, call_tool, run_caller
from tests.harness.server import Server, open_server
from tests.requirements.mark import requirement

pytestmark = pytest.mark.anyio


class TurnCaller:
    """A caller during a turn, and the calls it makes."""

    def __init__(self, server: Server, run: Run, caller: Caller) -> None:
        self.server = server
        self.run = run
        self.caller = caller

    async def call(
        self, name: str, arguments: Any, call_id: str = "1:call", toolset: Toolset = CATALOG
    ) -> tuple[dict[str, Any], Result]:
        """Return what the model gets for a call, and the result behind it."""
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        text, result = await self.server.db.write(
            lambda tx: call_tool(tx, toolset, self.caller, call_id, name, written)
        )
        answer: dict[str, Any] = json.loads(text)
        return answer, result


@pytest.fixture
async def turn(anyio_backend: str, store_url: str) -> AsyncIterator[TurnCaller]:
    async with open_server(store_url) as server:
        run = await server.ask("hello", "task:task_1")
        session = await server.read(lambda tx: session_by_id(tx, server.access, run.session_id or ""))
        assert session is not None
        yield TurnCaller(server, run, await server.read(lambda tx: caller_of(tx, server, run, session)))


def caller_of(tx: Tx, server: Server, run: Run, session: Session) -> Caller:
    """Return the caller for a run's agent."""
    agent = agent_by_id(tx, server.access, run.agent_id)
    lane = lane_of(tx, server.access, run.session_key)
    assert agent is not None
    assert lane is not None
    services = ToolServices(settings=server.settings, rules=server.rules)
    return run_caller(tx, services, server.access, agent, lane, run, session)


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


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "JavaScript://example.com/%0aalert(1)", "data:text/html,x", "file:///etc/passwd",
            "//example.com", "https://", "http:///x", " javascript:alert(1)", "https:example.com"],
)  # fmt: skip
async def test_an_artifact_links_to_the_web_and_to_nothing_else(turn: TurnCaller, url: str) -> None:
    refused, _ = await turn.call("artifact_add", {"url": url}, "1:a")
    assert refused["error"] == {
        "code": "invalid_params",
        "message": "url must begin with http:// or https:// and name a host.",
    }
    added, _ = await turn.call("artifact_add", {"url": "HTTPS://example.com/a"}, "1:b")
    assert "artifactId" in added


async def test_an_artifact_grows_by_parts(turn: TurnCaller) -> None:
    added, _ = await turn.call("artifact_add", {"text": "one", "artifactId": "report", "name": "Report"}, "1:a")
    taken, _ = await turn.call("artifact_add", {"text": "two", "artifactId": "report"}, "1:b")
    grown, _ = await turn.call("artifact_add", {"text": "two", "artifactId": "report", "append": True}, "1:c")
    lost, _ = await turn.call("artifact_add", {"text": "x", "artifactId": "other", "append": True}, "1:d")
    parts = await turn.server.read(lambda tx: artifacts_of(tx, turn.server.access, turn.run.id))
    assert added == grown == {"artifactId": "report"}
    assert taken["error"]["code"] == lost["error"]["code"] == "invalid_params"
    assert [(part.artifact_id, part.content) for part in parts] == [("report", "one"), ("report", "two")]


@pytest.mark.parametrize(
    ("given", "kind", "content"),
    [
        ({"text": ""}, "text", ""),
        ({"dataBase64": base64.b64encode(b"\x00\x01").decode(), "filename": "a.bin"}, "bytes", "AAE="),
        ({"url": "https://example.com/a"}, "url", "https://example.com/a"),
        ({"data": {"a": [1, None]}}, "data", '{"a":[1,null]}'),
        ({"data": None}, "data", "null"),
    ],
)
async def test_a_part_is_text_bytes_a_link_or_json(
    turn: TurnCaller, given: dict[str, Any], kind: str, content: str
) -> None:
    await turn.call("artifact_add", given)
    (part,) = await turn.server.read(lambda tx: artifacts_of(tx, turn.server.access, turn.run.id))
    assert (part.kind, part.content) == (kind, content)


@pytest.mark.parametrize("given", [{}, {"text": "x", "url": "y"}, {"dataBase64": "not base64!"}, {"name": "alone"}])
async def test_a_part_needs_exactly_one_content(turn: TurnCaller, given: dict[str, Any]) -> None:
    answer, _ = await turn.call("artifact_add", given)
    assert answer["error"]["code"] == "invalid_params"


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
