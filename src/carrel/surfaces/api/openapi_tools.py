"""The part of the OpenAPI document about tools: `/agent`, with one operation for each tool."""

from typing import Any

import msgspec

from carrel.kernel.limits import SESSION_REFERENCE_CHARS_MAX
from carrel.surfaces.api.endpoint import Out
from carrel.surfaces.api.fields import REFERENCE_SCHEMA
from carrel.tools import CATALOG, Tool

_SESSION = {
    "name": "x-openclaw-session-key",
    "in": "header",
    "required": False,
    "description": "The session to call from; without it, the main session of the token's agent.",
    "schema": {"type": "string", "maxLength": SESSION_REFERENCE_CHARS_MAX, **REFERENCE_SCHEMA},
}


class OfferedTool(Out, frozen=True, kw_only=True):
    """One tool: what it is called, what it does and what it takes."""

    name: str
    aliases: list[str]
    description: str
    effect: str
    parameters: dict[str, Any]


class OfferedTools(Out, frozen=True, kw_only=True):
    """The tools that the caller may use."""

    tools: list[OfferedTool]


def tool_types() -> list[type]:
    """Return the types of everything that tools take and give."""
    results = [tool.result_type for tool in CATALOG.offered() if tool.result_type is not None]
    return [OfferedTools, *tool_params(), *results]


def tool_params() -> list[type]:
    """Return the types of what tools take."""
    return [tool.params for tool in CATALOG.offered()]


def tool_paths(
    shapes: dict[int, Any], errors: dict[str, Any], security: list[Any], key: dict[str, Any]
) -> dict[str, Any]:
    """Return the paths of tools; `errors` are the answers to refused calls, `key` is the idempotency key."""
    listed = {
        "operationId": "list_tools",
        "summary": "List the tools that the caller may use.",
        "tags": ["agent"],
        "parameters": [_SESSION],
        "responses": {"200": _answer("The tools.", shapes[id(OfferedTools)]), **errors},
        "security": security,
    }
    called = {f"/agent/{tool.name}": {"post": _call(tool, shapes, errors, security, key)} for tool in CATALOG.offered()}
    return {"/agent": {"get": listed}, **called}


def _call(
    tool: Tool, shapes: dict[int, Any], errors: dict[str, Any], security: list[Any], key: dict[str, Any]
) -> dict[str, Any]:
    required = any(field.required for field in msgspec.structs.fields(tool.params))
    given = {"type": "object"} if tool.result_type is None else shapes[id(tool.result_type)]
    return {
        "operationId": f"call_{tool.name}",
        "summary": tool.description.partition("\n")[0],
        "tags": ["agent"],
        "parameters": [_SESSION] if tool.effect == "read" else [_SESSION, key],
        "requestBody": {
            "required": required,
            "content": {"application/json": {"schema": shapes[id(tool.params)]}},
        },
        "responses": {"200": _answer("The result of the call.", given), **errors},
        "security": security,
    }


def _answer(description: str, schema: Any) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}
