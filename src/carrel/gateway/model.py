"""What passes between a turn and a model: the step, its answer, and what can go wrong. No HTTP and no storage here."""

from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

OnText = Callable[[str], None]
Item = dict[str, Any]


class Step(Struct, frozen=True, kw_only=True):
    """One request to a model. `body` is exactly the JSON text that goes over the wire; its builder has recorded it.

    `address` names the session at the gateway; `agent_id` is empty for requests that belong to no run. `run_token` is
    for gateways that are to call tools as this run; nobody else ever sees it.
    """

    body: bytes
    address: str
    agent_id: str = ""
    run_token: str = ""


class Call(Struct, frozen=True, kw_only=True):
    """A tool the model wants used; `arguments` is the JSON text as the model wrote it, which may be no JSON at all."""

    call_id: str
    name: str
    arguments: str


class Usage(Struct, frozen=True, kw_only=True):
    """What a step cost, as far as the gateway tells."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    cost_usd: float | None = None


class StepAnswer(Struct, frozen=True, kw_only=True):
    """What the model said and wants done.

    `output` holds the raw items; each call in `calls` has its item there, with the same call id. When the answer was
    cut short, `incomplete_reason` says why, and the last item of `output` says it too.
    """

    text: str
    calls: tuple[Call, ...]
    usage: Usage
    model: str
    output: list[Item]
    incomplete_reason: str | None = None


# The code of a step that shows a model more than it can hold; less of it may do.
PROMPT_TOO_LONG = "gateway_prompt_too_long"


class GatewayFault(Exception):
    """A step without an answer, in words that say what to do; never with a credential in them.

    `retryable`: the way failed and may work later. Otherwise the same step would fail again.
    """

    def __init__(self, code: str, message: str, *, retryable: bool, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable
        self.retry_after_seconds = retry_after_seconds


class Gateway(Protocol):
    """A way to a model, or to the built-in agent."""

    name: str

    async def take(self, step: Step, on_text: OnText) -> StepAnswer:
        """The answer to `step`, or GatewayFault; `on_text` hears the text while it comes.

        What `on_text` heard of a step that then fails is void. Cancelling closes the connection at once.
        """
        ...

    async def check(self) -> bool:
        """Whether a step could be taken now, found out without asking a model."""
        ...

    async def models(self) -> tuple[str, ...]:
        """The models that may be named here: the configured ones, then those the gateway lists."""
        ...

    async def close(self) -> None:
        """Give back what is held. The wire stays open; it is not ours."""
        ...
