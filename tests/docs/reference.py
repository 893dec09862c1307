"""Generates the reference pages from the code: `python -m tests.docs.reference`."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from carrel.main.assembly import whole_document
from carrel.main.setting_names import KnownSetting, Name, known_named, known_names, shown
from carrel.surfaces.http.errors import STATUS
from tests.docs.meanings import ADVICE, API, ERRORS, ERRORS_END, MEANINGS, SETTINGS

PAGES = Path(__file__).resolve().parents[2] / "docs" / "reference"
GENERATED = "<!-- Generated from the code: python -m tests.docs.reference -->"
OBJECT_FIELDS_MIN = 6


def settings_page() -> str:
    """Return the page of settings."""
    rows = [
        *known_names().items(),
        *known_named("gateway", "<name>").items(),
        *known_named("prices", "<model>").items(),
        *known_named("budgets", "<name>").items(),
        *known_named("mcp", "<name>").items(),
        *known_named("webhooks", "<name>").items(),
    ]
    table = ["| name | default | accepts | meaning |", "| --- | --- | --- | --- |"]
    table += [setting_row(name, known) for name, known in sorted(rows)]
    return "\n".join(["# Settings", "", GENERATED, "", SETTINGS.strip(), "", *table]) + "\n"


def setting_row(name: Name, known: KnownSetting) -> str:
    """Return one setting as a table row."""
    dotted = ".".join(name)
    value = "sqlite:///<data_dir>/carrel.db" if dotted == "storage.url" else shown(known.default, known)
    written = "" if value in ("", [], None) else f"`{str(value).lower() if isinstance(value, bool) else value}`"
    secret = "; secret, never shown" if known.secret else ""
    return f"| `{dotted}` | {written} | {cell(known.form)}{secret} | {MEANINGS[dotted]} |"


def cell(text: str) -> str:
    """Escape text for a table cell."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def errors_page() -> str:
    """Return the page of error codes."""
    rows = [f"| {status} | `{code}` | {ADVICE[code]} |" for status, code in sorted((s, c) for c, s in STATUS.items())]
    table = ["| status | code | what to do |", "| --- | --- | --- |", *rows]
    return "\n".join(["# Errors", "", GENERATED, "", ERRORS.strip(), "", *table, "", ERRORS_END.strip()]) + "\n"


def api_page() -> str:
    """Return the page of endpoints."""
    document = whole_document()
    schemas = document["components"]["schemas"]
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            lines = list(operation_lines(method, path, operation, schemas))
            by_tag.setdefault(operation["tags"][0], []).append("\n".join(lines))
    lines = ["# API", "", GENERATED, "", API.strip()]
    for tag in sorted(by_tag):
        lines += ["", f"## {tag}", "", "\n\n".join(by_tag[tag])]
    return "\n".join([*lines, "", "## Objects", "", *object_lines(schemas)]) + "\n"


def object_lines(schemas: dict[str, Any]) -> Iterator[str]:
    """Yield the larger objects in responses with their fields."""
    whole = str(schemas)
    for name, schema in sorted(schemas.items()):
        fields = schema.get("properties", {})
        if len(fields) >= OBJECT_FIELDS_MIN and f"/schemas/{name}'" in whole:
            yield f"- **{name}**: {', '.join(f'`{field}`' for field in fields)}"


def operation_lines(method: str, path: str, operation: dict[str, Any], schemas: dict[str, Any]) -> Iterator[str]:
    """Yield one endpoint: summary, parameters, body and responses."""
    yield f"### {method.upper()} `{path}`"
    yield ""
    yield operation["summary"]
    query = [one for one in operation.get("parameters", []) if one["in"] == "query"]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    good = {status: response for status, response in operation["responses"].items() if status.startswith("2")}
    yield ""
    if query:
        yield f"- Query: {', '.join(starred(one['name'], bool(one.get('required'))) for one in query)}"
    if body:
        yield f"- Body: {fields_of(body, schemas, stars=True)}"
    for status, response in good.items():
        schema = next((content.get("schema") for content in response.get("content", {}).values()), None)
        yield f"- {status}: {fields_of(schema, schemas, stars=False) if schema else response['description']}"


def starred(name: str, required: bool) -> str:
    """Return a name, with a star if it is required."""
    return f"`{name}`" + ("\\*" if required else "")


def fields_of(schema: dict[str, Any], schemas: dict[str, Any], *, stars: bool) -> str:
    """Return the names of a schema's fields."""
    found = resolved(schema, schemas)
    if "anyOf" in found:
        return " or ".join(fields_of(one, schemas, stars=stars) for one in found["anyOf"])
    names = found.get("properties", {})
    if not names:
        return f"`{found.get('type', 'text')}`"
    required = found.get("required", []) if stars else []
    return ", ".join(starred(name, name in required) + object_name(names[name]) for name in names)


def object_name(schema: dict[str, Any]) -> str:
    """Return the name of the object that a field holds, if any."""
    items = schema.get("items")
    inner: dict[str, Any] = items if isinstance(items, dict) else schema
    reference = inner.get("$ref", "")
    return f" ({reference.rpartition('/')[2]}{', many' if inner is not schema else ''})" if reference else ""


def resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the schema, or the one it refers to."""
    found: dict[str, Any] = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return found


GENERATORS: dict[str, Callable[[], str]] = {"api.md": api_page, "settings.md": settings_page, "errors.md": errors_page}


def main() -> None:
    """Write every generated page."""
    for name, generate in GENERATORS.items():
        (PAGES / name).write_text(generate(), encoding="utf-8")


if __name__ == "__main__":
    main()
