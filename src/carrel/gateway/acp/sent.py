"""What a stored step sent to a coding agent, as items of a model's input. Pure."""

import json

from carrel.gateway.model import Item

# Not sent to a coding agent: it has instructions and tools of its own.
LEFT_OUT = ("instructions", "tools")


def read_prompt(body: str) -> list[Item]:
    """Return the prompt of a sent step; nothing if it only answered a question."""
    said = json.loads(body) if body else {}
    if "prompt" not in said:
        return []
    return [{"type": "message", "role": "user", "content": [_content(block) for block in said["prompt"]]}]


def remote_id_of(body: str) -> str:
    """Return the agent's session that a stored step was sent to; empty if there is none."""
    return str(json.loads(body).get("sessionId", "")) if body else ""


def _content(block: Item) -> Item:
    match block["type"]:
        case "text":
            return {"type": "input_text", "text": block["text"]}
        case "image":
            return {"type": "input_image", "image_url": f"data:{block['mimeType']};base64,{block['data']}"}
        case "resource":
            return {"type": "input_text", "text": f"{block['resource']['uri']}:\n{block['resource']['text']}"}
    return {"type": "input_file", "file_url": block["uri"]}
