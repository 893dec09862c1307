"""A tool, its caller and its result. Every surface offers a tool from its one definition."""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple, Self

import msgspec
from msgspec import Struct, structs

from carrel.agents import Agent
from carrel.connectors import Connectors
from carrel.context import Contexts
from carrel.gateway import Gateway
from carrel.kernel import Access, Code, NewAttachment, Refusal, SessionKey, Shape, ToolVisibility, decode_json
from carrel.kernel.settings import Settings
from carrel.runs import Failed, NeedsInput, Rules, Run
from carrel.search import Search
from carrel.sessions import Session
from carrel.storage import Database, Tx
from carrel.tools.compact_schema import compact_schema
from carrel.tools.normalized_arguments import normalized
from carrel.work import Action, Actor

Effect = Literal["read", "write"]
_BOARD = "clawboard_"


class Params(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The parameters of a tool: strictly typed, unknown names refused."""

    # The parameter that names a task, if any; a title that only one task has names it too.
    TASK: ClassVar[str] = "task_id"


class FreeParams(Params, frozen=True, kw_only=True):
    """The parameters of a tool that somebody else checks."""

    values: dict[str, Any]

    @classmethod
    def read(cls, arguments: str, called: str) -> Self:
        """Decode the arguments that the model wrote, which must be an object."""
        try:
            return cls(values=msgspec.json.decode(arguments or "{}", type=dict[str, Any]))
        except msgspec.MsgspecError as error:
            raise Refusal(Code.INVALID_PARAMS, f"{called}: the arguments must be a JSON object.") from error


class NoChannelThread(Exception):
    """A channel thread cannot be opened; the message is for the caller."""


# Opens a named thread in the chat of an address; returns the thread's address or raises NoChannelThread.
OpenChannelThread = Callable[[str, str], Awaitable[str]]


class ToolServices(Struct, frozen=True, kw_only=True):
    """What tools use of the server: its settings, the rules of delivery, its gateways."""

    settings: Settings
    rules: Rules
    gateways: Mapping[str, Gateway] = {}
    # By the name of the channel, for those that have threads.
    channel_threads: Mapping[str, OpenChannelThread] = {}
    search: Search | None = None
    contexts: Contexts | None = None
    connectors: Connectors | None = None
    # True once the server is stopping and accepts no new work.
    draining: Callable[[], bool] = lambda: False

    def refuse_when_draining(self) -> None:
        """Refuse new messages while the server is stopping; another server, or the next one, will take them."""
        if self.draining():
            message = "The server is stopping and accepts no new work; try again shortly."
            raise Refusal(Code.DRAINING, message, retry_after_seconds=5)


class Caller(Struct, frozen=True, kw_only=True):
    """Who calls a tool: the access, the agent and lane they act as, and the run the call belongs to, if any."""

    access: Access
    # What the caller may do with tasks.
    actor: Actor
    agent: Agent
    key: SessionKey
    visibility: ToolVisibility
    services: ToolServices
    sandboxed: bool = False
    # Whether the session was in plan mode when this was read.
    is_planning: bool = False
    run: Run | None = None
    session: Session | None = None

    @property
    def account_access(self) -> Access:
        """Access to the whole account, as this agent names things; `visibility` decides what is shown."""
        return structs.replace(self.access, kind="system", view=None)

    @property
    def own_access(self) -> Access:
        """Access to what this caller may see."""
        return structs.replace(self.access, view=self.visibility)

    @property
    def own_run(self) -> Run:
        """The run of a call that is made during one."""
        assert self.run is not None, "a tool that ends or feeds a turn is only offered during one"
        return self.run


def answer(name: str, said: str, **fields: Any) -> Any:
    """Return the class of a result, for its schema: its name, what is said of it, and its fields."""
    space = {"__doc__": said, "__module__": __name__}
    return msgspec.defstruct(name, [*fields.items()], bases=(Shape,), namespace=space, frozen=True, kw_only=True)


class Wait(NamedTuple):
    """What a call waits for before it has a result: another run, until a time on the store's clock."""

    run_id: str
    until: int


class Result(Struct, frozen=True, kw_only=True):
    """The result of a call; `ends` is set by tools that end the turn, `wait` by those that wait for another run."""

    value: dict[str, Any]
    # Shown beside the value to models that take files.
    files: tuple[NewAttachment, ...] = ()
    ends: NeedsInput | Failed | None = None
    wait: Wait | None = None


class Preparation(Struct, frozen=True, kw_only=True):
    """What was gathered or written for a call before its transaction.

    `params` replace those that were given. `lock` locks what the call changes besides the caller's lane, before it.
    `clean_up` is awaited after the call was made or failed, and removes what was written for it but not used.
    """

    params: Any
    lock: Callable[[Tx], None] | None = None
    clean_up: Callable[[], Awaitable[None]] | None = None


# Gathers or writes what a call needs before its transaction; the caller's lane is then locked first.
Prepare = Callable[[Database, Caller, Any], Awaitable[Preparation]]


def read_before(read: Callable[[Database, Caller, Any], Awaitable[Result]]) -> Prepare:
    """Return the preparation of a tool that reads before its call's transaction; its `act` is `give_read`."""

    async def prepare(db: Database, caller: Caller, params: Any) -> Preparation:
        try:
            return Preparation(params=await read(db, caller, params))
        except Refusal as refusal:
            return Preparation(params=refusal)

    return prepare


def give_read(_tx: Tx, _caller: Caller, read: Result | Refusal) -> Result:
    """Return what `read_before` has read; its refusal is raised here, where the call is recorded."""
    if isinstance(read, Refusal):
        raise read
    return read


@cache
def _schema(shape: type[Struct]) -> dict[str, Any]:
    # Cached: a turn offers its tools with every step.
    whole = msgspec.json.schema(shape)
    definitions = whole.pop("$defs")
    own: dict[str, Any] = definitions.pop(shape.__name__)
    own.pop("title", None)
    own.pop("description", None)
    return own | ({"$defs": definitions} if definitions else {})


class Shown(Struct, frozen=True):
    """What a model is shown of a tool's parameters; it may still give those that are left out."""

    without: tuple[str, ...] = ()
    # By parameter, the values that this agent may give, if the schema alone would allow more.
    words: tuple[tuple[str, tuple[str, ...]], ...] = ()


@cache
def _names(name: str) -> tuple[str, ...]:
    short = name.removeprefix(_BOARD)
    return (name,) if short == name else (name, f"board_{short}")


@cache
def _function(name: str, description: str, params: type[Struct], shown: Shown) -> msgspec.Raw:
    # Encoded once: the same tools are offered with every step.
    parameters = compact_schema(_schema(params), without=shown.without, words=dict(shown.words))
    return encoded_function(_names(name)[-1], description, parameters)


def encoded_function(name: str, description: str, parameters: dict[str, Any]) -> msgspec.Raw:
    """Return a function as it is offered to models, encoded."""
    function = {"type": "function", "name": name, "description": description, "parameters": parameters, "strict": False}
    return msgspec.Raw(msgspec.json.encode(function))


class Tool(Struct, frozen=True):
    """One thing an agent may do. `only_in_run` marks tools that end or feed a turn and so make no sense outside one."""

    name: str
    # For people who decide on a call: "May main …?"
    does: str
    # For models.
    description: str
    effect: Effect
    params: type[Params]
    act: Callable[[Tx, Caller, Any], Result]
    result_type: type[Struct] | None = None
    only_in_run: bool = False
    # Returns the result of a call that waited for a run; the run is None if it no longer exists.
    finish: Callable[[Tx, Caller, str, Run | None], dict[str, Any]] | None = None
    prepare: Prepare | None = None
    # Locks what comes before lanes and runs in the order of locks: the task that the call changes.
    lock: Callable[[Tx, Caller, Any], None] | None = None
    # What the caller must be allowed to do with tasks or memory, or it is not offered.
    right: Action | None = None
    # The MCP server whose tool it is; None for one of ours.
    server: str | None = None
    # Returns the arguments as they may be stored; None stores them unchanged.
    storable: Callable[[str], str] | None = None
    # What a model is shown of its parameters; may depend on the actor.
    shown: Shown | Callable[[Actor], Shown] = Shown()

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the tool, its own first: the tools of the board have two."""
        return _names(self.name)

    @property
    def model_name(self) -> str:
        """The name that models are shown: our own."""
        return self.names[-1]

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of its parameters."""
        return _schema(self.params)

    def result_schema(self) -> dict[str, Any] | None:
        """Return the JSON schema of its result, if it has one."""
        return None if self.result_type is None else _schema(self.result_type)

    def function(self, actor: Actor) -> msgspec.Raw:
        """Return the tool as it is offered to the model of an agent, encoded."""
        shown = self.shown if isinstance(self.shown, Shown) else self.shown(actor)
        return _function(self.name, self.description, self.params, shown)

    def read_params(self, arguments: str, called: str = "") -> Params:
        """Decode and check the arguments that the model wrote, accepting those that are plain in meaning.

        Refusals name the tool as it was `called`, by default by its first name.
        """
        raw = normalized(arguments.encode(), self.params) or b"{}"
        return decode_json(raw, self.params, code=Code.INVALID_PARAMS, of=f"{called or self.name}: ", strict=False)
