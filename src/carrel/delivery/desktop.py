"""The desk of one run: everything a step of its turn needs, as one transaction read it. Values only."""

from msgspec import Struct

from carrel.gateway import Gateway
from carrel.journal import Entry
from carrel.kernel import Access, TurnExtras
from carrel.kernel.settings import GatewaySettings
from carrel.runs import Run
from carrel.sessions import Agent, Lane, Session
from carrel.tools import Desk, Toolset


class Door(Struct, frozen=True):
    """A gateway and how it is to be spoken to."""

    gateway: Gateway
    settings: GatewaySettings


class Desktop(Struct, frozen=True, kw_only=True):
    """One run at its desk: everything a step needs, read in one transaction."""

    desk: Desk
    run: Run
    lane: Lane
    session: Session
    agent: Agent
    access: Access
    door: Door
    toolset: Toolset
    own: list[Entry]
    earlier: list[Entry]
    earlier_unread: int
    extras: TurnExtras
