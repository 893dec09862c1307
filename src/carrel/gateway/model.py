"""The gateway protocol: a step, its answer, and its faults. No HTTP and no storage here."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from msgspec import Struct

from carrel.kernel import Usage
from carrel.workspaces import Workspace

OnText = Callable[[str], None]
OnSend = Callable[[bytes], Awaitable[None]]
OnAction = Callable[["AgentAction"], Awaitable[None]]
Item = dict[str, Any]


class Step(Struct, frozen=True, kw_only=True):
    """One request to a model. `body` is its JSON text; a gateway that does not translate sends exactly this.

    `address` names the session at the gateway; `agent_id` is empty for requests outside a run. `run_token` lets the
    gateway call tools as this run; it is shown to nobody else. `message_at` is the position in the input of the newest
    message of the run; messages of others may follow it. `is_request` means that a person or a program wrote it; what
    comes back from another agent asks for nothing. `lost_at` is when the same step was sent before without a known
    answer; it may have arrived. `callable_tools` are names that may be called although the body does not offer them:
    the built-in agent reads no schemas, so it needs none; for a coding agent they are the actions that it may be
    allowed. A coding agent works in `workspace`; `remote_id` is its last session for this lane, and `account` the slug
    of the account.
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


class AgentAction(Struct, frozen=True, kw_only=True):
    """An action that an agent behind a gateway takes by itself during a step: a call of its own tool.

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
    """What a gateway was sent in one step, and which parts of the request could not be sent.

    `input` and `tools` are in the form of Open Responses; they are empty if nothing was sent.
    """

    model: str = ""
    instructions: str | None = None
    input: Any
    tools: list[Item] = []
    left_out: tuple[str, ...] = ()


# The code of a step that exceeds the model's context; a shorter one may succeed.
PROMPT_TOO_LONG = "gateway_prompt_too_long"


class GatewayFault(Exception):
    """A step without an answer. The message says what to do and never contains a credential.

    If `retryable`, the same step may succeed later; otherwise it would fail again. If `unreachable`, the step never
    arrived, so the fault says nothing about the step itself.
    """

    def __init__(
        self, code: str, message: str, *, retryable: bool, retry_after_seconds: float | None = None,
        unreachable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable
        self.retry_after_seconds = retry_after_seconds
        self.unreachable = unreachable


async def keep_nothing(body: bytes) -> None:
    """Record nothing of what is sent."""


async def show_nothing(action: AgentAction) -> None:
    """Record nothing of what an agent does."""


class Gateway(Protocol):
    """A connection to a model, a remote agent, or the built-in agent.

    If it `translates`, it sends something other than a step's body, or nothing. If it `takes_context`, instructions,
    context, tools and transcript reach the model in some form; a remote agent has its own.
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
        """Raise GatewayFault if no step could be taken now; this calls no model.

        The fault is `unreachable` if nothing answers, or only a server in between that cannot reach the model either.
        """
        return

    async def models(self) -> tuple[str, ...]:
        """Return the usable models: the configured ones, then those the gateway lists; by default none."""
        return ()

    async def close(self) -> None:
        """Release what the gateway holds, by default nothing; the shared HTTP client stays open."""
        return


class AgentGateway(Gateway, ABC):
    """A connection to an agent that acts by itself, and reports what it does while it works."""

    @abstractmethod
    async def take(
        self, step: Step, on_text: OnText, on_send: OnSend = keep_nothing, on_action: OnAction = show_nothing
    ) -> StepAnswer:  # fmt: skip
        """Take a step as every gateway does; `on_action` is awaited as each action begins, and with its result."""
