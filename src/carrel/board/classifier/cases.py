"""Cases: what has to be decided about the next bundle of a session, read at one moment of the store.

Most cases are clear: from the key of the session, the message that is answered, the link to the run that caused it, or
because no person asked for anything. Only the rest is decided by content.
"""

from collections.abc import Container, Iterator, Sequence

from msgspec import Struct, structs

from carrel.board.classifier import store
from carrel.board.classifier.bundles import Bundle, bundle_at, is_request
from carrel.board.classifier.phrases import is_small_talk, is_terse
from carrel.board.classifier.rules import SMALL_TALK, Candidate, Candidates, Choice, scores
from carrel.board.classifier.store import EntryLocation
from carrel.board.filters import PRIVATE, UNALLOCATED, Verdict, is_subagent_key, is_tool_trace, verdict
from carrel.board.locations import inherited_location, named_by
from carrel.board.model import Location
from carrel.board.own_request_store import own_verdict
from carrel.board.store import location_of_task, location_of_topic, routes_of
from carrel.journal import DEFAULT_SPACE, Entry, entries_by_id
from carrel.kernel import MS_PER_SECOND, Access, SessionKey, limits
from carrel.sessions import lane_of
from carrel.storage import Tx
from carrel.visibility import Recalls

# Types of entries whose content says what they are about; others have a location only if they were given one.
_SORTED_TYPES = ("conversation", "action")


class Case(Struct, frozen=True, kw_only=True):
    """A bundle, and what is known about where it belongs.

    At most one of these is set: `ruled` if it ends without a location, `location` if that is certain, `candidates` if
    it has to be sorted by its content. None of them is set while it waits for the entry before it.
    """

    bundle: Bundle
    ruled: Verdict | None = None
    location: Location | None = None
    candidates: Candidates | None = None
    # The space in which it is sorted, and whether its sender or the key of its session gave its topic.
    space_id: str = DEFAULT_SPACE
    is_given: bool = False

    @property
    def needs_model(self) -> bool:
        """Whether a model could decide it better than the rules."""
        telling = [text for text in self.bundle.asked if not is_terse(text)]
        is_open = self.candidates is not None and self.candidates.topic_id is None
        return is_open and bool(telling) and not all(map(is_small_talk, telling))


def read_case(tx: Tx, access: Access, entry_id: str) -> Case | None:
    """Return the case of a pending entry; None when it is no longer pending."""
    found = entries_by_id(tx, access, (entry_id,))
    if not found or found[0].classification != "pending":
        return None
    entry = found[0]
    alone = Bundle((entry,), entry, False)
    # A host may send an answer back before we have stored it ourselves.
    ruled = verdict(entry) or own_verdict(tx, access, entry)
    if ruled is not None and not (is_tool_trace(entry) and entry.run_id is not None):
        return Case(bundle=alone, ruled=ruled)
    # The location that its sender or the key of its session gave.
    topic_id, task_id = named_by(entry.session_key or "")
    given = known_location(tx, access, entry.topic_id or topic_id, entry.task_id or task_id)
    if given is not None and (given.task_id is not None or entry.type != "conversation"):
        return Case(bundle=alone, location=given, is_given=True)
    if entry.type == "note":
        return _note(tx, access, alone)
    if not Recalls(tx, access).is_on_board(entry):
        return Case(bundle=alone, ruled=PRIVATE)
    conversation = _conversation(tx, access, entry)
    bundle = bundle_at(conversation, next(at for at, each in enumerate(conversation) if each.id == entry.id))
    if given is not None:
        return _within_topic(tx, access, alone, bundle.opening, given)
    return _decide(tx, access, bundle, conversation)


def _conversation(tx: Tx, access: Access, entry: Entry) -> list[Entry]:
    """The conversation around an entry in its session."""
    if entry.session_key is None:
        return [entry]
    around = store.conversation_around(tx, access, entry, count=limits.CLASSIFIER_BUNDLE_ENTRIES_MAX)
    return [each for each in around if each.id == entry.id or (each.type != "note" and _takes_part(each))]


