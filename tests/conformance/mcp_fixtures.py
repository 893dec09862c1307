"""The tools, resources and prompts with fixed names that the MCP conformance suite calls.

No product has them; they test whether our endpoint handles all of them correctly.
"""

import base64
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp_types import (
    AudioContent,
    Completion,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
)
from pydantic import Field

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
fixtures = MCPServer("fixtures", version="1", log_level="WARNING")


def text_resource(uri: str, text: str, kind: str = "text/plain") -> EmbeddedResource:
    return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type=kind, text=text))


@fixtures.tool()
async def test_simple_text() -> str:
    """Return text."""
    return "This is a simple text response for testing."


@fixtures.tool()
async def test_image_content() -> list[ImageContent]:
    """Return an image."""
    return [ImageContent(data=PIXEL, mime_type="image/png")]


@fixtures.tool()
async def test_audio_content() -> list[AudioContent]:
    """Return audio."""
    return [AudioContent(data=SILENCE, mime_type="audio/wav")]


@fixtures.tool()
async def test_embedded_resource() -> list[EmbeddedResource]:
    """Return a resource."""
    return [text_resource("test://embedded-resource", "This is an embedded resource content.")]


@fixtures.tool()
async def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
    """Return one of each."""
    return [
        TextContent(text="Multiple content types test:"),
        ImageContent(data=PIXEL, mime_type="image/png"),
        text_resource("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ]


@fixtures.tool()
async def test_error_handling() -> str:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


@fixtures.tool()
async def test_tool_with_progress(context: Context) -> str:
    """Report progress three times."""
    for done in (0, 50, 100):
        await context.report_progress(done, 100, f"Completed step {done} of 100")
    return "done"


@fixtures.tool()
async def test_header(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    """Take a parameter from a header."""
    return region


@fixtures.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    return "This is the content of the static text resource."


@fixtures.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    return base64.b64decode(PIXEL)


@fixtures.resource("test://template/{id}/data", mime_type="application/json")
def template(id: str) -> str:  # noqa: A002  (the suite's own name)
    return f'{{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}}'


@fixtures.prompt()
def test_simple_prompt() -> str:
    """Return one message."""
    return "This is a simple prompt for testing."


@fixtures.prompt()
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """Return one message with both arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@fixtures.prompt()
def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803  (the suite's own name)
    """Return a resource and a message."""
    return [
        UserMessage(text_resource(resourceUri, "Embedded resource content for testing.")),
        UserMessage(TextContent(text="Please process the embedded resource above.")),
    ]


@fixtures.prompt()
def test_prompt_with_image() -> list[UserMessage]:
    """Return an image and a message."""
    return [
        UserMessage(ImageContent(data=PIXEL, mime_type="image/png")),
        UserMessage(TextContent(text="Please analyze the image above.")),
    ]


@fixtures.completion()  # type: ignore[no-untyped-call, untyped-decorator]
async def complete(*_: Any) -> Completion:
    return Completion(values=[], total=0, has_more=False)
