"""The operations of `/agent` for the OpenAPI document: the list of tools, and one operation for each of them."""

from typing import Any

from msgspec import Struct

from carrel.surfaces.http.openapi import IDEMPOTENCY_KEY, Json, Operation, session_header
from carrel.tools import CATALOG, Tool

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


def describe() -> list[Operation]:
    """Return the operations of the tools."""
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
