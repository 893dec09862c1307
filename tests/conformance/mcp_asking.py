"""Fixtures of the MCP suite for 2025-11-25: what tells the client something, or asks it something, within a call.

To be asked, a client must have a session of the protocol, for its answer comes as a request of its own.
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
    """Tell the client's log three times."""
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
    """Ask the client's person."""
    return f"User response: {await filled_in(context, message, USER, required=list(USER))}"


@fixtures.tool()
async def test_elicitation_sep1034_defaults(context: Context) -> str:
    """Ask with something written into every field."""
    return f"Elicitation completed: {await filled_in(context, 'Look through this', DEFAULTS)}"


@fixtures.tool()
async def test_elicitation_sep1330_enums(context: Context) -> str:
    """Ask for choices, in each way a choice is written."""
    return f"Elicitation completed: {await filled_in(context, 'Choose', CHOICES)}"


async def filled_in(context: Context, message: str, fields: dict[str, Any], **more: object) -> str:
    """What the client's person makes of a form."""
    form = {"type": "object", "properties": fields, **more}
    given = await context.session.elicit_form(message, form, related_request_id=context.request_id)
    return f"action={given.action}, content={given.content}"


async def accept(*_: object) -> EmptyResult:
    """Nothing changes here that a log's level or a subscription would show."""
    return EmptyResult()


for method, params in ACCEPTED.items():
    fixtures._lowlevel_server.add_request_handler(method, params, accept)
