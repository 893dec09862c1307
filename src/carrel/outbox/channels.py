"""Channels: how a message of a lane is posted to an outside service.

Web, cli and api need no channel: they show what is stored. The others are registered by name when the server is
assembled; a post that fails is retried later.
"""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from carrel.kernel import INTERNAL_CHANNEL, SessionKey
from carrel.sessions import Lane


class ChannelMessage(Struct, frozen=True, kw_only=True):
    """A message to post on a channel. It may be offered more than once, with the same id."""

    id: str
    account_id: str
    key: SessionKey
    channel: str
    to: str | None
    text: str


class ChannelFault(Exception):
    """A message could not be posted; another attempt may succeed."""


class Channel(Protocol):
    """A service outside Carrel to which messages can be posted."""

    async def post(self, post: ChannelMessage) -> None:
        """Post a message; raise ChannelFault if that failed."""
        ...


Channels = Mapping[str, Channel]


def channel_of(lane: Lane) -> str:
    """Return the channel of a lane, `internal` if it has none."""
    return lane.channel or INTERNAL_CHANNEL
