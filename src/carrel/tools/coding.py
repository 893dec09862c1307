"""What coding agents ask permission for, as tools, so that an agent's rules and plan mode apply to it too.

No model is offered such a tool. A call is the coding agent's question: a person answers, and the agent acts.
"""

from carrel.gateway import ACT_KINDS
from carrel.storage import Tx
from carrel.tools.model import Caller, FreeParams, Params, Result, Tool
from carrel.tools.toolset import Catalog


class CodingAct(Tool, frozen=True, kw_only=True):
    """A kind of action, which the agent describes in its own words."""

    def read_params(self, arguments: str, called: str = "") -> Params:
        return FreeParams.read(arguments, called or self.name)


def _allow(_tx: Tx, _caller: Caller, _params: FreeParams) -> Result:
    return Result(value={"ok": True, "allowed": True})


CODING_CATALOG = Catalog(tuple(
    CodingAct(
        name=name, does=kind.does, description=f"A coding agent wants to {kind.does}.", effect=kind.effect,
        params=FreeParams, act=_allow, only_in_run=True,
    )
    for name, kind in ACT_KINDS.items()
))  # fmt: skip
