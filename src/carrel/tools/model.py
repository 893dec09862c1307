"""A tool: defined once, with its schema, its effect and what it does.

Offered on every surface from this one definition.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Any, Literal

import msgspec
from msgspec import Struct, structs

from carrel.agents import Agent
from carrel.gateway import Gateway
from carrel.kernel import Access, Code, Refusal, SessionKey, refuse_nul, wrong_value
from carrel.kernel.settings import Settings
from carrel.runs import Failed, NeedsInput, Rules, Run
from carrel.sessions import Session, ToolVisibility
from carrel.storage import Database, Tx

Effect = Literal["read", "write"]
# The gateway that is always there.
BUILTIN = "builtin"


class Params(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What a tool takes: strict types, unknown names refused."""


def _never() -> bool:
    return False


class NoSideRoom(Exception):
    """A channel has no thread to give, in words for who asked for one."""


# Opens a thread of a channel beside a place, under a name; gives its place, or raises NoSideRoom.
OpenSideRoom = Callable[[str, str], Awaitable[str]]


class Surroundings(Struct, frozen=True, kw_only=True):
    """What tools must know of the house: its settings, the rules by which something is delivered, its gateways.

    `side_rooms` are the channels that have threads, by their names.
    """

    settings: Settings
    rules: Rules
    gateways: Mapping[str, Gateway] = {}
    side_rooms: Mapping[str, OpenSideRoom] = {}
    # Whether this server has begun to stop and takes nothing new.
    draining: Callable[[], bool] = _never

    def refuse_when_draining(self) -> None:
        """Refuse new messages while the server is stopping; another server, or the next one, will take them."""
        if self.draining():
            raise Refusal(
                Code.DRAINING,
                "The server is stopping and accepts no new work; try again shortly.",
                retry_after_seconds=5,
            )

    def gateway_of(self, agent: Agent) -> str:
        """The name of the gateway that an agent's turns reach; one that the settings no longer name is the built-in."""
        named = agent.profile.gateway or "default"
        return named if named in self.gateways else BUILTIN


class Caller(Struct, frozen=True, kw_only=True):
    """Where a call is made from: who asks, as which agent, at which lane; and the run it belongs to, if it does."""

    access: Access
    agent: Agent
    key: SessionKey
    visibility: ToolVisibility
    house: Surroundings
    sandboxed: bool = False
    run: Run | None = None
    session: Session | None = None

    @property
    def looking(self) -> Access:
        """Access to the whole account, as this agent names things; `visibility` decides what is shown."""
        return structs.replace(self.access, kind="system")

    @property
    def own_run(self) -> Run:
        """The run of a call that is made within one."""
        assert self.run is not None, "a tool that ends or feeds a turn is offered within one only"
        return self.run


class Wait(Struct, frozen=True):
    """What a call waits for before it has a result: another run, no longer than until a moment of the store."""

    run_id: str
    until: int


class Result(Struct, frozen=True, kw_only=True):
    """What a call gives back; `ends` is set by the tools that end the turn, `wait` by those that wait first."""

    value: dict[str, Any]
    ends: NeedsInput | Failed | None = None
    wait: Wait | None = None


class Readied(Struct, frozen=True, kw_only=True):
    """What was gathered or written for a call outside of any transaction.

    `params` is what the call acts with, in place of what it was given. `settled` is awaited once the call was made or
    has failed: whatever was written for it and is not its own by then goes.
    """

    params: Any
    settled: Callable[[], Awaitable[None]] | None = None


@cache
def _schema(shape: type[Struct]) -> dict[str, Any]:
    # Made once: a turn offers its tools with every step.
    whole = msgspec.json.schema(shape)
    definitions = whole.pop("$defs")
    own: dict[str, Any] = definitions.pop(shape.__name__)
    own.pop("title", None)
    own.pop("description", None)
    return own | ({"$defs": definitions} if definitions else {})


class Tool(Struct, frozen=True, kw_only=True):
    """One thing an agent may do. `only_in_run`: it ends or feeds a turn, so it makes no sense outside one."""

    name: str
    description: str
    params: type[Params]
    effect: Effect
    act: Callable[[Tx, Caller, Any], Result]
    only_in_run: bool = False
    # The shape of what it gives back.
    gives: type[Struct] | None = None
    # What a call that has waited gives back: for the run it waited for by its id, None when that is no more.
    finish: Callable[[Tx, Caller, str, Run | None], dict[str, Any]] | None = None
    # What must be known or written before it acts and takes no transaction; its caller's lane is then held first.
    ready: Callable[[Database, Caller, Any], Awaitable[Readied]] | None = None
    # Its arguments as they may be kept; None for all of them.
    kept: Callable[[str], str] | None = None

    def schema(self) -> dict[str, Any]:
        """The JSON schema of its parameters."""
        return _schema(self.params)

    def result_schema(self) -> dict[str, Any] | None:
        """The JSON schema of its result, where its shape is told."""
        return None if self.gives is None else _schema(self.gives)

    def function(self) -> dict[str, Any]:
        """The tool as a model is offered it."""
        return {
            "type": "function",
            "name": self.name,
            "description": self.description,
            "parameters": self.schema(),
            "strict": False,
        }

    def read_params(self, arguments: str) -> Params:
        """The arguments as the model wrote them, checked."""
        refuse_nul(arguments.encode(), of=self.name)
        try:
            return msgspec.json.decode(arguments or "{}", type=self.params)
        except msgspec.ValidationError as error:
            raise wrong_value(error, of=self.name) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Refusal(Code.INVALID_PARAMS, f"{self.name}: {error}") from error
