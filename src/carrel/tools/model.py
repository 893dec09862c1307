"""A tool: defined once, with its schema, its effect and what it does.

Offered on every surface from this one definition.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import msgspec
from msgspec import Struct

from carrel.kernel import Access, Code, Refusal
from carrel.runs import Failed, NeedsInput, Run
from carrel.sessions import Session
from carrel.storage import Tx

Effect = Literal["read", "write"]


class Params(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What a tool takes: strict types, unknown names refused."""


class Desk(Struct, frozen=True, kw_only=True):
    """Where a call is made from: the agent's access, and the run and session it belongs to."""

    access: Access
    run: Run
    session: Session


class Result(Struct, frozen=True, kw_only=True):
    """What a call gives back; `ends` is set by the tools that end the turn."""

    value: dict[str, Any]
    ends: NeedsInput | Failed | None = None


@cache
def _schema(params: type[Params]) -> dict[str, Any]:
    # Made once: a turn offers its tools with every step.
    whole = msgspec.json.schema(params)
    definitions = whole.pop("$defs")
    own: dict[str, Any] = definitions.pop(params.__name__)
    own.pop("title", None)
    own.pop("description", None)
    return own | ({"$defs": definitions} if definitions else {})


class Tool(Struct, frozen=True, kw_only=True):
    """One thing an agent may do. `only_in_run`: it ends or feeds a turn, so it makes no sense outside one."""

    name: str
    description: str
    params: type[Params]
    effect: Effect
    act: Callable[[Tx, Desk, Any], Result]
    only_in_run: bool = False

    def schema(self) -> dict[str, Any]:
        """The JSON schema of its parameters."""
        return _schema(self.params)

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
        if r"\u0000" in arguments:
            raise Refusal(Code.INVALID_PARAMS, f"{self.name}: a NUL character may stand in no text.")
        try:
            return msgspec.json.decode(arguments or "{}", type=self.params)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Refusal(Code.INVALID_PARAMS, f"{self.name}: {error}") from error
