"""The classifier's duty, and what people can ask for: its backlog, a turn now, sorting again, new digests.

Every account with entries to sort gets its turn, on one server at a time.
"""

from typing import Literal

from msgspec import Struct, structs

from carrel.board import digest_store
from carrel.board.classifier import store
from carrel.board.classifier.bundles import bundle_at
from carrel.board.classifier.sorter import Sorter, Sorting
from carrel.board.classifier.store import Cycle
from carrel.board.digests import forget_quotations, renew_digests
from carrel.board.entries import readable_entry
from carrel.board.model_calls import Model, ModelOf
from carrel.board.own_request_store import requests_of_late
from carrel.journal import Entry, update_entry
from carrel.kernel import MS_PER_SECOND, Access, Code, Refusal, Sample, elapsed_seconds, limits, system_access
from carrel.kernel.settings import ClassifierSettings
from carrel.runs import run_by_id
from carrel.storage import LeasedDuty, Tx
from carrel.topics import readable_topic
from carrel.work import readable_task

# Rung when somebody asks for a turn.
CLASSIFIER = "classifier"


class Backlog(Struct, frozen=True, kw_only=True):
    """How many entries wait to be sorted, how long the oldest has waited, and when the last turn was."""

    pending: int
    oldest_pending_seconds: float | None
    last_cycle_at: int | None


def backlog(tx: Tx, access: Access) -> Backlog:
    """Return what the classifier still has to sort in an account."""
    pending, oldest = store.backlog(tx, access)
    seconds = None if oldest is None else max(0, tx.now - oldest) / MS_PER_SECOND
    return Backlog(pending=pending, oldest_pending_seconds=seconds, last_cycle_at=store.last_cycle(tx, access))


def classifier_gauges(tx: Tx, access: Access) -> list[Sample]:
    """Return how many entries of the account wait to be sorted, as a metric."""
    return [Sample("classifier.pending", "gauge", (), store.backlog(tx, access)[0], access.account_id)]


def sorted_by(settings: ClassifierSettings, model: Model | None) -> Literal["model", "rules", "off"]:
    """Return what sorts the entries of an account that has this model, or none."""
    if settings.mode == "off":
        return "off"
    return "rules" if settings.mode == "rules" or model is None else "model"


def ask_for_turn(tx: Tx, access: Access, settings: ClassifierSettings, entries_max: int | None = None) -> str:
    """Start a turn of the classifier now; return its id. Refusal when the classifier is off."""
    if settings.mode == "off":
        raise Refusal(Code.CONFLICT, "The classifier is off; set classifier.mode to auto, model or rules.")
    tx.wake(CLASSIFIER)
    return store.ask_for_cycle(tx, access, tx.new_id("cyc"), entries_max)


def ask_for_digests(
    tx: Tx, access: Access, settings: ClassifierSettings, topic_id: str | None, task_id: str | None
) -> str:  # fmt: skip
    """Renew the digests of a topic and a task now; if neither is named, all outdated ones."""
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
    """Sort the bundle of an entry again, or everything in its session from there on; return the id of the turn."""
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
        around = store.conversation_around(tx, access, anchor, count=limits.CLASSIFIER_REPLAYED_MAX)
        return [entry for entry in around if entry.seq >= anchor.seq]
    around = store.conversation_around(tx, access, anchor, count=limits.CLASSIFIER_BUNDLE_ENTRIES_MAX)
    fresh = [structs.replace(entry, classification="pending", topic_id=None, task_id=None) for entry in around]
    opening = bundle_at(fresh, around.index(anchor)).opening or anchor
    begun = next(at for at, entry in enumerate(around) if entry.id == opening.id)
    chosen = {entry.id for entry in bundle_at(fresh, begun).entries} | {anchor.id}
    return [entry for entry in around if entry.id in chosen]


def _unsorted(tx: Tx, access: Access, entry: Entry) -> Entry:
    """An entry as it was before it was sorted: it keeps only the location that its sender gave."""
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


class Classifier(LeasedDuty[Cycle]):
    """Sorts entries into topics and tasks, and renews digests; the entries themselves say whether they wait."""

    name = "classifier"
    bell = CLASSIFIER
    items_max = limits.CLASSIFIER_ACCOUNTS_AT_A_TIME

    def __init__(self, sorter: Sorter, model_of: ModelOf) -> None:
        super().__init__(sorter.db)
        self._sorter = sorter
        self._settings = sorter.settings
        self._model_of = model_of
        self.wait_seconds_max = self._settings.classifier.interval_seconds

    def release(self, tx: Tx) -> object:
        return store.release_cycles(tx)

    def next_due(self, tx: Tx) -> int | None:
        """At once if the turn of an account with work has come."""
        return tx.now if self._due(tx, 1) else store.next_cycle_due(tx)

    def take(self, tx: Tx, limit: int) -> list[Cycle]:
        until = tx.now + limits.CLASSIFIER_LEASE_SECONDS * MS_PER_SECOND
        due = map(system_access, self._due(tx, limit))
        taken = [store.take_cycle(tx, access, tx.new_id("cyc"), until) for access in due]
        return [cycle for cycle in taken if cycle is not None]

    def _due(self, tx: Tx, limit: int) -> list[str]:
        return store.accounts_due(tx, tx.now, limit, digests=self._settings.digests.per_cycle > 0)

    async def do(self, item: Cycle) -> None:
        """Sort what waits in an account and renew a few digests; the next turn comes after the interval."""
        access, left, begun = system_access(item.account_id), False, elapsed_seconds()
        try:
            model, calls_max = await self.db.read(lambda tx: self._model_and_calls(tx, access))
            sorting = Sorting(self._sorter, access, item.cycle_id, model if calls_max else None, calls_max)
            left = await sorting.sort(item.entries_max)
            await renew_digests(self.db, access, self._settings.digests, sorting.model, item.cycle_id)
        finally:
            interval = self._settings.classifier.interval_seconds
            # A long backlog takes at most half of the time, because the turns of agents come first.
            pause = min(interval, elapsed_seconds() - begun) if left else interval
            await self.db.write(lambda tx: store.end_cycle(tx, access, item, tx.now + int(pause * MS_PER_SECOND)))

    def _model_and_calls(self, tx: Tx, access: Access) -> tuple[Model | None, int]:
        """The model, and how often it may be asked: this limits the cost even if our requests cause new entries."""
        model, settings = self._model_of(tx, access), self._settings.classifier
        calls = max(0, settings.model_calls_per_hour - requests_of_late(tx, access))
        return (model if sorted_by(settings, model) == "model" else None), calls
