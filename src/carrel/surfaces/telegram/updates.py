"""Updates of Telegram's Bot API: the fields that are read, and the message of a person that an update holds.

The sender and the chat come from the update's own fields; nothing in the text can change either.
"""

import re
from typing import Any

from msgspec import Struct, field, structs

from carrel.chats import chat_key
from carrel.kernel import caller_hash
from carrel.kernel.limits import NAME_CHARS_MAX

_KINDS = {"private": "direct", "group": "group", "supergroup": "group", "channel": "channel"}
_CHAT_ADDRESS = re.compile(r"-?[0-9]{1,20}(?::[0-9]{1,20})?")


class Person(Struct, frozen=True, kw_only=True):
    """A user or a bot."""

    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""


class Chat(Struct, frozen=True, kw_only=True):
    """A private chat, a group or a channel; also the sender of a message sent in the chat's own name."""

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


class WireMessage(Struct, frozen=True, kw_only=True):
    """One message. Of content that cannot be read here, only its presence is known."""

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


_UNREADABLE = tuple(one.name for one in structs.fields(WireMessage) if one.type is Any)


class Update(Struct, frozen=True, kw_only=True):
    """One update; edits, reactions and the like are ignored."""

    update_id: int
    message: WireMessage | None = None
    channel_post: WireMessage | None = None


class UserMessage(Struct, frozen=True, kw_only=True):
    """A message of a person: who sent it, in which chat, and what it says.

    `chat_address` is the chat with its topic, if any. `session_rest` is the end of the key of the chat's own session,
    which is used unless the chat was switched to another one.
    """

    update_id: int
    chat_address: str
    session_rest: str
    is_private: bool
    sender_id: int
    sender_name: str
    title: str
    text: str
    file: WireFile | None = None
    is_unreadable: bool = False

    @property
    def first_word(self) -> str:
        """The text up to the first space."""
        return next(iter(self.text.split(maxsplit=1)), "")


def user_message(update: Update) -> UserMessage | None:
    """Return the message of a person that an update holds; None when it holds none."""
    message = update.message or update.channel_post
    if message is None or message.chat.type not in _KINDS:
        return None
    if message.sender is not None and message.sender.is_bot and message.sender_chat is None:
        # Two bots answering each other would never stop.
        return None
    sender = message.sender_chat or message.sender
    if sender is None:
        return None
    text, attached = message.text or message.caption, _file(message)
    is_unreadable = attached is None and any(getattr(message, name) is not None for name in _UNREADABLE)
    if not text and attached is None and not is_unreadable:
        return None
    # Outside forums a reply has a thread id too, which is not a topic.
    topic = message.message_thread_id if message.is_topic_message else None
    chat = message.chat
    return UserMessage(
        update_id=update.update_id,
        chat_address=chat_address_text(chat.id, topic),
        session_rest=chat_key("telegram", _KINDS[chat.type], chat.id, topic),
        is_private=chat.type == "private",
        sender_id=sender.id,
        sender_name=_name(sender),
        title=_name(chat),
        text=text,
        file=attached,
        is_unreadable=is_unreadable,
    )


def chat_address_text(chat: int | str, topic: int | str | None) -> str:
    """Return a chat address as it is stored: the chat and, after a colon, the topic."""
    return str(chat) if topic is None else f"{chat}:{topic}"


def address_of(chat_address: str) -> dict[str, int]:
    """Return a chat address as parameters of the Bot API."""
    chat, _, topic = chat_address.partition(":")
    return {"chat_id": int(chat)} | ({"message_thread_id": int(topic)} if topic else {})


def chat_address_in_key(rest: str) -> str | None:
    """Return the chat address that the end of a session key names, if a person chose such a key; None for others."""
    channel, _, behind = rest.partition(":")
    kind, _, chat = behind.partition(":")
    if channel != "telegram" or kind not in _KINDS.values():
        return None
    chat, _, topic = chat.partition(":thread:")
    chat_address = chat_address_text(chat, topic or None)
    return chat_address if _CHAT_ADDRESS.fullmatch(chat_address) else None


def _file(message: WireMessage) -> WireFile | None:
    if message.document is not None and message.animation is None:
        return message.document
    # The same photo in several sizes, the largest last.
    return message.photo[-1] if message.photo else None


def _name(one: Person | Chat) -> str:
    title = one.title if isinstance(one, Chat) else ""
    return (title or f"{one.first_name} {one.last_name}".strip() or caller_hash(str(one.id)))[:NAME_CHARS_MAX]
