"""A mode or a schedule makes no lane that nobody could speak in."""

import httpx
import pytest

from tests.surfaces.api_calls import Json, refused

NOWHERE = "agent:main:task:_h"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/plans/enable", {}),
        ("/api/auto/start", {"text": "Tidy the desk"}),
        ("/api/schedules", {"type": "message", "message": "status", "cron": "0 9 * * *"}),
    ],
)
async def test_the_lane_of_a_task_that_does_not_exist_is_not_made(
    client: httpx.AsyncClient, path: str, body: Json
) -> None:
    answer = await client.post(path, json={"sessionId": NOWHERE, **body})
    assert refused(answer)[:2] == (404, "not_found")
    assert (await client.get(f"/api/sessions/{NOWHERE}")).status_code == 404
