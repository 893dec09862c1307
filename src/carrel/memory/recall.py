"""Recall: the memories of a run's chain that fit a question, ranked, limited, and explained."""

from collections import Counter

from msgspec import Struct, structs

from carrel.kernel import METRICS, MS_PER_DAY, Access, clip, one_line
from carrel.kernel.limits import MEMORY_MATCHES_MAX, MEMORY_NEWEST_MAX, MEMORY_RESERVED_PER_SCOPE
from carrel.memory import store
from carrel.memory.model import Memory, MemoryShape, Reader, as_said, memory_shape, query_words, searched_text, words_of
from carrel.storage import Tx

_RECENT_DAYS = 30
# Together with the highest boost they add up to 1.
_LEXICAL, _RECENCY, _CONFIDENCE = 0.5, 0.18, 0.2
_BOOSTS = {"failure": 0.12, "fix": 0.12, "constraint": 0.12, "decision": 0.08, "preference": 0.08, "fact": 0.08}


class Recalled(Struct, frozen=True, kw_only=True):
    """A memory that was recalled, its score, and why."""

    memory: Memory
    score: float
    reason: str
    # It shares a word with the question.
    matches: bool


class FoundShape(MemoryShape, frozen=True, kw_only=True):
    """A memory as searches show it: with its score, and why it was found."""

    score: float
    reason: str


def found_shape(found: Recalled) -> FoundShape:
    """Return a memory that was found as surfaces show it."""
    return FoundShape(**structs.asdict(memory_shape(found.memory)), score=found.score, reason=found.reason)


def recall(
    tx: Tx, access: Access, reader: Reader, question: str, *, items_max: int, only_matching: bool = False
) -> list[Recalled]:  # fmt: skip
    """Return the best memories of a chain for a question, narrowest scope first, and those that always hold.

    Without a question, the newest. Each scope with memories gets at least its reserved share, so that a full narrow
    scope cannot crowd out the others.
    """
    words, is_asked = query_words(question), bool(question.strip())
    matches_max = items_max if only_matching else MEMORY_MATCHES_MAX
    newest_max = 0 if only_matching else MEMORY_NEWEST_MAX
    found = [_ranked(tx, access, key, words, matches_max, newest_max) for key in reader.scope_keys()]
    by_scope = [[one for one in ranked if one.matches or one.memory.always_holds or not is_asked] for ranked in found]
    chosen = _chosen(by_scope, items_max)
    for kind, count in Counter(scope_kind(one.memory) for one in chosen).items():
        METRICS.count(f"memory.scope.{kind}.selected.count", access.account_id, count)
    order = {scope: at for at, (scope, _) in enumerate(reader.scope_keys())}
    return sorted(chosen, key=lambda one: (order[one.memory.read_scope], -one.score, one.memory.id))


def fact_lines(recalled: list[Recalled], chars_max: int) -> list[str]:
    """Return a line for each memory, within the limit in total: the longest are clipped to the remaining space."""
    lines = {at: f"- [{scope_kind(one.memory)}] {one_line(one.memory.content)}"
             for at, one in enumerate(recalled)}  # fmt: skip
    left = chars_max
    for done, at in enumerate(sorted(lines, key=lambda at: len(lines[at]))):
        lines[at] = clip(lines[at], left // (len(lines) - done))
        left -= len(lines[at])
    return list(lines.values())


def scope_kind(memory: Memory) -> str:
    """Return the kind of scope that a memory is in."""
    return memory.read_scope.partition(":")[0]


def _ranked(
    tx: Tx, access: Access, key: tuple[str, str], words: dict[str, tuple[str, ...]], matches_max: int, newest_max: int
) -> list[Recalled]:
    """The candidates of one scope, best first: those that share a word with the question, and the newest."""
    shared: dict[str, list[str]] = {}
    for word, forms in words.items():
        for name in {name for form in forms for name in store.matching(tx, access, *key, form, limit=matches_max)}:
            shared.setdefault(name, []).append(word)
    newest = store.newest_in(tx, access, *key, limit=newest_max) if newest_max else []
    for memory in newest:
        # A renewed memory may be older than the matches that were looked up.
        own = set(words_of(searched_text(memory)))
        shared[memory.id] = [word for word, forms in words.items() if not own.isdisjoint(forms)]
    # Only the best matches: a scope may be full of memories that share one word with the question.
    seen = {memory.id for memory in newest}
    named = sorted((name for name in shared if name not in seen), key=lambda name: -len(shared[name]))
    matching = store.memories_named(tx, access, named[:matches_max])
    scored = [_scored(memory, shared[memory.id], len(words), tx.now) for memory in (*newest, *matching)]
    return sorted(scored, key=lambda one: (-one.score, one.memory.id))


def _scored(memory: Memory, shared: list[str], asked: int, now: int) -> Recalled:
    days = max(0, now - memory.updated_at) / MS_PER_DAY
    lexical = len(shared) / asked if asked else 0.2
    recency = max(0.0, 1 - days / _RECENT_DAYS)
    score = _LEXICAL * lexical + _RECENCY * recency + _CONFIDENCE * memory.confidence + _BOOSTS.get(memory.type, 0.05)
    # The longest words first; they say the most.
    unmatched = "holds for every message" if memory.always_holds else "no word in common"
    matched = f"matches {', '.join(shared[:5])}" if shared else unmatched
    reason = f"{matched}; {memory.type}, {int(days)} days old, confidence {memory.confidence:.2f}"
    return Recalled(memory=memory, score=round(score, 4), reason=reason, matches=bool(shared))


def _chosen(by_scope: list[list[Recalled]], items_max: int) -> list[Recalled]:
    """The reserved share of every scope first, then the best of the rest; what is kept as two types, once."""
    chosen: dict[str, Recalled] = {}
    for ranked in by_scope:
        fresh = [one for one in ranked if as_said(one.memory.content) not in chosen]
        chosen |= {as_said(one.memory.content): one for one in fresh[:MEMORY_RESERVED_PER_SCOPE]}
    rest = sorted((one for ranked in by_scope for one in ranked), key=lambda one: (-one.score, one.memory.id))
    for one in rest:
        if len(chosen) >= items_max:
            break
        chosen.setdefault(as_said(one.memory.content), one)
    return list(chosen.values())[:items_max]
