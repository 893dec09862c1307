"""The OPT extension on the card, and its activation for one request at a time."""

import httpx
from a2a.compat.v0_3.types import AgentCard as OldCard
from a2a.types import AgentCard
from google.protobuf.json_format import MessageToDict, ParseDict

from carrel.kernel.settings import A2aOptSettings, A2aSettings, Settings
from tests.harness.server import open_http_server
from tests.requirements.mark import requirement
from tests.surfaces.a2a.a2a_calls import NEW, OLD, call, message, refusal
from tests.surfaces.a2a.opt_calls import ACTIVE, METHODS, OPT, done, opt

CARD = "/.well-known/agent-card.json"


@requirement("S1.opt.card")
async def test_the_card_declares_opt_with_its_limits(nobody: httpx.AsyncClient, client: httpx.AsyncClient) -> None:
    params = {"maxPlansPerObjective": 10, "maxTasksPerPlan": 50, "persistenceEnabled": True}
    for card in (
        (await nobody.get(CARD)).json(),
        (await client.get("/a2a/main/extendedAgentCard", headers=NEW)).json(),
    ):
        (extension,) = ParseDict(card, AgentCard()).capabilities.extensions
        assert (extension.uri, extension.required, bool(extension.description)) == (OPT, False, True)
        assert MessageToDict(extension.params) == params
    old = OldCard.model_validate((await nobody.get(CARD, headers=OLD)).json())
    (declared,) = old.capabilities.extensions or []
    assert (declared.uri, bool(declared.required), declared.params) == (OPT, False, params)


@requirement("S1.opt.card")
async def test_the_settings_change_what_the_card_says(surface_url: str) -> None:
    settings = Settings(a2a=A2aSettings(opt=A2aOptSettings(max_plans_per_objective=2, max_tasks_per_plan=3)))
    async with open_http_server(surface_url, settings=settings) as server, server.client() as client:
        (extension,) = (await client.get(CARD)).json()["capabilities"]["extensions"]
        assert extension["params"] | {"maxPlansPerObjective": 2, "maxTasksPerPlan": 3} == extension["params"]


@requirement("S1.opt.card", "S1.opt.activate")
async def test_a_server_without_opt_neither_declares_nor_knows_it(surface_url: str) -> None:
    settings = Settings(a2a=A2aSettings(opt=A2aOptSettings(enabled=False)))
    async with open_http_server(surface_url, settings=settings) as server, server.client() as client:
        assert "extensions" not in (await client.get(CARD)).json()["capabilities"]
        body = {"jsonrpc": "2.0", "id": 1, "method": "objectives/list"}
        answer = await client.post("/a2a/main", json=body, headers=ACTIVE)
        assert refusal(answer.json())[0] == -32601
        assert "a2a-extensions" not in answer.headers


@requirement("S1.opt.activate")
async def test_no_method_of_opt_exists_without_activation(client: httpx.AsyncClient) -> None:
    for version in ("1.0", "0.3", ""):
        for method, params in METHODS.items():
            answer = await call(client, method, params, version=version)
            assert refusal(answer) == (-32601, "METHOD_NOT_FOUND", None)
    body = {"jsonrpc": "2.0", "id": 1, "method": "objectives/create", "params": {"name": "x"}}
    others = f"https://example.org/x, {OPT}/more, {OPT.removesuffix('1')}2"
    answered = await client.post("/a2a/main", json=body, headers={"A2A-Extensions": others})
    assert refusal(answered.json())[0] == -32601
    assert "a2a-extensions" not in answered.headers
    assert (await done(client, "objectives/list"))["totalSize"] == 0


@requirement("S1.opt.activate")
async def test_either_header_activates_opt_in_any_case_and_among_others(client: httpx.AsyncClient) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "objectives/create", "params": {"name": "x"}}
    headers: list[list[tuple[str, str]]] = [
        [("A2A-Extensions", OPT)],
        [("x-a2a-extensions", OPT)],
        [("a2a-EXTENSIONS", f"https://example.org/unknown ,  {OPT.upper()} ,")],
        [("A2A-Extensions", "https://example.org/unknown"), ("A2A-Extensions", OPT)],
        [("A2A-Extensions", "https://example.org/unknown"), ("X-A2A-Extensions", OPT)],
    ]
    for declared in headers:
        for version in ("1.0", "0.3", ""):
            answer = await client.post("/a2a/main", json=body, headers=[*declared, ("A2A-Version", version)])
            assert answer.json()["result"]["objective"]["name"] == "x"
            assert answer.headers["a2a-extensions"] == OPT
    assert (await done(client, "objectives/list"))["totalSize"] == len(headers) * 3
    wrong = await client.post("/a2a/main", json=body, headers={"A2A-Version": "7"} | ACTIVE)
    assert refusal(wrong.json())[0] == -32009


@requirement("S1.opt.activate")
async def test_activation_is_echoed_by_every_operation_and_by_errors(client: httpx.AsyncClient) -> None:
    sent = await client.post("/a2a/main/message:send", json={"message": message("hello")}, headers=NEW | ACTIVE)
    assert (sent.status_code, sent.headers["a2a-extensions"]) == (200, OPT)
    assert refusal(await opt(client, "objectives/get", id="nothing"))[0] == -32000
    assert refusal(await opt(client, "no/such"))[0] == -32601


async def test_opt_as_a_required_extension_is_declared_once(surface_url: str) -> None:
    settings = Settings(a2a=A2aSettings(required_extensions=(OPT,)))
    async with open_http_server(surface_url, settings=settings) as server, server.client() as client:
        (extension,) = (await client.get(CARD)).json()["capabilities"]["extensions"]
        assert (extension["uri"], extension["required"], "params" in extension) == (OPT, True, True)
        assert refusal(await call(client, "SendMessage", {"message": message("hello")}))[0] == -32008
        assert (await done(client, "objectives/list"))["totalSize"] == 0
