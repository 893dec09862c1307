"""Chats: a message is for the session it names, or for the one that its browser, terminal or messenger points to."""

from carrel.chats.addresses import ChatAddress, active_session, chat_session, name_chat, shared_key
from carrel.chats.pointers import (
    chosen_key,
    fresh_key,
    is_pointed_to,
    move_pointer,
    pointed_lane,
    repair_pointers,
    require_valid_new_key,
    transport_name,
)
from carrel.chats.store import note_chat_address
from carrel.chats.transport_ids import chat_key, hide_transport_ids, person_id

__all__ = [
    "ChatAddress", "active_session", "chat_key", "chat_session", "chosen_key", "fresh_key",
    "hide_transport_ids", "is_pointed_to", "move_pointer", "name_chat", "note_chat_address", "person_id",
    "pointed_lane", "repair_pointers", "require_valid_new_key", "shared_key", "transport_name",
]  # fmt: skip
