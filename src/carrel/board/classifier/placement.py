"""Writing down where a bundle belongs: its entries, a topic or task that is new, the route, and digests to renew."""

from collections.abc import Iterable, Sequence

from msgspec import structs

from carrel.board.classifier import profile_store, store
from carrel.board.classifier.bundles import is_request
from carrel.board.classifier.cases import Case, known_place
from carrel.board.classifier.rules import Choice
from carrel.board.digest_store import Kind, note_digest
from carrel.board.filters import ATTEMPTS_EXHAUSTED, UNALLOCATED, Verdict, is_tool_trace, verdict
from carrel.board.model import Location
from carrel.board.profiles import Profile
from carrel.board.routing import remember_route
from carrel.board.summaries import summary_of
from carrel.journal import DEFAULT_SPACE, Entry, entries_by_id, update_entry
from carrel.kernel import METRICS, MS_PER_MINUTE, Access
from carrel.kernel.limits import CLASSIFIER_SAID_ENTRIES_READ
from carrel.kernel.settings import DigestsSettings
from carrel.runs import Rules
from carrel.storage import Tx
from carrel.topics import NewTopic, put_topic
from carrel.work import NewTask, create_task

_UNALLOCATED: Verdict = ("failed", UNALLOCATED)
_EXHAUSTED: Verdict = ("failed", ATTEMPTS_EXHAUSTED)


class PlaceChanged(Exception):
    """The topic that was chosen has been moved or removed meanwhile."""


def rule_out(tx: Tx, access: Access, case: Case, ruled: Verdict) -> None:
    """End a bundle without a place."""
    for entry in _still_pending(tx, access, case):
        end(tx, access, entry, ruled)


def give_up(tx: Tx, access: Access, entry_ids: Iterable[str]) -> None:
    """End entries that could not be sorted however often that was tried."""
    for entry in entries_by_id(tx, access, entry_ids):
        if entry.classification == "pending":
            end(tx, access, entry, _EXHAUSTED)


def put(
    tx: Tx, access: Access, case: Case, place: Location, settings: DigestsSettings, summaries: Sequence[str] = ()
) -> None:  # fmt: skip
    """Put a bundle in its place."""
    # Before its entries, as whoever moves a topic or a task with its entries does.
    places: tuple[tuple[Kind, str | None], ...] = (("topic", place.topic_id), ("task", place.task_id))
    for kind, item_id in places:
        if item_id is not None:
            note_digest(tx, access, kind, item_id, int(settings.interval_minutes * MS_PER_MINUTE))
    said = dict(zip((entry.id for entry in case.bundle.entries), summaries, strict=False))
    entries = _still_pending(tx, access, case)
    for entry in entries:
        _put(tx, access, entry, case, place, said.get(entry.id))
    if place.topic_id is not None:
        learn(tx, access, place.topic_id, [entry for entry in entries if is_request(entry) or entry.type == "note"])
    request = next((entry for entry in reversed(entries) if is_request(entry) and entry.content.strip()), None)
    if request is not None and request.session_key is not None and place.topic_id is not None:
        at = request.seq
        remember_route(tx, access, request.session_key, place.topic_id, place.task_id, request.content, seq=at)


def learn(tx: Tx, access: Access, topic_id: str, entries: Sequence[Entry]) -> None:
    """Let a topic be recognised by what people have said there just now as well. The topic is locked already."""
    known = profile_store.profile_of(tx, access, topic_id)
    if known is None:
        said = profile_store.said_in_topic(tx, access, topic_id, read=CLASSIFIER_SAID_ENTRIES_READ)
        profile_store.save_profile(tx, access, topic_id, Profile().with_said(reversed(said)))
    elif entries:
        more = known.with_said(entry.content for entry in entries if entry.author_kind == "user")
        profile_store.save_profile(tx, access, topic_id, more)


def make(tx: Tx, access: Access, case: Case, choice: Choice, rules: Rules) -> Location:
    """Return the place that was chosen, with a topic or a task that is new; PlaceChanged when it is not there."""
    topic_id = choice.topic_id or _topic(tx, access, case.space_id, choice.new_topic or "")
    # An entry is sorted into its own space and into no other, wherever its topic has gone since it was chosen.
    if store.hold_topic(tx, access, topic_id) != case.space_id:
        raise PlaceChanged(topic_id)
    if choice.new_task is not None:
        new = NewTask(title=choice.new_task, topic_id=topic_id, space_id=case.space_id, created_by="classifier")
        return Location(topic_id, create_task(tx, access, new, rules).id, case.space_id)
    place = known_place(tx, access, topic_id, choice.task_id)
    return place if place is not None and place.topic_id == topic_id else Location(topic_id, None, case.space_id)


def _topic(tx: Tx, access: Access, space_id: str, name: str) -> str:
    known = store.topic_named(tx, access, space_id, name)
    if known is not None:
        return known
    return put_topic(tx, access, NewTopic(name=name, space_id=space_id, created_by="classifier"))[0].id


def _still_pending(tx: Tx, access: Access, case: Case) -> list[Entry]:
    """The entries of a bundle as they are now; what a person has put somewhere meanwhile stays there."""
    wanted = {entry.id: entry for entry in case.bundle.entries}
    return [
        entry
        for entry in entries_by_id(tx, access, wanted)
        if entry.classification == "pending" and _where(entry) == _where(wanted[entry.id])
    ]


def _where(entry: Entry) -> tuple[str | None, str | None, str | None]:
    return entry.topic_id, entry.task_id, entry.space_id


def _put(tx: Tx, access: Access, entry: Entry, case: Case, place: Location, summary: str | None) -> None:
    if entry.space_id not in (None, place.space_id) and not case.is_given:
        end(tx, access, entry, _UNALLOCATED)
        return
    space_id = entry.space_id or (None if place.space_id == DEFAULT_SPACE else place.space_id)
    placed = structs.replace(
        entry,
        topic_id=place.topic_id,
        task_id=place.task_id,
        space_id=space_id,
        summary=entry.summary or summary or summary_of(entry.content),
    )
    end(tx, access, placed, (verdict(placed) if is_tool_trace(placed) else None) or ("classified", ""))


def end(tx: Tx, access: Access, entry: Entry, ruled: Verdict) -> None:
    """Write how an entry ends."""
    status, code = ruled
    attempts = entry.classification_attempts + 1
    update_entry(
        tx,
        access,
        structs.replace(
            entry, classification=status, classification_error=code or None, classification_attempts=attempts
        ),
    )
    METRICS.count(f"classifier.{status}.count", access.account_id, code=code or "allocated")
