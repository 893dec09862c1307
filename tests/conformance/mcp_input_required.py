"""Fixtures of the MCP suite for 2026-07-28: calls that are answered "input required" and made again with the answers.

And those that `server-stateless` looks at a server through.
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
    """Ask the client's person for fields of these types."""
    properties = {name: {"type": kind} for name, kind in fields.items()}
    schema = {"type": "object", "properties": properties, "required": list(fields)}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(text: str) -> CreateMessageRequest:
    """Ask the client's model."""
    message = SamplingMessage(role="user", content=TextContent(text=text))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=100))


def answered(context: Context, requests: Mapping[str, InputRequest], state: str | None = None) -> Given:
    """What was answered, once everything is; until then what is asked for."""
    responses = context.input_responses or {}
    if responses.keys() >= requests.keys() and context.request_state == state:
        told = ", ".join(f"{name}: {responses[name].model_dump(exclude_none=True)}" for name in requests)
        return f"{state}-ok {told}"
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
    """Ask, and know by the state that it was asked."""
    return answered(context, {"confirm": form("Please confirm", ok="boolean")}, "state")


@fixtures.tool()
async def test_input_required_result_tampered_state(context: Context) -> Given:
    """Ask, with a state that nobody else can make."""
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
    """Ask for what the client says it can do."""
    can = context.client_capabilities
    asked: dict[str, InputRequest] = {}
    if can is not None and can.sampling is not None:
        asked["greeting"] = sampling("Generate a greeting")
    if can is not None and can.elicitation is not None:
        asked["user_name"] = form("What is your name?", name="string")
    return answered(context, asked)


@fixtures.prompt()
async def test_input_required_result_prompt(context: Context) -> Given:
    """Ask before there is a prompt."""
    return answered(context, {"user_context": form("What is it about?", context="string")})


@fixtures.tool()
async def test_missing_capability(context: Context) -> str:
    """Refuse a client that cannot be asked for a model's words."""
    can = context.client_capabilities
    if can is None or can.sampling is None:
        raise MCPError(
            MISSING_REQUIRED_CLIENT_CAPABILITY, "This needs sampling.", data={"requiredCapabilities": {"sampling": {}}}
        )
    return "done"


@fixtures.tool()
async def test_streaming_elicitation(context: Context) -> Given:
    """Ask without a request of its own."""
    return answered(context, {"confirm": form("Please confirm", ok="boolean")})


@fixtures.tool()
async def test_logging_tool(context: Context) -> str:
    """Tell the log of a client who wants to hear it."""
    await context.log("info", "heard only by those who asked for it")
    return "done"


@fixtures.tool()
async def test_trigger_tool_change(context: Context) -> str:
    """Tell listeners that there are other tools now."""
    await context.notify_tools_changed()
    return "done"


@fixtures.tool()
async def test_trigger_prompt_change(context: Context) -> str:
    """Tell listeners that there are other prompts now."""
    await context.notify_prompts_changed()
    return "done"
