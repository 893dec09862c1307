"""The HTTP+JSON binding: a URL for every operation; 1.0 under the agent's own URL, 0.3 under its `/v1`."""

from collections.abc import Awaitable, Callable
from typing import Any

import a2a.types as wire
import msgspec
from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from carrel.surfaces.a2a.agent_card import legacy_card
from carrel.surfaces.a2a.caller import identify_caller, require_extensions
from carrel.surfaces.a2a.errors import A2aError
from carrel.surfaces.a2a.http_binding import event_stream, last_event_id, read_json, respond
from carrel.surfaces.a2a.legacy import rest as legacy
from carrel.surfaces.a2a.operations import Operations
from carrel.surfaces.a2a.protobuf_json import Json
from carrel.surfaces.a2a.requests import parse_params, read_scope
from carrel.surfaces.a2a.version import Version, requested_version, unsupported_version
from carrel.surfaces.http.house import House
from carrel.surfaces.http.identity import WrongTokens

_A2A_TYPE = "application/a2a+json"
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}
# Reads a request as the type that the operation takes.
Reader = Callable[[Request, Any], Awaitable[Any]]


class Endpoint(Struct, frozen=True):
    """One URL: how to read a request there, the operation it calls, and how to write the result for 0.3."""

    methods: tuple[str, ...]
    path: str
    operation: str
    read: Reader
    write: Callable[[Json], object] | None = None


async def _body(request: Request) -> object:
    body = await read_json(request)
    return {} if body is None else body


class FromBody(Struct, frozen=True):
    """Reads the body; `path` maps fields of the request to parameters of the path."""

    path: dict[str, str] = {}

    async def __call__(self, request: Request, kind: Any) -> Any:
        """Return the request."""
        body = await _body(request)
        fields = {name: request.path_params[part] for name, part in self.path.items()}
        return parse_params(kind, body | fields if isinstance(body, dict) else body)


class FromQuery(Struct, frozen=True):
    """Reads the query; `path` maps fields of the request to parameters of the path."""

    path: dict[str, str] = {}

    async def __call__(self, request: Request, kind: Any) -> Any:
        """Return the request."""
        query: Json = dict(request.query_params)
        if query.get("includeArtifacts") in _BOOLEANS:
            query["includeArtifacts"] = _BOOLEANS[query["includeArtifacts"]]
        fields = {name: request.path_params[part] for name, part in self.path.items()}
        return parse_params(kind, query | fields)


async def _from_nothing(_request: Request, kind: Any) -> Any:
    return kind()


async def _legacy_message(request: Request, _kind: Any) -> wire.SendMessageRequest:
    return legacy.read_sent(await _body(request))


async def _legacy_push_config(request: Request, _kind: Any) -> wire.TaskPushNotificationConfig:
    return legacy.read_push_config(request.path_params["id"], await _body(request))


_CONFIGS = "/tasks/{id}/pushNotificationConfigs"
_CONFIG = f"{_CONFIGS}/{{webhook}}"
ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(("POST",), "/message:send", "SendMessage", FromBody()),
    Endpoint(("POST",), "/message:stream", "SendStreamingMessage", FromBody()),
    Endpoint(("GET",), "/tasks", "ListTasks", FromQuery()),
    Endpoint(("POST",), "/tasks/{id}:cancel", "CancelTask", FromBody({"id": "id"})),
    Endpoint(("POST", "GET"), "/tasks/{id}:subscribe", "SubscribeToTask", FromQuery({"id": "id"})),
    Endpoint(("GET",), "/tasks/{id}", "GetTask", FromQuery({"id": "id"})),
    Endpoint(("POST",), _CONFIGS, "CreateTaskPushNotificationConfig", FromBody({"taskId": "id"})),
    Endpoint(("GET",), _CONFIGS, "ListTaskPushNotificationConfigs", FromQuery({"taskId": "id"})),
    Endpoint(("GET",), _CONFIG, "GetTaskPushNotificationConfig", FromQuery({"taskId": "id", "id": "webhook"})),
    Endpoint(("DELETE",), _CONFIG, "DeleteTaskPushNotificationConfig", FromQuery({"taskId": "id", "id": "webhook"})),
    Endpoint(("GET",), "/extendedAgentCard", "GetExtendedAgentCard", _from_nothing),
)
_LEGACY_WRITERS: dict[str, Callable[[Json], object]] = {
    "SendMessage": legacy.write_sent,
    "SendStreamingMessage": legacy.write_update,
    "GetTask": legacy.write_task,
    "CancelTask": legacy.write_task,
    "SubscribeToTask": legacy.write_update,
    "CreateTaskPushNotificationConfig": legacy.write_push_config,
    "GetTaskPushNotificationConfig": legacy.write_push_config,
    "ListTaskPushNotificationConfigs": legacy.write_push_configs,
    "DeleteTaskPushNotificationConfig": lambda _: {},
    "GetExtendedAgentCard": legacy_card,
    "ListTasks": lambda answer: answer | {"tasks": [legacy.write_task(task) for task in answer["tasks"]]},
}
_LEGACY_READERS: dict[str, Reader] = {
    "SendMessage": _legacy_message,
    "SendStreamingMessage": _legacy_message,
    "CreateTaskPushNotificationConfig": _legacy_push_config,
}


