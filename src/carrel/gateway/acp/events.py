"""What happens in a turn of a coding agent."""

import asyncio
from typing import Any

from msgspec import Struct

from carrel.gateway.model import Act


class Said(Struct, frozen=True):
    """It said a piece of its reply."""

    text: str


class Did(Struct, frozen=True):
    """It began acts, or ended them."""

    acts: tuple[Act, ...]


class Ended(Struct, frozen=True):
    """Its turn has ended, for a reason of the protocol's."""

    reason: str


class Failed(Struct, frozen=True):
    """Its turn has failed, as it says."""

    why: str
    is_login: bool = False


class Over(Struct, frozen=True):
    """It has ended altogether."""


class Asked:
    """It asks whether it may do something; `decision` is None where nobody will answer any more."""

    def __init__(self, tool_call_id: str, said: dict[str, Any]) -> None:
        self.tool_call_id = tool_call_id
        self.said = said
        # The call that the question became.
        self.call_id = ""
        self.decision: asyncio.Future[bool | None] = asyncio.get_running_loop().create_future()

    def decide(self, *, is_allowed: bool) -> None:
        """Answer it."""
        if not self.decision.done():
            self.decision.set_result(is_allowed)

    def withdraw(self) -> None:
        """Say that nobody will answer."""
        if not self.decision.done():
            self.decision.set_result(None)


Event = Said | Did | Ended | Failed | Over | Asked
