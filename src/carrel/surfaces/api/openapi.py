"""The OpenAPI document, built from the same table of endpoints that requests are checked against."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec
from starlette.responses import Response

from carrel import __version__
from carrel.kernel.limits import IDEMPOTENCY_KEY_CHARS_MAX, SESSION_REFERENCE_CHARS_MAX
from carrel.surfaces.api.endpoint import ENDPOINTS, OPEN, Call, Endpoint, NoQuery, endpoint
from carrel.surfaces.api.fields import NO_NUL, REFERENCE_SCHEMA
from carrel.surfaces.api.openapi_tools import tool_params, tool_paths, tool_types
from carrel.surfaces.http.errors import ErrorBody
from carrel.surfaces.http.identity import COOKIE

_REF = "#/components/schemas/{name}"
_NAMED = re.compile(r"#/components/schemas/([\w.]+)")
# A text with one of these cannot contain a NUL.
_LIMITING = {"pattern", "enum", "const", "format"}
_PARAMETER = re.compile(r"{(\w+)(?::\w+)?}")
_PATH_SCHEMA = {"type": "string", "minLength": 1, "pattern": NO_NUL}
_PATH_SCHEMAS = {"key": {**_PATH_SCHEMA, "maxLength": SESSION_REFERENCE_CHARS_MAX, **REFERENCE_SCHEMA}}
_IDEMPOTENCY_KEY = {
    "name": "X-Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_CHARS_MAX},
}
_TOOL_ERRORS = (400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 503)
_TAGS = [
    {"name": "agent", "description": "Tools over plain HTTP."},
    {
        "name": "v1",
        "description": "Models over Open Responses, at /v1/responses; not described here.",
        "externalDocs": {"url": "https://www.openresponses.org"},
    },
    {
        "name": "a2a",
        "description": "Agents over A2A, at /a2a; the card at /.well-known/agent-card.json describes each agent.",
        "externalDocs": {"url": "https://a2a-protocol.org"},
    },
]
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
    types = [ErrorBody, *(kind for one in ENDPOINTS for kind in _types(one)), *tool_types()]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    shapes = dict(zip(map(id, types), schemas, strict=True))
    for name in _input_names(shapes, components):
        components[name] = _without_nul(components[name])
    paths: dict[str, Any] = {}
    for one in sorted(ENDPOINTS, key=lambda each: (each.path, each.method)):
        paths.setdefault(_PARAMETER.sub(r"{\1}", one.path), {})[one.method.lower()] = _operation(
            one, shapes, components
        )
    paths |= tool_paths(shapes, _error_answers(_TOOL_ERRORS, shapes), _SECURITY, _IDEMPOTENCY_KEY)
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Carrel",
            "version": __version__,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "tags": _TAGS,
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


def _input_names(shapes: dict[int, Any], components: dict[str, Any]) -> set[str]:
    """Return the names of the schemas that describe what clients send, with all that they refer to."""
    sent = [kind for one in ENDPOINTS for kind in (one.body, one.query) if kind is not None]
    pending = [shapes[id(kind)] for kind in (*sent, *tool_params())]
    found: set[str] = set()
    while pending:
        named = set(_NAMED.findall(msgspec.json.encode(pending.pop()).decode())) - found
        found |= named
        pending += [components[name] for name in named]
    return found


def _without_nul(schema: Any) -> Any:
    """Return the schema with every text in it limited to what a database can store."""
    if isinstance(schema, list):
        return [_without_nul(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    limited = {name: _without_nul(part) for name, part in schema.items()}
    if schema.get("type") == "string" and not _LIMITING & set(schema):
        limited["pattern"] = NO_NUL
    if isinstance(schema.get("additionalProperties"), dict):
        limited["propertyNames"] = {"pattern": NO_NUL}
    return limited


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
        {"name": name, "in": "path", "required": True, "schema": _PATH_SCHEMAS.get(name, _PATH_SCHEMA)}
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
    return [*found, _IDEMPOTENCY_KEY] if one.creates else found


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
    return dict(sorted((_error_answers(_errors(one), shapes) | answers).items()))


def _error_answers(statuses: Iterable[int], shapes: dict[int, Any]) -> dict[str, Any]:
    error = {"application/json": {"schema": shapes[id(ErrorBody)]}}
    return {str(status): {"description": _DESCRIPTIONS[status], "content": error} for status in sorted(statuses)}


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
