"""Asking a model about the board, outside of any run: nothing of it appears on the board."""

import asyncio
from collections.abc import Callable

import msgspec
from msgspec import Struct

from carrel.board.own_request_store import begin_request, end_request
from carrel.gateway import Gateway, Step
from carrel.kernel import Access, Echoes
from carrel.kernel.limits import CLASSIFIER_MODEL_SECONDS_MAX
from carrel.storage import Database, Tx


class Model(Struct, frozen=True):
    """A model that can be asked: its gateway, its name there, whether it streams, and the time limit."""

    gateway: Gateway
    name: str
    stream: bool
    seconds_max: float = CLASSIFIER_MODEL_SECONDS_MAX

    async def ask(
        self, db: Database, access: Access, name: str, instructions: str, text: str, *, agent_id: str = ""
    ) -> str:  # fmt: skip
        """Return the model's answer; raise GatewayFault or TimeoutError. `name` must be new each time.

        The address and the text both mark it as our own request, since a host that records conversations may change
        either.
        """
        await db.write(lambda tx: begin_request(tx, access, name))
        content = [{"type": "input_text", "text": f"{Echoes.MARK}\n\n{text}"}]
        body = {
            "model": self.name,
            "instructions": instructions,
            "input": [{"type": "message", "role": "user", "content": content}],
            "tools": [],
            "stream": self.stream,
        }
        step = Step(body=msgspec.json.encode(body), address=f"{Echoes.REQUESTS}{name}", agent_id=agent_id)
        async with asyncio.timeout(self.seconds_max):
            answer = (await self.gateway.take(step, lambda _: None)).text
        await db.write(lambda tx: end_request(tx, access, name, answer))
        return answer


# The model of an account's default agent; None if it has none.
ModelOf = Callable[[Tx, Access], Model | None]
