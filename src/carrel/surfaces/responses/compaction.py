"""POST /v1/responses/compact: a transcript shortened to one opaque item that a client can send back as earlier input.

No model is involved: each message is clipped, and the oldest are left out first.
"""

import base64
import zlib
from collections.abc import Sequence

from carrel.journal import as_report, entries_of_session
from carrel.kernel import MS_PER_SECOND, Access, clip, one_line
from carrel.kernel.limits import COMPACTION_CHARS_MAX, COMPACTION_LINE_CHARS_MAX, HISTORY_ROWS_MAX
from carrel.storage import Tx
from carrel.surfaces.responses.errors import wrong
from carrel.surfaces.responses.input_items import COMPACTION_MARK, ReadInput, read_input
from carrel.surfaces.responses.requests import Compact, Json
from carrel.surfaces.responses.targets import TargetHints, find_target

_NO_USAGE = {
    "input_tokens": 0,
    "output_tokens": 0,
    "total_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}


def compacted(tx: Tx, access: Access, hints: TargetHints, request: Compact) -> Json:
    """Compact the transcript of the previous response, and the input of the request."""
    if request.input in (None, []) and request.previous_response_id is None:
        raise wrong("input", "There is nothing to compact: send an input or a previous_response_id.")
    target = find_target(tx, access, hints, set())
    lines: list[tuple[str, str]] = []
    if target.run is not None and target.run.session_id is not None:
        entries = entries_of_session(
            tx, access, target.run.session_id, limit=HISTORY_ROWS_MAX, tool_results=False
        )  # fmt: skip
        said = [as_report(entry) for entry in entries if entry.role in ("user", "assistant", "system")]
        lines += [(entry.role, entry.content) for entry in said]
    if request.input is not None:
        lines += _lines(read_input(request.input))
    item = {"type": "compaction", "id": tx.new_id("cmp"), "encrypted_content": _compact(lines), "created_by": "carrel"}
    return {
        "id": tx.new_id("resp"),
        "object": "response.compaction",
        "created_at": tx.now // MS_PER_SECOND,
        "output": [item],
        "usage": _NO_USAGE,
    }


def _lines(read: ReadInput) -> list[tuple[str, str]]:
    message = [] if read.message is None else [("user", read.message.text)]
    return [*map(_line, read.before), *message, *map(_line, read.after)]


def _line(item: Json) -> tuple[str, str]:
    match item["type"]:
        case "function_call":
            return "call", f"{item['name']} {item['arguments']}"
        case "function_call_output":
            output = item["output"]
            return "output", output if isinstance(output, str) else " ".join(part.get("text", "") for part in output)
        case _:
            return item["role"], " ".join(part.get("text", "") for part in item["content"])


def _compact(lines: Sequence[tuple[str, str]]) -> str:
    """Encode a transcript, given as pairs of role and text, in one opaque string."""
    kept: list[str] = []
    space = COMPACTION_CHARS_MAX
    for role, text in reversed(lines):
        line = f"{role}: {clip(one_line(text), COMPACTION_LINE_CHARS_MAX)}"
        space -= len(line) + 1
        if space < 0:
            break
        kept.append(line)
    words = "\n".join(["Summary of what was said before:", *reversed(kept)])
    return COMPACTION_MARK + base64.urlsafe_b64encode(zlib.compress(words.encode())).decode()
