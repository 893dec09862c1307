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
        if not snapshot.connection.gateway.takes_context:
            return ()
        reader = await self._db.read(lambda tx: _reader_with_memories(tx, snapshot))
        if reader is None:
            return ()
        items_max = self._settings.recall_items_max
        recalled = await self._db.long_read(
            lambda tx: recall(tx, access, reader, snapshot.run.text, items_max=items_max)
        )
        _log.info("memory_recalled", extra=_log_fields(snapshot, reader, recalled))
        # The heading and the line breaks count as well.
        lines = fact_lines(recalled, self._settings.recall_chars_max - len(KEPT_FACTS) - len(recalled))
        return tuple(_item(one, line) for one, line in zip(recalled, lines, strict=True))


def _reader_with_memories(tx: Tx, snapshot: Snapshot) -> Reader | None:
    """The reader that a run is; None where there is nothing to read."""
    reader = memory_reader(tx, snapshot.caller)
    return reader if has_memories(tx, snapshot.access, reader.places()) else None


def _log_fields(snapshot: Snapshot, reader: Reader, recalled: list[Recalled]) -> dict[str, object]:
    """What the log line of a recall says: for which run, and how much was taken from each scope of its chain."""
    run, taken = snapshot.run, Counter(one.memory.read_scope for one in recalled)
    goal_id = next((scope.goal_id for scope in reader.chain if scope.goal_id), None)
    return {
        "session_identity": ":".join(run.session_key.identity),
        "session_key": run.key,
        "run_id": run.id,
        "goal_id": goal_id,
        "task_id": run.task_id,
        "run_kind": "GOAL_RUN" if goal_id else "TASK_RUN" if run.task_id else None,
        "scope_chain": [str(scope) for scope in reader.chain],
        "scope_counts": {str(scope): taken[str(scope)] for scope in reader.chain},
    }


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
