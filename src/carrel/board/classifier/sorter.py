"""Sorting the entries of one account: bundle by bundle, oldest first, each in a transaction of its own."""

from functools import partial
from logging import getLogger

from msgspec import Struct

from carrel.board.classifier import store
from carrel.board.classifier.cases import Case, known_place, read_case
from carrel.board.classifier.merges import Merges
from carrel.board.classifier.placement import PlaceChanged, give_up, make, put, rule_out
from carrel.board.classifier.questions import SORTING_INSTRUCTIONS, Answer, question_about
from carrel.board.classifier.rules import choose_by_rules
from carrel.board.filters import UNALLOCATED
from carrel.board.model_calls import Model
from carrel.board.profiles import gist
from carrel.gateway import GatewayFault
from carrel.journal import Entry, pending_entries
from carrel.kernel import Access, elapsed_seconds, log_trouble
from carrel.kernel.limits import CLASSIFIER_ENTRIES_AT_A_TIME, CLASSIFIER_MERGE_BUNDLES, CLASSIFIER_TURN_SECONDS_MAX
from carrel.kernel.settings import Settings
from carrel.runs import Rules
from carrel.search import Nearness
from carrel.storage import Database, Tx

_log = getLogger("carrel.board")


class Undecided(Exception):
    """A bundle cannot be sorted now; another attempt may succeed."""


class Sorter(Struct, frozen=True, kw_only=True):
    """What sorting needs; one for each process."""

    db: Database
    settings: Settings
    rules: Rules
    nearness: Nearness


class Sorting:
    """One turn of one account."""

    def __init__(
        self, sorter: Sorter, access: Access, cycle_id: str, model: Model | None, calls_max: int
    ) -> None:  # fmt: skip
        self._sorter = sorter
        self._db = sorter.db
        self._access = access
        self._cycle_id = cycle_id
        # None once it has failed: what is left would only wait for it in vain.
        self.model = model
        self._has_model = model is not None
        self._attempts_max = sorter.settings.classifier.attempts_max
        self._asked = 0
        self._calls_max = calls_max
        self._merges = Merges(sorter.db, access, sorter.nearness, sorter.settings.digests)

    async def sort(self, entries_max: int | None) -> bool:
        """Sort what is pending; return whether something is left that need not wait for the next turn."""
        limit = min(entries_max or CLASSIFIER_ENTRIES_AT_A_TIME, CLASSIFIER_ENTRIES_AT_A_TIME)
        page = await self._db.long_read(lambda tx: pending_entries(tx, self._access, 0, limit=limit))
        begun, tried, ended = elapsed_seconds(), set[str](), 0
        for entry in page:
            if entry.id in tried:
                continue
            if elapsed_seconds() - begun > CLASSIFIER_TURN_SECONDS_MAX:
                return True
            bundled, is_ended = await self._try(entry)
            tried |= bundled
            ended += is_ended
            if self._merges.waiting >= CLASSIFIER_MERGE_BUNDLES:
                await self._merges.merge()
        await self._merges.merge()
        return len(page) == limit and ended > 0 and entries_max is None

    async def _try(self, entry: Entry) -> tuple[set[str], bool]:
        """Sort the bundle of an entry; return what it consists of, and False where that has to be tried again."""
        bundled, is_last = {entry.id}, entry.classification_attempts + 1 >= self._attempts_max
        try:
            case = await self._db.long_read(lambda tx: read_case(tx, self._access, entry.id))
            if case is not None:
                bundled = {each.id for each in case.bundle.entries}
                await self._end(case, is_last=is_last)
            return bundled, True
        except Undecided as reason:
            _log.info("classification_put_off", extra={"entry_id": entry.id, "reason": str(reason)[:200]})
        except Exception as error:  # boundary: one bundle that cannot be sorted keeps no other from it
            log_trouble(_log, "classification_failed", error, entry_id=entry.id)
        if is_last:
            await self._db.write(lambda tx: give_up(tx, self._access, bundled))
        else:
            await self._db.write(lambda tx: store.count_attempt(tx, self._access, bundled))
        return bundled, is_last

    async def _end(self, case: Case, *, is_last: bool) -> None:
        if case.ruled is not None:
            await self._db.write(partial(rule_out, access=self._access, case=case, ruled=case.ruled))
        elif case.place is not None:
            await self._db.write(lambda tx: self._follow(tx, case))
        elif case.around is not None:
            await self._choose(case, is_last=is_last)
        elif is_last:
            await self._db.write(partial(rule_out, access=self._access, case=case, ruled=("failed", UNALLOCATED)))
        else:
            raise Undecided("what it follows has no place yet")

    def _follow(self, tx: Tx, case: Case) -> None:
        assert case.place is not None
        place = known_place(tx, self._access, case.place.topic_id, case.place.task_id)
        if place is None:
            raise PlaceChanged("what it follows is gone")
        put(tx, self._access, case, place, self._sorter.settings.digests)

    async def _choose(self, case: Case, *, is_last: bool) -> None:
        asks = self._has_model and case.needs_thought and not is_last and self._asked < self._calls_max
        answer = await self._by_model(case) if asks else await self._by_rules(case)

        def work(tx: Tx) -> None:
            place = make(tx, self._access, case, answer.choice, self._sorter.rules)
            put(tx, self._access, case, place, self._sorter.settings.digests, answer.summaries)

        await self._db.write(work)
        self._merges.note(case)

    async def _by_rules(self, case: Case) -> Answer:
        assert case.around is not None
        asked, candidates = case.bundle.asked, [*case.around.topics, *case.around.tasks]
        recent, text = gist("\n".join(case.around.recent)), gist("\n".join(asked))
        near = await self._sorter.nearness.of(text, [recent, *(candidate.text for candidate in candidates)])
        meanings = dict(zip((candidate.id for candidate in candidates), near[1:], strict=False))
        return Answer(choose_by_rules(asked, case.around, meanings, near[0] if near and recent else None), ())

    async def _by_model(self, case: Case) -> Answer:
        assert case.around is not None
        if self.model is None:
            raise Undecided("the model does not answer")
        question = question_about(case.bundle, case.around)
        self._asked += 1
        try:
            name = f"{self._cycle_id}:{self._asked}"
            said = await self.model.ask(self._db, self._access, name, SORTING_INSTRUCTIONS, question.text)
            return question.read(said)
        except (GatewayFault, TimeoutError) as error:
            self.model = None
            raise Undecided(str(error) or "the model takes too long") from error
        except ValueError as error:
            raise Undecided(f"the model's answer cannot be used: {error}") from error
