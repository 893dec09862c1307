"""POST /v1/responses/compact: what was said so far, as one item that stands for it."""

from carrel.journal import entries_of_session
from carrel.kernel import MS_PER_SECOND, Access
from carrel.kernel.limits import HISTORY_ROWS_MAX
from carrel.storage import Tx
from carrel.surfaces.responses.compaction_items import compact
from carrel.surfaces.responses.errors import wrong
from carrel.surfaces.responses.input_items import Given, read_input
from carrel.surfaces.responses.requests import Compact, Json
from carrel.surfaces.responses.routing import Wanted, find_way

_NOTHING_SPENT = {
    "input_tokens": 0,
    "output_tokens": 0,
    "total_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}


def compacted(tx: Tx, access: Access, wanted: Wanted, request: Compact) -> Json:
    """The compaction of the talk that a response belongs to, and of what the request itself brings."""
    if request.input is None and request.previous_response_id is None:
        raise wrong("input", "There is nothing to compact: send an input or a previous_response_id.")
    way = find_way(tx, access, wanted, set())
    lines: list[tuple[str, str]] = []
    if way.run is not None and way.run.session_id is not None:
        heard = entries_of_session(
            tx, access, way.run.session_id, limit=HISTORY_ROWS_MAX, tool_results=False
        )  # fmt: skip
        lines += [(entry.role, entry.content) for entry in heard if entry.role in ("user", "assistant", "system")]
    if request.input is not None:
        lines += _lines(read_input(request.input))
    made = tx.new_id("cmp")
    return {
        "id": tx.new_id("resp"),
        "object": "response.compaction",
        "created_at": tx.now // MS_PER_SECOND,
        "output": [{"type": "compaction", "id": made, "encrypted_content": compact(lines), "created_by": "carrel"}],
        "usage": _NOTHING_SPENT,
    }


def _lines(given: Given) -> list[tuple[str, str]]:
    said = [] if given.said is None else [("user", given.said.text)]
    return [*map(_line, given.before), *said, *map(_line, given.after)]


def _line(item: Json) -> tuple[str, str]:
    match item["type"]:
        case "function_call":
            return "call", f"{item['name']} {item['arguments']}"
        case "function_call_output":
            output = item["output"]
            return "output", output if isinstance(output, str) else " ".join(part.get("text", "") for part in output)
        case _:
            return item["role"], " ".join(part.get("text", "") for part in item["content"])
