"""The OpenAPI document: the API's own operations, from the table that requests are checked against, and what the other
surfaces say about theirs.
"""

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from starlette.responses import Response

from carrel import __version__
from carrel.kernel.fields import SOME_TEXT
from carrel.kernel.limits import SESSION_REFERENCE_CHARS_MAX
from carrel.surfaces.api.endpoint import ENDPOINTS, OPEN, Call, Endpoint, Named, NoQuery, endpoint
from carrel.surfaces.http.identity import COOKIE
from carrel.surfaces.http.multipart import MULTIPART
from carrel.surfaces.http.openapi import IDEMPOTENCY_KEY, JSON, NAME_SCHEMA, NO_NUL, REFERENCE_SCHEMA, Operation

_REF = "#/components/schemas/{name}"
_NAMED = re.compile(r"#/components/schemas/([\w.]+)")
# A text schema with one of these, or with a pattern that is not in this table, excludes NUL already.
_LIMITING = {"enum", "const", "format"}
_WITHOUT_NUL = {None: NO_NUL, r"\S": SOME_TEXT}
_PARAMETER = re.compile(r"{(\w+)(?::\w+)?}")
_KEY_SCHEMA = {**NAME_SCHEMA, "maxLength": SESSION_REFERENCE_CHARS_MAX, **REFERENCE_SCHEMA}
_EVENTS = "text/event-stream"
_TAGS = [
    {"name": "agent", "description": "Tools over plain HTTP."},
    {
        "name": "v1",
        "description": "Agents as models over Open Responses.",
        "externalDocs": {"url": "https://www.openresponses.org"},
    },
    {
        "name": "a2a",
        "description": "Agents over A2A 1.0 in its HTTP+JSON binding; 0.3 has the same paths under /a2a/{agent}/v1. "
        "The card at /.well-known/agent-card.json has the other bindings.",
        "externalDocs": {"url": "https://a2a-protocol.org"},
    },
]
_BY_TOKEN: list[dict[str, list[str]]] = [{"bearer": []}, {"cookie": []}]
_SECURITY = {"by token": _BY_TOKEN, "open on loopback": [*_BY_TOKEN, {}], "open": []}
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
    424: "The run failed, was cancelled or goes on; the request was taken.",
    429: "Too many requests; Retry-After says when to try again.",
    500: "An unexpected error on the server.",
    503: "The server is stopping, or its database is unavailable.",
}


@endpoint("GET", "/api/openapi.json", answers={200: dict[str, Any]}, who=OPEN, tag="health")
async def show_document(call: Call[None, NoQuery]) -> Response:
    """Get this document."""
    return Response(call.request.app.state.openapi(), media_type="application/json")


def openapi_document(more: Iterable[Operation] = ()) -> dict[str, Any]:
    """Build the document of every endpoint in the table, and of the operations of other surfaces."""
    operations = [*(_described(one) for one in ENDPOINTS), *more]
    schemas = _Schemas(operations)
    paths: dict[str, Any] = {}
    for one in sorted(operations, key=lambda each: (each.path, each.method)):
        paths.setdefault(_PARAMETER.sub(r"{\1}", one.path), {})[one.method.lower()] = _operation(one, schemas)
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
            "schemas": dict(sorted(schemas.components.items())),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE},
            },
        },
    }
    # Defaults are Python values; the document must hold plain JSON.
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(document))
    return plain


