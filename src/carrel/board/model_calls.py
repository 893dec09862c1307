"""Asking a model about the board, outside of any run: nothing of it appears on the board."""

import asyncio
from collections.abc import Callable

import msgspec
from msgspec import Struct

from carrel.gateway import Gateway, Step
from carrel.kernel import Access
from carrel.kernel.limits import CLASSIFIER_MODEL_SECONDS_MAX
from carrel.storage import Tx

# Such sessions are recorded nowhere: see the setting intake.ignore_session_prefixes.
_ADDRESS = "internal:clawboard-classifier"


class Model(Struct, frozen=True):
    """A model that can be asked: the gateway it is reached by, its name there, whether it streams, and how long."""

    gateway: Gateway
    name: str
    stream: bool
    seconds_max: float = CLASSIFIER_MODEL_SECONDS_MAX


# The model of an account's default agent; None when that has none.
ModelOf = Callable[[Tx, Access], Model | None]


async def ask(model: Model, name: str, instructions: str, text: str) -> str:
    """Return what a model answers; GatewayFault or TimeoutError when it does not. `name` must be new each time."""
    content = [{"type": "input_text", "text": text}]
    body = {
        "model": model.name,
        "instructions": instructions,
        "input": [{"type": "message", "role": "user", "content": content}],
        "tools": [],
        "stream": model.stream,
    }
    step = Step(body=msgspec.json.encode(body), address=f"{_ADDRESS}:{name}")
    async with asyncio.timeout(model.seconds_max):
        return (await model.gateway.take(step, lambda _: None)).text
