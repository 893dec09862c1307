"""What people ask of the classifier: how far it is, a turn now, sorting something again, and other digests."""

from typing import Literal

from msgspec import Struct, structs

from carrel.board import digest_store
from carrel.board.classifier import store
from carrel.board.classifier.bundles import bundle_at
from carrel.board.digests import forget_quotations
from carrel.board.entries import readable_entry
from carrel.board.model_calls import Model
from carrel.journal import Entry, update_entry
from carrel.kernel import MS_PER_SECOND, Access, Code, Refusal, Sample
from carrel.kernel.limits import CLASSIFIER_BUNDLE_ENTRIES_MAX, CLASSIFIER_REPLAYED_MAX
from carrel.kernel.settings import ClassifierSettings
from carrel.runs import run_by_id
from carrel.storage import Tx
from carrel.topics import readable_topic
from carrel.work import readable_task

# Rung when somebody asks for a turn.
CLASSIFIER = "classifier"


class Backlog(Struct, frozen=True, kw_only=True):
    """How many entries wait, for how long the oldest of them has, and when some were last sorted."""

    pending: int
    oldest_seconds: float | None
    last_turn_at: int | None


def backlog(tx: Tx, access: Access) -> Backlog:
    """Return how far the classifier is in an account."""
    pending, oldest = store.backlog(tx, access)
    seconds = None if oldest is None else max(0, tx.now - oldest) / MS_PER_SECOND
    return Backlog(pending=pending, oldest_seconds=seconds, last_turn_at=store.last_cycle(tx, access))


def classifier_gauges(tx: Tx, access: Access) -> list[Sample]:
    """Return how many entries of the account wait to be sorted, as a metric."""
    return [Sample("classifier.pending", "gauge", (), store.backlog(tx, access)[0], access.account_id)]


def sorted_by(settings: ClassifierSettings, model: Model | None) -> Literal["model", "rules", "off"]:
    """Return who sorts the entries of an account with this model, or with none."""
    if settings.mode == "off":
        return "off"
    return "rules" if settings.mode == "rules" or model is None else "model"


def ask_for_turn(tx: Tx, access: Access, settings: ClassifierSettings, entries_max: int | None = None) -> str:
    """Let the classifier work now; return the id of its turn. Refusal when it is off."""
    if settings.mode == "off":
        raise Refusal(Code.CONFLICT, "The classifier is off; set classifier.mode to auto, model or rules.")
    tx.wake(CLASSIFIER)
    return store.ask_for_cycle(tx, access, tx.new_id("cyc"), entries_max)


def ask_for_digests(
    tx: Tx, access: Access, settings: ClassifierSettings, topic_id: str | None, task_id: str | None
) -> str:  # fmt: skip
    """Let a topic's and a task's digests be renewed now; without either, all that are not up to date."""
    if topic_id is not None:
        digest_store.ask_for_digest(tx, access, "topic", readable_topic(tx, access, topic_id).id)
    if task_id is not None:
        digest_store.ask_for_digest(tx, access, "task", readable_task(tx, access, task_id)[0].id)
    if topic_id is None and task_id is None:
        digest_store.hasten_digests(tx, access)
    return ask_for_turn(tx, access, settings)


def sort_again(
    tx: Tx, access: Access, settings: ClassifierSettings, anchor_id: str, mode: Literal["bundle", "from_here"]
) -> str:  # fmt: skip
    """Let the bundle of an entry be sorted again, or all of its session from there on; return the id of the turn."""
    anchor = readable_entry(tx, access, anchor_id)
    chosen = _chosen(tx, access, anchor, mode)
    forget_quotations(tx, access, chosen)
    for entry in chosen:
        update_entry(tx, access, _unsorted(tx, access, entry))
    return ask_for_turn(tx, access, settings)


def _chosen(tx: Tx, access: Access, anchor: Entry, mode: Literal["bundle", "from_here"]) -> list[Entry]:
    if anchor.session_key is None:
        return [anchor]
    if mode == "from_here":
        around = store.conversation_around(tx, access, anchor, count=CLASSIFIER_REPLAYED_MAX)
        return [entry for entry in around if entry.seq >= anchor.seq]
    around = store.conversation_around(tx, access, anchor, count=CLASSIFIER_BUNDLE_ENTRIES_MAX)
    fresh = [structs.replace(entry, classification="pending", topic_id=None, task_id=None) for entry in around]
    opening = bundle_at(fresh, around.index(anchor)).opening or anchor
    begun = next(at for at, entry in enumerate(around) if entry.id == opening.id)
    chosen = {entry.id for entry in bundle_at(fresh, begun).entries} | {anchor.id}
    return [entry for entry in around if entry.id in chosen]


def _unsorted(tx: Tx, access: Access, entry: Entry) -> Entry:
    """An entry as it was before it was sorted: with the place that it was given, and no other."""
    given = entry.source or {}
    run = run_by_id(tx, access, entry.run_id) if entry.run_id is not None else None
    is_of_task = entry.task_view is not None or (run is not None and run.task_id == entry.task_id)
    return structs.replace(
        entry,
        topic_id=given.get("boardScopeTopicId"),
        task_id=entry.task_id if is_of_task else given.get("boardScopeTaskId"),
        classification="pending",
        classification_attempts=0,
        classification_error=None,
    )
