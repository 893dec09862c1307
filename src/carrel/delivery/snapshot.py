"""The caller of one run: everything a step of its turn needs, as one transaction read it. Values only."""

from msgspec import Struct

from carrel.gateway import Gateway
from carrel.journal import Entry
from carrel.kernel import Access, TurnExtras
from carrel.kernel.settings import GatewaySettings
from carrel.runs import Run
from carrel.sessions import Agent, Lane, Session
from carrel.tools import Caller, Toolset


class Connection(Struct, frozen=True):
    """A gateway and how it is to be spoken to."""

    gateway: Gateway
    settings: GatewaySettings


class Snapshot(Struct, frozen=True, kw_only=True):
    """One run at its caller: everything a step needs, read in one transaction."""

    caller: Caller
    run: Run
    lane: Lane
    session: Session
    agent: Agent
    access: Access
    connection: Connection
    toolset: Toolset
    own: list[Entry]
    earlier: list[Entry]
    earlier_unread: int
    extras: TurnExtras
