"""Channels: how something said in a lane leaves the house.

Web, cli and api need none: they show what is stored. A channel that must be carried to is entered under its name, by
whoever assembles the house; what fails there is offered again later.
"""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from carrel.kernel import INTERNAL_CHANNEL, SessionKey
from carrel.sessions import Lane


class ChannelMessage(Struct, frozen=True, kw_only=True):
    """Something to be said on a channel. The same id twice is the same thing: it may be offered more than once."""

    id: str
    account_id: str
    key: SessionKey
    channel: str
    to: str | None
    text: str


class ChannelFault(Exception):
    """What was to be said could not be; another attempt may go better."""


class Channel(Protocol):
    """A way out of the house."""

    async def post(self, post: ChannelMessage) -> None:
        """Say it there; ChannelFault when that did not work."""
        ...


Channels = Mapping[str, Channel]


def channel_of(lane: Lane) -> str:
    """The channel of what is said in a lane by the house."""
    return lane.channel or INTERNAL_CHANNEL
