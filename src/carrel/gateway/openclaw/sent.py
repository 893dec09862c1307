"""What a stored request to OpenClaw contained, in the form of Open Responses. Pure."""

from carrel.gateway.answers import is_call
from carrel.gateway.model import Item, SentStep
from carrel.gateway.openclaw.names import own_name


def read_openclaw_request(request: Item) -> SentStep:
    """Read a stored request."""
    return SentStep(
        model=request["model"],
        instructions=request["instructions"] or None,
        input=[_item(item) for item in request["input"]],
        tools=tuple(own_name(tool["name"]) for tool in request["tools"]),
    )


def _item(item: Item) -> Item:
    if is_call(item):
        return item | {"name": own_name(item["name"])}
    if item["type"] != "message":
        return item
    return item | {"content": [_part(part) for part in item["content"]]}


def _part(part: Item) -> Item:
    source = part.get("source")
    if source is None:
        return part
    address = source.get("url") or f"data:{source['media_type']};base64,{source['data']}"
    if part["type"] == "input_image":
        return {"type": "input_image", "image_url": address, "detail": "auto"}
    named = {"filename": source["filename"]} if "filename" in source else {}
    field = "file_url" if "url" in source else "file_data"
    return {"type": "input_file", field: address} | named
