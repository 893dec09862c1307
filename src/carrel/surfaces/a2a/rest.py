"""The HTTP+JSON binding: a URL for every operation; 1.0 under the agent's own URL, 0.3 under its `/v1`."""

from typing import Any, Literal

import msgspec
from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from carrel.surfaces.a2a import legacy
from carrel.surfaces.a2a.caller import (
    Version,
    identify_caller,
    requested_version,
    require_extensions,
    unsupported_version,
)
from carrel.surfaces.a2a.errors import A2aError
from carrel.surfaces.a2a.http_binding import Binding, read_json, respond
from carrel.surfaces.a2a.protobuf_json import Json
from carrel.surfaces.a2a.requests import parse_params, read_scope

_A2A_TYPE = "application/a2a+json"
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}


class Endpoint(Struct, frozen=True):
    """One URL: the operation it calls, and where its request is read from; `fields` are parameters of the path."""

    methods: tuple[str, ...]
    path: str
    operation: str
    source: Literal["body", "query", "nothing"]
    fields: dict[str, str] = {}

    async def read(self, request: Request, kind: Any) -> Any:
        given = await _body(request) if self.source == "body" else {}
        if self.source == "query":
            query: Json = dict(request.query_params)
            wanted = query.get("includeArtifacts")
            given = query | ({"includeArtifacts": _BOOLEANS[wanted]} if wanted in _BOOLEANS else {})
        fields = {name: request.path_params[part] for name, part in self.fields.items()}
        return parse_params(kind, given | fields if isinstance(given, dict) else given)


async def _body(request: Request) -> object:
    body = await read_json(request)
    return {} if body is None else body


_CONFIGS = "/tasks/{id}/pushNotificationConfigs"
_CONFIG = f"{_CONFIGS}/{{webhook}}"
ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(("POST",), "/message:send", "SendMessage", "body"),
    Endpoint(("POST",), "/message:stream", "SendStreamingMessage", "body"),
    Endpoint(("GET",), "/tasks", "ListTasks", "query"),
    Endpoint(("POST",), "/tasks/{id}:cancel", "CancelTask", "body", {"id": "id"}),
    Endpoint(("POST", "GET"), "/tasks/{id}:subscribe", "SubscribeToTask", "query", {"id": "id"}),
    Endpoint(("GET",), "/tasks/{id}", "GetTask", "query", {"id": "id"}),
    Endpoint(("POST",), _CONFIGS, "CreateTaskPushNotificationConfig", "body", {"taskId": "id"}),
    Endpoint(("GET",), _CONFIGS, "ListTaskPushNotificationConfigs", "query", {"taskId": "id"}),
    Endpoint(("GET",), _CONFIG, "GetTaskPushNotificationConfig", "query", {"taskId": "id", "id": "webhook"}),
    Endpoint(("DELETE",), _CONFIG, "DeleteTaskPushNotificationConfig", "query", {"taskId": "id", "id": "webhook"}),
    Endpoint(("GET",), "/extendedAgentCard", "GetExtendedAgentCard", "nothing"),
)


class Rest(Binding):
    def routes(self) -> list[BaseRoute]:
        old = [self._route(f"/a2a/{{agent}}/v1{legacy.PATHS.get(one.path, one.path)}", one, "0.3") for one in ENDPOINTS]
        return [*old, *(self._route(f"/a2a/{{agent}}{one.path}", one, "1.0") for one in ENDPOINTS)]

    def _route(self, path: str, endpoint: Endpoint, version: Version) -> BaseRoute:
        async def serve(request: Request) -> Response:
            return await respond(
                request,
                path,
                lambda: self._serve(request, endpoint, version),
                lambda error: error_response(request, error, version),
            )

        return Route(path, serve, methods=list(endpoint.methods), name=f"{endpoint.operation} {version} {path}")

    async def _serve(self, request: Request, endpoint: Endpoint, version: Version) -> Response:
        caller = structs.replace(await identify_caller(request, self._services, self._wrong_tokens), version=version)
        if requested_version(request) not in (None, version):
            raise unsupported_version(f"This URL belongs to A2A {version}")
        require_extensions(caller, self._services)
        caller = structs.replace(caller, scope=read_scope(dict(request.query_params)))
        operation = self._operations[endpoint.operation]
        write = legacy.conversions().HTTP_WRITERS[endpoint.operation] if version == "0.3" else lambda result: result
        read = legacy.conversions().HTTP_READERS.get(endpoint.operation) if version == "0.3" else None
        if read is None:
            parsed = await endpoint.read(request, operation.request)
        else:
            parsed = read(request.path_params.get("id", ""), await _body(request))
        return await self.perform(
            request, caller, operation, parsed, write, lambda result: _response(request, result, 200, caller.headers)
        )


def error_response(request: Request, error: A2aError, version: Version = "1.0") -> Response:
    body = error.legacy_http_body() if version == "0.3" else error.http_body()
    return _response(request, body, error.kind.http, error.headers())


def _response(request: Request, value: object, status: int, headers: dict[str, str]) -> Response:
    """Return the response as plain JSON, or in A2A's own media type if the request mentions it."""
    mentioned = request.headers.get("accept", "") + request.headers.get("content-type", "")
    media = _A2A_TYPE if _A2A_TYPE in mentioned else "application/json"
    return Response(msgspec.json.encode(value), status, headers, media)
