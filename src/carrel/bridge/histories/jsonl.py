"""Entries in a file, one JSON object on each line, as POST /api/log takes them."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from carrel.bridge.events import ENTRY_FIELDS, ENTRY_TYPES
from carrel.bridge.faults import BridgeFault
from carrel.bridge.histories.model import Entry, parsed, text_lines
from carrel.kernel import secret_digest


def read_jsonl(path: Path) -> Iterator[Entry]:
    """Yield the entries of a file; a line without a key gets one from its text, so it is stored once."""
    seen: Counter[str] = Counter()
    for number, line in enumerate(text_lines(path), 1):
        if line.strip():
            entry = _entry(line, f"{path}, line {number}")
            digest = secret_digest(line.strip())
            seen[digest] += 1
            # Numbered, so that equal lines stay separate entries each time the file is read.
            yield {"idempotencyKey": f"jsonl:{digest}:{seen[digest]}"} | entry


def _entry(line: str, place: str) -> Entry:
    try:
        entry = parsed(line)
    except ValueError as fault:
        raise BridgeFault(f"{place} is not valid JSON ({fault}).") from fault
    if not isinstance(entry, dict):
        raise BridgeFault(f"{place} must be a JSON object.")
    if entry.get("type") not in ENTRY_TYPES:
        raise BridgeFault(f"{place}: type must be one of {', '.join(ENTRY_TYPES)}.")
    if not isinstance(entry.get("content"), str):
        raise BridgeFault(f"{place}: content must be a string.")
    if not isinstance(entry.get("source") or {}, dict):
        raise BridgeFault(f"{place}: source must be an object.")
    if (unknown := next((name for name in entry if name not in ENTRY_FIELDS), None)) is not None:
        raise BridgeFault(f"{place}: {unknown} is not a field of an entry.")
    return entry
