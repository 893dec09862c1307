"""Tool parameters as shown to a model: the full schema without what only a validator needs."""

from collections.abc import Collection, Mapping
from typing import Any

Schema = dict[str, Any]
# The full schema checks arguments; a model needs to know what to write, not the limits.
_FOR_VALIDATORS = (
    "$defs", "additionalProperties", "default", "format", "maxItems", "maxLength", "maximum", "minItems", "minLength",
    "minimum", "pattern", "title",
)  # fmt: skip


def compact_schema(full: Schema, *, without: Collection[str], words: Mapping[str, tuple[str, ...]]) -> Schema:
    """Return the shortest form of a schema; `words` lists, by parameter, the values that this model may use."""
    whole = _short(full, full.get("$defs", {}))
    shown = {name: one for name, one in whole["properties"].items() if name not in without}
    listed = {name: _without(shown[name], "type") | {"enum": values} for name, values in words.items() if name in shown}
    return whole | {"properties": shown | listed}


def _short(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    if "$ref" in schema:
        # The parameter has its own description, so the inlined definition loses its.
        named = definitions[schema["$ref"].rpartition("/")[2]]
        return _short(_without(named, "description") | _without(schema, "$ref"), definitions)
    if "anyOf" in schema:
        # The first of several forms is enough; a model leaves the parameter out instead of sending null.
        first = next(form for form in schema["anyOf"] if form.get("type") != "null")
        return _short(first | _without(schema, "anyOf"), definitions)
    short = _without(schema, *_FOR_VALIDATORS)
    if "items" in short:
        short["items"] = _short(short["items"], definitions)
    if "properties" in short:
        short["properties"] = {name: _short(one, definitions) for name, one in short["properties"].items()}
    if not short.get("required", True):
        del short["required"]
    return short


def _without(schema: Schema, *names: str) -> Schema:
    return {name: value for name, value in schema.items() if name not in names}