def _legacy_endpoint(endpoint: Endpoint) -> Endpoint:
    """Return the endpoint that 0.3 has for the same operation."""
    return Endpoint(
        endpoint.methods,
        "/card" if endpoint.operation == "GetExtendedAgentCard" else endpoint.path,
        endpoint.operation,
        _LEGACY_READERS.get(endpoint.operation, endpoint.read),
        _LEGACY_WRITERS[endpoint.operation],
    )


class Rest:
    """Serves HTTP+JSON requests."""

    def __init__(self, house: House, wrong_tokens: WrongTokens, operations: Operations) -> None:
        self._house = house
        self._wrong_tokens = wrong_tokens
        self._operations = operations

    def routes(self) -> list[BaseRoute]:
        """Return the routes of both versions."""
        new = [self._route("/a2a/{agent}", endpoint, "1.0") for endpoint in ENDPOINTS]
        return [*[self._route("/a2a/{agent}/v1", _legacy_endpoint(one), "0.3") for one in ENDPOINTS], *new]

    def _route(self, base: str, endpoint: Endpoint, version: Version) -> BaseRoute:
        path = base + endpoint.path

        async def serve(request: Request) -> Response:
            return await respond(
                request,
                path,
                lambda: self._serve(request, endpoint, version),
                lambda error: error_response(request, error, version),
            )

        return Route(path, serve, methods=list(endpoint.methods), name=f"{endpoint.operation} {version} {path}")

    async def _serve(self, request: Request, endpoint: Endpoint, version: Version) -> Response:
        caller = structs.replace(await identify_caller(request, self._house, self._wrong_tokens), version=version)
        if requested_version(request) not in (None, version):
            raise unsupported_version(f"This URL belongs to A2A {version}")
        require_extensions(caller, self._house)
        caller = structs.replace(caller, scope=read_scope(dict(request.query_params)))
        operation, write = self._operations[endpoint.operation], endpoint.write
        parsed = await endpoint.read(request, operation.request)
        if operation.streams:
            updates = await operation.perform(caller, parsed, last_event_id(request.headers))
            return event_stream(request, self._house, self._wrong_tokens, updates, write or _unchanged, caller.headers)
        result = await operation.perform(caller, parsed)
        return _response(request, write(result) if write else result, 200, caller.headers)


def _unchanged(update: Json) -> Json:
    return update


def error_response(request: Request, error: A2aError, version: Version = "1.0") -> Response:
    """Return the error as an HTTP response."""
    body = error.legacy_http_body() if version == "0.3" else error.http_body()
    return _response(request, body, error.kind.http, error.headers())


def _response(request: Request, value: object, status: int, headers: dict[str, str]) -> Response:
    """Return the response as plain JSON, or in A2A's own media type if the request mentions it."""
    mentioned = request.headers.get("accept", "") + request.headers.get("content-type", "")
    media = _A2A_TYPE if _A2A_TYPE in mentioned else "application/json"
    return Response(msgspec.json.encode(value), status, headers, media)
