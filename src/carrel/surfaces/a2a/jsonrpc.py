"""The JSON-RPC binding: one URL for every operation, in 1.0 and in 0.3."""

from functools import partial
from typing import Any

import msgspec
from a2a.types import GetTaskRequest, ListTasksRequest
from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response

from carrel.surfaces.a2a import legacy
from carrel.surfaces.a2a.caller import (
    Caller,
    identify_caller,
    requested_version,
    require_extensions,
    unsupported_version,
)
from carrel.surfaces.a2a.errors import INVALID_REQUEST, METHOD_NOT_FOUND, A2aError
from carrel.surfaces.a2a.http_binding import Binding, read_json, respond
from carrel.surfaces.a2a.opt.methods import METHODS, perform
from carrel.surfaces.a2a.protobuf_json import Json
from carrel.surfaces.a2a.requests import parse_params, read_scope

_ROUTE = "/a2a/{agent}"


class JsonRpc(Binding):
    async def serve(self, request: Request) -> Response:
        # What is known of it so far, for an error at any point.
        caller: Caller | None = None
        call_id: Any = None

        async def work() -> Response:
            nonlocal caller, call_id
            caller = await identify_caller(request, self._services, self._wrong_tokens)
            body = await read_json(request)
            call_id = _id_of(body)
            return await self._call(request, caller, call_id, body)

        def on_error(error: A2aError) -> Response:
            status = error.kind.http if caller is None or error.kind.http == 413 else 200
            headers = error.headers() | (caller.headers if caller else {})
            return _response(call_id, {"error": error.rpc_body()}, headers, status)

        return await respond(request, _ROUTE, work, on_error)

    async def _call(self, request: Request, caller: Caller, call_id: Any, body: object) -> Response:
        method, params = _read_call(body)
        version = requested_version(request)
        if method in METHODS and caller.uses_opt:
            require_extensions(caller, self._services)
            return _response(call_id, {"result": await perform(self._services, caller, method, params)}, caller.headers)
        name, is_legacy = self._find(method, version)
        operation = self._operations[name]
        require_extensions(caller, self._services)
        is_read = operation.request in (GetTaskRequest, ListTasksRequest)
        # The types of these requests have no metadata, so it is read from the raw params.
        scope = read_scope(params.get("metadata")) if is_read and isinstance(params, dict) else "task"
        caller = structs.replace(caller, version="0.3" if is_legacy else "1.0", scope=scope)
        read = legacy.conversions().RPC_READERS[name] if is_legacy else partial(parse_params, operation.request)

        def write(result: Json) -> object:
            shown = legacy.conversions().RPC_WRITERS[name](result) if is_legacy else result
            return {"jsonrpc": "2.0", "id": call_id, "result": shown}

        def to_response(result: object) -> Response:
            return Response(msgspec.json.encode(result), 200, caller.headers, "application/json")

        return await self.perform(request, caller, operation, read(params), write, to_response)

    def _find(self, method: str, version: str | None) -> tuple[str, bool]:
        """Return the name of the operation that a method calls, and whether the method is one of 0.3."""
        is_legacy = method in legacy.METHODS
        name = legacy.METHODS.get(method, method)
        if name not in self._operations:
            raise A2aError(METHOD_NOT_FOUND, f"There is no method {method[:80]}.")
        belongs_to = "0.3" if is_legacy else "1.0"
        if version not in (None, belongs_to):
            raise unsupported_version(f"{method} is a method of A2A {belongs_to}, but the request names {version}")
        return name, is_legacy


def _id_of(body: object) -> Any:
    """Return the id that the response repeats; None if the request has no valid one."""
    call_id = body.get("id") if isinstance(body, dict) else None
    return call_id if isinstance(call_id, str | int | float) and not isinstance(call_id, bool) else None


def _read_call(body: object) -> tuple[str, object]:
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0" or not isinstance(body.get("method"), str):
        raise A2aError(INVALID_REQUEST, "This is not a JSON-RPC 2.0 request with jsonrpc '2.0', a method and an id.")
    if body.get("id") is not None and _id_of(body) is None:
        raise A2aError(INVALID_REQUEST, "The id of a request must be a string or a number.", field="id")
    params = body.get("params")
    return body["method"], {} if params is None else params


def _response(call_id: Any, content: Json, headers: dict[str, str], status: int = 200) -> Response:
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": call_id, **content})
    return Response(body, status, headers, "application/json")
