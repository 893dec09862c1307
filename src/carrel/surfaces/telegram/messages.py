"""From a Telegram message to a chat message: who sent it, and in which chat. A repeated update is received once.

Replies go to the chat by the posts; nothing is sent here.
"""

from carrel.access import Account, account_by_slug, answer_given, keep_answer
from carrel.chats import person_id, pointed_lane
from carrel.commands import ChannelChat, ChatMessage, receive
from carrel.kernel import (
    DEFAULT_ACCOUNT_SLUG,
    MS_PER_DAY,
    SCOPE_END,
    Access,
    NewAttachment,
    secret_digest,
    system_access,
)
from carrel.kernel.settings import TelegramSettings
from carrel.storage import Tx
from carrel.surfaces.http.services import Services
from carrel.surfaces.telegram.updates import UserMessage

CHANNEL = "telegram"
# What Telegram itself sends when a person opens the chat with the bot for the first time.
_START = "/start"


def is_owner(settings: TelegramSettings, sent: UserMessage) -> bool:
    """Return whether the settings name the sender as the owner."""
    return str(sent.sender_id) in map(str, settings.owner_ids)


def chat_message(
    settings: TelegramSettings, bot_id: str, sent: UserMessage, files: tuple[NewAttachment, ...]
) -> ChatMessage:
    """Return the chat message that a person sent to the bot."""
    return ChatMessage(
        text="/help" if sent.first_word.partition("@")[0] == _START and not files else sent.text,
        channel=CHANNEL,
        files=files,
        agent=settings.agent_id or None,
        chat=ChannelChat(
            address=sent.chat_address,
            session_rest=sent.session_rest,
            title=sent.title,
            message_id=f"{CHANNEL}:{bot_id}{SCOPE_END}{sent.update_id}",
            is_stranger=not is_owner(settings, sent),
        ),
    )


def receive_once(tx: Tx, services: Services, sent: UserMessage, message: ChatMessage) -> None:
    """Receive a message unless it was received before."""
    assert message.chat is not None, "every message from Telegram has a chat"
    access = _sender(tx, services.settings.channels.telegram, sent)
    if _is_first(tx, access, message.chat.message_id):
        receive(tx, access, services.settings, services.rules, message)


def _sender(tx: Tx, settings: TelegramSettings, sent: UserMessage) -> Access:
    account = account_by_slug(tx, DEFAULT_ACCOUNT_SLUG)
    assert account is not None, "the default account is created at the first start"
    return Access(
        account_id=account.id,
        account_slug=account.slug,
        kind="owner" if is_owner(settings, sent) else "user",
        actor_id=_actor_id(tx, account, sent),
        name=sent.sender_name,
    )


def _actor_id(tx: Tx, account: Account, sent: UserMessage) -> str:
    """Return the sender's id: a hash, or the raw id for the maker of a session that dates from before hashes."""
    raw = f"{CHANNEL}:{sent.sender_id}"
    active = pointed_lane(tx, system_access(account.id, account.slug), CHANNEL, sent.chat_address)
    return raw if active is not None and active.made_by == raw else person_id(CHANNEL, sent.sender_id)


def _is_first(tx: Tx, access: Access, name: str) -> bool:
    """Record an update; False when it was recorded before, as Telegram repeats what was not acknowledged."""
    since = tx.now - MS_PER_DAY
    if answer_given(tx, access, name, since) is not None:
        return False
    return keep_answer(tx, access, name, secret_digest(name), 200, "", replaces_before=since)
