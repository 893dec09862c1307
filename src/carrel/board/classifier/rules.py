"""Where a bundle belongs, by rules alone; only candidates of its space can be chosen. Pure."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from carrel.board.classifier import thresholds
from carrel.board.classifier.phrases import is_small_talk, is_terse, name_of, opens_new_topic, task_in
from carrel.board.profiles import Profile, Weights, distinctive_words
from carrel.kernel.limits import CLASSIFIER_FRAGMENT_LINES_MAX
from carrel.search import query_words

SMALL_TALK = "Small Talk"


class Candidate(Struct, frozen=True, kw_only=True):
    """A topic or a task that a text may belong to."""

    id: str
    name: str
    description: str = ""
    # The words that people used there; None until they are known.
    profile: Profile | None = None
    is_snoozed: bool = False
    # Whether it is visible only in its own space, and whether the classifier may rename or merge it.
    is_in_one_space: bool = True
    is_mergeable: bool = False

    @property
    def full_profile(self) -> Profile:
        """The words of its messages, and those of its name and description."""
        return (self.profile or Profile()).with_said((self.name, self.description))


class TaskCandidate(Candidate, frozen=True, kw_only=True):
    """A task that a text may belong to, and its topic."""

    topic_id: str | None = None


class Score(Struct, frozen=True, kw_only=True):
    """How well a candidate fits, from 0 to 1."""

    id: str
    value: float


def scores(text: str, candidates: Sequence[Candidate], meanings: Mapping[str, float]) -> list[Score]:
    """Return the score of each candidate, best first; `meanings` has the known similarities in meaning.

    Each part is between 0 and 1, whatever the other candidates are, so that a lone weak candidate gets a low score.
    """
    asked = distinctive_words(text)
    bags = [candidate.full_profile.words for candidate in candidates]
    weights = Weights(bags)

    def score(candidate: Candidate, bag: Mapping[str, tuple[int, str]]) -> Score:
        known = {word: bag[word][0] / (bag[word][0] + thresholds.FIT_SATURATION) for word in asked if word in bag}
        words = weights.share(known, asked) * len(asked) / (len(asked) + thresholds.FIT_FEW)
        # Words of the name that the text has; a long name needs more of them, and so does a long text.
        name = distinctive_words(candidate.name)
        named = weights.share(dict.fromkeys(name.keys() & asked.keys(), 1.0), name)
        named *= (1 + weights.share(dict.fromkeys(known, 1.0), asked)) / 2
        penalty = thresholds.SNOOZED_PENALTY if candidate.is_snoozed else 0.0
        meaning = thresholds.FIT_MEANING * max(0.0, meanings.get(candidate.id, 0.0))
        value = thresholds.FIT_NAME * named + thresholds.FIT_WORDS * words + meaning - penalty
        return Score(id=candidate.id, value=min(1.0, max(0.0, value)))

    return sorted(map(score, candidates, bags), key=lambda score: -score.value)


def name_similarity(one: str, other: str) -> float:
    """Return how similar two names are: the share of words that they have in common."""
    first, second = set(query_words(one)), set(query_words(other))
    return len(first & second) / len(first | second) if first or second else float(one == other)


class Choice(Struct, frozen=True, kw_only=True):
    """Where a bundle belongs: a topic, or the name of a new one; maybe a task, or the title of a new one."""

    topic_id: str | None = None
    task_id: str | None = None
    new_topic: str | None = None
    new_task: str | None = None


class Candidates(Struct, frozen=True, kw_only=True):
    """What a bundle can be sorted into: topics and tasks of its space, and the last location of its session."""

    topics: Sequence[Candidate] = ()
    tasks: Sequence[TaskCandidate] = ()
    # The session's last topic and task; None if they are not among the candidates.
    last: Choice | None = None
    # The newest messages there, and whether they are from a while ago.
    recent: Sequence[str] = ()
    is_later: bool = False
    # The topic that the session's key names, if any; then only its tasks can be chosen.
    topic_id: str | None = None


def choose_by_rules(
    asked: Sequence[str], candidates: Candidates, meanings: Mapping[str, float], recent: float | None = None
) -> Choice:  # fmt: skip
    """Return where the messages of a bundle belong.

    `meanings` has the similarity in meaning of each candidate, and `recent` that of the last messages, if known.
    """
    telling = [text for text in asked if not is_terse(text)]
    text = "\n".join(telling)
    if candidates.topic_id is not None:
        return _within(candidates.topic_id, text, candidates, meanings)
    if telling and all(map(is_small_talk, telling)):
        return named(SMALL_TALK, candidates.topics)
    if not distinctive_words(text) and task_in(text) is None and not opens_new_topic(text):
        return candidates.last or named(SMALL_TALK, candidates.topics)
    return _by_words(text, candidates, meanings, recent)


def named(name: str, topics: Sequence[Candidate]) -> Choice:
    """Return the topic with nearly this name, else a new one."""
    alike = max(((name_similarity(name, topic.name), topic.id) for topic in topics), default=(0.0, ""))
    return Choice(topic_id=alike[1]) if alike[0] >= thresholds.SAME_TOPIC else Choice(new_topic=name)


def _by_words(text: str, candidates: Candidates, meanings: Mapping[str, float], recent: float | None) -> Choice:
    last = candidates.last
    stays = _continues(text, candidates, recent)
    best = _best_topic(text, candidates, meanings)
    if best is not None and stays < thresholds.CONTINUES_HELD:
        return _within(best, text, candidates, meanings)
    if last is not None and last.topic_id is not None and stays >= 0:
        return _with_task(last.topic_id, text, candidates, meanings, otherwise=last.task_id)
    known = _best_task(text, candidates.tasks, meanings)
    if known is not None and known.topic_id is not None:
        return _within(known.topic_id, text, candidates, meanings)
    new = named(name_of(text), candidates.topics)
    if new.topic_id is not None:
        return _within(new.topic_id, text, candidates, meanings)
    return Choice(new_topic=new.new_topic, new_task=task_in(text))


def _best_topic(text: str, candidates: Candidates, meanings: Mapping[str, float]) -> str | None:
    """The topic that a text is about, if any; a topic made by the classifier has to fit better."""
    fits = {topic.id: _least(topic) for topic in candidates.topics}
    found = (score.id for score in scores(text, candidates.topics, meanings) if score.value >= fits[score.id])
    return next(found, None)


def _least(topic: Candidate) -> float:
    if not topic.is_mergeable:
        return thresholds.TOPIC_MIN
    is_young = topic.profile is None or topic.profile.lines <= CLASSIFIER_FRAGMENT_LINES_MAX
    return thresholds.YOUNG_MIN if is_young else thresholds.MADE_MIN


def _continues(text: str, candidates: Candidates, recent: float | None) -> float:
    """Whether a message continues the session's last topic, as a score: from 0 on it does."""
    if candidates.last is None or opens_new_topic(text):
        return float("-inf")
    asked = distinctive_words(text)
    if recent is None and len(asked) < thresholds.OWN_WORDS_MIN:
        return 0.0
    weights = Weights([topic.full_profile.words for topic in candidates.topics])
    said = distinctive_words("\n".join(candidates.recent))
    shared = weights.share(dict.fromkeys(asked.keys() & said.keys(), 1.0), asked)
    base = thresholds.CONTINUES_LATER if candidates.is_later else thresholds.CONTINUES_SOON
    return base + thresholds.CONTINUES_MEANING * (recent or 0.0) + thresholds.CONTINUES_WORDS * shared


