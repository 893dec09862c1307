"""Moves messages of lanes onto or off the board when the choice for these lanes changes."""

from functools import partial
from logging import getLogger

from msgspec import Struct

from carrel.access import Account, every_account
from carrel.agents import AccountChanged, AgentChanged
from carrel.board import store
from carrel.board.classifier.phrases import name_of
from carrel.board.classifier.rules import SMALL_TALK
from carrel.board.digests import forget_digest, forget_quotations
from carrel.journal import EntriesDeleted
from carrel.kernel import Access, system_access
from carrel.kernel.settings import Recall
from carrel.search import request_rebuild
from carrel.sessions import LaneDeleted, RecallChanged
from carrel.storage import Database, Tx
from carrel.topics import TopicChange, change_topic, forget_merges, readable_topic, remove_topic
from carrel.visibility import Recalls

_log = getLogger("carrel.board")
# The name of a topic without messages to name it after.
_NAMELESS = "Untitled topic"


class MovedEntries(Struct):
    """How many entries were put on the board or taken off it, and how many topics went with them."""

    put_on: int = 0
    taken_off: int = 0
    topics_removed: int = 0


def settle(tx: Tx, access: Access, keys: list[str] | None = None) -> MovedEntries:
    """Put the messages of lanes on the board or take them off, by the current rule; by default for all lanes."""
    # Whoever changes the setting may not see all of the board, but everything affected must move.
    system, done = system_access(access.account_id, access.account_slug), MovedEntries()
    recalls = Recalls(tx, system)
    for key in store.lanes_to_settle(tx, system) if keys is None else keys:
        lane = recalls.of(key)
        if lane.on_board:
            done.put_on += store.put_on(tx, system, key)
        else:
            _take_off(tx, system, key, done, is_private=lane.private_to is not None)
        request_rebuild(tx, system, "session", key)
    return done


def _take_off(tx: Tx, access: Access, key: str, done: MovedEntries, *, is_private: bool) -> None:
    locations = store.locations_of_lane(tx, access, key, is_private=is_private)
    topics = sorted({topic_id for topic_id, _ in locations})
    # Quotations first, since topics and tasks are locked before entries.
    for topic_id in topics:
        forget_digest(tx, access, "topic", topic_id)
    for task_id in sorted({task_id for _, task_id in locations if task_id is not None}):
        forget_digest(tx, access, "task", task_id)
    done.taken_off += store.take_off(tx, access, key, is_private=is_private)
    store.delete_routes(tx, access, key)
    for topic_id in topics:
        if store.is_empty(tx, access, topic_id):
            remove_topic(tx, access, topic_id)
            done.topics_removed += 1
        else:
            _rename(tx, access, topic_id)


def _rename(tx: Tx, access: Access, topic_id: str) -> None:
    """Rename a topic that the classifier named after what is left in it: its name may quote what is gone."""
    topic = readable_topic(tx, access, topic_id)
    forget_merges(tx, access, topic_id)
    if topic.created_by == "classifier" and not topic.curated and topic.name != SMALL_TALK:
        left = store.openings_of_topic(tx, access, topic_id)
        change_topic(tx, access, topic_id, TopicChange(name=name_of(left[0]) if left else _NAMELESS))


def observe_changes(db: Database) -> None:
    """Register that deleted words are removed everywhere, and that messages of lanes follow the choice for the lane."""
    db.observe(EntriesDeleted, lambda tx, deleted: forget_quotations(tx, deleted.access, deleted.entries))
    db.observe(LaneDeleted, lambda tx, deleted: store.delete_routes(tx, deleted.access, str(deleted.key)))
    db.observe(RecallChanged, _follow_lane)
    db.observe(AgentChanged, _follow_agent)
    db.observe(AccountChanged, _follow_account)


def _follow_lane(tx: Tx, changed: RecallChanged) -> None:
    settle(tx, changed.access, [str(changed.key)])


def _follow_agent(tx: Tx, changed: AgentChanged) -> None:
    if changed.before is not None and changed.before.profile.recall != changed.agent.profile.recall:
        settle(tx, changed.access)


def _follow_account(tx: Tx, changed: AccountChanged) -> None:
    if changed.recall_changed:
        settle(tx, changed.access)


async def settle_accounts(db: Database, recall: Recall) -> None:
    """Apply the default of the settings to accounts that had another one; log what changed."""
    for account in await db.read(every_account):
        if account.recall_default == recall:
            continue
        done = await db.write(partial(_settle_account, account=account, recall=recall))
        _log.warning(
            "recall_default_changed",
            extra={
                "account": account.slug,
                "recall": recall,
                "entries_put_on_board": done.put_on,
                "entries_taken_off_board": done.taken_off,
                "topics_removed": done.topics_removed,
            },
        )


def _settle_account(tx: Tx, account: Account, recall: Recall) -> MovedEntries:
    access = system_access(account.id, account.slug)
    store.stamp_default(tx, access, recall)
    return settle(tx, access)
