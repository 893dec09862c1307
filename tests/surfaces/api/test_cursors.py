"""Cursors that no list has made."""

import json
from base64 import urlsafe_b64encode

import httpx
import pytest

from tests.surfaces.api_calls import refused, send_and_wait


@pytest.mark.parametrize(
    "path",
    ["runs", "sessions", "tokens", "schedules", "notifications", "sessions/agent:main:main/history"],
)
async def test_a_cursor_that_no_list_has_made_is_refused(on_either: httpx.AsyncClient, path: str) -> None:
    await send_and_wait(on_either, "hello")
    for position in ([2**63], [-(2**63) - 1], [2**63, "x"], ["a\0b"], [1, "\0"], [True], [None], []):
        cursor = urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")
        answer = await on_either.get(f"/api/{path}", params={"cursor": cursor})
        assert refused(answer) == (400, "invalid_params", "cursor"), position
