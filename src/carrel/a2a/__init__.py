"""What both sides of A2A speak: shapes, cards, requests and remote tasks as values. Nothing is sent from here."""

from carrel.a2a.card import A2aInterface, card_addresses, choose_interface, does_stream, interfaces_of
from carrel.a2a.remote_task import RemoteRun, message_words
from carrel.a2a.requests import A2aFault, A2aRequest, A2aSpeech
from carrel.a2a.shapes import state_name, state_word

__all__ = [
    "A2aFault",
    "A2aInterface",
    "A2aRequest",
    "A2aSpeech",
    "RemoteRun",
    "card_addresses",
    "choose_interface",
    "does_stream",
    "interfaces_of",
    "message_words",
    "state_name",
    "state_word",
]
