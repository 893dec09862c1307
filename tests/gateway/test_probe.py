"""What a probe finds out about a server, without calling a model."""

import pytest

from carrel.gateway import probe
from carrel.wire import Wire
from tests.bridge.tiny_server import tiny_server
from tests.scripted_openclaw import ScriptedOpenClaw

MODELS = {"object": "list", "data": [{"id": "small"}, {"id": "large"}]}
COMPLAINT = {"error": {"message": "messages is required"}}


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/v1/responses", "responses"), ("/v1/chat/completions", "chat"), ("/v1/messages", "anthropic")],
)
async def test_a_server_speaks_what_it_complains_about(wire: Wire, path: str, kind: str) -> None:
    with tiny_server() as server:
        server.answers("POST", path, COMPLAINT, status=400)
        server.answers("GET", "/v1/models", MODELS)
        found = await probe(server.url, "", wire)
    assert (found.kinds, found.models, found.needs_key, found.trouble) == ((kind,), ("small", "large"), False, "")


async def test_openclaw_is_known_by_its_models(wire: Wire) -> None:
    with ScriptedOpenClaw() as server:
        found = await probe(server.base_url, "", wire)
    assert (found.kinds, found.models[0]) == (("openclaw", "responses"), "openclaw")


async def test_a_server_that_refuses_us_needs_a_key(wire: Wire) -> None:
    with tiny_server() as server:
        server.answers("POST", "/v1/chat/completions", COMPLAINT, status=401)
        found = await probe(f"{server.url}/v1", "wrong", wire)
        assert {asked.headers.get("Authorization") for asked in server.asked} >= {"Bearer wrong"}
    assert (found.kinds, found.needs_key) == (("chat",), True)


async def test_a_server_that_knows_no_path_but_answers_200_speaks_nothing(wire: Wire) -> None:
    with tiny_server() as server:
        for path in ("/v1/responses", "/v1/messages"):
            server.answers("POST", path, {"error": f"Unexpected endpoint or method. (POST {path})"})
        server.answers("POST", "/v1/chat/completions", COMPLAINT, status=400)
        assert (await probe(server.url, "", wire)).kinds == ("chat",)


async def test_a_web_site_speaks_none_of_them_and_an_address_without_a_server_is_told(wire: Wire) -> None:
    with tiny_server() as server:
        found = await probe(server.url, "", wire)
        assert (found.kinds, "speaks" in found.trouble) == ((), True)
    gone = await probe("http://127.0.0.1:9", "", wire)
    assert "127.0.0.1:9" in gone.trouble
