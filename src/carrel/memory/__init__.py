"""Memory: kept facts, each in one scope, recalled along a run's chain of scopes.

A run reads its task, its goal, its session and `global`, and nothing else; only an explicit promotion writes `global`.
"""

from carrel.memory.extraction import EXTRACTION_INSTRUCTIONS, facts_in, stated_in
from carrel.memory.memories import change, forget, forget_scope, in_chain, keep, observe_sessions, promote, require_own
from carrel.memory.model import (
    Memory,
    MemoryChange,
    MemoryShape,
    MemoryText,
    MemoryType,
    NewMemory,
    PromotedMemory,
    Reader,
    as_said,
    memory_shape,
)
from carrel.memory.recall import FoundShape, Recalled, fact_lines, found_shape, recall
from carrel.memory.scopes import OWN_SCOPE, Scope, scope_chain
from carrel.memory.store import has_memories, memories_listed, memory_by_id

__all__ = [
    "EXTRACTION_INSTRUCTIONS", "OWN_SCOPE", "FoundShape", "Memory", "MemoryChange", "MemoryShape", "MemoryText",
    "MemoryType", "NewMemory", "PromotedMemory", "Reader", "Recalled", "Scope", "as_said", "change", "fact_lines",
    "facts_in", "forget", "forget_scope", "found_shape", "has_memories", "in_chain", "keep", "memories_listed",
    "memory_by_id", "memory_shape", "observe_sessions", "promote", "recall", "require_own", "scope_chain", "stated_in",
]  # fmt: skip
