"""Entries in a file, one JSON object on each line, as POST /api/log takes them."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from carrel.bridge.events import ENTRY_FIELDS, ENTRY_TYPES
from carrel.bridge.faults import BridgeFault
from carrel.bridge.histories.model import LINE_CHARS_MAX, Entry
from carrel.kernel import secret_digest


def read_jsonl(path: Path) -> Iterator[Entry]:
    """Yield the entries of a file; a line without a key of its own gets one by its text, so it is stored once."""
    seen: Counter[str] = Counter()
    try:
        with path.open(encoding="utf-8") as lines:
            number = 0
            while line := lines.readline(LINE_CHARS_MAX):
                number += 1
                if line.strip():
                    entry = _entry(line, f"{path}, line {number}")
                    digest = secret_digest(line.strip())
                    seen[digest] += 1
                    # Equal lines are as many entries, whenever the file is read again.
                    yield {"idempotencyKey": f"jsonl:{digest}:{seen[digest]}"} | entry
    except (OSError, UnicodeDecodeError) as fault:
        raise BridgeFault(f"{path} cannot be read ({fault}).") from fault


def _entry(line: str, place: str) -> Entry:
    try:
        entry = json.loads(line)
    except ValueError as fault:
        raise BridgeFault(f"{place} is not valid JSON.") from fault
    if not isinstance(entry, dict):
        raise BridgeFault(f"{place} must be a JSON object.")
    if entry.get("type") not in ENTRY_TYPES:
        raise BridgeFault(f"{place}: type must be one of {', '.join(ENTRY_TYPES)}.")
    if not isinstance(entry.get("content"), str):
        raise BridgeFault(f"{place}: content must be a string.")
    unknown = next((name for name in entry if name not in ENTRY_FIELDS), None)
    if unknown is not None:
        raise BridgeFault(f"{place}: {unknown} is not a field of an entry.")
    return entry
