"""Refusals by rule, which people can look up; other refusals are mistakes in the call.

An agent gets the same refusal for what is missing and for what is hidden. Only people learn which it was.
"""

from typing import Any

from msgspec import structs

from carrel.kernel import Access, Code, Refusal, SessionKey, clip
from carrel.kernel.limits import ERROR_CHARS_MAX, NAME_CHARS_MAX
from carrel.records import count_refusal
from carrel.storage import Tx
from carrel.tools.caller import caller_at
from carrel.tools.model import Caller, Tool

HIDDEN = "It exists, but this session may not see it."
_BY_RULE = (Code.FORBIDDEN, Code.SEND_DENIED, Code.TOOL_NOT_ALLOWED)


def note_refusal(tx: Tx, access: Access, key: SessionKey, name: str, refusal: Refusal, *, is_hidden: bool) -> None:
    """Count a refusal to the agent at a session, if a rule is its reason."""
    if is_hidden or refusal.code in _BY_RULE:
        rule = HIDDEN if is_hidden else clip(refusal.message, ERROR_CHARS_MAX)
        count_refusal(tx, access, str(key), name[:NAME_CHARS_MAX], rule)


def note_refused_call(tx: Tx, caller: Caller, name: str, refusal: Refusal, read: tuple[Tool, Any] | None) -> None:
    """Count a refused call of a tool; `read` is the tool with its parameters, if the call got that far."""
    is_missing = refusal.code is Code.NOT_FOUND and not refusal.hides
    is_hidden = refusal.hides or (is_missing and read is not None and _is_hidden(tx, caller, *read))
    note_refusal(tx, caller.access, caller.key, name, refusal, is_hidden=is_hidden)


def note_forbidden(tx: Tx, caller: Caller, name: str, value: dict[str, Any]) -> None:
    """Count a call whose tool says in its result that a rule forbids it."""
    if value.get("status") == "forbidden":
        refusal = Refusal(Code.FORBIDDEN, str(value.get("error", "")))
        note_refusal(tx, caller.access, caller.key, name, refusal, is_hidden=False)


def account_wide(access: Access) -> Access:
    """Return the access of an owner in the place of an agent."""
    return structs.replace(access, kind="owner", agent_id=None, run_id=None, view=None, space_ids=("*",))


def _is_hidden(tx: Tx, caller: Caller, tool: Tool, params: Any) -> bool:
    """Return whether a read found nothing only because of what the caller may see: an owner finds it."""
    if tool.effect != "read" or tool.prepare is not None:
        return False
    owner = caller_at(tx, caller.services, account_wide(caller.access), caller.agent, caller.key)
    try:
        tx.attempt(lambda: tool.act(tx, owner, params))
    except Refusal:
        return False
    return True
