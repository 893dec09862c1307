"""The OpenAPI document, built from the same table of endpoints that requests are checked against."""

import re
from functools import lru_cache
from typing import Any

import msgspec
from starlette.responses import Response

from carrel import __version__
from carrel.kernel.limits import IDEMPOTENCY_KEY_CHARS_MAX
from carrel.surfaces.api.endpoint import ENDPOINTS, OPEN, Call, Endpoint, NoQuery, endpoint
from carrel.surfaces.http.errors import ErrorBody
from carrel.surfaces.http.identity import COOKIE

_REF = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"{(\w+)(?::\w+)?}")
_SECURITY: list[dict[str, list[str]]] = [{"bearer": []}, {"cookie": []}]
_DESCRIPTIONS = {
    200: "The request succeeded.",
    201: "Created.",
    202: "Accepted and stored.",
    204: "Done; the response has no body.",
    400: "The request is not well formed.",
    401: "There is no valid token.",
    403: "The token does not allow this.",
    404: "It does not exist, or it is not yours.",
    409: "It conflicts with the current state.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "A value is out of bounds.",
    429: "Too many requests; Retry-After says when to try again.",
    500: "An unexpected error on the server.",
    503: "The server is stopping, or its database is unavailable.",
}


@endpoint("GET", "/api/openapi.json", answers={200: dict[str, Any]}, who=OPEN, tag="health")
async def show_document(_call: Call[None, NoQuery]) -> Response:
    """Get this document."""
    return Response(_encoded(), media_type="application/json")


@lru_cache(maxsize=1)
def _encoded() -> bytes:
    return msgspec.json.encode(openapi_document())


def openapi_document() -> dict[str, Any]:
    """Build the document of every endpoint in the table."""
    types = [ErrorBody, *(kind for one in ENDPOINTS for kind in _types(one))]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    shapes = dict(zip(map(id, types), schemas, strict=True))
    paths: dict[str, Any] = {}
    for one in sorted(ENDPOINTS, key=lambda each: (each.path, each.method)):
        paths.setdefault(_PARAMETER.sub(r"{\1}", one.path), {})[one.method.lower()] = _operation(
            one, shapes, components
        )
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Carrel",
            "version": __version__,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE},
            },
        },
    }
    # Defaults are Python values; the document must hold plain JSON.
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(document))
    return plain


def _types(one: Endpoint) -> list[Any]:
    return [kind for kind in (one.body, one.query, *one.answers.values()) if kind is not None]


def _operation(one: Endpoint, shapes: dict[int, Any], components: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": one.handler.__name__,
        "summary": one.summary,
        "tags": [one.tag],
        "parameters": _parameters(one, shapes, components),
        "responses": _responses(one, shapes),
        "security": _SECURITY if one.who else [],
    }
    if one.body is not None:
        required = any(field.required for field in msgspec.structs.fields(one.body))
        operation["requestBody"] = {
            "required": required,
            "content": {"application/json": {"schema": shapes[id(one.body)]}},
        }
    return operation


def _parameters(one: Endpoint, shapes: dict[int, Any], components: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in _PARAMETER.findall(one.path)
    ]
    query = components[shapes[id(one.query)]["$ref"].rpartition("/")[2]]
    for name, schema in query.get("properties", {}).items():
        found.append(
            {
                "name": name,
                "in": "query",
                "required": name in query.get("required", ()),
                "schema": _not_null(schema),
            }
        )
    if one.creates:
        key = {"type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_CHARS_MAX}
        found.append({"name": "X-Idempotency-Key", "in": "header", "required": False, "schema": key})
    return found


def _not_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a query parameter: one that may be left out cannot be sent as null."""
    if "anyOf" not in schema:
        return schema
    options = [option for option in schema["anyOf"] if option != {"type": "null"}]
    rest = {
        name: value for name, value in schema.items() if name != "anyOf" and not (name == "default" and value is None)
    }
    return {**rest, **options[0]} if len(options) == 1 else {**rest, "anyOf": options}


def _responses(one: Endpoint, shapes: dict[int, Any]) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for status, kind in one.answers.items():
        answers[str(status)] = {"description": _DESCRIPTIONS[status]}
        if kind is not None:
            answers[str(status)]["content"] = {one.media: {"schema": shapes[id(kind)]}}
    for status in _errors(one):
        if str(status) not in answers:
            error = {"application/json": {"schema": shapes[id(ErrorBody)]}}
            answers[str(status)] = {"description": _DESCRIPTIONS[status], "content": error}
    return dict(sorted(answers.items()))


def _errors(one: Endpoint) -> set[int]:
    """Return every error status that this endpoint can answer with."""
    found = {400, 500}
    if one.who:
        found |= {401, 403, 404, 429, 503}
    if one.body is not None:
        found |= {413, 415, 422}
    if one.method != "GET":
        found |= {401, 403, 409, 429, 503}
    return found
