"""Where a bundle belongs, by rules alone. Pure: the candidates are those of one space, and no other can be chosen."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from carrel.board.classifier.phrases import is_small_talk, is_terse, name_of, opens_new_topic, task_in
from carrel.board.classifier.scores import Candidate, Score, TaskCandidate, likeness, scores
from carrel.search import query_words

SMALL_TALK = "Small Talk"
# From here on a topic or a task fits by itself, one that the session is at already fits, and names mean the same.
_TOPIC_MIN, _TASK_MIN, _CONTINUES_MIN = 0.29, 0.4, 0.06
_SAME_TOPIC, _SAME_TASK = 0.72, 0.78
# With fewer words that say something, a message continues what was said before it.
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
    # The topic that the session's own key names; then only its tasks can be chosen.
    topic_id: str | None = None


def choose_by_rules(asked: Sequence[str], around: Surroundings, meanings: Mapping[str, float]) -> Choice:
    """Return where the messages of a bundle belong."""
    telling = [text for text in asked if not is_terse(text)]
    text = "\n".join(telling)
    if around.topic_id is not None:
        return _within(around.topic_id, text, around, meanings)
    if not telling:
        return around.last or small_talk(around.topics)
    if all(map(is_small_talk, telling)):
        return small_talk(around.topics)
    return _by_words(text, around, meanings)


def small_talk(topics: Sequence[Candidate]) -> Choice:
    """Return the place of what is only polite."""
    return named(SMALL_TALK, topics)


def named(name: str, topics: Sequence[Candidate]) -> Choice:
    """Return the topic that has nearly this name, else a new one."""
    alike = max(((likeness(name, topic.name), topic.id) for topic in topics), default=(0.0, ""))
    return Choice(topic_id=alike[1]) if alike[0] >= _SAME_TOPIC else Choice(new_topic=name)


def _by_words(text: str, around: Surroundings, meanings: Mapping[str, float]) -> Choice:
    ranked = scores(text, around.topics, meanings)
    if ranked and ranked[0].value >= _TOPIC_MIN:
        return _within(ranked[0].id, text, around, meanings)
    known = _best_task(text, around.tasks, meanings)
    if known is not None and known.topic_id is not None:
        return _within(known.topic_id, text, around, meanings)
    if around.last is not None and _continues(text, around.last, ranked):
        assert around.last.topic_id is not None
        return _with_task(around.last.topic_id, text, around, meanings, otherwise=around.last.task_id)
    new = named(name_of(text), around.topics)
    if new.topic_id is not None:
        return _within(new.topic_id, text, around, meanings)
    return Choice(new_topic=new.new_topic, new_task=task_in(text))


def _continues(text: str, last: Choice, ranked: list[Score]) -> bool:
    if opens_new_topic(text):
        return False
    score = next((score.value for score in ranked if score.id == last.topic_id), 0.0)
    return score >= _CONTINUES_MIN or len(query_words(text)) < _OWN_WORDS_MIN


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
