"""The SQL of where on a channel a lane was last spoken in: what is said in it of its own accord goes there."""

from carrel.kernel import Access
from carrel.storage import Tx


def note_chat_address(tx: Tx, access: Access, key: str, chat_address: str) -> None:
    """Remember where a lane was spoken in."""
    tx.run(
        "UPDATE lanes SET last_to = :chat_address WHERE account_id = :account AND key = :key",
        account=access.account_id,
        key=key,
        chat_address=chat_address,
    )


def newest_chat_at(tx: Tx, access: Access, chat_address: str, made_by: str, but: str) -> str | None:
    """The most recent chat of one maker that was spoken in at a chat_address, leaving one key out."""
    row = tx.one(
        "SELECT key FROM lanes WHERE account_id = :account AND kind = 'chat' AND made_by = :made_by "
        "AND last_to = :chat_address AND archived_at IS NULL AND key <> :but "
        "ORDER BY updated_at DESC, key DESC LIMIT 1",
        account=access.account_id,
        made_by=made_by,
        chat_address=chat_address,
        but=but,
    )
    return row[0] if row else None
