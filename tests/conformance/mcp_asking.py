"""Fixtures of the MCP suite for 2025-11-25: tools that notify or ask the client during a call.

A client can only be asked in a session, because its answer is a separate request.
"""

from typing import Any

from mcp.server.mcpserver import Context
from mcp_types import (
    EmptyResult,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel

from tests.conformance.mcp_fixtures import fixtures

USER = {
    "username": {"type": "string", "description": "User's response"},
    "email": {"type": "string", "description": "User's email address"},
}
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
ACCEPTED: dict[str, type[BaseModel]] = {
    "logging/setLevel": SetLevelRequestParams,
    "resources/subscribe": SubscribeRequestParams,
    "resources/unsubscribe": UnsubscribeRequestParams,
}
PLAIN = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{number}", "title": f"Choice {number}"} for number in (1, 2, 3)]
CHOICES = {
    "untitledSingle": {"type": "string", "enum": PLAIN},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": PLAIN}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}


@fixtures.tool()
async def test_tool_with_logging(context: Context) -> str:
    """Log three messages to the client."""
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.log("info", line)
    return "done"


@fixtures.tool()
async def test_sampling(prompt: str, context: Context) -> str:
    """Ask the client's model."""
    asked = SamplingMessage(role="user", content=TextContent(text=prompt))
    given = await context.session.create_message([asked], max_tokens=100, related_request_id=context.request_id)
    assert isinstance(given.content, TextContent)
    return f"LLM response: {given.content.text}"


@fixtures.tool()
async def test_elicitation(message: str, context: Context) -> str:
    """Ask the client's user."""
    return f"User response: {await filled_in(context, message, USER, required=list(USER))}"


@fixtures.tool()
async def test_elicitation_sep1034_defaults(context: Context) -> str:
    """Ask with a default for every field."""
    return f"Elicitation completed: {await filled_in(context, 'Look through this', DEFAULTS)}"


@fixtures.tool()
async def test_elicitation_sep1330_enums(context: Context) -> str:
    """Ask for choices, in every form of an enum."""
    return f"Elicitation completed: {await filled_in(context, 'Choose', CHOICES)}"


async def filled_in(context: Context, message: str, fields: dict[str, Any], **more: object) -> str:
    """Return what the client's user enters in a form."""
    form = {"type": "object", "properties": fields, **more}
    given = await context.session.elicit_form(message, form, related_request_id=context.request_id)
    return f"action={given.action}, content={given.content}"


async def accept(*_: object) -> EmptyResult:
    """Accept log levels and subscriptions, which have no effect here."""
    return EmptyResult()


for method, params in ACCEPTED.items():
    fixtures._lowlevel_server.add_request_handler(method, params, accept)
