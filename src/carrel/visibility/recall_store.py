"""The SQL of the choices about what lanes recall."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from carrel.kernel import Access
from carrel.kernel.settings import Recall
from carrel.storage import Tx, padded


class LaneChoice(Struct, frozen=True):
    """A lane, its origin, and the choices for it, for its agent and for the account."""

    kind: str
    agent_id: str
    made_by: str
    spawned_by: str | None
    recall: Recall | None
    of_agent: Recall | None
    of_account: Recall | None
    by_default: Recall


class _Chosen(Struct, frozen=True):
    """The choice in an agent's profile or an account's settings."""

    recall: Recall | None = None


_chosen = msgspec.json.Decoder(_Chosen).decode


def choices_of_lanes(tx: Tx, access: Access, keys: Iterable[str]) -> dict[str, LaneChoice]:
    """Return the choices for each of those lanes that exist."""
    wanted = list(dict.fromkeys(keys))
    if not wanted:
        return {}
    names = {f"key_{at}": key for at, key in enumerate(padded(wanted))}
    sql = (
        "SELECT l.key, l.kind, l.agent_id, l.made_by, l.spawned_by, l.recall, g.profile, a.settings, a.recall_default "
        "FROM lanes l JOIN agents g ON g.account_id = l.account_id AND g.id = l.agent_id "
        "JOIN accounts a ON a.id = l.account_id WHERE l.account_id = :account "
        f"AND l.key IN ({', '.join(f':{name}' for name in names)})"
    )
    return {
        key: LaneChoice(kind, agent, maker, parent, recall, _chosen(profile).recall, _chosen(settings).recall, default)
        for key, kind, agent, maker, parent, recall, profile, settings, default in tx.all(sql, access, **names)
    }


def is_bucket(tx: Tx, access: Access, bucket: str) -> bool:
    """Return whether a program has sent entries under a name."""
    sql = "SELECT 1 FROM entries WHERE account_id = :account AND bucket = :bucket LIMIT 1"
    return tx.one(sql, access, bucket=bucket) is not None
