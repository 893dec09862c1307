"""Events in a turn of a coding agent."""

import asyncio
from typing import Any

from msgspec import Struct

from carrel.gateway.acp.actions import described, name_of
from carrel.gateway.model import AgentAction


class TextEvent(Struct, frozen=True):
    """The agent said a piece of its reply."""

    text: str


class ActionEvent(Struct, frozen=True):
    """The agent began or ended actions."""

    actions: tuple[AgentAction, ...]


class EndEvent(Struct, frozen=True):
    """The turn has ended, for one of the protocol's reasons."""

    reason: str


class FailureEvent(Struct, frozen=True):
    """The turn has failed, with the agent's message."""

    why: str
    is_login: bool = False


class ExitEvent(Struct, frozen=True):
    """The program has ended."""


class PermissionRequest:
    """The agent asks for permission; `decision` is None if nobody will answer any more."""

    def __init__(self, tool_call_id: str, said: dict[str, Any]) -> None:
        self.tool_call_id = tool_call_id
        self.said = said
        # The id of the tool call that asks the person.
        self.call_id = ""
        self.decision: asyncio.Future[bool | None] = asyncio.get_running_loop().create_future()

    @property
    def about(self) -> tuple[str, str]:
        return name_of(self.said.get("kind")), described(self.said)

    def decide(self, is_allowed: bool | None) -> None:
        """Answer the request; None wakes the agent's request without an answer."""
        if not self.decision.done():
            self.decision.set_result(is_allowed)


Event = TextEvent | ActionEvent | EndEvent | FailureEvent | ExitEvent | PermissionRequest
