"""Ids of people and chats on messaging channels. Session keys, actors and the log name them by a hash."""

import re

from carrel.kernel import caller_hash

_SEPARATOR = "(?::|%3a)"
_BEGIN = r"(?:\b|(?<=%3a))"
_ID = r"[^\s:%\"',/\\]+"
_CHAT = re.compile(
    rf"{_BEGIN}(?P<kind>(?:direct|group|channel){_SEPARATOR})(?P<chat>{_ID})"
    rf"(?:(?P<thread>{_SEPARATOR}thread{_SEPARATOR})(?P<topic>{_ID}))?",
    re.IGNORECASE,
)
_PERSON = re.compile(rf"{_BEGIN}(?P<channel>telegram{_SEPARATOR})(?P<id>-?\d+)\b", re.IGNORECASE)
# Digits alone may be the id itself.
_HASH = re.compile(r"(?=.*[a-f])[0-9a-f]{12}")


def chat_key(channel: str, kind: str, chat: int | str, topic: int | str | None = None) -> str:
    """Return the last part of the key of a chat's own session."""
    key = f"{channel}:{kind}:{caller_hash(str(chat))}"
    return key if topic is None else f"{key}:thread:{caller_hash(f'{chat}:{topic}')}"


def person_id(channel: str, sender: int | str) -> str:
    """Return the actor for a person on a channel."""
    return f"{channel}:{caller_hash(str(sender))}"


def hide_transport_ids(text: str) -> str:
    """Return a text with ids of chats and people replaced by hashes; old and chosen keys contain plain ids.

    A key is shown as if it had been made by `chat_key`.
    """
    text = _PERSON.sub(lambda found: f"{found['channel']}{caller_hash(found['id'])}", text)
    return _CHAT.sub(_hidden, text)


def _hidden(found: re.Match[str]) -> str:
    chat, topic = found["chat"], found["topic"]
    hidden = found["kind"] + (chat if _HASH.fullmatch(chat) else caller_hash(chat))
    if topic is None:
        return hidden
    return hidden + found["thread"] + (topic if _HASH.fullmatch(topic) else caller_hash(f"{chat}:{topic}"))
