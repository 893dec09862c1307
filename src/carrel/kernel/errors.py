"""Errors for callers: a code, which surfaces map to their protocols, a sentence that says what to do, and a field."""

from collections.abc import Iterable
from enum import StrEnum
from logging import Logger

from carrel.kernel.limits import NAMES_LISTED_MAX
from carrel.kernel.text import clip

_SHOWN_CHARS = 80


class Code(StrEnum):
    """Every way a request can be refused."""

    INVALID_PARAMS = "invalid_params"
    INVALID_JSON = "invalid_json"
    TOKEN_IN_QUERY = "token_in_query"  # noqa: S105  (a code, not a secret)
    SESSION_REQUIRED = "session_required"
    INVALID_CONVERSATION_KEY = "invalid_conversation_key"
    RESERVED_SESSION_KEY = "reserved_session_key"
    UNAUTHENTICATED = "unauthenticated"
    UNKNOWN_SESSION = "unknown_session"
    FORBIDDEN = "forbidden"
    SESSION_CLOSED = "session_closed"
    SEND_DENIED = "send_denied"
    TOOL_NOT_ALLOWED = "tool_not_allowed"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    TOO_LARGE = "too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    CONFLICT = "conflict"
    AMBIGUOUS_SESSION = "ambiguous_session"
    IDEMPOTENCY_MISMATCH = "idempotency_mismatch"
    ALREADY_ENDED = "already_ended"
    ILLEGAL_TRANSITION = "illegal_transition"
    ASSIGNEE_REQUIRED = "assignee_required"
    BLOCKED_REASON_REQUIRED = "blocked_reason_required"
    TOO_LONG = "too_long"
    LIMIT_REACHED = "limit_reached"
    INVALID_SCOPE = "invalid_scope"
    PROMOTION_REQUIRED = "promotion_required"
    QUEUE_FULL = "queue_full"
    SEARCH_BUSY = "search_busy"
    RATE_LIMITED = "rate_limited"
    INTERNAL = "internal"
    BUSY = "busy"
    DRAINING = "draining"
    STORAGE_UNAVAILABLE = "storage_unavailable"


class Refusal(Exception):
    """A request that is refused, with a message the caller can act on."""

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        field: str | None = None,
        details: dict[str, object] | None = None,
        retry_after_seconds: int | None = None,
        hides: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.field = field
        self.details = details
        self.retry_after_seconds = retry_after_seconds
        # Whether the thing exists but is hidden; the caller does not learn which.
        self.hides = hides

    @classmethod
    def of_taken_id(cls, new_id: str | None) -> "Refusal":
        """Return the refusal of an id that is taken; the same whether or not the caller may see its owner."""
        return cls(Code.CONFLICT, f"The id '{new_id}' is not free; choose another, or leave it out.", field="id")

    @staticmethod
    def nearest(word: str, known: Iterable[str]) -> str:
        """Return the known word that was most likely meant; empty if none is close."""
        # Imported late: only a mistake pays for it.
        from difflib import get_close_matches

        by_spelling = {one.lower(): one for one in known}
        # Comparing a long word takes long, and it is no misspelling anyway.
        close = get_close_matches(word[:_SHOWN_CHARS].lower(), by_spelling, n=1)
        return by_spelling[close[0]] if close else ""

    @classmethod
    def of_value(
        cls, field: str, given: str | None, allowed: Iterable[str], *, code: Code = Code.INVALID_PARAMS, of: str = ""
    ) -> "Refusal":  # fmt: skip
        """Return the refusal of a value outside a closed set; a `given` None is no string; `of` begins the message."""
        known = list(allowed)
        expected = known[0] if len(known) == 1 else f"one of {', '.join(known)}"
        return cls(code, f"{of}{field} must be {expected}{cls._meant(given or '', known)}", field=field)

    @classmethod
    def of_name(
        cls, field: str | None, what: str, name: str, known: Iterable[str], *, code: Code = Code.INVALID_PARAMS
    ) -> "Refusal":  # fmt: skip
        """Return the refusal of an unknown name; `known` are the names that the caller may know."""
        names = sorted(known)
        listed = f"{', '.join(names[:NAMES_LISTED_MAX])}{', …' if len(names) > NAMES_LISTED_MAX else ''}"
        end = f" Known: {listed}." if names else " There is none yet."
        shown = clip(name, _SHOWN_CHARS)
        return cls(code, f"There is no {what} '{shown}'{cls._meant(name, names)}{end}", field=field)

    @classmethod
    def _meant(cls, given: str, known: list[str]) -> str:
        meant = cls.nearest(given, known)
        return f"; did you mean '{meant}'?" if meant else "."


def not_found(what: str, *, hides: bool = False) -> Refusal:
    """Return the refusal for something that does not exist, or (`hides`) that the caller may not see."""
    return Refusal(Code.NOT_FOUND, f"There is no such {what}, or you may not see it.", hides=hides)


def invalid(field: str, message: str) -> Refusal:
    """Return the refusal of a field with an invalid value."""
    return Refusal(Code.INVALID_PARAMS, message, field=field)


def log_trouble(log: Logger, event: str, error: Exception, **more: str) -> None:
    """Log what went wrong in a duty: one line for a refusal, a traceback for anything else."""
    if isinstance(error, Refusal):
        log.warning(event, extra={"error": error.message, **more})
    else:
        log.error(event, exc_info=error, extra=more)
