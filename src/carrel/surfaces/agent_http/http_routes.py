"""The routes of the tools and their description: the list of those the caller may use, and each of them by its name."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from carrel.kernel import not_found
from carrel.storage import Tx
from carrel.surfaces.http.bodies import decode_body, read_body
from carrel.surfaces.http.idempotency import IdempotentAnswers, Keep, read_key
from carrel.surfaces.http.identity import WrongTokens
from carrel.surfaces.http.openapi import IDEMPOTENCY_KEY, Json, Operation, session_header
from carrel.surfaces.http.responder import answer_request
from carrel.surfaces.http.services import Services
from carrel.surfaces.http.tool_callers import tool_caller
from carrel.tools import CATALOG, ExternalCaller, ExternalCalls, NewCall, Tool

_SESSION = session_header("The session to call from; without it, the main session of the token's agent.")
_LIST_ERRORS = (400, 401, 403, 404, 409, 429, 500, 503)
_CALL_ERRORS = (400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 503)
# Replaces a result that is too long.
_CUT: Json = {
    "type": "object",
    "properties": {"truncated": {"const": True}, "bytes": {"type": "integer"}, "text": {"type": "string"}},
    "required": ["truncated", "bytes", "text"],
}


class OfferedTool(Struct, frozen=True, kw_only=True):
    """One tool: what it is called, what it does and what it takes."""

    name: str
    aliases: list[str]
    description: str
    effect: str
    parameters: dict[str, Any]


class OfferedTools(Struct, frozen=True, kw_only=True):
    """The tools that the caller may use."""

    tools: list[OfferedTool]


def routes(services: Services, wrong: WrongTokens) -> list[BaseRoute]:
    """Return the routes of the tools."""
    tools = _Tools(services, wrong)
    return [_route("GET", "/agent", tools.offered), _route("POST", "/agent/{tool}", tools.called)]


def _route(method: str, path: str, work: Callable[[Request], Awaitable[Response]]) -> Route:
    async def serve(request: Request) -> Response:
        return await answer_request(request, path, lambda: work(request))

    return Route(path, serve, methods=[method])


class _Tools:
    def __init__(self, services: Services, wrong: WrongTokens) -> None:
        self._services = services
        self._wrong = wrong
        self._calls = ExternalCalls(services.db, services.watch, services.closing)
        self._answers = IdempotentAnswers(services.db)
        self._names = {name: tool for tool in CATALOG.offered() for name in (tool.name, *_aliases(tool))}

    async def offered(self, request: Request) -> Response:
        """List the tools that the caller may use in its session."""
        caller = await tool_caller(request, self._services, self._wrong)
        return _json(msgspec.json.encode(OfferedTools(tools=[_shown(tool) for tool in caller.toolset.offered()])))

    async def called(self, request: Request) -> Response:
        """Call a tool; under an idempotency key, return its first result."""
        caller = await tool_caller(request, self._services, self._wrong)
        tool = self._names.get(request.path_params["tool"])
        if tool is None:
            raise not_found("tool")
        raw = await read_body(request)
        decode_body(raw, dict)
        key = None if tool.effect == "read" else read_key(request.headers)
        if key is None:
            return await self._call(caller, tool, raw)
        return await self._once(caller, tool, raw, key)

    async def _call(
        self, caller: ExternalCaller, tool: Tool, raw: bytes, key: str = "", keep: Keep | None = None
    ) -> Response:
        def kept(tx: Tx, text: str) -> None:
            if keep is not None:
                keep(tx, _json(text.encode()))

        call = NewCall(caller=caller, tool=tool.name, arguments=raw.decode(), call_id=key, keep=kept)
        return _json((await self._calls.make(call)).encode())

    async def _once(self, caller: ExternalCaller, tool: Tool, raw: bytes, key: str) -> Response:
        async def work(keep: Keep) -> Response:
            return await self._call(caller, tool, raw, key, keep)

        who = caller.caller
        # All runs of an agent share one actor, as do all lanes of an owner: keep their answers apart.
        own_key = f"{who.key} {who.run.id if who.run else '-'} {key}"
        return await self._answers.once(who.access, own_key, f"POST /agent/{tool.name}\n".encode() + raw, work)


def _aliases(tool: Tool) -> list[str]:
    spelled = [spelling for name in tool.names for spelling in (name, name.replace("_", "-"))]
    return list(dict.fromkeys(name for name in spelled if name != tool.name))


def _shown(tool: Tool) -> OfferedTool:
    return OfferedTool(
        name=tool.name,
        aliases=_aliases(tool),
        description=tool.description,
        effect=tool.effect,
        parameters=tool.schema(),
    )


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")


def describe() -> list[Operation]:
    """Return the operations of the tools for the OpenAPI document."""
    listed = Operation(
        method="GET",
        path="/agent",
        name="list_tools",
        summary="List the tools that the caller may use.",
        tag="agent",
        headers=(_SESSION,),
        answers={200: OfferedTools},
        errors=_LIST_ERRORS,
    )
    return [listed, *map(_call, CATALOG.offered())]


def _call(tool: Tool) -> Operation:
    kind = tool.result_type
    result = {"anyOf": [{"$ref": f"#/components/schemas/{kind.__name__}"}, _CUT]} if kind else {"type": "object"}
    return Operation(
        method="POST",
        path=f"/agent/{tool.name}",
        name=f"call_{tool.name}",
        summary=tool.description.partition("\n")[0],
        tag="agent",
        headers=(_SESSION,) if tool.effect == "read" else (_SESSION, IDEMPOTENCY_KEY),
        body=tool.params,
        answers={200: result},
        uses=(kind,) if kind else (),
        errors=_CALL_ERRORS,
    )
