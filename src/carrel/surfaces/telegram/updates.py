"""Updates of Telegram's Bot API: the parts that are looked at, and what one of them says. Pure.

Who speaks and in which chat is read off the update alone; no word of the text changes either.
"""

import re
from typing import Any

from msgspec import Struct, field

from carrel.kernel.limits import NAME_CHARS_MAX

_ROOMS = {"private": "direct", "group": "group", "supergroup": "group", "channel": "channel"}
_CHAT_ADDRESS = re.compile(r"-?[0-9]{1,20}(?::[0-9]{1,20})?")
_UNREADABLE = (
    "animation", "audio", "contact", "dice", "location", "poll", "sticker", "story", "venue", "video", "video_note",
    "voice",
)  # fmt: skip


class Person(Struct, frozen=True, kw_only=True):
    """A user or a bot."""

    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""


class Chat(Struct, frozen=True, kw_only=True):
    """A private chat, a group or a channel; also who speaks in a chat's own name."""

    id: int
    type: str
    title: str = ""
    first_name: str = ""
    last_name: str = ""


class WireFile(Struct, frozen=True, kw_only=True):
    """A file on Telegram's servers."""

    file_id: str
    file_size: int | None = None
    file_name: str = ""
    mime_type: str = ""


class ChatMessage(Struct, frozen=True, kw_only=True):
    """One message. Of what cannot be read here only that it is there is known."""

    chat: Chat
    sender: Person | None = field(name="from", default=None)
    sender_chat: Chat | None = None
    message_thread_id: int | None = None
    is_topic_message: bool = False
    text: str = ""
    caption: str = ""
    photo: tuple[WireFile, ...] = ()
    document: WireFile | None = None
    animation: Any = None
    audio: Any = None
    contact: Any = None
    dice: Any = None
    location: Any = None
    poll: Any = None
    sticker: Any = None
    story: Any = None
    venue: Any = None
    video: Any = None
    video_note: Any = None
    voice: Any = None


class Update(Struct, frozen=True, kw_only=True):
    """Something that happened; edits, reactions and the like are not looked at."""

    update_id: int
    message: ChatMessage | None = None
    channel_post: ChatMessage | None = None


class Said(Struct, frozen=True, kw_only=True):
    """What an update says: by whom, where, and in which words.

    `chat_address` is the chat, with the topic in it if any; `rest` is the end of the session key of a chat
    that never pointed to another session.
    """

    update_id: int
    chat_address: str
    rest: str
    is_private: bool
    sender_id: int
    sender_name: str
    title: str
    text: str
    file: WireFile | None = None
    is_unreadable: bool = False

    @property
    def first_word(self) -> str:
        """What stands first in the text, up to the first space."""
        return next(iter(self.text.split(maxsplit=1)), "")


def said_in(update: Update) -> Said | None:
    """What a person says by an update; None for one that says nothing here."""
    message = update.message or update.channel_post
    if message is None or message.chat.type not in _ROOMS:
        return None
    if message.sender is not None and message.sender.is_bot and message.sender_chat is None:
        # Two bots that answer each other would never end.
        return None
    speaker = message.sender_chat or message.sender
    if speaker is None:
        return None
    said_text, attached = message.text or message.caption, _file(message)
    is_unreadable = attached is None and any(getattr(message, name) is not None for name in _UNREADABLE)
    if not said_text and attached is None and not is_unreadable:
        return None
    # Outside of forums a reply bears a number of this name as well, and is no topic.
    topic = message.message_thread_id if message.is_topic_message else None
    chat = message.chat
    rest = f"telegram:{_ROOMS[chat.type]}:{chat.id}"
    return Said(
        update_id=update.update_id,
        chat_address=chat_address_text(chat.id, topic),
        rest=rest if topic is None else f"{rest}:thread:{topic}",
        is_private=chat.type == "private",
        sender_id=speaker.id,
        sender_name=_name(speaker),
        title=_name(chat),
        text=said_text,
        file=attached,
        is_unreadable=is_unreadable,
    )


def chat_address_text(chat: int | str, topic: int | str | None) -> str:
    """A chat_address as it is kept: the chat, and behind a colon the topic."""
    return str(chat) if topic is None else f"{chat}:{topic}"


def address_of(chat_address: str) -> dict[str, int]:
    """A chat_address as the Bot API is told of it."""
    chat, _, topic = chat_address.partition(":")
    return {"chat_id": int(chat)} | ({"message_thread_id": int(topic)} if topic else {})


def chat_address_in_key(rest: str) -> str | None:
    """The chat_address that a session key itself names; None for a key that names no chat that can be spoken in."""
    channel, _, behind = rest.partition(":")
    room, _, chat = behind.partition(":")
    if channel != "telegram" or room not in _ROOMS.values():
        return None
    chat, _, topic = chat.partition(":thread:")
    chat_address = chat_address_text(chat, topic or None)
    return chat_address if _CHAT_ADDRESS.fullmatch(chat_address) else None


def _file(message: ChatMessage) -> WireFile | None:
    if message.document is not None and message.animation is None:
        return message.document
    # The same picture in several sizes, the largest last.
    return message.photo[-1] if message.photo else None


def _name(one: Person | Chat) -> str:
    title = one.title if isinstance(one, Chat) else ""
    return (title or f"{one.first_name} {one.last_name}".strip() or str(one.id))[:NAME_CHARS_MAX]
