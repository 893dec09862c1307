"""Entries that are accepted at once and stored soon after: durably, once, and in order of arrival."""

import re
from collections.abc import Sequence
from logging import getLogger

from msgspec import structs

from carrel.board import ingest_store as store
from carrel.board.ingest_store import Ingest
from carrel.board.intake import check_log, record
from carrel.board.locations import effective_key
from carrel.board.model import NewLog
from carrel.kernel import MS_PER_SECOND, Access, Code, Echoes, Refusal, limits, log_trouble, system_access
from carrel.kernel.settings import IntakeSettings
from carrel.storage import Duty, Tx

# Rung when entries wait.
INGESTS = "ingests"
_log = getLogger("carrel.board")
_OF_AGENT = re.compile(r"^agent:[^:]+:")


def is_unrecorded(log: NewLog, settings: IntakeSettings) -> bool:
    """Return whether an entry comes from ourselves, or from a session that is not recorded on the board."""
    source = log.source
    sent = (source.session_key, effective_key(structs.replace(source, session_key=None)))
    if Echoes.is_request(log.content):
        return True
    return any(Echoes.is_session(key) or _begins(key, settings.ignore_session_prefixes) for key in sent if key)


def _begins(key: str, prefixes: tuple[str, ...]) -> bool:
    """Whether a key begins with a prefix, even if another system put its agent before it."""
    return any(name.startswith(prefixes) for name in (key, _OF_AGENT.sub("", key)))


def accept(tx: Tx, access: Access, logs: Sequence[NewLog], settings: IntakeSettings) -> list[str]:
    """Accept entries to be stored soon, all or none; return an id for each accepted one."""
    for log in logs:
        check_log(access, log)
    if store.count_ingests(tx, access, limits.INGEST_WAITING_MAX) + len(logs) > limits.INGEST_WAITING_MAX:
        message = f"{limits.INGEST_WAITING_MAX} entries wait to be stored already; try again later."
        raise Refusal(Code.QUEUE_FULL, message, retry_after_seconds=limits.INGEST_RETRY_SECONDS)
    accepted = [_waiting(tx, access, log) for log in logs if not is_unrecorded(log, settings)]
    for item in accepted:
        store.insert_ingest(tx, access, item)
    tx.wake(INGESTS)
    return [item.id for item in accepted]


def _waiting(tx: Tx, access: Access, log: NewLog) -> Ingest:
    # It was said when it arrived, not when it is stored.
    said = structs.replace(log, created_at=log.created_at or tx.now)
    seq, new_id = tx.tick(), tx.new_id("ing")
    return Ingest(account_id=access.account_id, seq=seq, id=new_id, caller=access, log=said, due_at=tx.now)


class Ingests(Duty[str]):
    """Stores the entries that were accepted, account by account."""

    name = "ingests"
    bell = INGESTS
    items_max = limits.INGEST_ACCOUNTS_AT_A_TIME
    next_due = staticmethod(store.next_ingest_due)
    take = staticmethod(store.accounts_with_ingests)

    async def do(self, item: str) -> None:
        """Store the oldest entries of an account."""
        await self.db.write(lambda tx: _store_page(tx, system_access(item)))


def _store_page(tx: Tx, access: Access) -> None:
    for item in store.hold_ingests(tx, access, limit=limits.INGEST_ROWS_AT_A_TIME):
        try:
            tx.attempt(lambda item=item: record(tx, item.caller, item.log))  # type: ignore[misc]
        except Exception as error:  # boundary: a broken entry must not hold back others
            log_trouble(_log, "ingest_failed", error, ingest_id=item.id)
            # A refusal is final; other errors may be temporary.
            if not isinstance(error, Refusal) and item.attempt + 1 < limits.INGEST_ATTEMPTS_MAX:
                later = tx.now + limits.INGEST_RETRY_SECONDS * MS_PER_SECOND
                store.postpone_ingest(tx, access, item.seq, item.attempt + 1, later)
                continue
        store.delete_ingest(tx, access, item.seq)