class _Schemas:
    """The schemas of everything that operations take and give; those of types are components."""

    def __init__(self, operations: list[Operation]) -> None:
        sent = [kind for one in operations for kind in (one.body, one.query)]
        given = [kind for one in operations for kind in (one.error, *one.uses, *one.answers.values())]
        types = list({id(kind): kind for kind in (*sent, *given) if _is_type(kind)}.values())
        schemas, self.components = msgspec.json.schema_components(types, ref_template=_REF)
        self._shapes = dict(zip(map(id, types), schemas, strict=True))
        for name in self._referred([self.of(kind) for kind in sent]):
            self.components[name] = _without_nul(self.components[name])

    def of(self, kind: Any) -> Any:
        """Return the schema of a type; return a schema as it is."""
        return self._shapes[id(kind)] if _is_type(kind) else kind

    def fields(self, kind: Any) -> dict[str, Any]:
        """Return the schema with its fields, not a reference to it."""
        schema: dict[str, Any] = self.of(kind) or {}
        return self.components[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema

    def _referred(self, pending: list[Any]) -> set[str]:
        """Return the names of all components that these schemas refer to."""
        found: set[str] = set()
        while pending:
            named = set(_NAMED.findall(msgspec.json.encode(pending.pop()).decode())) - found
            found |= named
            pending += [self.components[name] for name in named]
        return found


def _is_type(kind: Any) -> bool:
    return kind is not None and not isinstance(kind, dict)


def _without_nul(schema: Any) -> Any:
    """Return the schema with every text in it limited to what a database can store."""
    if isinstance(schema, list):
        return [_without_nul(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    limited = {name: _without_nul(part) for name, part in schema.items()}
    if schema.get("type") == "string" and not _LIMITING & set(schema):
        limited["pattern"] = _WITHOUT_NUL.get(schema.get("pattern"), schema.get("pattern"))
    if isinstance(schema.get("additionalProperties"), dict):
        limited["propertyNames"] = {"pattern": NO_NUL}
    return limited


def _described(one: Endpoint) -> Operation:
    files = {one.file: {"type": "string", "format": "binary"}}
    multipart = {"type": "object", "required": [one.file], "properties": files, "additionalProperties": False}
    return Operation(
        method=one.method,
        path=one.path,
        name=one.name,
        summary=one.summary,
        tag=one.tag,
        answers={at: kind.described if isinstance(kind, Named) else kind for at, kind in one.answers.items()},
        errors=tuple(_errors(one)),
        media=(one.media,),
        query=one.query,
        body=multipart if one.file else one.body,
        body_media=(MULTIPART,) if one.file else JSON,
        headers=(IDEMPOTENCY_KEY,) if one.creates else (),
        path_schemas={"key": _KEY_SCHEMA},
        access="open" if not one.who else "open on loopback" if one.open_on_loopback else "by token",
    )


def _operation(one: Operation, schemas: _Schemas) -> dict[str, Any]:
    answers = {str(status): _answer(status, one.error, one.error_media, schemas) for status in one.errors}
    answers |= {str(status): _answer(status, kind, one.media, schemas) for status, kind in one.answers.items()}
    operation: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.summary,
        "tags": [one.tag],
        "parameters": _parameters(one, schemas),
        "responses": dict(sorted(answers.items())),
        "security": _SECURITY[one.access],
    }
    if one.body is not None:
        operation["requestBody"] = {
            "required": bool(schemas.fields(one.body).get("required")),
            "content": {media: {"schema": schemas.of(one.body)} for media in one.body_media},
        }
    return operation


def _parameters(one: Operation, schemas: _Schemas) -> list[dict[str, Any]]:
    in_path: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": one.path_schemas.get(name, NAME_SCHEMA)}
        for name in _PARAMETER.findall(one.path)
    ]
    query = schemas.fields(one.query)
    in_query = [
        {"name": name, "in": "query", "required": name in query.get("required", ()), "schema": _not_null(schema)}
        for name, schema in query.get("properties", {}).items()
    ]
    return [*in_path, *in_query, *one.headers]


def _not_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a query parameter: one that may be left out cannot be sent as null."""
    if "anyOf" not in schema:
        return schema
    options = [option for option in schema["anyOf"] if option != {"type": "null"}]
    rest = {name: value for name, value in schema.items() if name != "anyOf" and (name, value) != ("default", None)}
    return {**rest, **options[0]} if len(options) == 1 else {**rest, "anyOf": options}


def _answer(status: int, kind: Any, media: tuple[str, ...], schemas: _Schemas) -> dict[str, Any]:
    if kind is None:
        return {"description": _DESCRIPTIONS[status]}
    content = {name: {} if name == _EVENTS else {"schema": schemas.of(kind)} for name in media}
    return {"description": _DESCRIPTIONS[status], "content": content}


def _errors(one: Endpoint) -> set[int]:
    found = {400, 500}
    if one.who:
        found |= {401, 403, 404, 429, 503}
    if one.body is not None or one.file:
        found |= {413, 415}
    if one.method != "GET":
        found |= {401, 403, 409, 422, 429, 503}
    if "scope" in {field.name for field in msgspec.structs.fields(one.query)}:
        # A scope may be malformed or ambiguous.
        found |= {409, 422}
    return found
