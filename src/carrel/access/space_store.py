"""The SQL of spaces."""

from carrel.access.model import Space
from carrel.kernel import Access
from carrel.storage import FLAG, Table, Tx

_SPACES = Table("spaces", Space, codecs={"default_visible": FLAG})


def insert_space(tx: Tx, access: Access, space: Space) -> bool:
    """Write a new space; False when its id is taken."""
    return tx.run(f"{_SPACES.insert} ON CONFLICT DO NOTHING", access, **_SPACES.values(space)) > 0
