"""What a run is shown before its message: the context of its session, from the builder that everybody uses."""

from collections import Counter
from logging import getLogger

from msgspec import structs

from carrel.context import AROUND_CHARS, MEMORY, Context, ContextLimits, ContextRequest, Contexts
from carrel.delivery.context import NO_CONTEXT
from carrel.delivery.snapshot import Snapshot
from carrel.kernel import Access, Refusal
from carrel.kernel.settings import ContextSettings
from carrel.memory import Reader, has_memories
from carrel.storage import Database, Tx
from carrel.tools import memory_reader

_log = getLogger("carrel.delivery")


class Recollection:
    """Gathers the contexts of turns."""

    def __init__(self, db: Database, contexts: Contexts, settings: ContextSettings) -> None:
        self._db = db
        self._contexts = contexts
        self._settings = settings

    async def gather(self, snapshot: Snapshot) -> Context:
        """Build the context of a run; nothing where that is switched off or its gateway could not be told of it."""
        if not self._settings.augment or not snapshot.connection.gateway.takes_context or _is_heartbeat(snapshot):
            return NO_CONTEXT
        reader = await self._db.read(lambda tx: _reader_with_memories(tx, snapshot))
        try:
            found = await self._contexts.build(_seen_by(snapshot), self._request(snapshot, reader))
        except Refusal as refusal:
            # Whatever the session is to be refused, its message is answered.
            _log.warning("context_refused", extra={"run_id": snapshot.run.id, "error": refusal.message})
            return Context(degraded="board")
        if reader is not None:
            _log.info("memory_recalled", extra=_log_fields(snapshot, reader, found))
        # A heading with nothing below it tells nothing.
        return found if found.layers else structs.replace(found, block="", omitted={})

    def _request(self, snapshot: Snapshot, reader: Reader | None) -> ContextRequest:
        run, settings = snapshot.run, self._settings
        return ContextRequest(
            reference=run.key,
            key=run.session_key,
            question=run.text,
            mode=settings.mode,
            limits=ContextLimits(max_chars=settings.max_chars - AROUND_CHARS),
            reader=reader,
            session_id=snapshot.session.id,
            auto_run_id=run.auto_run_id,
            shown=frozenset(entry.id for entry in snapshot.earlier),
        )


def _is_heartbeat(snapshot: Snapshot) -> bool:
    """Whether nobody has said anything: a heartbeat asks whether there is something to do, not what is known."""
    return snapshot.run.provenance_kind == "heartbeat"


def _seen_by(snapshot: Snapshot) -> Access:
    """The run's access with what its agent sees: the sessions that are visible from its lane, and its spaces."""
    caller = snapshot.caller
    return structs.replace(snapshot.access, view=caller.visibility, space_ids=caller.actor.spaces)


def _reader_with_memories(tx: Tx, snapshot: Snapshot) -> Reader | None:
    """The reader that a run is; None where there is nothing to read."""
    reader = memory_reader(tx, snapshot.caller)
    return reader if has_memories(tx, snapshot.access, reader.places()) else None


def _log_fields(snapshot: Snapshot, reader: Reader, found: Context) -> dict[str, object]:
    """What the log line of a recall says: for which run, and how much it is shown of each scope of its chain."""
    run, taken = snapshot.run, Counter(line.scope for line in found.lines if line.kind == MEMORY)
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
