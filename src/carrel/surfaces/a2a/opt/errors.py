"""OPT's errors: all -32000 with a reason of their own, for A2A has assigned the codes beside it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from carrel.kernel import Code, Refusal
from carrel.surfaces.a2a.errors import A2aError, ErrorKind, from_refusal

T = TypeVar("T")
_OWN = "carrel"
OBJECTIVE_NOT_FOUND = ErrorKind("OBJECTIVE_NOT_FOUND", -32000, 404, "NOT_FOUND", _OWN)
PLAN_NOT_FOUND = ErrorKind("PLAN_NOT_FOUND", -32000, 404, "NOT_FOUND", _OWN)
PLAN_TASK_NOT_FOUND = ErrorKind("PLAN_TASK_NOT_FOUND", -32000, 404, "NOT_FOUND", _OWN)
_KINDS = {
    Code.ILLEGAL_TRANSITION: ErrorKind("INVALID_TRANSITION", -32000, 409, "FAILED_PRECONDITION", _OWN),
    Code.LIMIT_REACHED: ErrorKind("LIMIT_REACHED", -32000, 429, "RESOURCE_EXHAUSTED", _OWN),
}
# OPT's names of fields that are called otherwise here.
_FIELDS = {"title": "name", "markdown": "description"}
_MISSING = {OBJECTIVE_NOT_FOUND: "objective", PLAN_NOT_FOUND: "plan", PLAN_TASK_NOT_FOUND: "plan task"}


def found(item: T | None, kind: ErrorKind) -> T:
    """Return what was looked for; the same error for what does not exist and for what belongs to another caller."""
    if item is None:
        raise A2aError(kind, f"No such {_MISSING[kind]}, or it is not yours.")
    return item


@contextmanager
def in_opt_codes() -> Iterator[None]:
    """Raise refusals of the server as errors in OPT's codes."""
    try:
        yield
    except Refusal as refusal:
        field = _FIELDS.get(refusal.field or "", refusal.field)
        message = refusal.message.replace(f"{refusal.field} has", f"{field} has")
        kind, seconds = _KINDS.get(refusal.code) or from_refusal(refusal).kind, refusal.retry_after_seconds
        raise A2aError(kind, message, field=field, retry_after_seconds=seconds) from refusal
