"""HTTP+JSON: an address for every operation; 1.0 under the agent's own, 0.3 under its `/v1`."""

from collections.abc import Awaitable, Callable
from typing import Any

import a2a.types as wire
import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from carrel.surfaces.a2a.binding import answered, framed, last_seen, read_json
from carrel.surfaces.a2a.caller import Version, asked_version, caller_of, require_extensions, unsupported_version
from carrel.surfaces.a2a.cards import legacy_card
from carrel.surfaces.a2a.errors import A2aError
from carrel.surfaces.a2a.legacy import rest as old
from carrel.surfaces.a2a.operations import OPERATIONS, Operations
from carrel.surfaces.a2a.params import check_scope, read_params
from carrel.surfaces.a2a.task_view import Json
from carrel.surfaces.http.house import House
from carrel.surfaces.http.identity import WrongTokens

_OWN_TYPE = "application/a2a+json"
_WORDS_OF_TRUTH = {"true": True, "false": False, "1": True, "0": False}


class Address(Struct, frozen=True):
    """One address: how a request there is read, which operation it is, and how 0.3 says the answer."""

    methods: tuple[str, ...]
    path: str
    operation: str
    read: Callable[[Request], Awaitable[Any]]
    write: Callable[[Json], object] | None = None


async def _body(request: Request) -> object:
    body = await read_json(request)
    return {} if body is None else body


def _query(request: Request) -> Json:
    return dict(request.query_params)


def _reads_body(operation: str, **path: str) -> Callable[[Request], Awaitable[Any]]:
    """A reader of the body, with parts of the path under their names in the request."""

    async def read(request: Request) -> Any:
        body = await _body(request)
        named = {name: request.path_params[part] for name, part in path.items()}
        return read_params(OPERATIONS[operation].request, body | named if isinstance(body, dict) else body)

    return read


def _reads_query(operation: str, **path: str) -> Callable[[Request], Awaitable[Any]]:
    """A reader of the query parameters, with parts of the path under their names in the request."""

    async def read(request: Request) -> Any:
        query = _query(request)
        check_scope(query)
        if query.get("includeArtifacts") in _WORDS_OF_TRUTH:
            query["includeArtifacts"] = _WORDS_OF_TRUTH[query["includeArtifacts"]]
        named = {name: request.path_params[part] for name, part in path.items()}
        return read_params(OPERATIONS[operation].request, query | named)

    return read


async def _read_old_message(request: Request) -> wire.SendMessageRequest:
    return old.read_sent(await _body(request))


async def _read_old_webhook(request: Request) -> wire.TaskPushNotificationConfig:
    return old.read_webhook(request.path_params["id"], await _body(request))


async def _reads_nothing(_request: Request) -> wire.GetExtendedAgentCardRequest:
    return wire.GetExtendedAgentCardRequest()


