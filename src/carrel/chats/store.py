"""The SQL of pointers and of the chats that they can point to."""

from carrel.kernel import Access
from carrel.storage import Tx

_NEWEST = (
    "SELECT key FROM lanes WHERE account_id = :account AND kind = 'chat' AND made_by = :made_by "
    "AND archived_at IS NULL AND key <> :but AND {} ORDER BY updated_at DESC, key DESC LIMIT 1"
)


def pointer(tx: Tx, access: Access, transport: str) -> str | None:
    sql = "SELECT key FROM pointers WHERE account_id = :account AND transport = :transport"
    return tx.value(sql, access, transport=transport)


def set_pointer(tx: Tx, access: Access, transport: str, key: str) -> None:
    sql = (
        "INSERT INTO pointers (account_id, transport, key, updated_at) VALUES (:account, :transport, :key, :now) "
        "ON CONFLICT (account_id, transport) DO UPDATE SET key = excluded.key, updated_at = excluded.updated_at"
    )
    tx.run(sql, access, transport=transport, key=key, now=tx.now)


def transports_to(tx: Tx, access: Access, key: str) -> list[str]:
    sql = "SELECT transport FROM pointers WHERE account_id = :account AND key = :key"
    return [row[0] for row in tx.all(sql, access, key=key)]


def newest_chat(tx: Tx, access: Access, channel: str, made_by: str, but: str) -> str | None:
    """Return the most recent chat that a maker has on a channel, other than one key."""
    return tx.value(_NEWEST.format("key LIKE :like"), access, made_by=made_by, but=but, like=f"agent:%:{channel}:%")


def note_chat_address(tx: Tx, access: Access, key: str, chat_address: str) -> None:
    """Record the chat address of a lane's last message; its agent's own posts go there."""
    sql = "UPDATE lanes SET last_to = :chat_address WHERE account_id = :account AND key = :key"
    tx.run(sql, access, key=key, chat_address=chat_address)


def newest_chat_at(tx: Tx, access: Access, chat_address: str, made_by: str, but: str) -> str | None:
    """Return the most recent chat that a maker has at a chat address, other than one key."""
    return tx.value(_NEWEST.format("last_to = :to"), access, made_by=made_by, to=chat_address, but=but)