def _takes_part(entry: Entry) -> bool:
    return entry.role == "user" or verdict(entry) is None or (is_tool_trace(entry) and entry.run_id is not None)


def known_location(tx: Tx, access: Access, topic_id: str | None, task_id: str | None) -> Location | None:
    """Return the present location of a task, else of a topic; None when there is neither."""
    task = location_of_task(tx, access, task_id) if task_id is not None else None
    if task is not None and task.topic_id is not None:
        return task
    topic = location_of_topic(tx, access, topic_id) if topic_id is not None else None
    return task if topic is None else structs.replace(topic, task_id=task.task_id if task else None)


def _within_topic(tx: Tx, access: Access, alone: Bundle, opening: Entry | None, given: Location) -> Case:
    """The case of an entry whose topic is given: a message may be about one of its tasks; an answer goes with it."""
    topic_id, space_id = given.topic_id, given.space_id or DEFAULT_SPACE
    assert topic_id is not None
    if is_request(alone.entries[0]):
        tasks = store.open_tasks_of(tx, access, space_id, [topic_id])
        candidates = Candidates(tasks=tasks, topic_id=topic_id, last=_last(tx, access, alone, {topic_id}))
        return Case(bundle=alone, candidates=candidates, space_id=space_id, is_given=True)
    task_id = opening.task_id if opening is not None and opening.topic_id == topic_id else None
    return Case(bundle=alone, location=structs.replace(given, task_id=task_id), is_given=True)


def _note(tx: Tx, access: Access, alone: Bundle) -> Case:
    """The case of a note: it goes where its entry is; a person's separate note is sorted by its content."""
    note = alone.entries[0]
    related = entries_by_id(tx, access, (note.related_id,)) if note.related_id is not None else []
    if related:
        return _after(tx, access, alone, related[0])
    return _sorted(tx, access, alone) if note.author_kind == "user" else Case(bundle=alone, ruled=UNALLOCATED)


def _decide(tx: Tx, access: Access, bundle: Bundle, conversation: Sequence[Entry]) -> Case:
    first, opening = bundle.entries[0], bundle.opening
    if is_subagent_key(first.session_key):
        return _spawned(tx, access, bundle, first.session_key or "")
    # The topic or task that the session's key names is gone, and no other was meant.
    is_lost = named_by(first.session_key or "") != (None, None)
    if opening is None or is_lost or first.type not in _SORTED_TYPES:
        return Case(bundle=bundle, ruled=UNALLOCATED)
    if bundle.follows:
        return _after(tx, access, bundle, opening)
    if not is_request(opening):
        return _linked(tx, access, bundle, _cause(tx, access, opening))
    return _sorted(tx, access, bundle, conversation)


def _sorted(tx: Tx, access: Access, bundle: Bundle, conversation: Sequence[Entry] = ()) -> Case:
    space_id = bundle.entries[0].space_id or DEFAULT_SPACE
    candidates = _candidates(tx, access, bundle, space_id, conversation)
    return Case(bundle=bundle, candidates=candidates, space_id=space_id)


def _spawned(tx: Tx, access: Access, bundle: Bundle, session_key: str) -> Case:
    """The case of a message in a sub-agent's session: only this session's link says where it belongs."""
    if (run_id := store.spawning_run(tx, access, session_key)) is not None:
        return _linked(tx, access, bundle, run_id)
    location = inherited_location(tx, access, session_key)
    asked = store.asked_before_spawn(tx, access, session_key) if location is None else None
    if asked is not None:
        # Another system's spawn has no location of its own: it was made for what was asked there last.
        return _after(tx, access, bundle, asked)
    return Case(bundle=bundle, location=location, ruled=UNALLOCATED if location is None else None)


