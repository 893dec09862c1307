"""The result of a call as a model gets it: text or structured content, and files. Pure."""

import base64
from collections.abc import Iterable
from typing import Any

import mcp_types

from carrel.connectors.model import CallResult
from carrel.kernel import REDACTED, NewAttachment, clip, limits, one_line, redact

_UNNAMED = "application/octet-stream"
_SHORTEST_SECRET_CHARS = 6
# The length to which a long text is cut; as JSON it gets longer.
_TEXT_CHARS_MAX = limits.TOOL_RESULT_BYTES_MAX // 2


def read_result(tool: str, result: mcp_types.CallToolResult, secrets: Iterable[str]) -> CallResult:
    """Return the result of a call without secrets; `secrets` are those that the server was given."""
    texts: list[str] = []
    files: list[NewAttachment] = []
    for at, part in enumerate(result.content):
        match part:
            case mcp_types.TextContent():
                texts.append(part.text)
            case mcp_types.ImageContent() | mcp_types.AudioContent():
                _add_file(files, texts, f"{tool}-{at + 1}", part.mime_type, part.data)
            case mcp_types.EmbeddedResource(resource=mcp_types.TextResourceContents() as resource):
                texts.append(resource.text)
            case mcp_types.EmbeddedResource(resource=mcp_types.BlobResourceContents() as resource):
                name = str(resource.uri).rstrip("/").rpartition("/")[2] or f"{tool}-{at + 1}"
                _add_file(files, texts, name, resource.mime_type or _UNNAMED, resource.blob)
            case mcp_types.ResourceLink():
                texts.append(f"{part.name}: {part.uri}")
    hidden = _Secrets(secrets)
    whole = "\n\n".join(texts)
    text = hidden.removed(redact(whole, _TEXT_CHARS_MAX))
    if result.is_error:
        message = clip(text or "The tool failed without saying why.", limits.TOOL_MESSAGE_CHARS_MAX)
        return CallResult(value={"ok": False, "error": {"code": "tool_failed", "message": message}})
    value: dict[str, Any] = {}
    if text or result.structured_content is None:
        value["text"] = text
    else:
        value["data"] = hidden.removed_within(result.structured_content)
    if len(whole) > _TEXT_CHARS_MAX:
        value |= {"truncated": True, "chars": len(whole)}
    return CallResult(value=value, files=tuple(files))


def _add_file(files: list[NewAttachment], texts: list[str], name: str, mime_type: str, data: str) -> None:
    name = clip(one_line(name), limits.NAME_CHARS_MAX)
    # Four characters of base64 are three bytes.
    if len(files) >= limits.MCP_FILES_PER_RESULT_MAX or len(data) * 3 // 4 > limits.ARTIFACT_BYTES_MAX:
        texts.append(f"[the file {name} was left out: it is too large, or there are too many]")
        return
    try:
        content = base64.b64decode(data, validate=True)
    except ValueError:
        texts.append(f"[the file {name} was left out: it is damaged]")
    else:
        kind = clip(one_line(mime_type), limits.NAME_CHARS_MAX)
        files.append(NewAttachment(name=name, mime_type=kind, content=content))


class _Secrets:
    """Values that must not appear in what a server says; very short ones would match everywhere."""

    def __init__(self, values: Iterable[str]) -> None:
        self._values = [value for value in values if len(value) >= _SHORTEST_SECRET_CHARS]

    def removed(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, REDACTED)
        return text

    def removed_within(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.removed(redact(value))
        if isinstance(value, list):
            return [self.removed_within(one) for one in value]
        if isinstance(value, dict):
            return {self.removed(str(name)): self.removed_within(one) for name, one in value.items()}
        return value
