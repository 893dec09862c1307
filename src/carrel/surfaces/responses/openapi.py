"""The operations of Open Responses for the OpenAPI document."""

from typing import Any

from carrel.kernel.limits import NAME_CHARS_MAX
from carrel.surfaces.http.openapi import IDEMPOTENCY_KEY, Json, Operation, session_header
from carrel.surfaces.responses.completions import ChatTool, CreateCompletion
from carrel.surfaces.responses.errors import ResponsesErrorBody
from carrel.surfaces.responses.requests import Compact, CreateResponse, Function
from carrel.surfaces.responses.resource import Page
from carrel.surfaces.responses.targets import AGENT_HEADER, CHANNEL, CHANNEL_HEADER, MODEL_HEADER

_READ_ERRORS = (400, 401, 403, 404, 429, 500, 503)
_WRITE_ERRORS = (400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 503)


def _header(name: str, description: str, **schema: Any) -> Json:
    whole = {"type": "string", **schema}
    return {"name": name, "in": "header", "required": False, "description": description, "schema": whole}


def _object(name: str, **fields: Any) -> Json:
    """Return an object of Open Responses with its most important fields; it has others."""
    properties = {"object": {"const": name}, **fields}
    return {"type": "object", "properties": properties, "required": list(properties)}


_TEXT, _COUNT, _ITEMS = {"type": "string"}, {"type": "integer"}, {"type": "array", "items": {"type": "object"}}
_OR_NOTHING = {"type": ["object", "null"]}
_RESPONSE = _object(
    "response",
    id=_TEXT,
    created_at=_COUNT,
    status={"enum": ["queued", "in_progress", "completed", "failed", "cancelled", "incomplete"]},
    model=_TEXT,
    output=_ITEMS,
    error=_OR_NOTHING,
    usage=_OR_NOTHING,
    metadata={"type": "object"},
)
_COMPLETION = _object("chat.completion", id=_TEXT, created=_COUNT, model=_TEXT, choices=_ITEMS, usage=_OR_NOTHING)
_MODEL = _object("model", id=_TEXT, created=_COUNT, owned_by=_TEXT)
_TARGET = (
    session_header("The session to continue.", or_empty=True),
    _header(AGENT_HEADER, "The agent, instead of the one that the model names."),
    _header(MODEL_HEADER, "The model behind the agent.", maxLength=NAME_CHARS_MAX),
    _header(CHANNEL_HEADER, "Where the message comes from.", pattern=f"^(?:{CHANNEL})?$"),
)


def _operation(method: str, path: str, name: str, summary: str, answer: Json, **more: Any) -> Operation:
    errors = more.pop("errors", _READ_ERRORS if method == "GET" else _WRITE_ERRORS)
    return Operation(
        method=method,
        path=f"/v1/{path}",
        name=name,
        summary=summary,
        tag="v1",
        answers={200: answer},
        errors=errors,
        error=ResponsesErrorBody,
        **more,
    )


def describe() -> list[Operation]:
    """Return the operations."""
    one, items = "responses/{id}", _object("list", data=_ITEMS, has_more={"type": "boolean"})
    listed = _object("list", data={"type": "array", "items": _MODEL})
    deleted = _object("response", id=_TEXT, deleted={"const": True})
    compacted = _object("response.compaction", id=_TEXT, output=_ITEMS)
    created, streamed = (*_TARGET, IDEMPOTENCY_KEY), ("application/json", "text/event-stream")
    return [
        _operation("POST", "responses", "create_response",
                   "Send an input to an agent; the answer is its response, or its events with `stream`.", _RESPONSE,
                   body=CreateResponse, uses=(Function,), headers=created, media=streamed),
        _operation("POST", "chat/completions", "create_completion",
                   "Send messages to an agent; the answer is a completion, or its chunks with `stream`.", _COMPLETION,
                   body=CreateCompletion, uses=(ChatTool,), headers=created, media=streamed,
                   errors=(*_WRITE_ERRORS, 424)),
        _operation("POST", "responses/compact", "compact_response", "Get a transcript as one item.", compacted,
                   body=Compact, headers=_TARGET),
        _operation("GET", one, "get_response", "Get a response as it is now.", _RESPONSE),
        _operation("DELETE", one, "delete_response", "Forget a response; its run and its session stay.", deleted),
        _operation("POST", f"{one}/cancel", "cancel_response", "Cancel a response.", _RESPONSE),
        _operation("GET", f"{one}/input_items", "list_input_items", "List what a response was asked.", items,
                   query=Page),
        _operation("GET", "models", "list_models", "List the agents that the caller may call, as models.", listed),
        _operation("GET", "models/{name:path}", "get_model", "Get one model.", _MODEL),
    ]  # fmt: skip
