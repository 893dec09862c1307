"""Where a bundle belongs, by rules alone. Pure: the candidates are those of one space, and no other can be chosen."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from carrel.board.classifier.phrases import is_small_talk, is_terse, name_of, opens_new_topic, task_in
from carrel.board.classifier.scores import Candidate, TaskCandidate, likeness, scores
from carrel.board.profiles import Weights, telling_words
from carrel.kernel.limits import CLASSIFIER_FRAGMENT_LINES_MAX

SMALL_TALK = "Small Talk"
# From here on a task fits; a topic that somebody has named; one that the classifier has just made; one that it has made
# and in which more was said, so that it has many words; and names mean the same.
_TASK_MIN, _TOPIC_MIN, _YOUNG_MIN, _MADE_MIN = 0.4, 0.29, 0.37, 0.6
_SAME_TOPIC, _SAME_TASK = 0.72, 0.78
# Whether a message continues what was said before it, as a sum: what speaks for that in any case, soon after it or
# after a pause; how near it is in meaning; and how much of what its words say was said before. It continues from 0 on,
# and from _HELD on no other topic takes it away.
_SOON, _LATER, _MEANING, _WORDS = -0.3, -1.6, 6.0, 3.5
_HELD = 1.5
# With fewer words that say something, a message continues what was said, as far as its meaning is not known.
_OWN_WORDS_MIN = 4


class Choice(Struct, frozen=True, kw_only=True):
    """Where a bundle belongs: a topic, or the name of a new one; maybe a task, or the title of a new one."""

    topic_id: str | None = None
    task_id: str | None = None
    new_topic: str | None = None
    new_task: str | None = None


class Surroundings(Struct, frozen=True, kw_only=True):
    """What a bundle can be sorted into: topics and tasks of its space, and where its session was last."""

    topics: Sequence[Candidate] = ()
    tasks: Sequence[TaskCandidate] = ()
    # The topic and task that the session was last at; None when that is not among the candidates.
    last: Choice | None = None
    # What was said there of late, and whether that was a while ago.
    recent: Sequence[str] = ()
    is_later: bool = False
    # The topic that the session's own key names; then only its tasks can be chosen.
    topic_id: str | None = None


def choose_by_rules(
    asked: Sequence[str], around: Surroundings, meanings: Mapping[str, float], recent: float | None = None
) -> Choice:  # fmt: skip
    """Return where the messages of a bundle belong.

    `meanings` has how near each candidate is, and `recent` how near what the session said of late is, as far as known.
    """
    telling = [text for text in asked if not is_terse(text)]
    text = "\n".join(telling)
    if around.topic_id is not None:
        return _within(around.topic_id, text, around, meanings)
    if telling and all(map(is_small_talk, telling)):
        return small_talk(around.topics)
    if not telling_words(text) and task_in(text) is None and not opens_new_topic(text):
        return around.last or small_talk(around.topics)
    return _by_words(text, around, meanings, recent)


def small_talk(topics: Sequence[Candidate]) -> Choice:
    """Return the place of what is only polite."""
    return named(SMALL_TALK, topics)


def named(name: str, topics: Sequence[Candidate]) -> Choice:
    """Return the topic that has nearly this name, else a new one."""
    alike = max(((likeness(name, topic.name), topic.id) for topic in topics), default=(0.0, ""))
    return Choice(topic_id=alike[1]) if alike[0] >= _SAME_TOPIC else Choice(new_topic=name)


def _by_words(
    text: str, around: Surroundings, meanings: Mapping[str, float], recent: float | None
) -> Choice:  # fmt: skip
    last = around.last
    stays = _continues(text, around, recent)
    best = _best_topic(text, around, meanings)
    if best is not None and stays < _HELD:
        return _within(best, text, around, meanings)
    if last is not None and last.topic_id is not None and stays >= 0:
        return _with_task(last.topic_id, text, around, meanings, otherwise=last.task_id)
    known = _best_task(text, around.tasks, meanings)
    if known is not None and known.topic_id is not None:
        return _within(known.topic_id, text, around, meanings)
    return _new(text, around, meanings)


def _new(text: str, around: Surroundings, meanings: Mapping[str, float]) -> Choice:
    new = named(name_of(text), around.topics)
    if new.topic_id is not None:
        return _within(new.topic_id, text, around, meanings)
    return Choice(new_topic=new.new_topic, new_task=task_in(text))


def _best_topic(text: str, around: Surroundings, meanings: Mapping[str, float]) -> str | None:
    """The topic that a text is about, if any; one that the classifier has made has to fit better."""
    fits = {topic.id: _least(topic) for topic in around.topics}
    found = (score.id for score in scores(text, around.topics, meanings) if score.value >= fits[score.id])
    return next(found, None)


def _least(topic: Candidate) -> float:
    if not topic.is_loose:
        return _TOPIC_MIN
    is_young = topic.profile is None or topic.profile.lines <= CLASSIFIER_FRAGMENT_LINES_MAX
    return _YOUNG_MIN if is_young else _MADE_MIN


def _continues(text: str, around: Surroundings, recent: float | None) -> float:
    """How much speaks for a message continuing what its session was last at; from 0 on it does."""
    if around.last is None or opens_new_topic(text):
        return float("-inf")
    asked = telling_words(text)
    if recent is None and len(asked) < _OWN_WORDS_MIN:
        return 0.0
    weights = Weights([topic.known_by.words for topic in around.topics])
    said = telling_words("\n".join(around.recent))
    shared = weights.share(dict.fromkeys(asked.keys() & said.keys(), 1.0), asked)
    return (_LATER if around.is_later else _SOON) + _MEANING * (recent or 0.0) + _WORDS * shared


def _within(topic_id: str, text: str, around: Surroundings, meanings: Mapping[str, float]) -> Choice:
    last = around.last
    kept = last.task_id if not text and last is not None and last.topic_id == topic_id else None
    return _with_task(topic_id, text, around, meanings, otherwise=kept)


def _with_task(
    topic_id: str, text: str, around: Surroundings, meanings: Mapping[str, float], *, otherwise: str | None
) -> Choice:  # fmt: skip
    """Return the topic with the task that the text is about; a new one only where the text asks for a task outright."""
    tasks = [task for task in around.tasks if task.topic_id == topic_id]
    title = task_in(text)
    if title is not None:
        alike = max(((likeness(title, task.name), task.id) for task in tasks), default=(0.0, ""))
        same = alike[1] if alike[0] >= _SAME_TASK else None
        return Choice(topic_id=topic_id, task_id=same, new_task=None if same else title)
    best = _best_task(text, tasks, meanings)
    return Choice(topic_id=topic_id, task_id=otherwise if best is None else best.id)


def _best_task(text: str, tasks: Sequence[TaskCandidate], meanings: Mapping[str, float]) -> TaskCandidate | None:
    """The task that a text is about, if any."""
    ranked = scores(text, tasks, meanings) if text else []
    if not ranked or ranked[0].value < _TASK_MIN:
        return None
    return next(task for task in tasks if task.id == ranked[0].id)
