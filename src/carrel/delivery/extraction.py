"""Facts kept from an answered turn: what the person stated, found by rules, and what a model finds in it.

A duty asks the model after the turn, so that nobody waits for it. Facts are kept in the scopes of the run.
"""

from collections.abc import Mapping, Sequence
from logging import getLogger

from msgspec import structs

from carrel.board import Model
from carrel.context import MEMORY, Context
from carrel.delivery import extraction_store as store
from carrel.delivery.context_store import context_of
from carrel.delivery.extraction_store import Extraction
from carrel.delivery.request import model_of
from carrel.delivery.snapshot import Connection, Snapshot
from carrel.gateway import GatewayFault
from carrel.journal import Entry, entries_of_run
from carrel.kernel import MS_PER_SECOND, Access, clip, system_access
from carrel.kernel.limits import (
    EXTRACTION_ATTEMPTS_MAX,
    EXTRACTION_LEASE_SECONDS,
    EXTRACTION_RETRY_SECONDS,
    EXTRACTION_TEXT_CHARS_MAX,
    EXTRACTIONS_AT_A_TIME,
)
from carrel.memory import EXTRACTION_INSTRUCTIONS, NewMemory, Reader, Scope, facts_in, keep, stated_in
from carrel.runs import Run, run_by_id
from carrel.storage import Database, LeasedDuty, Tx
from carrel.tools import memory_reader

EXTRACTIONS = "extractions"
_log = getLogger("carrel.memory")
# Turns in which a person, or an agent that works on a task, says something of its own.
_KINDS = frozenset({"external_user", "notification", "auto"})
_SPEAKERS = {"user": "Message", "assistant": "Answer"}


def keep_facts(tx: Tx, snapshot: Snapshot) -> None:
    """Keep the facts stated in an answered turn and schedule a model to find more, as far as the settings say."""
    mode = snapshot.caller.services.settings.memory.extraction
    if mode == "off":
        return
    run = snapshot.run
    if run.provenance_kind == "external_user" and (stated := stated_in(run.text)):
        _keep(tx, snapshot.access, memory_reader(tx, snapshot.caller), run, stated)
    if mode == "model" and run.provenance_kind in _KINDS and snapshot.connection.is_model:
        _note(tx, snapshot)


def _note(tx: Tx, snapshot: Snapshot) -> None:
    reader = memory_reader(tx, snapshot.caller)
    item = Extraction(
        account_id=snapshot.access.account_id,
        run_id=snapshot.run.id,
        agent_id=reader.agent_id,
        chain=tuple(map(str, reader.chain)),
        gateway=snapshot.connection.gateway.name,
        model=model_of(snapshot),
        due_at=tx.now,
    )
    store.insert_extraction(tx, snapshot.access, item)
    tx.wake(EXTRACTIONS)


class Extractions(LeasedDuty[Extraction]):
    """Asks about turns; several servers may do so side by side."""

    name = "extractions"
    bell = EXTRACTIONS
    items_max = EXTRACTIONS_AT_A_TIME

    def __init__(self, db: Database, connections: Mapping[str, Connection]) -> None:
        super().__init__(db)
        self._connections = connections

    def next_due(self, tx: Tx) -> int | None:
        """Return when a model must next be asked."""
        return store.next_extraction_due(tx)

    def take(self, tx: Tx, limit: int) -> list[Extraction]:
        """Lease turns to ask a model about."""
        taken, until = store.extractions_due(tx, limit), tx.now + EXTRACTION_LEASE_SECONDS * MS_PER_SECOND
        for item in taken:
            store.postpone_extraction(tx, system_access(item.account_id), item.run_id, item.attempt, until)
        return taken

    async def do(self, item: Extraction) -> None:
        """Ask about one turn and keep what is found; what fails is tried again a few times."""
        access = structs.replace(system_access(item.account_id), actor_id=item.agent_id)
        connection = self._connections.get(item.gateway)
        try:
            found = [] if connection is None else await self._ask(connection, item, access)
        except (GatewayFault, TimeoutError, ValueError) as error:
            lasting = isinstance(error, GatewayFault) and not error.retryable
            _log.warning("extraction_failed", extra={"run_id": item.run_id, "error": str(error)[:200]})
            await self.db.write(lambda tx: _try_later(tx, access, item, lasting=lasting))
            return
        kept = await self.db.write(lambda tx: _finish(tx, access, item, found))
        _log.info("memory_extracted", extra={"run_id": item.run_id, "kept": kept})

    async def _ask(self, connection: Connection, item: Extraction, access: Access) -> list[NewMemory]:
        entries, shown = await self.db.read(
            lambda tx: (entries_of_run(tx, access, item.run_id), context_of(tx, access, item.run_id))
        )
        settings = connection.settings
        model = Model(connection.gateway, item.model, settings.stream, settings.timeout_seconds)
        # Each attempt has its own name, so that a gateway that keeps history does not take it for part of a session.
        name, text = f"memory:{item.run_id}:{item.attempt}", _turn_text(entries, shown)
        return facts_in(await model.ask(self.db, access, name, EXTRACTION_INSTRUCTIONS, text, agent_id=item.agent_id))


def _turn_text(entries: Sequence[Entry], shown: Context) -> str:
    """Return the turn as one text: the facts kept before, the message and the answer."""
    limit = EXTRACTION_TEXT_CHARS_MAX
    said = [f"{_SPEAKERS[one.role]}:\n{clip(one.content, limit)}" for one in entries if one.role in _SPEAKERS]
    facts = [one.line for one in shown.lines if one.kind == MEMORY]
    before = ["\n".join(("Already kept:", *facts))] if facts else []
    return "\n\n".join((*before, *said))


def _try_later(tx: Tx, access: Access, item: Extraction, *, lasting: bool) -> None:
    attempt = item.attempt + 1
    if lasting or attempt >= EXTRACTION_ATTEMPTS_MAX:
        store.finish_extraction(tx, access, item.run_id)
        return
    due_at = tx.now + EXTRACTION_RETRY_SECONDS * MS_PER_SECOND
    store.postpone_extraction(tx, access, item.run_id, attempt, due_at)


def _finish(tx: Tx, access: Access, item: Extraction, found: Sequence[NewMemory]) -> int:
    """Keep what was found, unless the session of the turn is gone; return how much."""
    run = run_by_id(tx, access, item.run_id)
    if not store.finish_extraction(tx, access, item.run_id) or run is None:
        return 0
    reader = Reader(agent_id=item.agent_id, chain=tuple(map(Scope.parse, item.chain)))
    _keep(tx, access, reader, run, found)
    return len(found)


def _keep(tx: Tx, access: Access, reader: Reader, run: Run, found: Sequence[NewMemory]) -> None:
    """Keep each fact where its type belongs."""
    for one in found:
        new = structs.replace(one, source_run_id=run.id, source_entry_id=run.message_id)
        keep(tx, access, reader.scope_for(one.type), reader.agent_id, new)
