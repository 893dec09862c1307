"""A value of a closed set that is none of it, or a name that nobody has: the API says which there are."""

from typing import Any

import httpx
import pytest

from tests.requirements.mark import requirement


@requirement("A.roster")
@pytest.mark.parametrize(
    ("method", "path", "body", "told"),
    [
        ("POST", "/api/tasks", {"title": "x", "status": "inbix"}, "status must be one of inbox, assigned"),
        ("POST", "/api/tasks", {"title": "x", "priority": "hihg"}, "did you mean 'high'?"),
        ("POST", "/api/tasks", {"title": "x", "assignedAgentIds": ["mian"]}, "did you mean 'main'? Known: main."),
        ("POST", "/api/tasks", {"title": "x", "spaceId": "space-defualt"}, "did you mean 'space-default'? Known: "),
        ("PATCH", "/api/agents/main", {"gateway": "buitlin"}, "There is no gateway 'buitlin'; did you mean 'builtin'?"),
        ("GET", "/api/agents/mian", None, "There is no agent 'mian'; did you mean 'main'? Known: main."),
        ("GET", "/api/tasks?status=bloked", None, "did you mean 'blocked'?"),
        ("GET", "/api/runs?state=quede", None, "did you mean 'queued'?"),
        ("POST", "/api/tokens", {"kind": "ownr", "name": "x"}, "did you mean 'owner'?"),
        ("POST", "/api/tokens", {"kind": "agent", "name": "x", "agentId": "mian"}, "did you mean 'main'? Known: main."),
    ],
)
async def test_a_refusal_names_the_nearest_and_what_is_allowed(
    client: httpx.AsyncClient, method: str, path: str, body: dict[str, Any] | None, told: str
) -> None:
    answer = await client.request(method, path, json=body)
    assert answer.is_client_error, answer.text
    assert told in answer.json()["error"]["message"]
