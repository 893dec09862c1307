"""What a provider reads in a request: readers of the three dialects, written from the providers' documentation.

They share nothing with our translation, and they refuse what the documentation says that a server refuses. What they
find are facts in their order: who says it, what it is, and the value.
"""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
Fact = tuple[str, str, Any]
IMAGES = {"image/jpeg", "image/png", "image/gif", "image/webp"}
MARKS_MAX = 4
TOOL_USE_ID = re.compile(r"[a-zA-Z0-9_-]+")


def read_request(kind: str, body: bytes) -> list[Fact]:
    """Read the messages of a request."""
    request = json.loads(body)
    assert request["model"]
    match kind:
        case "chat":
            return _chat(request["messages"])
        case "anthropic":
            return _messages(request)
        case _:
            return read_items(request["input"])


def read_items(items: list[Json]) -> list[Fact]:
    """Read the input of Open Responses."""
    return [fact for item in items for fact in _item(item)]


def _item(item: Json) -> Iterator[Fact]:
    match item["type"]:
        case "message":
            side = "context" if item["role"] == "developer" else item["role"]
            yield from ((side, *_item_part(part)) for part in item["content"])
        case "function_call":
            yield "assistant", "call", (item["call_id"], item["name"], item["arguments"])
        case "function_call_output":
            output = item["output"]
            parts = [("text", output)] if isinstance(output, str) else [_item_part(part) for part in output]
            yield "user", "output", (item["call_id"], parts)
        case "reasoning":
            yield "assistant", "thought", "".join(part["text"] for part in item.get("content", ()))
        case kind:
            raise AssertionError(f"no item of an input: {kind}")


def _item_part(part: Json) -> tuple[str, Any]:
    match part["type"]:
        case "input_text" | "output_text":
            return "text", part["text"]
        case "refusal":
            return "refusal", part["refusal"]
        case "input_image":
            return "image", _address(part["image_url"])
        case "input_file":
            address = part["file_data"] if "file_data" in part else part["file_url"]
            return "file", (part.get("filename", ""), _address(address))
        case kind:
            raise AssertionError(f"no part of a message: {kind}")


def _address(url: str) -> Any:
    """Return a link as it is, and what is embedded as its type and bytes."""
    embedded = re.fullmatch(r"data:([^;,]+);base64,(.*)", url, re.DOTALL)
    return (embedded[1], base64.b64decode(embedded[2], validate=True)) if embedded else url


# Chat Completions


def _chat(messages: list[Json]) -> list[Fact]:
    facts: list[Fact] = []
    open_calls: list[str] = []
    assert messages[0]["role"] == "system", "the instructions come first"
    for message in messages[1:]:
        role = message["role"]
        assert role == "tool" or not open_calls, f"calls without an answer: {open_calls}"
        if role == "tool":
            assert set(message) == {"role", "tool_call_id", "content"}
            open_calls.remove(message["tool_call_id"])
            facts.append(("user", "output", (message["tool_call_id"], [("text", message["content"])])))
        elif role == "assistant":
            facts += _chat_answer(message)
            open_calls = [call["id"] for call in message.get("tool_calls", ())]
            assert len(set(open_calls)) == len(open_calls)
        else:
            side = "context" if role == "system" else "user"
            facts += [(side, *part) for part in _chat_content(message)]
    assert not open_calls, "the last calls have no answer"
    return facts


def _chat_answer(message: Json) -> Iterator[Fact]:
    known = {"role", "content", "refusal", "tool_calls", "reasoning_content", "reasoning"}
    assert set(message) <= known
    assert message["content"] or message.get("tool_calls") or message.get("refusal"), "it says nothing"
    for field in ("reasoning_content", "reasoning"):
        if field in message:
            yield "assistant", "thought", message[field]
    if message["content"] is not None:
        assert isinstance(message["content"], str)
        yield "assistant", "text", message["content"]
    if "refusal" in message:
        yield "assistant", "refusal", message["refusal"]
    for call in message.get("tool_calls", ()):
        assert set(call) == {"id", "type", "function"}
        assert call["type"] == "function"
        assert isinstance(call["function"]["arguments"], str)
        yield "assistant", "call", (call["id"], call["function"]["name"], call["function"]["arguments"])