def _within(topic_id: str, text: str, candidates: Candidates, meanings: Mapping[str, float]) -> Choice:
    last = candidates.last
    kept = last.task_id if not text and last is not None and last.topic_id == topic_id else None
    return _with_task(topic_id, text, candidates, meanings, otherwise=kept)


def _with_task(
    topic_id: str, text: str, candidates: Candidates, meanings: Mapping[str, float], *, otherwise: str | None
) -> Choice:  # fmt: skip
    """The topic with the task that the text is about; a new task only if the text explicitly asks for one."""
    tasks = [task for task in candidates.tasks if task.topic_id == topic_id]
    if (title := task_in(text)) is not None:
        alike = max(((name_similarity(title, task.name), task.id) for task in tasks), default=(0.0, ""))
        same = alike[1] if alike[0] >= thresholds.SAME_TASK else None
        return Choice(topic_id=topic_id, task_id=same, new_task=None if same else title)
    best = _best_task(text, tasks, meanings)
    return Choice(topic_id=topic_id, task_id=otherwise if best is None else best.id)


def _best_task(text: str, tasks: Sequence[TaskCandidate], meanings: Mapping[str, float]) -> TaskCandidate | None:
    """The task that a text is about, if any."""
    ranked = scores(text, tasks, meanings) if text else []
    if not ranked or ranked[0].value < thresholds.TASK_MIN:
        return None
    return next(task for task in tasks if task.id == ranked[0].id)
