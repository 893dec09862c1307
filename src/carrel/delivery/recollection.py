"""What a run remembers: the kept facts of its scopes that fit its message."""

from collections import Counter
from logging import getLogger

from carrel.delivery.context import KEPT_FACTS, MEMORY, ContextItem
from carrel.delivery.snapshot import Snapshot
from carrel.kernel.settings import MemorySettings
from carrel.memory import Reader, Recalled, fact_lines, has_memories, recall
from carrel.storage import Database, Tx
from carrel.tools import memory_reader

_log = getLogger("carrel.delivery")


class Recollection:
    """Gathers the context of turns from memory."""

    def __init__(self, db: Database, settings: MemorySettings) -> None:
        self._db = db
        self._settings = settings

    async def gather(self, snapshot: Snapshot) -> tuple[ContextItem, ...]:
        """Recall what fits the message of a run; nothing for a gateway that could not be told of it."""
        access = snapshot.access
        if snapshot.connection.gateway.translates:
            return ()
        reader = await self._db.read(lambda tx: _reader_with_memories(tx, snapshot))
        if reader is None:
            return ()
        items_max = self._settings.recall_items_max
        recalled = await self._db.long_read(
            lambda tx: recall(tx, access, reader, snapshot.run.text, items_max=items_max)
        )
        taken = Counter(one.memory.read_scope.partition(":")[0] for one in recalled)
        chain = {scope.kind: taken[scope.kind] for scope in reader.chain}
        named = {"run_id": snapshot.run.id, "session_key": snapshot.run.key, "task_id": snapshot.run.task_id}
        _log.info("memory_recalled", extra=named | {"scope_chain": chain})
        # The heading and the line breaks count as well.
        lines = fact_lines(recalled, self._settings.recall_chars_max - len(KEPT_FACTS) - len(recalled))
        return tuple(_item(one, line) for one, line in zip(recalled, lines, strict=True))


def _reader_with_memories(tx: Tx, snapshot: Snapshot) -> Reader | None:
    """The reader that a run is; None where there is nothing to read."""
    reader = memory_reader(tx, snapshot.caller)
    return reader if has_memories(tx, snapshot.access, reader.places()) else None


def _item(recalled: Recalled, line: str) -> ContextItem:
    memory = recalled.memory
    return ContextItem(
        id=memory.id,
        kind=MEMORY,
        section=KEPT_FACTS,
        scope=memory.read_scope,
        source=memory.source_run_id or memory.created_by,
        score=recalled.score,
        reason=recalled.reason,
        line=line,
    )
