"""The SQL of what lanes recall: what was chosen for one."""

import msgspec
from msgspec import Struct

from carrel.kernel import Access
from carrel.kernel.settings import Recall
from carrel.storage import Tx


class LaneChoice(Struct, frozen=True, kw_only=True):
    """A lane, where it comes from, and what was chosen for it, for its agent and for the account."""

    kind: str
    agent_id: str
    made_by: str
    spawned_by: str | None
    recall: Recall | None
    of_agent: Recall | None
    of_account: Recall | None
    by_default: Recall


class _Chosen(Struct, frozen=True):
    """What the profile of an agent, or the settings of an account, say about this."""

    recall: Recall | None = None


_chosen = msgspec.json.Decoder(_Chosen).decode


def choice_of_lane(tx: Tx, access: Access, key: str) -> LaneChoice | None:
    """Return what was chosen for a lane; None when there is no such lane."""
    sql = (
        "SELECT l.kind, l.agent_id, l.made_by, l.spawned_by, l.recall, g.profile, a.settings, a.recall_default "
        "FROM lanes l JOIN agents g ON g.account_id = l.account_id AND g.id = l.agent_id "
        "JOIN accounts a ON a.id = l.account_id WHERE l.account_id = :account AND l.key = :key"
    )
    row = tx.one(sql, access, key=key)
    if row is None:
        return None
    kind, agent_id, made_by, spawned_by, recall, profile, settings, by_default = row
    return LaneChoice(
        kind=kind,
        agent_id=agent_id,
        made_by=made_by,
        spawned_by=spawned_by,
        recall=recall,
        of_agent=_chosen(profile).recall,
        of_account=_chosen(settings).recall,
        by_default=by_default,
    )


def is_bucket(tx: Tx, access: Access, bucket: str) -> bool:
    """Return whether a program has sent entries under a name."""
    sql = "SELECT 1 FROM entries WHERE account_id = :account AND bucket = :bucket LIMIT 1"
    return tx.one(sql, access, bucket=bucket) is not None
