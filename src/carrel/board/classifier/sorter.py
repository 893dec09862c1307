"""Sorting the entries of one account: bundle by bundle, oldest first, each in a transaction of its own."""

from collections.abc import Iterable, Sequence
from functools import partial
from logging import getLogger

from msgspec import Struct, structs

from carrel.board.classifier import store
from carrel.board.classifier.bundles import is_request
from carrel.board.classifier.cases import Case, known_location, read_case
from carrel.board.classifier.merges import Merges
from carrel.board.classifier.questions import SORTING_INSTRUCTIONS, Answer, question_about
from carrel.board.classifier.rules import Choice, choose_by_rules
from carrel.board.digest_store import Kind, note_digest
from carrel.board.filters import ATTEMPTS_EXHAUSTED, UNALLOCATED, Verdict, is_tool_trace, verdict
from carrel.board.locations import remember_route
from carrel.board.model import Location
from carrel.board.model_calls import Model
from carrel.board.profiles import gist
from carrel.board.summaries import summary_of
from carrel.gateway import GatewayFault
from carrel.journal import Entry, entries_by_id, pending_entries, update_entry
from carrel.kernel import METRICS, Access, elapsed_seconds, limits, log_trouble
from carrel.kernel.settings import DigestsSettings, Settings
from carrel.runs import Rules
from carrel.search import Similarity
from carrel.storage import Database, Tx
from carrel.topics import NewTopic, put_topic
from carrel.work import NewTask, create_task

_log = getLogger("carrel.board")


class LocationChanged(Exception):
    """The chosen topic has been moved or removed meanwhile."""


def rule_out(tx: Tx, access: Access, case: Case, ruled: Verdict) -> None:
    """End a bundle without a location."""
    for entry in _still_pending(tx, access, case):
        end(tx, access, entry, ruled)


def give_up(tx: Tx, access: Access, entry_ids: Iterable[str]) -> None:
    """End entries that could not be sorted within the allowed attempts."""
    for entry in entries_by_id(tx, access, entry_ids):
        if entry.classification == "pending":
            end(tx, access, entry, ATTEMPTS_EXHAUSTED)


def put(
    tx: Tx, access: Access, case: Case, location: Location, settings: DigestsSettings, summaries: Sequence[str] = ()
) -> None:  # fmt: skip
    """Write the location of a bundle."""
    # Locked before the entries, in the same order as when a topic or a task is moved with its entries.
    locations: tuple[tuple[Kind, str | None], ...] = (("topic", location.topic_id), ("task", location.task_id))
    for kind, item_id in locations:
        if item_id is not None:
            note_digest(tx, access, kind, item_id, settings)
    said = dict(zip((entry.id for entry in case.bundle.entries), summaries, strict=False))
    entries = _still_pending(tx, access, case)
    for entry in entries:
        _put(tx, access, entry, case, location, said.get(entry.id))
    if location.topic_id is not None:
        learn(tx, access, location.topic_id, [entry for entry in entries if is_request(entry) or entry.type == "note"])
    request = next((entry for entry in reversed(entries) if is_request(entry) and entry.content.strip()), None)
    if request is not None and request.session_key is not None and location.topic_id is not None:
        at = request.seq
        remember_route(tx, access, request.session_key, location.topic_id, location.task_id, request.content, seq=at)


def learn(tx: Tx, access: Access, topic_id: str, entries: Sequence[Entry]) -> None:
    """Add people's new messages in a topic to its profile. The topic is already locked."""
    if (known := store.profile_of(tx, access, topic_id)) is None:
        store.save_profile(tx, access, topic_id, store.fresh_profile(tx, access, topic_id))
    elif entries:
        more = known.with_said(entry.content for entry in entries if entry.author_kind == "user")
        store.save_profile(tx, access, topic_id, more)


def make(tx: Tx, access: Access, case: Case, choice: Choice, rules: Rules) -> Location:
    """Return the chosen location, with its topic or task created if new; LocationChanged if it no longer exists."""
    name, space_id = choice.new_topic or "", case.space_id
    topic_id = choice.topic_id or store.topic_named(tx, access, space_id, name)
    if topic_id is None:
        topic_id = put_topic(tx, access, NewTopic(name=name, space_id=space_id, created_by="classifier"))[0].id
    # An entry is sorted only into its own space, even if the chosen topic has moved since.
    if store.hold_topic(tx, access, topic_id) != space_id:
        raise LocationChanged(topic_id)
    if choice.new_task is not None:
        new = NewTask(title=choice.new_task, topic_id=topic_id, space_id=space_id)
        return Location(topic_id, create_task(tx, access, new, rules, created_by="classifier").id, space_id)
    location = known_location(tx, access, topic_id, choice.task_id)
    return location if location is not None and location.topic_id == topic_id else Location(topic_id, None, space_id)


def _still_pending(tx: Tx, access: Access, case: Case) -> list[Entry]:
    """The entries of a bundle that are still pending, without those that a person has sorted meanwhile."""
    locations = {entry.id: (entry.topic_id, entry.task_id, entry.space_id) for entry in case.bundle.entries}
    pending = (entry for entry in entries_by_id(tx, access, locations) if entry.classification == "pending")
    return [entry for entry in pending if (entry.topic_id, entry.task_id, entry.space_id) == locations[entry.id]]


def _put(tx: Tx, access: Access, entry: Entry, case: Case, location: Location, summary: str | None) -> None:
    if entry.space_id not in (None, location.space_id) and not case.is_given:
        end(tx, access, entry, UNALLOCATED)
        return
    placed = structs.replace(
        entry,
        topic_id=location.topic_id,
        task_id=location.task_id,
        space_id=entry.space_id or location.stored_space_id,
        summary=entry.summary or summary or summary_of(entry.content),
    )
    end(tx, access, placed, (verdict(placed) if is_tool_trace(placed) else None) or ("classified", ""))


