"""Fixtures of the MCP suite for 2026-07-28: calls that return "input required" and are repeated with the answers.

Also those that `server-stateless` uses.
"""

from collections.abc import Mapping

from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
)

from tests.conformance.mcp_fixtures import fixtures

Given = str | InputRequiredResult


def form(message: str, **fields: str) -> ElicitRequest:
    """Ask the client's user for fields of these types."""
    properties = {name: {"type": kind} for name, kind in fields.items()}
    schema = {"type": "object", "properties": properties, "required": list(fields)}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(text: str) -> CreateMessageRequest:
    """Ask the client's model."""
    message = SamplingMessage(role="user", content=TextContent(text=text))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=100))


def answered(context: Context, requests: Mapping[str, InputRequest], state: str | None = None) -> Given:
    """Return the answers once there are all of them; until then ask for them."""
    responses = context.input_responses or {}
    if responses.keys() >= requests.keys() and context.request_state == state:
        answers = ", ".join(f"{name}: {responses[name].model_dump(exclude_none=True)}" for name in requests)
        return f"{state}-ok {answers}"
    return InputRequiredResult(input_requests=dict(requests), request_state=state)


@fixtures.tool()
async def test_input_required_result_elicitation(context: Context) -> Given:
    """Ask for a name."""
    return answered(context, {"user_name": form("What is your name?", name="string")})


@fixtures.tool()
async def test_input_required_result_sampling(context: Context) -> Given:
    """Ask a model."""
    return answered(context, {"capital_question": sampling("What is the capital of France?")})


@fixtures.tool()
async def test_input_required_result_list_roots(context: Context) -> Given:
    """Ask for roots."""
    return answered(context, {"client_roots": ListRootsRequest()})


@fixtures.tool()
async def test_input_required_result_request_state(context: Context) -> Given:
    """Ask, and recognize the repetition by its state."""
    return answered(context, {"confirm": form("Please confirm", ok="boolean")}, "state")


@fixtures.tool()
async def test_input_required_result_tampered_state(context: Context) -> Given:
    """Ask, with a state that cannot be forged."""
    return answered(context, {"confirm": form("Please confirm", ok="boolean")}, "state")


@fixtures.tool()
async def test_input_required_result_multiple_inputs(context: Context) -> Given:
    """Ask for three things at once."""
    asked: dict[str, InputRequest] = {
        "user_name": form("What is your name?", name="string"),
        "greeting": sampling("Generate a greeting"),
        "client_roots": ListRootsRequest(),
    }
    return answered(context, asked, "state")


@fixtures.tool()
async def test_input_required_result_multi_round(context: Context) -> Given:
    """Ask twice, one after the other."""
    if context.request_state is None:
        return answered(context, {"step1": form("Step 1: What is your name?", name="string")}, "first")
    return answered(context, {"step2": form("Step 2: What is your favorite color?", color="string")}, "second")


@fixtures.tool()
async def test_input_required_result_capabilities(context: Context) -> Given:
    """Ask only for what the client supports."""
    can = context.client_capabilities
    asked: dict[str, InputRequest] = {}
    if can is not None and can.sampling is not None:
        asked["greeting"] = sampling("Generate a greeting")
    if can is not None and can.elicitation is not None:
        asked["user_name"] = form("What is your name?", name="string")
    return answered(context, asked)


@fixtures.prompt()
async def test_input_required_result_prompt(context: Context) -> Given:
    """Ask before returning a prompt."""
    return answered(context, {"user_context": form("What is it about?", context="string")})


@fixtures.tool()
async def test_missing_capability(context: Context) -> str:
    """Refuse a client without sampling."""
    can = context.client_capabilities
    if can is None or can.sampling is None:
        raise MCPError(
            MISSING_REQUIRED_CLIENT_CAPABILITY, "This needs sampling.", data={"requiredCapabilities": {"sampling": {}}}
        )
    return "done"


@fixtures.tool()
async def test_streaming_elicitation(context: Context) -> Given:
    """Ask within the stream of the call."""
    return answered(context, {"confirm": form("Please confirm", ok="boolean")})


@fixtures.tool()
async def test_logging_tool(context: Context) -> str:
    """Log to a client that asked for it."""
    await context.log("info", "heard only by those who asked for it")
    return "done"


@fixtures.tool()
async def test_trigger_tool_change(context: Context) -> str:
    """Notify subscribers that the tools have changed."""
    await context.notify_tools_changed()
    return "done"


@fixtures.tool()
async def test_trigger_prompt_change(context: Context) -> str:
    """Notify subscribers that the prompts have changed."""
    await context.notify_prompts_changed()
    return "done"