_WEBHOOKS = "/tasks/{id}/pushNotificationConfigs"
_NEW: tuple[Address, ...] = (
    Address(("POST",), "/message:send", "SendMessage", _reads_body("SendMessage")),
    Address(("POST",), "/message:stream", "SendStreamingMessage", _reads_body("SendStreamingMessage")),
    Address(("GET",), "/tasks", "ListTasks", _reads_query("ListTasks")),
    Address(("POST",), "/tasks/{id}:cancel", "CancelTask", _reads_body("CancelTask", id="id")),
    Address(("POST", "GET"), "/tasks/{id}:subscribe", "SubscribeToTask", _reads_query("SubscribeToTask", id="id")),
    Address(("GET",), "/tasks/{id}", "GetTask", _reads_query("GetTask", id="id")),
    Address(
        ("POST",),
        _WEBHOOKS,
        "CreateTaskPushNotificationConfig",
        _reads_body("CreateTaskPushNotificationConfig", taskId="id"),
    ),
    Address(
        ("GET",),
        _WEBHOOKS,
        "ListTaskPushNotificationConfigs",
        _reads_query("ListTaskPushNotificationConfigs", taskId="id"),
    ),
    Address(
        ("GET",),
        f"{_WEBHOOKS}/{{webhook}}",
        "GetTaskPushNotificationConfig",
        _reads_query("GetTaskPushNotificationConfig", taskId="id", id="webhook"),
    ),
    Address(
        ("DELETE",),
        f"{_WEBHOOKS}/{{webhook}}",
        "DeleteTaskPushNotificationConfig",
        _reads_query("DeleteTaskPushNotificationConfig", taskId="id", id="webhook"),
    ),
    Address(("GET",), "/extendedAgentCard", "GetExtendedAgentCard", _reads_nothing),
)
_WRITERS: dict[str, Callable[[Json], object]] = {
    "SendMessage": old.write_sent,
    "SendStreamingMessage": old.write_update,
    "GetTask": old.write_task,
    "CancelTask": old.write_task,
    "SubscribeToTask": old.write_update,
    "CreateTaskPushNotificationConfig": old.write_webhook,
    "GetTaskPushNotificationConfig": old.write_webhook,
    "ListTaskPushNotificationConfigs": old.write_webhooks,
    "DeleteTaskPushNotificationConfig": lambda _: {},
    "GetExtendedAgentCard": legacy_card,
    "ListTasks": lambda answer: answer | {"tasks": [old.write_task(task) for task in answer["tasks"]]},
}
_OLD_READERS: dict[str, Callable[[Request], Awaitable[Any]]] = {
    "SendMessage": _read_old_message,
    "SendStreamingMessage": _read_old_message,
    "CreateTaskPushNotificationConfig": _read_old_webhook,
}


def _old(address: Address) -> Address:
    """The address that 0.3 has for the same operation."""
    return Address(
        address.methods,
        "/card" if address.operation == "GetExtendedAgentCard" else address.path,
        address.operation,
        _OLD_READERS.get(address.operation, address.read),
        _WRITERS[address.operation],
    )


class Rest:
    """Answers requests by their addresses."""

    def __init__(self, house: House, wrong: WrongTokens, operations: Operations) -> None:
        self._house = house
        self._wrong = wrong
        self._operations = operations

    def routes(self) -> list[BaseRoute]:
        """Every address of both versions."""
        new = [self._route("/a2a/{agent}", address, "1.0") for address in _NEW]
        return [*[self._route("/a2a/{agent}/v1", _old(address), "0.3") for address in _NEW], *new]

    def _route(self, above: str, address: Address, version: Version) -> BaseRoute:
        path = above + address.path

        async def serve(request: Request) -> Response:
            return await answered(
                request,
                path,
                lambda: self._serve(request, address, version),
                lambda error: refused(request, error, version),
            )

        return Route(path, serve, methods=list(address.methods), name=f"{address.operation} {version} {path}")

    async def _serve(self, request: Request, address: Address, version: Version) -> Response:
        caller = await caller_of(request, self._house, self._wrong)
        if asked_version(request) not in (None, version):
            raise unsupported_version(f"This address belongs to A2A {version}")
        require_extensions(caller, self._house)
        operation, write = OPERATIONS[address.operation], address.write
        asked = await address.read(request)
        if operation.streams:
            frames = await operation.act(self._operations, caller, asked, last_seen(request.headers))
            return framed(request, self._house, self._wrong, frames, write or _as_it_is, caller.headers)
        result = await operation.act(self._operations, caller, asked)
        return _response(request, write(result) if write else result, 200, caller.headers)


def _as_it_is(update: Json) -> Json:
    return update


def refused(request: Request, error: A2aError, version: Version = "1.0") -> Response:
    """The error as an answer over HTTP."""
    body = error.legacy_http_body() if version == "0.3" else error.http_body()
    return _response(request, body, error.fault.http, error.headers())


def _response(request: Request, value: object, status: int, headers: dict[str, str]) -> Response:
    """The answer in the media type that the caller uses: plain JSON, unless it speaks of A2A's own."""
    asked = request.headers.get("accept", "") + request.headers.get("content-type", "")
    media = _OWN_TYPE if _OWN_TYPE in asked else "application/json"
    return Response(msgspec.json.encode(value), status, headers, media)
