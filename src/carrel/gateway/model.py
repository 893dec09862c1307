"""The gateway protocol: a step, its answer, and its faults. No HTTP and no storage here."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from msgspec import Struct

from carrel.workspaces import Workspace

OnText = Callable[[str], None]
OnSend = Callable[[bytes], Awaitable[None]]
OnAct = Callable[["Act"], Awaitable[None]]
Item = dict[str, Any]


class Step(Struct, frozen=True, kw_only=True):
    """One request to a model. `body` is its JSON text; a gateway that does not translate sends exactly that.

    `address` names the session at the gateway; `agent_id` is empty for requests outside a run. `run_token` lets the
    gateway call tools as this run; it is shown to nobody else. `message_at` is the position in the input of the newest
    message of the run; messages of others may follow it. It `is_request` if a person or a program wrote it: what comes
    back from another agent is material and asks for nothing. `lost_at` is when the same was sent before, without an
    answer that we know; it may have been heard. `callable_tools` are names that may be called although the body does
    not offer them: the built-in agent reads no schemas, so none need to be left out for it; of a coding agent they are
    what it may be allowed. Such an agent works in the `workspace`; `remote_id` is the session that it had here last,
    and `account` the slug of the account.
    """

    body: bytes
    address: str
    agent_id: str = ""
    agent_slug: str = ""
    run_token: str = ""
    message_at: int | None = None
    is_request: bool = False
    lost_at: int | None = None
    callable_tools: frozenset[str] = frozenset()
    workspace: Workspace | None = None
    remote_id: str = ""
    account: str = ""


class Act(Struct, frozen=True, kw_only=True):
    """What an agent behind a gateway does by itself during a step: a call of a tool of its own.

    `arguments` and `result` are JSON texts; the result is None until it is known.
    """

    call_id: str
    name: str
    arguments: str
    result: str | None = None


class Call(Struct, frozen=True, kw_only=True):
    """A tool call of the model; `arguments` is its JSON text as the model wrote it, which may be invalid JSON."""

    call_id: str
    name: str
    arguments: str


class Usage(Struct, frozen=True, kw_only=True):
    """The cost of a step, as far as the gateway reports it; cached tokens are among those of the input."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    cost_usd: float | None = None


class StepAnswer(Struct, frozen=True, kw_only=True):
    """The text and tool calls of a model's answer.

    `output` contains the raw items, including one per call in `calls` with the same call id. If the answer was cut
    short, `incomplete_reason` says why, and so does the last item of `output`. `left_out` names the files in the step
    that the model could not be given.
    """

    text: str
    calls: tuple[Call, ...]
    usage: Usage
    model: str
    output: list[Item]
    incomplete_reason: str | None = None
    left_out: tuple[str, ...] = ()


class SentStep(Struct, frozen=True, kw_only=True):
    """What a gateway was told in one step, and which parts of the request could not be told.

    `input` is in the form of Open Responses; it is empty if nothing was sent.
    """

    model: str = ""
    instructions: str | None = None
    input: Any
    tools: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


# The code of a step that is longer than the model's context; a shorter one may succeed.
PROMPT_TOO_LONG = "gateway_prompt_too_long"


class GatewayFault(Exception):
    """A step without an answer. The message says what to do and never contains a credential.

    If `retryable`, the same step may succeed later; otherwise it would fail again. If `unreachable`, nobody was there
    to take the step, so it says nothing about the step itself.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retryable: bool,
        retry_after_seconds: float | None = None,
        unreachable: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable
        self.retry_after_seconds = retry_after_seconds
        self.unreachable = unreachable


async def keep_nothing(body: bytes) -> None:
    """Keep no record of what is sent."""


async def show_nothing(act: Act) -> None:
    """Keep no record of what an agent does."""


class Gateway(Protocol):
    """A connection to a model, a remote agent, or the built-in agent.

    If it `translates`, it sends something else than a step's body, or nothing. If it `takes_context`, instructions,
    context, tools and transcript reach the model in one form or another; a remote agent has its own.
    """

    name: str
    translates: bool
    takes_context: bool

    async def take(self, step: Step, on_text: OnText, on_send: OnSend = keep_nothing) -> StepAnswer:
        """Return the answer to `step`, or raise GatewayFault; `on_text` is called with the text as it arrives.

        If the step fails, that text is void. Cancelling closes the connection at once. A gateway that translates awaits
        `on_send` with the exact bytes of each message before it sends them.
        """

    async def check(self) -> None:
        """Raise GatewayFault if no step could be taken now; no model is called to find out.

        The fault is `unreachable` if nothing answers, or only a server in between that cannot reach the model either.
        """
        return

    async def models(self) -> tuple[str, ...]:
        """Return the models that can be used: the configured ones, then those the gateway lists; by default none."""
        return ()

    async def close(self) -> None:
        """Release what the gateway holds, by default nothing; the shared HTTP client stays open."""
        return


class ActingGateway(Gateway, ABC):
    """A connection to an agent that acts by itself, and says so while it works."""

    @abstractmethod
    async def take(
        self, step: Step, on_text: OnText, on_send: OnSend = keep_nothing, on_act: OnAct = show_nothing
    ) -> StepAnswer:  # fmt: skip
        """Take a step as every gateway does; `on_act` is awaited with each act as it begins, and with its result."""
