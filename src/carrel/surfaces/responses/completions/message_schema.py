"""What messages may be, as a JSON schema: the same that `messages` reads."""

from typing import Any

from carrel.kernel.limits import RESPONSE_ITEMS_MAX
from carrel.surfaces.http.described import NO_NUL, SOME_TEXT

Schema = dict[str, Any]
_TEXT: Schema = {"type": "string", "pattern": NO_NUL}
_NAME: Schema = {"type": "string", "minLength": 1, "pattern": NO_NUL}
_URL: Schema = {"type": "string", "pattern": r"^https?://[^\u0000]*$"}


def _object(**fields: Schema) -> Schema:
    return {"type": "object", "properties": fields, "required": list(fields)}


def _content(text: Schema, *parts: Schema) -> Schema:
    listed = {"type": "array", "items": {"anyOf": list(parts)}, "minItems": 1, "maxItems": RESPONSE_ITEMS_MAX}
    return {"anyOf": [text, listed]}


_WORDS = _object(type={"const": "text"}, text=_TEXT)
_IMAGE = _object(type={"const": "image_url"}, image_url=_object(url=_URL))
_CALL = _object(id=_NAME, type={"const": "function"}, function=_object(name=_NAME, arguments=_TEXT))
_CALLS: Schema = {"type": "array", "items": _CALL, "minItems": 1, "maxItems": RESPONSE_ITEMS_MAX}
MESSAGES: Schema = {
    "minItems": 1,
    "maxItems": RESPONSE_ITEMS_MAX,
    "items": {
        "anyOf": [
            _object(role={"const": "user"}, content=_content(_TEXT | {"pattern": SOME_TEXT}, _WORDS, _IMAGE)),
            _object(role={"enum": ["system", "developer"]}, content=_content(_TEXT, _WORDS)),
            _object(role={"const": "assistant"}, content=_content(_TEXT, _WORDS)),
            _object(role={"const": "assistant"}, tool_calls=_CALLS),
            _object(role={"const": "tool"}, tool_call_id=_NAME, content=_content(_TEXT, _WORDS)),
        ]
    },
}
