"""The OpenAPI document: valid, complete, and the same every time."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from openapi_spec_validator import validate
from starlette.routing import Route

from carrel.kernel import Refusal
from carrel.kernel.limits import SPACES_PER_ACCOUNT_MAX
from carrel.main.assembly import DESCRIBED, whole_document
from carrel.sessions.references import parse_reference
from carrel.surfaces.api.endpoint import ENDPOINTS, OPEN
from carrel.surfaces.http.openapi import REFERENCE_SCHEMA
from tests.harness.server import HttpServer
from tests.surfaces.api_calls import refused

FILE = {"name": "a.txt", "mimeType": "text/plain", "dataBase64": "YQ=="}


def test_the_document_is_valid() -> None:
    validate(whole_document())


def test_every_endpoint_stands_in_it_once_under_a_name_of_its_own() -> None:
    operations = [
        (method.upper(), path, operation)
        for path, methods in whole_document()["paths"].items()
        for method, operation in methods.items()
    ]
    described = {(one.method, one.path.replace(":path}", "}")) for one in ENDPOINTS}
    described |= {(one.method, one.path.replace(":path}", "}")) for one in DESCRIBED}
    assert {(method, path) for method, path, _ in operations} == described
    names = [operation["operationId"] for _, _, operation in operations]
    assert len(set(names)) == len(names)
    assert all(operation["summary"] for _, _, operation in operations)


async def test_every_route_of_a_described_surface_is_in_the_document(server: HttpServer) -> None:
    """All but WebSockets, JSON-RPC, agent cards, and A2A 0.3, which has the paths of 1.0 under another address."""
    described = {(one.method, one.path) for one in DESCRIBED} | {("POST", "/agent/{tool}")}
    for route in server.assembly._routes():
        path = getattr(route, "path", "")
        if isinstance(route, Route) and (path == "/agent" or path.startswith(("/a2a/{agent}/", "/agent/", "/v1/"))):
            if "/.well-known/" in path or path.startswith("/a2a/{agent}/v1/") or path == "/a2a/{agent}/":
                continue
            assert {(method, path) for method in (route.methods or set()) - {"HEAD"}} <= described


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        (
            "create_response",
            [{"input": "x"}, {"input": [{"role": "user", "content": "x"}], "model": "carrel/main"}],
            [
                {},
                {"input": None},
                {"input": " "},
                {"input": [1]},
                {"input": "x", "model": "gpt"},
                {"input": "x", "model": "carrel/a\0"},
                {"input": "x", "a": 1},
            ],
        ),
        ("compact_response", [{"model": "carrel", "input": "x" * 100_001}], [{"model": "carrel", "input": " "}]),
        (
            "SendMessage",
            [{"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}}],
            [
                {},
                {"message": {"messageId": "", "role": "ROLE_USER", "parts": [{"text": "x"}]}},
                {"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "x"}]}},
                {"message": {"messageId": "m", "role": "ROLE_USER", "parts": []}},
                {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x", "url": "http://x"}]}},
            ],
        ),
        (
            "CreateTaskPushNotificationConfig",
            [
                {"url": url}
                for url in ("https://a.example", "HTTP://A.example.:08080?b", "http://[2606:2800::1]:65535/c#d")
            ],
            [
                {"url": url}
                for url in ("https://", "ftp://a.example", "https://a*", "https://a@b/", "https://a/ ", "//a")
            ],
        ),
    ],
)
def test_the_document_says_what_other_surfaces_accept(name: str, right: list[object], wrong: list[object]) -> None:
    document = whole_document()
    operations = {one["operationId"]: one for methods in document["paths"].values() for one in methods.values()}
    schema = operations[name]["requestBody"]["content"]["application/json"]["schema"]
    check = Draft202012Validator({**schema, "components": document["components"]})
    assert all(check.is_valid(body) for body in right)
    assert not any(check.is_valid(body) for body in wrong)


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/v1/responses/resp_1", "DELETE, GET, HEAD"),
        # Not those of the path that has a parameter where this one has a word.
        ("/v1/responses/compact", "POST"),
        ("/api/sessions/active", "GET, HEAD, POST"),
    ],
)
async def test_a_wrong_method_is_told_every_right_one(nobody: httpx.AsyncClient, path: str, methods: str) -> None:
    answer = await nobody.patch(path)
    assert (answer.status_code, answer.headers["allow"]) == (405, methods)


def test_what_needs_a_token_says_so() -> None:
    document = whole_document()
    for one in ENDPOINTS:
        operation = document["paths"][one.path.replace(":path}", "}")][one.method.lower()]
        assert bool(operation["security"]) == (one.who != OPEN)
        assert "500" in operation["responses"]
        # A limit may be reached without a body too.
        assert one.method == "GET" or "422" in operation["responses"]


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        ("NewRun", [{"message": "x"}, {"message": " x\n"}], [{"message": ""}, {"message": " \n"}, {"message": "a\0"}]),
        ("SessionMessage", [{"message": "x"}], [{"message": ""}]),
        ("NewAgent", [{"id": "a-1_b"}], [{"id": "A"}, {"id": ""}, {"id": "-a"}, {"id": "a" * 65}]),
        ("NewUser", [{"name": "A", "slug": "a"}], [{"name": "A", "slug": "A b"}, {"name": "\0"}]),
        ("NewAccount", [{"name": "A", "slug": "a-1"}], [{"name": "A", "slug": "a_1"}]),
        ("NewTokenBody", [{"kind": "owner", "name": "x"}], [{"kind": "run", "name": "x"}, {"kind": "owner"}]),
        ("NewSession", [{"conversationKey": "a" * 8}], [{"conversationKey": "short"}, {"clientInstanceId": "\0"}]),
        ("SchedulePatch", [{"maxExecutions": -1}], [{"maxExecutions": 0}, {"cron": ""}, {"maxExecutions": 2**63}]),
        ("ChatLine", [{"text": "x", "attachments": [FILE] * 8}], [{"text": "x", "attachments": [FILE] * 9}]),
        ("SessionsSpawn", [{"task": " x"}], [{"task": " "}, {"task": "a\0"}, {"label": "x"}]),
        (
            "SessionsSend",
            [{"sessionKey": "main", "message": "x"}],
            [{"sessionKey": "main", "message": "a\0"}, {"colour": "red"}],
        ),
    ],
)
def test_the_document_says_what_is_accepted(kind: str, right: list[object], wrong: list[object]) -> None:
    schema = {"$ref": f"#/components/schemas/{kind}", "components": whole_document()["components"]}
    check = Draft202012Validator(schema)
    assert all(check.is_valid(body) for body in right)
    assert not any(check.is_valid(body) for body in wrong)


@pytest.mark.parametrize(
    "reference",
    [
        "main", "current", "my-own-chat", "agent:main:main", "agent:main:main:v3", "agent:main:main:v3@other",
        "agent:main:task:task_1", "cron:1", "hook:a-b", "node-1", "clawboard:topic:t", "clawboard:task:topic:task",
        f"agent:main:acc_{'0' * 26}", f"ses_{'0' * 26}", "task:t1:agent:main:default:v2", "agent:main:web:chat",
        "telegram:group:12:thread:4", "agent:main:telegram:direct:12", "agent:\n:main", "agent:\n:main:v2",
    ],
)  # fmt: skip
def test_every_form_of_a_session_reference_is_in_the_document(reference: str) -> None:
    parse_reference(reference)
    assert re.search(REFERENCE_SCHEMA["pattern"], reference)


@pytest.mark.parametrize("reference", ["global", "unknown", "a b", "ÿ", "agent:main:nothing:x", "a\0", "0" * 65])
def test_what_is_no_session_reference_is_not_in_the_document(reference: str) -> None:
    with pytest.raises(Refusal):
        parse_reference(reference)
    assert not re.search(REFERENCE_SCHEMA["pattern"], reference)


def test_no_parameter_of_a_url_takes_a_nul_and_every_cursor_and_path_parameter_has_a_form() -> None:
    parameters = [
        one
        for methods in whole_document()["paths"].values()
        for operation in methods.values()
        for one in operation["parameters"]
        if one["in"] != "header"
    ]
    checked = {"format_checker": Draft202012Validator.FORMAT_CHECKER}
    assert not [one for one in parameters if Draft202012Validator(one["schema"], **checked).is_valid("a\0")]
    formed = [one for one in parameters if one["in"] == "path" or one["name"] == "cursor"]
    assert {one["name"] for one in formed} >= {"cursor", "id", "key"}
    assert all("pattern" in one["schema"] for one in formed)


def test_only_doors_for_model_clients_take_an_empty_session_header() -> None:
    taken = {
        operation["operationId"]
        for methods in whole_document()["paths"].values()
        for operation in methods.values()
        for one in operation["parameters"]
        if one["name"] == "x-openclaw-session-key" and Draft202012Validator(one["schema"]).is_valid("")
    }
    assert taken == {"create_completion", "create_response", "compact_response"}


def test_the_document_is_the_same_every_time() -> None:
    assert whole_document() == whole_document()


async def test_the_server_gives_the_document_to_anybody(nobody: httpx.AsyncClient) -> None:
    assert (await nobody.get("/api/openapi.json")).json() == whole_document()


# A list without a bound of its own, and what bounds it.
BOUNDED_OTHERWISE = {
    "/a2a/": "a request of A2A has at most A2A_VALUES_MAX values",
    "/agent/sessions_spawn": "tools.sessions_spawn.attachments.max_files",
}


def unbounded(document: dict[str, Any], schema: Any, at: str, above: frozenset[str] = frozenset()) -> Iterator[str]:
    """The paths of the lists in a schema that may have any number of items."""
    if isinstance(schema, list):
        for one in schema:
            yield from unbounded(document, one, at, above)
    if not isinstance(schema, dict):
        return
    name = schema.get("$ref", "").rpartition("/")[2]
    if name and name not in above:
        yield from unbounded(document, document["components"]["schemas"][name], at, above | {name})
    if schema.get("type") == "array" and "maxItems" not in schema:
        yield at
    for word in ("anyOf", "oneOf", "allOf", "items", "prefixItems", "additionalProperties"):
        yield from unbounded(document, schema.get(word), at, above)
    for name, inner in schema.get("properties", {}).items():
        yield from unbounded(document, inner, f"{at} {name}", above)


def test_every_list_in_a_request_has_a_bound() -> None:
    document = whole_document()
    found = [
        at
        for path, methods in document["paths"].items()
        for operation in methods.values()
        for content in operation.get("requestBody", {}).get("content", {}).values()
        for at in unbounded(document, content["schema"], path)
    ]
    assert [at for at in found if not at.startswith(tuple(BOUNDED_OTHERWISE))] == []
    assert all(any(at.startswith(one) for at in found) for one in BOUNDED_OTHERWISE), "each entry is needed"


async def test_every_read_refuses_more_spaces_than_an_account_can_have(
    server: HttpServer, client: httpx.AsyncClient
) -> None:
    names = ",".join(f"space-{n}" for n in range(SPACES_PER_ACCOUNT_MAX + 1))
    paths = [
        path
        for path, methods in whole_document()["paths"].items()
        if any(one["name"] == "allowedSpaceIds" for one in methods.get("get", {}).get("parameters", ()))
    ]
    assert len(paths) > 5
    for path in paths:
        query = {"allowedSpaceIds": names} | ({"q": "x"} if "search" in path else {})
        answer = await client.get(path, params=query)
        assert (path, *refused(answer)) == (path, 400, "invalid_params", "allowedSpaceIds")
        assert f"at most {SPACES_PER_ACCOUNT_MAX}" in answer.text
