"""Files of a message on their way to a model: what each kind of server is sent, and what the run says of the rest."""

from base64 import b64encode
from collections.abc import AsyncIterator

import httpx
import pytest

from carrel.delivery import Connection
from carrel.gateway import open_gateway
from carrel.wire import Wire
from tests.gateway.dialects import KINDS
from tests.harness.server import gateways_to, open_http_server
from tests.scripted_gateway import ScriptedGateway, text
from tests.surfaces.api_calls import settled

pytestmark = pytest.mark.kinds(*KINDS)
PICTURE, PAGES = b64encode(b"\x89PNG!").decode(), b64encode(b"%PDF-").decode()
FILES = [
    {"name": "a.png", "mimeType": "image/png", "dataBase64": PICTURE},
    {"name": "a.pdf", "mimeType": "application/pdf", "dataBase64": PAGES},
    {"name": "a.md", "mimeType": "text/markdown", "dataBase64": b64encode(b"# Green").decode()},
    {"name": "a.zip", "mimeType": "application/zip", "dataBase64": b64encode(b"PK").decode()},
]


@pytest.fixture
async def asking(sqlite_url: str, kind: str, gateway: ScriptedGateway) -> AsyncIterator[httpx.AsyncClient]:
    settings, wire = gateways_to(gateway, kind=kind)["default"], Wire()
    answering = Connection(open_gateway("default", settings, wire), settings)
    async with open_http_server(sqlite_url, answering=answering) as server, server.client() as asking:
        yield asking
    await wire.close()


async def test_a_model_is_sent_the_files_it_can_be_given_and_the_run_names_the_others(
    asking: httpx.AsyncClient, kind: str, gateway: ScriptedGateway
) -> None:
    gateway.script(text("I see."))
    said = await asking.post("/api/chat", json={"text": "what are these?", "attachments": FILES})
    run = await settled(asking, said.json()["runId"])
    (step,) = (await asking.get(f"/api/runs/{run['id']}/receipt", params={"body": 1})).json()["steps"]
    sent = gateway.requests[0].body.decode()
    assert (run["state"], step["body"]) == ("completed", sent)
    assert PICTURE in sent
    assert PAGES in sent
    assert "- a.md (text/markdown, 7 bytes):\\n    # Green" in sent
    if kind == "responses":
        assert (run["note"], step["leftOut"]) == (None, [])
        assert str(FILES[-1]["dataBase64"]) in sent
    else:
        assert (run["note"], step["leftOut"]) == ("left_out: a.zip (application/zip)", ["a.zip (application/zip)"])


async def test_a_response_is_complete_although_a_file_was_left_out(
    asking: httpx.AsyncClient, gateway: ScriptedGateway
) -> None:
    gateway.script(text("I see."))
    file = {"type": "input_file", "filename": "a.zip", "file_data": "data:application/zip;base64,UEs="}
    content = [file, {"type": "input_text", "text": "what is this?"}]
    asked = {"model": "carrel/main", "input": [{"type": "message", "role": "user", "content": content}]}
    answer = (await asking.post("/v1/responses", json=asked)).json()
    assert (answer["status"], answer["incomplete_details"]) == ("completed", None), answer
