"""The scripted gateway in the two other dialects of models: the same scripts, other bytes.

    with ScriptedChat() as gateway: ...         # Chat Completions
    with ScriptedAnthropic() as gateway: ...    # the Anthropic Messages API

Their answers have the shapes that the providers document.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tests.scripted_gateway import MODEL, Answer, Piece, ScriptedGateway, event_of, line_of

JSON = {"content-type": "application/json"}
STREAM = {"content-type": "text/event-stream"}
SIGNATURE = "c2lnbmVk"


def thought_item(text: str) -> dict[str, Any]:
    """Return what a model thought as an output item, for the front of an answer."""
    content = [{"type": "reasoning_text", "text": text}]
    item = {"type": "reasoning", "id": "rs_scripted", "summary": [], "content": content}
    return item | {"encrypted_content": SIGNATURE, "text": text}


def _split(text: str) -> list[str]:
    """Return a text in two pieces, as it may arrive."""
    return [text[: len(text) // 2], text[len(text) // 2 :]]


class ScriptedChat(ScriptedGateway):
    """A server that speaks Chat Completions."""

    path = "/v1/chat/completions"

    @staticmethod
    def render(answer: Answer, wants_stream: bool) -> tuple[dict[str, str], Sequence[Piece]]:
        """Return a chat completion, or its chunks."""
        head = {"id": "chatcmpl-scripted", "created": 0, "model": MODEL}
        usage = {"prompt_tokens": answer.usage["input_tokens"], "completion_tokens": answer.usage["output_tokens"]}
        usage["total_tokens"] = answer.usage["total_tokens"]
        reason = "tool_calls" if any(item["type"] == "function_call" for item in answer.output) else "stop"
        if not wants_stream or answer.as_json:
            choice = {"index": 0, "message": _chat_message(answer), "finish_reason": reason, "logprobs": None}
            whole = head | {"object": "chat.completion", "choices": [choice], "usage": usage}
            return JSON, [json.dumps(whole).encode()]
        chunk = head | {"object": "chat.completion.chunk", "usage": None}
        deltas: list[Any] = [{"role": "assistant", "content": ""}, *_chat_deltas(answer)]
        pieces: list[Piece] = [
            line_of(json.dumps(chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}))
            if isinstance(delta, dict)
            else delta
            for delta in deltas
        ]
        last = chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
        told = chunk | {"choices": [], "usage": usage}
        return STREAM, [*pieces, line_of(json.dumps(last)), line_of(json.dumps(told)), line_of("[DONE]")]


def _chat_call(item: dict[str, Any]) -> dict[str, Any]:
    function = {"name": item["name"], "arguments": item["arguments"]}
    return {"id": item["call_id"], "type": "function", "function": function}


def _chat_message(answer: Answer) -> dict[str, Any]:
    texts = [item["content"][0]["text"] for item in answer.output if item["type"] == "message"]
    calls = [_chat_call(item) for item in answer.output if item["type"] == "function_call"]
    thoughts = [item["text"] for item in answer.output if item["type"] == "reasoning"]
    message = {"role": "assistant", "content": "".join(texts) or None, "refusal": None}
    return message | ({"tool_calls": calls} if calls else {}) | ({"reasoning_content": thoughts[0]} if thoughts else {})


def _chat_deltas(answer: Answer) -> Iterator[Any]:
    index = -1
    for item in answer.output:
        if item["type"] == "reasoning":
            yield from ({"reasoning_content": piece} for piece in _split(item["text"]))
        elif item["type"] == "message":
            yield from ({"content": chunk} if isinstance(chunk, str) else chunk for chunk in answer.chunks)
        else:
            index += 1
            call = _chat_call(item)
            yield {"tool_calls": [call | {"index": index, "function": call["function"] | {"arguments": ""}}]}
            for piece in _split(item["arguments"]):
                yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


class ScriptedAnthropic(ScriptedGateway):
    """A server that speaks the Anthropic Messages API."""

    path = "/v1/messages"

    @staticmethod
    def render(answer: Answer, wants_stream: bool) -> tuple[dict[str, str], Sequence[Piece]]:
        """Return a message, or its events."""
        sent, answered = answer.usage["input_tokens"], answer.usage["output_tokens"]
        # A part of the prompt is reported as cached, which counts as well.
        usage = {"input_tokens": sent - 3, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 1}
        reason = "tool_use" if any(item["type"] == "function_call" for item in answer.output) else "end_turn"
        head = {"id": "msg_scripted", "type": "message", "role": "assistant", "model": MODEL, "stop_sequence": None}
        blocks = [_block(item) for item in answer.output]
        if not wants_stream or answer.as_json:
            whole = head | {"content": blocks, "stop_reason": reason, "usage": usage | {"output_tokens": answered}}
            return JSON, [json.dumps(whole).encode()]
        start: dict[str, Any] = head | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
        pieces: list[Piece] = [event_of({"type": "message_start", "message": start}), event_of({"type": "ping"})]
        for index, block in enumerate(blocks):
            pieces += [
                event_of(event | {"index": index}) if isinstance(event, dict) else event
                for event in _block_events(block, answer)
            ]
        stop = {"stop_reason": reason, "stop_sequence": None}
        pieces.append(event_of({"type": "message_delta", "delta": stop, "usage": {"output_tokens": answered}}))
        return STREAM, [*pieces, event_of({"type": "message_stop"})]


def _block(item: dict[str, Any]) -> dict[str, Any]:
    match item["type"]:
        case "function_call":
            return {
                "type": "tool_use",
                "id": item["call_id"],
                "name": item["name"],
                "input": json.loads(item["arguments"]),
            }
        case "reasoning":
            return {"type": "thinking", "thinking": item["text"], "signature": SIGNATURE}
        case _:
            return {"type": "text", "text": item["content"][0]["text"]}


def _block_events(block: dict[str, Any], answer: Answer) -> Iterator[Any]:
    def delta(kind: str, **fields: str) -> dict[str, Any]:
        return {"type": "content_block_delta", "delta": {"type": kind} | fields}

    start = {"type": "content_block_start", "content_block": block}
    match block["type"]:
        case "tool_use":
            yield start | {"content_block": block | {"input": {}}}
            for piece in ("", *_split(json.dumps(block["input"]))):
                yield delta("input_json_delta", partial_json=piece)
        case "thinking":
            yield start | {"content_block": {"type": "thinking", "thinking": "", "signature": ""}}
            for piece in _split(block["thinking"]):
                yield delta("thinking_delta", thinking=piece)
            yield delta("signature_delta", signature=block["signature"])
        case _:
            yield start | {"content_block": {"type": "text", "text": ""}}
            for chunk in answer.chunks:
                yield delta("text_delta", text=chunk) if isinstance(chunk, str) else chunk
    yield {"type": "content_block_stop"}
