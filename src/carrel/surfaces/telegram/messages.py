"""Hearing what was said in a Telegram chat: who it is, which session it is for, and a run, an answer or a command.

The same update twice is heard once. What is answered goes to the chat it came from, by the posts; nothing is sent here.
"""

from msgspec import Struct, structs

from carrel.access import account_by_slug, answer_given, keep_answer
from carrel.agents import default_agent, named_agent
from carrel.kernel import (
    DEFAULT_ACCOUNT_SLUG,
    MS_PER_DAY,
    SCOPE_END,
    Access,
    Envelope,
    Message,
    NewAttachment,
    Provenance,
    SessionKey,
    secret_digest,
)
from carrel.kernel.settings import TelegramSettings
from carrel.modes import Scene, Typed, read_command, run_command
from carrel.outbox import keep_reply_address, post_words, waiting_at
from carrel.runs import Run, answer, deliver
from carrel.sessions import (
    Lane,
    LaneChange,
    change_lane,
    make_lane,
    move_pointer,
    name_chat,
    note_chat_address,
    pointed_lane,
    shared_key,
)
from carrel.storage import Tx
from carrel.surfaces.http.house import House
from carrel.surfaces.telegram.phrases import decision_in
from carrel.surfaces.telegram.updates import Said

CHANNEL = "telegram"
# What Telegram itself sends when somebody first opens the chat with the bot.
_START = "/start"


class Heard(Struct, frozen=True, kw_only=True):
    """What was said, with the files that came with it and the command that it is, if it is one."""

    said: Said
    typed: Typed | None = None
    files: tuple[NewAttachment, ...] = ()


def is_owner(settings: TelegramSettings, said: Said) -> bool:
    """True when the settings name the sender as the owner."""
    return str(said.sender_id) in map(str, settings.owner_ids)


def typed_in(said: Said) -> Typed | None:
    """The command that a line is; a line with a file is none."""
    if said.file is not None:
        return None
    return read_command("/help" if said.first_word.partition("@")[0] == _START else said.text)


def hear(tx: Tx, house: House, bot_id: str, heard: Heard) -> None:
    """Hear one line: do what it commands, answer what waits for it, or deliver it; in one transaction."""
    said, settings = heard.said, house.settings.channels.telegram
    access = _speaker(tx, settings, said)
    name = f"telegram:{bot_id}{SCOPE_END}{said.update_id}"
    if not _is_first(tx, access, name):
        return
    agent = named_agent(tx, access, settings.agent_id) if settings.agent_id else default_agent(tx, access)
    front = pointed_lane(tx, access, CHANNEL, said.chat_address)
    key = shared_key(house.settings.sessions, front.session_key if front else SessionKey.of(agent.id, said.rest))
    if heard.typed is not None:
        _command(tx, house, access, heard.typed, said, _in_front(tx, access, said, key))
        return
    message = Message(
        text=said.text,
        provenance=Provenance(kind="external_user", source_channel=CHANNEL, actor=access.actor_id),
        sender_id=name,
        attachments=heard.files,
    )
    asking = waiting_at(tx, access, str(key), CHANNEL, said.chat_address)
    if asking is not None and _answer(tx, access, said, message, asking):
        return
    run = deliver(tx, access, Envelope(key=key, message=message, channel=CHANNEL), house.rules)
    keep_reply_address(tx, access, run.id, CHANNEL, said.chat_address)
    _in_front(tx, access, said, key)
    name_chat(tx, access, key, said.text)


def _speaker(tx: Tx, settings: TelegramSettings, said: Said) -> Access:
    account = account_by_slug(tx, DEFAULT_ACCOUNT_SLUG)
    assert account is not None, "the default account is made at the first start"
    return Access(
        account_id=account.id,
        account_slug=account.slug,
        kind="owner" if is_owner(settings, said) else "user",
        actor_id=f"telegram:{said.sender_id}",
        name=said.sender_name,
    )


def _is_first(tx: Tx, access: Access, name: str) -> bool:
    """Whether an update was not heard before; Telegram repeats what it was not told is taken."""
    since = tx.now - MS_PER_DAY
    if answer_given(tx, access, name, since) is not None:
        return False
    return keep_answer(tx, access, name, secret_digest(name), 200, "", replaces_before=since)


def _in_front(tx: Tx, access: Access, said: Said, key: SessionKey) -> Lane:
    """The lane, made where it was not, with the chat in front of it and a name that people know."""
    lane = make_lane(tx, access, key)
    move_pointer(tx, access, CHANNEL, said.chat_address, lane, "message")
    if lane.last_to != said.chat_address:
        note_chat_address(tx, access, lane.key, said.chat_address)
    if key.rest == said.rest and not lane.display_name and not lane.label:
        change_lane(tx, access, key, LaneChange(display_name=said.title))
    return lane


def _command(tx: Tx, house: House, access: Access, typed: Typed, said: Said, lane: Lane) -> None:
    if access.kind != "owner":
        # People off the street may go to sessions of their own and speak to this agent, and see nothing else.
        access = structs.replace(access, kind="client", agent_ids=(lane.agent_id,))
    scene = Scene(lane=lane, settings=house.settings.sessions, channel=CHANNEL, client_instance_id=said.chat_address)
    done = run_command(tx, access, scene, typed)
    # A session that a command made or went to is spoken in from here on.
    note_chat_address(tx, access, str(done.key), said.chat_address)
    post_words(tx, access, CHANNEL, said.chat_address, done.reply)


def _answer(tx: Tx, access: Access, said: Said, message: Message, asking: Run) -> bool:
    """Give a run that asked in this chat what was said; False where the line is no answer to it."""
    if asking.waiting_for == "tool_output":
        return False
    if asking.waiting_for != "approval":
        answer(tx, access, asking.id, message)
        return True
    approved = decision_in(said.text)
    if access.kind != "owner" or approved is None:
        return False
    answer(tx, access, asking.id, message, approved=approved)
    return True