def end(tx: Tx, access: Access, entry: Entry, ruled: Verdict) -> None:
    """Write an entry's verdict."""
    status, code = ruled
    attempts = entry.classification_attempts + 1
    ended = structs.replace(entry, classification=status, classification_attempts=attempts)
    update_entry(tx, access, structs.replace(ended, classification_error=code or None))
    METRICS.count(f"classifier.{status}.count", access.account_id, code=code or "allocated")


class Undecided(Exception):
    """A bundle cannot be sorted now; another attempt may succeed."""


class Sorter(Struct, frozen=True, kw_only=True):
    """What sorting needs: one per process."""

    db: Database
    settings: Settings
    rules: Rules
    similarity: Similarity


class Sorting:
    """One turn of sorting for one account."""

    def __init__(self, sorter: Sorter, access: Access, cycle_id: str, model: Model | None, calls_max: int) -> None:
        self._sorter = sorter
        self._db = sorter.db
        self._access = access
        self._cycle_id = cycle_id
        # None after a failure, so that the rest does not wait for it in vain.
        self.model = model
        self._has_model = model is not None
        self._attempts_max = sorter.settings.classifier.attempts_max
        self._asked = 0
        self._calls_max = calls_max
        self._merges = Merges(sorter.db, access, sorter.similarity, sorter.settings.digests)

    async def sort(self, entries_max: int | None) -> bool:
        """Sort what is pending; return whether there is more that should not wait for the next interval."""
        limit = min(entries_max or limits.CLASSIFIER_ENTRIES_AT_A_TIME, limits.CLASSIFIER_ENTRIES_AT_A_TIME)
        page = await self._db.long_read(lambda tx: pending_entries(tx, self._access, 0, limit=limit))
        begun, tried, ended = elapsed_seconds(), set[str](), 0
        for entry in page:
            if entry.id in tried:
                continue
            if elapsed_seconds() - begun > limits.CLASSIFIER_TURN_SECONDS_MAX:
                return True
            bundled, is_ended = await self._try(entry)
            tried |= bundled
            ended += is_ended
            if self._merges.waiting >= limits.CLASSIFIER_MERGE_BUNDLES:
                await self._merges.merge()
        await self._merges.merge()
        return len(page) == limit and ended > 0 and entries_max is None

    async def _try(self, entry: Entry) -> tuple[set[str], bool]:
        """Sort the bundle of an entry; return its entries, and False if that has to be tried again."""
        bundled, is_last = {entry.id}, entry.classification_attempts + 1 >= self._attempts_max
        try:
            case = await self._db.long_read(lambda tx: read_case(tx, self._access, entry.id))
            if case is not None:
                bundled = {each.id for each in case.bundle.entries}
                await self._end(case, is_last=is_last)
            return bundled, True
        except Undecided as reason:
            _log.info("classification_put_off", extra={"entry_id": entry.id, "reason": str(reason)[:200]})
        except Exception as error:  # boundary: one bundle that cannot be sorted must not stop the others
            log_trouble(_log, "classification_failed", error, entry_id=entry.id)
        end_attempt = give_up if is_last else store.count_attempt
        await self._db.write(lambda tx: end_attempt(tx, self._access, bundled))
        return bundled, is_last

    async def _end(self, case: Case, *, is_last: bool) -> None:
        if case.ruled is not None:
            await self._db.write(partial(rule_out, access=self._access, case=case, ruled=case.ruled))
        elif case.location is not None:
            await self._db.write(lambda tx: self._follow(tx, case))
        elif case.candidates is not None:
            await self._choose(case, is_last=is_last)
        elif is_last:
            await self._db.write(lambda tx: rule_out(tx, self._access, case, UNALLOCATED))
        else:
            raise Undecided("the entry before it has no location yet")

    def _follow(self, tx: Tx, case: Case) -> None:
        assert case.location is not None
        location = known_location(tx, self._access, case.location.topic_id, case.location.task_id)
        if location is None:
            raise LocationChanged("the location of the entry before it is gone")
        put(tx, self._access, case, location, self._sorter.settings.digests)

    async def _choose(self, case: Case, *, is_last: bool) -> None:
        asks = self._has_model and case.needs_model and not is_last and self._asked < self._calls_max
        answer = await self._by_model(case) if asks else await self._by_rules(case)

        def work(tx: Tx) -> None:
            location = make(tx, self._access, case, answer.choice, self._sorter.rules)
            put(tx, self._access, case, location, self._sorter.settings.digests, answer.summaries)

        await self._db.write(work)
        self._merges.note(case)

    async def _by_rules(self, case: Case) -> Answer:
        assert case.candidates is not None
        asked, known = case.bundle.asked, [*case.candidates.topics, *case.candidates.tasks]
        recent, text = gist("\n".join(case.candidates.recent)), gist("\n".join(asked))
        near = await self._sorter.similarity.of(text, [recent, *(candidate.full_profile.text for candidate in known)])
        meanings = dict(zip((candidate.id for candidate in known), near[1:], strict=False))
        return Answer(choose_by_rules(asked, case.candidates, meanings, near[0] if near and recent else None), ())

    async def _by_model(self, case: Case) -> Answer:
        assert case.candidates is not None
        if self.model is None:
            raise Undecided("the model does not answer")
        question = question_about(case.bundle, case.candidates)
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
