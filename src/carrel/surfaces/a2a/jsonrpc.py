"""JSON-RPC: one address for every operation, in 1.0 and in 0.3."""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from carrel.surfaces.a2a.binding import answered, framed, last_seen, read_json
from carrel.surfaces.a2a.caller import Caller, asked_version, caller_of, require_extensions, unsupported_version
from carrel.surfaces.a2a.errors import INVALID_REQUEST, METHOD_NOT_FOUND, A2aError
from carrel.surfaces.a2a.legacy.jsonrpc import LEGACY, Legacy
from carrel.surfaces.a2a.operations import OPERATIONS, Operation, Operations
from carrel.surfaces.a2a.params import read_params
from carrel.surfaces.a2a.task_view import Json
from carrel.surfaces.http.house import House
from carrel.surfaces.http.identity import WrongTokens

_ROUTE = "/a2a/{agent}"


class _Known:
    """What is known of a request so far, for whatever is answered in the end."""

    def __init__(self) -> None:
        self.caller: Caller | None = None
        self.call_id: Any = None

    def told(self, error: A2aError) -> Response:
        """The error as an answer: who may not ask at all is told so by the status, every other answer is a 200."""
        status = error.fault.http if self.caller is None or error.fault.http == 413 else 200
        headers = error.headers() | (self.caller.headers if self.caller else {})
        return _response(self.call_id, {"error": error.rpc_body()}, headers, status)


class JsonRpc:
    """Answers JSON-RPC requests."""

    def __init__(self, house: House, wrong: WrongTokens, operations: Operations) -> None:
        self._house = house
        self._wrong = wrong
        self._operations = operations

    async def serve(self, request: Request) -> Response:
        """One request."""
        known = _Known()

        async def work() -> Response:
            known.caller = await caller_of(request, self._house, self._wrong)
            body = await read_json(request)
            known.call_id = _id_of(body)
            return await self._call(request, known.caller, known.call_id, body)

        return await answered(request, _ROUTE, work, known.told)

    async def _call(self, request: Request, caller: Caller, call_id: Any, body: object) -> Response:
        method, params = _read_call(body)
        operation, legacy = _find(method, asked_version(request))
        require_extensions(caller, self._house)
        asked = legacy.read(params) if legacy else read_params(operation.request, params)
        if not operation.streams:
            result = await operation.act(self._operations, caller, asked)
            return _response(call_id, {"result": legacy.write(result) if legacy else result}, caller.headers)
        frames = await operation.act(self._operations, caller, asked, last_seen(request.headers))

        def shape(update: Json) -> object:
            return {"jsonrpc": "2.0", "id": call_id, "result": legacy.write(update) if legacy else update}

        return framed(request, self._house, self._wrong, frames, shape, caller.headers)


def _id_of(body: object) -> Any:
    """The id that the answer repeats; None where the request has none that could be repeated."""
    found = body.get("id") if isinstance(body, dict) else None
    return found if isinstance(found, str | int | float) and not isinstance(found, bool) else None


def _read_call(body: object) -> tuple[str, object]:
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0" or not isinstance(body.get("method"), str):
        raise A2aError(INVALID_REQUEST, "This is no JSON-RPC 2.0 request: it has jsonrpc '2.0', a method and an id.")
    if body.get("id") is not None and _id_of(body) is None:
        raise A2aError(INVALID_REQUEST, "The id of a request is a text or a number.", field="id")
    params = body.get("params")
    return body["method"], {} if params is None else params


def _find(method: str, version: str | None) -> tuple[Operation, Legacy | None]:
    """The operation that a method names, in the version it belongs to."""
    known, legacy = OPERATIONS.get(method), LEGACY.get(method)
    if known is None and legacy is None:
        raise A2aError(METHOD_NOT_FOUND, f"There is no method {method[:80]} here.")
    if version == "1.0" and known is None:
        raise unsupported_version(f"{method} belongs to A2A 0.3, and the request names 1.0")
    if version == "0.3" and legacy is None:
        raise unsupported_version(f"{method} belongs to A2A 1.0, and the request names 0.3")
    return (known, None) if known is not None else (OPERATIONS[legacy.operation], legacy)  # type: ignore[union-attr]


def _response(call_id: Any, outcome: Json, headers: dict[str, str], status: int = 200) -> Response:
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": call_id, **outcome})
    return Response(body, status, headers, "application/json")
