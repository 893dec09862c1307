"""Memory: kept facts, each in one scope, recalled along a run's chain of scopes.

A run reads its task, its goal, its session and `global`, and nothing else; only an explicit promotion writes `global`.
"""

from carrel.memory.keeping import change, forget, forget_scope, in_chain, keep, promote
from carrel.memory.model import Memory, MemoryChange, MemoryShape, MemoryType, NewMemory, Reader, memory_shape
from carrel.memory.recall import Recalled, recall
from carrel.memory.scopes import GLOBAL_SCOPE, Scope, scope_chain
from carrel.memory.store import memories_listed, memory_by_id

__all__ = [
    "GLOBAL_SCOPE", "Memory", "MemoryChange", "MemoryShape", "MemoryType", "NewMemory", "Reader", "Recalled", "Scope",
    "change", "forget", "forget_scope", "in_chain", "keep", "memories_listed", "memory_by_id", "memory_shape",
    "promote", "recall", "scope_chain",
]  # fmt: skip
