"""Asides: the words with which people of a space greet, thank and address one another, in any language. Pure.

No list has them all, so they are recognised by their place: greetings and thanks are mostly messages of their own, and
a name that somebody is addressed by stands next to a comma or after "@".
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from carrel.board.profiles import telling_words
from carrel.search import words_of

# The most words of a message that stands alone. A word is an aside if at least so many of its messages, and this share
# of them, stand alone or address somebody by it.
_BY_ITSELF_WORDS, _ASIDES_MIN, _ASIDES_SHARE = 3, 2, 0.5
_WORD = re.compile(r"[^\W\d_]+")
# "Ada, …", "@Ada …", "hey Ada, …", "hey Ada!" and "…, Ada!"
_CALLED = re.compile(r"^\W*(?:[^\W\d_]+[ ])?([^\W\d_]+)[ ]*(?=[,!]|$)|@([^\W\d_]+)|,[ ]+([^\W\d_]+)[\s.!?]*$")


def asides_of(texts: Sequence[str]) -> frozenset[str]:
    """Return the asides among the words of some messages, in the form that `telling_words` returns."""
    having, aside = Counter[str](), Counter[str]()
    for text in texts:
        words = telling_words(text).keys()
        having.update(words)
        is_alone = len(_WORD.findall(text)) <= _BY_ITSELF_WORDS
        aside.update(words if is_alone else words & set(_called(text)))
    return frozenset(
        word for word, count in aside.items() if count >= _ASIDES_MIN and count >= _ASIDES_SHARE * having[word]
    )


def _called(text: str) -> Iterable[str]:
    for match in _CALLED.finditer(text):
        name = next(filter(None, match.groups()))
        if name[0].isupper() or match[0].startswith("@"):
            yield from words_of(name)
