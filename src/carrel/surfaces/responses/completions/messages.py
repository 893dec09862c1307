"""Messages of Chat Completions as input items of Open Responses."""

from typing import Any

from msgspec import Struct

from carrel.kernel.limits import RESPONSE_ITEMS_MAX
from carrel.surfaces.responses.errors import ResponsesError, wrong
from carrel.surfaces.responses.requests import Json

_INSTRUCTING = ("system", "developer")
_ROLES = (*_INSTRUCTING, "user", "assistant", "tool")


class Conversation(Struct, frozen=True, kw_only=True):
    """Messages, read: what instructs the agent, and everything else as items with the messages they come from."""

    instructions: str
    items: list[Json]
    origins: list[int]

    @property
    def is_answering(self) -> bool:
        """Whether it ends with outputs of the caller's functions."""
        return bool(self.items) and self.items[-1]["type"] == "function_call_output"

    @property
    def calls(self) -> dict[str, tuple[str, str]]:
        """The calls that it repeats together with their outputs: name and arguments by id."""
        answered = {item["call_id"] for item in self.items if item["type"] == "function_call_output"}
        made = [item for item in self.items if item["type"] == "function_call" and item["call_id"] in answered]
        return {item["call_id"]: (item["name"], item["arguments"]) for item in made}

    def newest(self) -> "Conversation":
        """Return what is new to a session that has the rest: the user's last message, and what follows it."""
        told = [n for n, item in enumerate(self.items) if item.get("role") == "user"]
        first = told[-1] if told else 0
        return Conversation(
            instructions=self.instructions, items=self.items[first:], origins=self.origins[first:]
        )  # fmt: skip

    def in_its_words(self, error: ResponsesError) -> ResponsesError:
        """Return an error that names the field of this API's request."""
        match (error.param or "").split("."):
            case ["input", number, *rest] if number.isdecimal() and int(number) < len(self.origins):
                named = ["tool_call_id" if name == "call_id" else name for name in rest]
                error.param = ".".join(["messages", str(self.origins[int(number)]), *named])
            case ["input", *_]:
                error.param = "messages"
            case ["tools", number, *rest] if rest and rest[0] not in ("function", "type"):
                error.param = ".".join(["tools", number, "function", *rest])
            case ["max_output_tokens"]:
                error.param = "max_completion_tokens"
        return error


def read_messages(messages: list[Any]) -> Conversation:
    """Read messages; ResponsesError for one that cannot be read."""
    if len(messages) > RESPONSE_ITEMS_MAX:
        raise wrong("messages", f"messages may have at most {RESPONSE_ITEMS_MAX} items.")
    instructions: list[str] = []
    items: list[Json] = []
    origins: list[int] = []
    for n, message in enumerate(messages):
        param = f"messages.{n}"
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            raise wrong(f"{param}.role", f"A message must be an object with a role: {', '.join(_ROLES)}.")
        if message["role"] in _INSTRUCTING:
            instructions.append(_words(f"{param}.content", message.get("content")))
            continue
        found = _items(param, message)
        items += found
        origins += [n] * len(found)
    return Conversation(instructions="\n\n".join(filter(None, instructions)), items=items, origins=origins)


def _items(param: str, message: Json) -> list[Json]:
    content = message.get("content")
    match message["role"]:
        case "user":
            return [{"type": "message", "role": "user", "content": _parts(f"{param}.content", content)}]
        case "tool":
            output = _words(f"{param}.content", content)
            return [{"type": "function_call_output", "call_id": message.get("tool_call_id"), "output": output}]
        case _:
            calls = message.get("tool_calls") or []
            if not isinstance(calls, list):
                raise wrong(f"{param}.tool_calls", "tool_calls must be a list.")
            # A message that only calls functions has no content.
            words = _words(f"{param}.content", content) if content is not None else ""
            said = [{"type": "message", "role": "assistant", "content": words}] if words or not calls else []
            return [*said, *(_call(f"{param}.tool_calls.{n}", call) for n, call in enumerate(calls))]


def _call(param: str, call: Any) -> Json:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        raise wrong(f"{param}.function", "A call must be an object with a function.")
    named = {name: function.get(name) for name in ("name", "arguments")}
    return {"type": "function_call", "call_id": call.get("id"), **named}


def _words(param: str, content: Any) -> str:
    """Return the text of a message that may contain only text."""
    parts = _parts(param, content)
    for n, part in enumerate(parts):
        if part["type"] != "input_text":
            raise wrong(f"{param}.{n}.type", "Only text is possible here.")
    return "".join(part["text"] for part in parts)


def _parts(param: str, content: Any) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "input_text", "text": content}]
    if not isinstance(content, list):
        raise wrong(param, "content must be a string or a list of parts.")
    return [_part(f"{param}.{n}", part) for n, part in enumerate(content)]


def _part(param: str, part: Any) -> Json:
    kind = part.get("type") if isinstance(part, dict) else None
    held = part.get(kind) if isinstance(part, dict) and isinstance(kind, str) else None
    match kind:
        case "text" | "refusal" if isinstance(held, str):
            return {"type": "input_text", "text": held}
        case "image_url" if isinstance(held, dict):
            return {"type": "input_image", "image_url": held.get("url"), "detail": held.get("detail")}
        case "file" if isinstance(held, dict):
            return {"type": "input_file", "file_data": held.get("file_data"), "filename": held.get("filename")}
        case "text" | "refusal" | "image_url" | "file":
            raise wrong(f"{param}.{kind}", f"{kind} is missing.")
        case _:
            raise wrong(f"{param}.type", f"Parts of type {str(kind)[:80]} are not supported here.")