def _cause(tx: Tx, access: Access, message: Entry) -> str | None:
    """The run behind a message: the one that caused its run, or that spawned the sub-agent it reports on."""
    if message.run_id is not None:
        return store.parent_of_run(tx, access, message.run_id)
    child = message.provenance.source_session_key
    if not isinstance(child, str) or not is_subagent_key(child):
        return None
    lane = lane_of(tx, access, SessionKey.stored(child))
    return store.spawning_run(tx, access, child) if lane is not None and lane.spawned_by == message.key else None


def _linked(tx: Tx, access: Access, bundle: Bundle, run_id: str | None) -> Case:
    """The case of a message that no person wrote: it goes where the message that caused it went, or nowhere."""
    found = store.location_of_run(tx, access, run_id) if run_id is not None else None
    return Case(bundle=bundle, ruled=UNALLOCATED) if found is None else _after(tx, access, bundle, found)


def _after(tx: Tx, access: Access, bundle: Bundle, found: Entry | EntryLocation) -> Case:
    """The case of a bundle that follows another entry: it gets the same location, once that is known."""
    if found.classification == "pending":
        return Case(bundle=bundle)
    is_sorted = found.classification == "classified"
    location = known_location(tx, access, found.topic_id, found.task_id) if is_sorted else None
    return Case(bundle=bundle, location=location, ruled=UNALLOCATED if location is None else None)


def _candidates(tx: Tx, access: Access, bundle: Bundle, space_id: str, conversation: Sequence[Entry]) -> Candidates:
    """What a bundle can be sorted into: only topics of its space, the best match first."""
    text = "\n".join(bundle.asked)
    topics = {row.id: row for row in _profiled(tx, access, store.topics_of_space(tx, access, space_id))}
    last = _last(tx, access, bundle, topics)
    best = [score.id for score in scores(text, list(topics.values()), {})]
    tasks = store.open_tasks_of(tx, access, space_id, best[: limits.CLASSIFIER_SHORTLIST_MAX])
    if last is not None and last.task_id not in {task.id for task in tasks}:
        last = structs.replace(last, task_id=None)
    first = bundle.entries[0]
    recent = _recent(conversation, first, last)
    pause_ms = limits.CLASSIFIER_PAUSE_SECONDS * MS_PER_SECOND
    return Candidates(
        topics=[topics[topic_id] for topic_id in best],
        tasks=tasks,
        last=last,
        recent=[entry.content for entry in recent],
        is_later=not recent or first.created_at - recent[-1].created_at > pause_ms,
    )


def _profiled(tx: Tx, access: Access, rows: Sequence[Candidate]) -> Iterator[Candidate]:
    """Topics with their profiles; missing profiles, up to a limit, are made from the topic's newest entries."""
    left = limits.CLASSIFIER_UNPROFILED_MAX
    for row in rows:
        if row.profile is None and left > 0:
            row = structs.replace(row, profile=store.fresh_profile(tx, access, row.id))
            left -= 1
        yield row


def _recent(conversation: Sequence[Entry], first: Entry, last: Choice | None) -> list[Entry]:
    """The newest messages before an entry in the last location of its session, oldest first."""
    before = [entry for entry in conversation if entry.seq < first.seq and is_request(entry) and entry.topic_id]
    at_last = [entry for entry in before if last is not None and entry.topic_id == last.topic_id]
    return at_last[-limits.CLASSIFIER_RECENT_SAID_MAX :]


def _last(tx: Tx, access: Access, bundle: Bundle, topics: Container[str]) -> Choice | None:
    """The last location of the session before the bundle, except small talk, if its topic is among the candidates."""
    first = bundle.entries[0]
    key = first.session_key
    routes = routes_of(tx, access, key, before=first.seq) if key is not None else []
    last = next((route for route in reversed(routes) if route.topic_name != SMALL_TALK), None)
    if last is None or last.topic_id not in topics:
        return None
    return Choice(topic_id=last.topic_id, task_id=last.task_id)
