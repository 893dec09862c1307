"""The classifier at work: every account whose entries wait gets its turn, on one server at a time."""

from carrel.board.classifier import store
from carrel.board.classifier.administration import CLASSIFIER, sorted_by
from carrel.board.classifier.sorter import Sorter, Sorting
from carrel.board.classifier.store import Cycle
from carrel.board.digests import renew_digests
from carrel.board.model_calls import Model, ModelOf
from carrel.board.own_request_store import requests_of_late
from carrel.kernel import MS_PER_SECOND, Access, elapsed_seconds, system_access
from carrel.kernel.limits import CLASSIFIER_ACCOUNTS_AT_A_TIME, CLASSIFIER_LEASE_SECONDS
from carrel.storage import LeasedDuty, Tx


class Classifier(LeasedDuty[Cycle]):
    """Sorts entries into topics and tasks, and renews digests.

    Entries themselves say whether they wait; so one that is to be sorted again only has to be pending again.
    """

    name = "classifier"
    bell = CLASSIFIER
    items_max = CLASSIFIER_ACCOUNTS_AT_A_TIME

    def __init__(self, sorter: Sorter, model_of: ModelOf) -> None:
        super().__init__(sorter.db)
        self._sorter = sorter
        self._settings = sorter.settings
        self._model_of = model_of
        self.wait_seconds_max = self._settings.classifier.interval_seconds

    def release(self, tx: Tx) -> object:
        """End the turns of a server that is gone."""
        return store.release_cycles(tx)

    def next_due(self, tx: Tx) -> int | None:
        """At once when an account waits whose turn it is."""
        return tx.now if self._due(tx, 1) else store.next_cycle_due(tx)

    def take(self, tx: Tx, limit: int) -> list[Cycle]:
        """Begin the turns of accounts."""
        until = tx.now + CLASSIFIER_LEASE_SECONDS * MS_PER_SECOND
        due = map(system_access, self._due(tx, limit))
        taken = [store.take_cycle(tx, access, tx.new_id("cyc"), until) for access in due]
        return [cycle for cycle in taken if cycle is not None]

    def _due(self, tx: Tx, limit: int) -> list[str]:
        return store.accounts_due(tx, tx.now, limit, digests=self._settings.digests.per_cycle > 0)

    async def do(self, item: Cycle) -> None:
        """Sort what waits in an account, and renew a few digests; the next turn comes after the interval."""
        access, left, begun = system_access(item.account_id), False, elapsed_seconds()
        try:
            model, calls_max = await self.db.read(lambda tx: (self._model(tx, access), self._calls_left(tx, access)))
            sorting = Sorting(self._sorter, access, item.cycle_id, model if calls_max else None, calls_max)
            left = await sorting.sort(item.entries_max)
            await renew_digests(self.db, access, self._settings.digests, sorting.model, item.cycle_id)
        finally:
            interval = self._settings.classifier.interval_seconds
            # A long backlog is worked off half of the time: the turns of agents come first.
            pause = min(interval, elapsed_seconds() - begun) if left else interval
            await self.db.write(lambda tx: store.end_cycle(tx, access, item, tx.now + int(pause * MS_PER_SECOND)))

    def _model(self, tx: Tx, access: Access) -> Model | None:
        model = self._model_of(tx, access)
        return model if sorted_by(self._settings.classifier, model) == "model" else None

    def _calls_left(self, tx: Tx, access: Access) -> int:
        """How often a model may still be asked: whatever feeds on our own requests costs so much and no more."""
        return max(0, self._settings.classifier.model_calls_per_hour - requests_of_late(tx, access))
