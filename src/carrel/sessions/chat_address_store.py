"""The SQL of a lane's last chat address, where what an agent sends on its own initiative goes."""

from carrel.kernel import Access
from carrel.storage import Tx


def note_chat_address(tx: Tx, access: Access, key: str, chat_address: str) -> None:
    """Record the chat address of a lane's last message."""
    sql = "UPDATE lanes SET last_to = :chat_address WHERE account_id = :account AND key = :key"
    tx.run(sql, access, key=key, chat_address=chat_address)


def newest_chat_at(tx: Tx, access: Access, chat_address: str, made_by: str, but: str) -> str | None:
    """Return the most recent chat that one maker has at a chat address, apart from one key."""
    sql = (
        "SELECT key FROM lanes WHERE account_id = :account AND kind = 'chat' AND made_by = :made_by AND last_to = :to "
        "AND archived_at IS NULL AND key <> :but ORDER BY updated_at DESC, key DESC LIMIT 1"
    )
    row = tx.one(sql, access, made_by=made_by, to=chat_address, but=but)
    return row[0] if row else None
