"""What coding agents ask permission for, as tools, so that an agent's rules and plan mode apply to it too.

No model is offered such a tool. A call is the coding agent's question: a person answers, and the agent acts.
"""

from typing import Any

import msgspec

from carrel.gateway import ACT_KINDS
from carrel.kernel import Code, Refusal
from carrel.storage import Tx
from carrel.tools.model import Caller, Params, Result, Tool
from carrel.tools.toolset import Catalog


class Described(Params, frozen=True, kw_only=True):
    """What the agent wants to do, in its own words."""

    said: dict[str, Any]


class CodingAct(Tool, frozen=True, kw_only=True):
    """A kind of action."""

    def read_params(self, arguments: str, called: str = "") -> Described:
        try:
            return Described(said=msgspec.json.decode(arguments or "{}", type=dict[str, Any]))
        except msgspec.MsgspecError as error:
            message = f"{called or self.name}: the arguments must be a JSON object."
            raise Refusal(Code.INVALID_PARAMS, message) from error


def _allow(_tx: Tx, _caller: Caller, _params: Described) -> Result:
    return Result(value={"ok": True, "allowed": True})


CODING_CATALOG = Catalog(tuple(
    CodingAct(
        name=name, does=kind.does, description=f"A coding agent wants to {kind.does}.", effect=kind.effect,
        params=Described, act=_allow, only_in_run=True,
    )
    for name, kind in ACT_KINDS.items()
))  # fmt: skip
