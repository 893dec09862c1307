"""The A2A protocol as values, shared by everything here that is an A2A client.

`card` reads agent cards and chooses an interface, `requests` builds requests and reads responses, `shapes` converts
between protocol 0.3 and 1.0, and `remote_task` assembles a task from responses and events. This room sends nothing: the
gateway and the bridge each have their own HTTP connection.
"""

from carrel.a2a.card import card_urls, choose_interface, interfaces_of, origin_of, supports_streaming
from carrel.a2a.remote_task import RemoteTask, message_text
from carrel.a2a.requests import A2aCodec, A2aFault, A2aRequest
from carrel.a2a.shapes import read_message, state_name

__all__ = [
    "A2aCodec", "A2aFault", "A2aRequest", "RemoteTask", "card_urls", "choose_interface", "interfaces_of",
    "message_text", "origin_of", "read_message", "state_name", "supports_streaming",
]  # fmt: skip
