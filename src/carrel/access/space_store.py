"""The SQL of spaces and of their visibility edges."""

from carrel.access.model import Space
from carrel.kernel import Access
from carrel.storage import FLAG, Table, Tx

_SPACES = Table("spaces", Space, codecs={"default_visible": FLAG})


def insert_space(tx: Tx, access: Access, space: Space) -> bool:
    """Write a new space; False when its id is taken."""
    return tx.run(f"{_SPACES.insert} ON CONFLICT DO NOTHING", access, **_SPACES.values(space)) > 0


def update_space(tx: Tx, access: Access, space: Space) -> None:
    tx.run(_SPACES.update, access, **_SPACES.values(space))


def delete_space(tx: Tx, access: Access, space_id: str) -> bool:
    """Delete a space that is empty, with its edges."""
    return tx.run("DELETE FROM spaces WHERE account_id = :account AND id = :id", access, id=space_id) > 0


def space_by_id(tx: Tx, access: Access, space_id: str) -> Space | None:
    return _SPACES.one(tx, access, "id = :id", id=space_id)


def all_spaces(tx: Tx, access: Access) -> list[Space]:
    """Return the account's spaces, oldest first."""
    return _SPACES.rows(tx.all(f"{_SPACES.select} WHERE account_id = :account ORDER BY created_at, id", access))


def spaces_changed(tx: Tx, access: Access, after: int, upto: int) -> list[Space]:
    """Return the spaces whose newest change lies after one number and up to another, oldest change first."""
    return _SPACES.all(tx, access, "seq > :after AND seq <= :upto ORDER BY seq", after=after, upto=upto)


def seed_edges(tx: Tx, access: Access, space_id: str) -> None:
    """Connect a new space with every other in both directions, by each target's default; existing edges stay."""
    insert = "INSERT INTO space_edges (account_id, space_id, target_id, visible) "
    others = "FROM spaces o JOIN spaces s ON s.account_id = o.account_id AND s.id = :id"
    where = "WHERE o.account_id = :account AND o.id <> :id ON CONFLICT DO NOTHING"
    for edge in ("s.id, o.id, o.default_visible", "o.id, s.id, s.default_visible"):
        tx.run(f"{insert} SELECT o.account_id, {edge} {others} {where}", access, id=space_id)


def set_edge(tx: Tx, access: Access, space_id: str, target_id: str, *, visible: bool) -> None:
    """Set whether what is in one space is visible from another."""
    sql = (
        "INSERT INTO space_edges (account_id, space_id, target_id, visible) "
        "VALUES (:account, :space_id, :target_id, :visible) "
        "ON CONFLICT (account_id, space_id, target_id) DO UPDATE SET visible = excluded.visible"
    )
    tx.run(sql, access, space_id=space_id, target_id=target_id, visible=int(visible))


def edges_of(tx: Tx, access: Access, space_id: str) -> dict[str, bool]:
    """Return the known edges of one space: target, whether it is visible."""
    sql = "SELECT target_id, visible FROM space_edges WHERE account_id = :account AND space_id = :id ORDER BY target_id"
    return {target_id: bool(visible) for target_id, visible in tx.all(sql, access, id=space_id)}
