"""What an input and the messages of a completion may be, as JSON schemas: the same that their readers accept."""

from typing import Any

from carrel.kernel.fields import SOME_TEXT
from carrel.kernel.limits import MESSAGE_CHARS_MAX, NAME_CHARS_MAX, RESPONSE_ITEMS_MAX, RESPONSE_OUTPUT_CHARS_MAX
from carrel.surfaces.http.openapi import BASE64, NO_NUL

Schema = dict[str, Any]
_LINK = r"https?://[^\u0000]*"
# A file has at least one byte.
_BASE64 = f"(?!$){BASE64}"
_PARAMETERS = r"(?:;[a-zA-Z0-9_=.+-]+)*"
_IMAGE = rf"data:image/[a-zA-Z0-9_.+-]+{_PARAMETERS};base64,{_BASE64}"
_FILE = rf"data:[a-zA-Z0-9_.+-]+/[a-zA-Z0-9_.+-]+{_PARAMETERS};base64,{_BASE64}"
_TEXT: Schema = {"type": "string", "pattern": NO_NUL}
_NAME: Schema = {"type": "string", "minLength": 1, "pattern": NO_NUL}
_FILE_NAME: Schema = {"type": ["string", "null"], "maxLength": NAME_CHARS_MAX, "pattern": NO_NUL}


def _object(**fields: Schema) -> Schema:
    """Return an object that needs these fields; those that may be null may also be missing."""
    required = [name for name, schema in fields.items() if "null" not in schema.get("type", ())]
    return {"type": "object", "properties": fields, "required": required}


def _matching(*patterns: str) -> Schema:
    return {"type": "string", "pattern": f"^(?:{'|'.join(patterns)})$"}


def _list(item: Schema) -> Schema:
    return {"type": "array", "items": item, "maxItems": RESPONSE_ITEMS_MAX}


def _message(role: Schema, *parts: Schema) -> Schema:
    fields = _object(role=role, content={"anyOf": [_TEXT, _list({"anyOf": list(parts)})]})
    # The type of a message may be left out.
    fields["properties"]["type"] = {"enum": ["message", None]}
    return fields


_WORDS = _object(type={"enum": ["input_text", "text"]}, text=_TEXT)
_FILES = (
    _object(type={"const": "input_image"}, image_url=_matching(_LINK, _IMAGE), filename=_FILE_NAME),
    _object(type={"const": "input_file"}, file_url=_matching(_LINK, _FILE), filename=_FILE_NAME),
    _object(type={"const": "input_file"}, file_data=_matching(_FILE, _BASE64), filename=_FILE_NAME),
)
_SPOKEN = (
    _object(type={"const": "refusal"}, refusal=_TEXT),
    _object(type={"enum": ["output_text", "input_text", "text"]}, text=_TEXT),
)
_OUTPUT: Schema = {"anyOf": [_TEXT | {"maxLength": RESPONSE_OUTPUT_CHARS_MAX}, _list(_WORDS)]}
_ITEM: Schema = {
    "anyOf": [
        _message({"const": "user"}, _WORDS, *_FILES),
        _message({"enum": ["system", "developer"]}, _WORDS),
        _message({"const": "assistant"}, *_SPOKEN),
        _object(type={"const": "function_call"}, call_id=_NAME, name=_NAME, arguments=_TEXT),
        _object(type={"const": "function_call_output"}, call_id=_NAME, output=_OUTPUT),
        _object(type={"const": "compaction"}, encrypted_content=_TEXT),
        _object(type={"const": "reasoning"}),
    ]
}
TRANSCRIPT_TEXT: Schema = {"pattern": SOME_TEXT}
TRANSCRIPT_ITEMS: Schema = {"maxItems": RESPONSE_ITEMS_MAX, "items": _ITEM}
INPUT_TEXT: Schema = {"maxLength": MESSAGE_CHARS_MAX, **TRANSCRIPT_TEXT}
INPUT_ITEMS: Schema = {"minItems": 1, **TRANSCRIPT_ITEMS}


def _content(text: Schema, *parts: Schema) -> Schema:
    return {"anyOf": [text, _list({"anyOf": list(parts)}) | {"minItems": 1}]}


_TEXTS = _object(type={"const": "text"}, text=_TEXT)
_LINKED = _object(type={"const": "image_url"}, image_url=_object(url={"type": "string", "pattern": f"^{_LINK}$"}))
_CALL = _object(id=_NAME, type={"const": "function"}, function=_object(name=_NAME, arguments=_TEXT))
MESSAGES: Schema = {
    "minItems": 1,
    "maxItems": RESPONSE_ITEMS_MAX,
    "items": {
        "anyOf": [
            _object(role={"const": "user"}, content=_content(_TEXT | {"pattern": SOME_TEXT}, _TEXTS, _LINKED)),
            _object(role={"enum": ["system", "developer"]}, content=_content(_TEXT, _TEXTS)),
            _object(role={"const": "assistant"}, content=_content(_TEXT, _TEXTS)),
            _object(role={"const": "assistant"}, tool_calls=_list(_CALL) | {"minItems": 1}),
            _object(role={"const": "tool"}, tool_call_id=_NAME, content=_content(_TEXT, _TEXTS)),
        ]
    },
}
