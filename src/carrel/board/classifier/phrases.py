"""What short phrases in a message say about where it belongs. Pure, and linear in the text."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from carrel.board.classifier import thresholds
from carrel.board.common_words import FIRST_NAMES, SOCIAL_WORDS
from carrel.board.profiles import Profile, Weights, distinctive_words
from carrel.kernel import clip, one_line
from carrel.kernel.limits import CLASSIFIER_NAME_CHARS_MAX, SUMMARY_READ_CHARS_MAX, TERSE_CHARS_MAX
from carrel.search import words_of

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_AFFIRMING = frozenset((
    "yes", "yep", "yeah", "yup", "ok", "okay", "k", "sure", "fine", "good", "great", "perfect", "right", "correct",
    "agreed", "exactly", "please", "do", "it", "that", "this", "go", "on", "ahead", "for", "continue", "proceed",
    "next", "more", "no", "nope", "not", "yet", "stop", "wait", "again", "retry", "try", "done", "thanks", "thank",
    "you", "ja", "nein", "ship", "send", "both", "all", "of", "them", "the", "first", "second", "one", "and", "now",
))  # fmt: skip
_SOCIAL = frozenset((
    "hi", "hello", "hey", "hallo", "morning", "afternoon", "evening", "night", "good", "there", "everyone", "all",
    "everybody", "how", "are", "you", "is", "it", "going", "what's", "up", "thanks", "thank", "much", "very", "so", "a",
    "lot", "bye", "goodbye", "see", "later", "tomorrow", "cheers", "welcome", "nice", "day", "have", "to", "meet",
    "doing", "well", "i'm", "i", "am", "fine", "and", "today", "lol", "haha", "cool", "wow", "congratulations", "great",
    "awesome", "your", "weekend", "was", "the", "guten", "morgen", "tag", "abend", "danke", "vielen", "bitte", "wie",
    "geht's", "geht", "es", "dir", "bis", "später", "tschüss", "moin", "schönen", "schönes", "wochenende", "servus",
))  # fmt: skip
_NEW_TOPIC = re.compile(
    r"\b(?:new|another|different|other|separate) (?:topic|subject|matter|thing)\b|\bsomething (?:else|different)\b|"
    r"\bchange of (?:topic|subject)\b|\bunrelated\b",
    re.IGNORECASE,
)
# An explicit request: nothing less turns a message into a task.
_TASK = re.compile(
    r"(?:^|\n)\s*(?:todo|to-do|task)\s*:\s*(?P<named>[^\n]+)|"
    r"\b(?:add|create|make|open) (?:a |an )?(?:new )?(?:task|todo|to-do|ticket) (?:to|for|called|named|:)\s*"
    r"(?P<made>[^\n]+)|"
    r"\bremind me to (?P<told>[^\n]+)",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"(?:(?:hi|hello|hey|ok|okay|so|please|now|also|and|then)\b[ ,!.]*|"
    r"(?:can|could|would|will) you (?:please |now |also )?|i (?:need|want|would like) (?:you )?(?:to )?|"
    r"let's |let us )+",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?\n](?:\s|$)")
# A word that may address somebody at the beginning of a message: "Hey Maria,", "Thanks, Jon!", "Wow!".
_ADDRESSED = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?[\s,!.:;-]*")
_LETTERS = re.compile(r"[^\W\d_]+")
# "Ada, …", "@Ada …", "hey Ada, …", "hey Ada!" and "…, Ada!"
_CALLED = re.compile(r"^\W*(?:[^\W\d_]+[ ])?([^\W\d_]+)[ ]*(?=[,!]|$)|@([^\W\d_]+)|,[ ]+([^\W\d_]+)[\s.!?]*$")


def is_terse(text: str) -> bool:
    """Return whether a message says too little to have a topic of its own, such as "yes, do it"."""
    line = text.strip()
    words = _WORD.findall(line.lower()[: TERSE_CHARS_MAX + 1])
    return not words or (len(line) <= TERSE_CHARS_MAX and all(word in _AFFIRMING for word in words))


def is_small_talk(text: str) -> bool:
    """Return whether a message is nothing but a greeting, thanks or the like."""
    words = _WORD.findall(one_line(text[: TERSE_CHARS_MAX * thresholds.SMALL_TALK_WORDS_MAX]).lower())
    return 0 < len(words) <= thresholds.SMALL_TALK_WORDS_MAX and all(
        word in _SOCIAL or _is_address(word) for word in words
    )


def opens_new_topic(text: str) -> bool:
    """Return whether a message says that it changes the subject."""
    return _NEW_TOPIC.search(text[:SUMMARY_READ_CHARS_MAX]) is not None


def task_in(text: str) -> str | None:
    """Return the title of the task that a message explicitly asks for, else None."""
    match = _TASK.search(text[:SUMMARY_READ_CHARS_MAX])
    return None if match is None else name_of(next(filter(None, match.groups())))


def name_of(text: str) -> str:
    """Return a name for the subject of a message: its first meaningful sentence, without polite phrases."""
    line = one_line(text[:SUMMARY_READ_CHARS_MAX])
    sentences = (_plain(sentence) for sentence in _SENTENCE_END.split(line))
    said = next((sentence for sentence in sentences if distinctive_words(sentence)), None) or _plain(line) or line
    name = clip(said, CLASSIFIER_NAME_CHARS_MAX)
    return name[:1].upper() + name[1:]


def name_by_words(profile: Profile, weights: Weights, social_words: AbstractSet[str]) -> str | None:
    """Return a name made of a topic's distinctive words; None if no word is in more than one message."""
    known = {word: count for word, (count, _) in profile.words.items() if count > 1 and word not in social_words}
    said = {word: count * weights.of(word) ** 2 for word, count in known.items()}
    ranked = sorted(said, key=lambda word: (-said[word], word))[: thresholds.NAME_WORDS_MAX]
    chosen = [word for word in ranked if said[word] >= thresholds.NAME_SHARE_MIN * said[ranked[0]]]
    name = clip(one_line(", ".join(profile.words[word][1] for word in chosen)), CLASSIFIER_NAME_CHARS_MAX)
    return name[:1].upper() + name[1:] or None


def _plain(sentence: str) -> str:
    """A sentence without the greeting or address before it."""
    at = 0
    while (word := _ADDRESSED.match(sentence, at)) is not None and _is_address(word[0].strip(" ,!.:;-").lower()):
        at = word.end()
    polite = _POLITE.match(sentence, at)
    return sentence[polite.end() if polite else at :].strip(" ,;:-.!?")


def _is_address(word: str) -> bool:
    return word in FIRST_NAMES or word in SOCIAL_WORDS


def social_words_in(texts: Sequence[str]) -> frozenset[str]:
    """Return the words with which people greet, thank and address each other, in the form of `distinctive_words`.

    No list contains all of them in every language, so they are recognised by their position: greetings and thanks are
    usually messages of their own, and the name of the person addressed is next to a comma or after "@".
    """
    having, aside = Counter[str](), Counter[str]()
    for text in texts:
        words = distinctive_words(text).keys()
        having.update(words)
        is_alone = len(_LETTERS.findall(text)) <= thresholds.ALONE_WORDS_MAX
        aside.update(words if is_alone else words & set(_called(text)))
    least = {word: max(thresholds.SOCIAL_MIN, thresholds.SOCIAL_SHARE * having[word]) for word in aside}
    return frozenset(word for word, count in aside.items() if count >= least[word])


def _called(text: str) -> Iterable[str]:
    for match in _CALLED.finditer(text):
        name = next(filter(None, match.groups()))
        if name[0].isupper() or match[0].startswith("@"):
            yield from words_of(name)
