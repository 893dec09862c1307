"""The API against its own document: no error, status or answer that is not described there, whatever is sent.

A short seeded run in the suite; CARREL_SCHEMATHESIS_EXAMPLES sets how many examples an endpoint gets.
"""

import asyncio
import os
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS

from carrel.main.assembly import whole_document
from tests.harness.server import HttpServer, open_http_server

EXAMPLES = int(os.environ.get("CARREL_SCHEMATHESIS_EXAMPLES", "12"))
WAIT_SECONDS_MAX = 30.0
SCHEMA = schemathesis.openapi.from_dict(whole_document())
# What the document can promise. That well-formed values are accepted it cannot: an agent named must be there, too.
CHECKED: Any = CHECKS.get_by_names(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
        "negative_data_rejection",
    ]
)


class Target:
    """A house in a thread of its own, and ids of things that are in it."""

    def __init__(self, server: HttpServer) -> None:
        self.url = server.url
        self.headers = {"Authorization": f"Bearer {server.owner}"}
        with httpx.Client(base_url=server.url, headers=self.headers, timeout=WAIT_SECONDS_MAX) as client:
            client.post("/api/agents", json={"id": "spare"}).raise_for_status()
            user = client.post("/api/users", json={"name": "Ada"}).json()["user"]["id"]
            token = client.post("/api/tokens", json={"kind": "agent", "name": "x", "agentId": "spare"}).json()
            run = client.post("/api/runs", json={"message": "hello", "agentId": "spare"}).json()
            client.get(f"/api/runs/{run['runId']}/wait").raise_for_status()
            failed = client.post("/api/runs", json={"message": "fail", "agentId": "spare"}).json()
            client.get(f"/api/runs/{failed['runId']}/wait").raise_for_status()
            told = client.get("/api/notifications").json()["notifications"]
            said_again = {"type": "message", "message": "x", "cron": "0 0 1 1 *", "sessionId": "agent:spare:main"}
            schedule = client.post("/api/schedules", json=said_again).json()["schedule"]
        self.known = {
            "/api/agents/": "spare",
            "/api/users/": user,
            "/api/tokens/": token["token"]["id"],
            "/api/runs/": run["runId"],
            "/api/schedules/": schedule["id"],
            "/api/notifications/": told[0]["id"],
            "/api/sessions/": "agent:spare:main",
        }


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """The house that everything is sent to."""
    opened: list[HttpServer] = []
    ready, leave = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        url = f"sqlite:///{tmp_path_factory.mktemp('schemathesis') / 'carrel.db'}"
        async with open_http_server(url) as server:
            opened.append(server)
            ready.set()
            await leave.wait()

    serving = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    serving.start()
    assert ready.wait(WAIT_SECONDS_MAX)
    yield Target(opened[0])
    loops[0].call_soon_threadsafe(leave.set)
    serving.join(WAIT_SECONDS_MAX)
    assert not serving.is_alive()


# A stream goes on for ever, so it has tests of its own.
@SCHEMA.exclude(path="/api/stream").parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_one_the_document_promises(case: schemathesis.Case[Any], target: Target) -> None:
    _meet_something(case, target)
    _do_not_wait(case)
    response = case.call(base_url=target.url, headers=target.headers)
    case.validate_response(response, checks=CHECKED)
    assert response.headers["x-request-id"]


def _meet_something(case: schemathesis.Case[Any], target: Target) -> None:
    """Let half of the requests be about something that is there."""
    for name, value in (case.path_parameters or {}).items():
        known = next((one for prefix, one in target.known.items() if case.operation.path.startswith(prefix)), None)
        if known is not None and len(str(value)) % 2:
            case.path_parameters[name] = known


def _do_not_wait(case: schemathesis.Case[Any]) -> None:
    """Keep what the server would rightly wait for out of a short run."""
    if case.operation.path.endswith("/wait") and case.query:
        case.query.pop("timeoutSeconds", None)
    if case.operation.path.endswith("/send") and isinstance(case.body, dict):
        case.body.pop("timeoutSeconds", None)
