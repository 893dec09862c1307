"""The OpenAPI document: valid, complete, and the same every time."""

import httpx
import pytest
from openapi_spec_validator import validate

from carrel.surfaces.api import openapi_document
from carrel.surfaces.api.endpoint import ENDPOINTS, OPEN


def test_the_document_is_valid() -> None:
    validate(openapi_document())


def test_every_endpoint_stands_in_it_once_under_a_name_of_its_own() -> None:
    operations = [
        (method.upper(), path, operation)
        for path, methods in openapi_document()["paths"].items()
        for method, operation in methods.items()
    ]
    assert {(method, path) for method, path, _ in operations} == {
        (one.method, one.path.replace(":path}", "}")) for one in ENDPOINTS
    }
    names = [operation["operationId"] for _, _, operation in operations]
    assert len(set(names)) == len(names)
    assert all(operation["summary"] for _, _, operation in operations)


def test_what_needs_a_token_says_so() -> None:
    document = openapi_document()
    for one in ENDPOINTS:
        operation = document["paths"][one.path.replace(":path}", "}")][one.method.lower()]
        assert bool(operation["security"]) == (one.who != OPEN)
        assert "500" in operation["responses"]


def test_the_document_is_the_same_every_time() -> None:
    assert openapi_document() == openapi_document()


@pytest.mark.anyio
async def test_the_server_gives_the_document_to_anybody(nobody: httpx.AsyncClient) -> None:
    assert (await nobody.get("/api/openapi.json")).json() == openapi_document()
