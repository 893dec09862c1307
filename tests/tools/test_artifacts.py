"""Artifacts that a run adds: links, parts, and what a part may be."""

import base64
from typing import Any

import pytest

from carrel.records import artifacts_of
from tests.tools.turn_caller import TurnCaller


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