def _chat_content(message: Json) -> Iterator[tuple[str, Any]]:
    assert set(message) == {"role", "content"}
    content = message["content"]
    assert content, "an empty message"
    parts: list[Json] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for part in parts:
        match part["type"]:
            case "text":
                assert part["text"].strip(), "an empty text"
                yield "text", part["text"]
            case "image_url":
                found = _address(part["image_url"]["url"])
                assert isinstance(found, str) or found[0] in IMAGES
                yield "image", found
            case "file":
                assert set(part["file"]) == {"filename", "file_data"}
                yield "file", (part["file"]["filename"], _address(part["file"]["file_data"]))
            case kind:
                raise AssertionError(f"no part of a message: {kind}")


# The Messages API


def _messages(request: Json) -> list[Fact]:
    assert request["max_tokens"] >= 1
    assert json.dumps(request).count('"cache_control"') <= MARKS_MAX
    facts: list[Fact] = []
    open_calls: list[str] = []
    for number, message in enumerate(request["messages"]):
        assert message["role"] == ("assistant" if number % 2 else "user"), "the sides do not alternate"
        assert message["content"], "an empty message"
        answered = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert sorted(answered) == sorted(open_calls), "results do not follow right behind their calls"
        kinds = [block["type"] == "tool_result" for block in message["content"]]
        assert kinds == sorted(kinds, reverse=True), "results are not first"
        open_calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        assert len(set(open_calls)) == len(open_calls)
        blocks = _said if message["role"] == "assistant" else _heard
        facts += [(message["role"], *blocks(block)) for block in message["content"]]
    assert not open_calls, "the last calls have no result"
    assert message["role"] == "user", "nothing is left to answer"
    return facts


def _said(block: Json) -> tuple[str, Any]:
    match block["type"]:
        case "text":
            return _text(block)
        case "tool_use":
            assert isinstance(block["input"], dict)
            assert TOOL_USE_ID.fullmatch(block["id"])
            return "call", (block["id"], block["name"], block["input"])
        case "thinking":
            assert set(block) == {"type", "thinking", "signature"}, "thoughts carry no mark"
            return "thought", block["thinking"]
        case "redacted_thinking":
            assert set(block) == {"type", "data"}, "thoughts carry no mark"
            return "thought", ""
        case kind:
            raise AssertionError(f"a model does not say {kind}")


def _heard(block: Json) -> tuple[str, Any]:
    match block["type"]:
        case "text":
            return _text(block)
        case "tool_result":
            content = block.get("content", "")
            parts = [("text", content)] if isinstance(content, str) else [_heard(part) for part in content]
            return "output", (block["tool_use_id"], parts)
        case "image":
            return "image", _source(block["source"], IMAGES)
        case "document":
            assert block.get("title") != "", "a title of no characters"
            return "file", (block.get("title", ""), _source(block["source"], {"application/pdf"}))
        case kind:
            raise AssertionError(f"nobody says {kind} to a model")


def _text(block: Json) -> tuple[str, Any]:
    assert set(block) <= {"type", "text", "cache_control"}
    assert block["text"].strip(), "a text without a character"
    return "text", block["text"]


def _source(source: Json, types: set[str]) -> Any:
    match source["type"]:
        case "url":
            return source["url"]
        case "text":
            assert source["media_type"] == "text/plain"
            assert source["data"]
            return "text/plain", source["data"].encode()
        case kind:
            assert kind == "base64"
            assert source["media_type"] in types
            return source["media_type"], base64.b64decode(source["data"], validate=True)
