"""From what went wrong to a GatewayFault: which errors may pass by themselves, and words that never hold a key."""

import json
import re
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from math import isfinite
from typing import Any

from carrel.gateway.model import PROMPT_TOO_LONG, GatewayFault
from carrel.kernel import clip, one_line, redact
from carrel.wire import WireFault, WireFaultKind

QUOTE_CHARS_MAX = 300
RETRY_AFTER_SECONDS_MAX = 3600.0
_KEY_CHARS_MIN = 4

_TOO_LONG_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
# Servers without a code for it say it in these words; some call it an error of their own.
_TOO_LONG_WORDS = re.compile(r"\bcontext[ _](size|length|window)\b", re.IGNORECASE)
_PASSING_CODES = frozenset(
    {
        "api_error",
        "cancelled",
        "internal_error",
        "internal_server_error",
        "internalservererror",
        "overloaded",
        "overloaded_error",
        "rate_limit",
        "rate_limit_error",
        "rate_limit_exceeded",
        "request_timeout",
        "server_error",
        "server_overloaded",
        "service_unavailable",
        "slow_down",
        "temporarily_unavailable",
        "timeout",
        "timeout_error",
        "too_many_requests",
        "unavailable",
        "unavailable_error",
        "vector_store_timeout",
    }
)


class Faults:
    """Tells the faults of one gateway by its name, with its key struck out wherever a server repeats it."""

    def __init__(self, name: str, api_key: str) -> None:
        self._name = name
        self._api_key = api_key

    def of_wire(self, fault: WireFault) -> GatewayFault:
        """A request without an answer."""
        head = f'The gateway "{self._name}"'
        match fault.kind:
            case WireFaultKind.CONNECT:
                hint = f"Start it, or correct gateway.{self._name}.base_url."
                return self._fault("gateway_unreachable", f"{head} cannot be reached. {fault.message} {hint}", True)
            case WireFaultKind.TIMEOUT:
                hint = f"Raise gateway.{self._name}.timeout_seconds if its model needs longer."
                return self._fault("gateway_timeout", f"{head} took too long. {fault.message} {hint}", True)
            case WireFaultKind.BROKEN | WireFaultKind.TOO_LARGE:
                return self._fault("gateway_unreadable", f"{head} gave no readable answer. {fault.message}", True)
            case WireFaultKind.INVALID | WireFaultKind.FORBIDDEN:
                hint = f"Check gateway.{self._name}.base_url and .api_key."
                return self._fault("gateway_misconfigured", f"{head} cannot be asked. {fault.message} {hint}", False)

    def of_status(self, status: int, headers: dict[str, str], body: bytes) -> GatewayFault:
        """An answer whose status says that it is none."""
        head = f'The gateway "{self._name}" answered HTTP {status}'
        error = _error_in(body)
        said = self._quote(_message_of(error))
        if status not in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN) and is_too_long(error):
            return self._too_long(f"{head}{said}")
        if status in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS) or status >= 500:
            code = "gateway_rate_limited" if status == HTTPStatus.TOO_MANY_REQUESTS else "gateway_unavailable"
            return self._fault(code, f"{head}{said}", True, retry_after(headers))
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            # What a server says here often repeats a part of the key, so it is not quoted.
            return self._fault("gateway_unauthorized", f"{head}. Check gateway.{self._name}.api_key.", False)
        if status == HTTPStatus.NOT_FOUND:
            hint = f"Check gateway.{self._name}.base_url and the model's name."
            return self._fault("gateway_not_found", f"{head}{said} {hint}", False)
        if 300 <= status < 400:
            hint = f"Redirects are not followed: set gateway.{self._name}.base_url to where it really is."
            return self._fault("gateway_misconfigured", f"{head}. {hint}", False)
        return self._fault("gateway_refused", f"{head}{said}", False)

    def of_error(self, error: Any) -> GatewayFault:
        """An error told inside an answer; without a code it counts as the server's own trouble."""
        told = f'The gateway "{self._name}" failed{self._quote(_message_of(error))}'
        if is_too_long(error):
            return self._too_long(told)
        return self._fault("gateway_failed", told, is_passing(error))

    def of_refusal(self, refusal: str) -> GatewayFault:
        """The model's refusal to answer."""
        return self._fault("model_refused", f"The model refused to answer{self._quote(refusal)}", False)

    def unreadable(self, why: str) -> GatewayFault:
        """An answer nobody can make sense of."""
        hint = f"Check that gateway.{self._name}.base_url speaks Open Responses."
        return self._fault(
            "gateway_unreadable", f'The gateway "{self._name}" gave no readable answer: {why} {hint}', True
        )

    def _too_long(self, told: str) -> GatewayFault:
        """What is shown will be too long the next time as well, so who reads this must know what to do."""
        hint = "Its model cannot hold as much: lower delivery.history_chars_max, or begin the session afresh by /reset."
        return self._fault(PROMPT_TOO_LONG, f"{told} {hint}", False)

    def _fault(
        self, code: str, message: str, retryable: bool, retry_after_seconds: float | None = None
    ) -> GatewayFault:
        return GatewayFault(code, message, retryable=retryable, retry_after_seconds=retry_after_seconds)

    def _quote(self, said: str) -> str:
        """What the server said, as the end of a sentence: one short line without anything secret."""
        if len(self._api_key) >= _KEY_CHARS_MIN:
            said = said.replace(self._api_key, "[redacted]")
        shown = clip(redact(one_line(said)), QUOTE_CHARS_MAX)
        return f": {shown}{'' if shown[-1] in '.!?…' else '.'}" if shown else "."


def is_too_long(error: Any) -> bool:
    """Whether an error says that the model cannot hold what it was shown."""
    codes = [error.get("code"), error.get("type")] if isinstance(error, dict) else []
    if any(isinstance(code, str) and code in _TOO_LONG_CODES for code in codes):
        return True
    return _TOO_LONG_WORDS.search(_message_of(error)) is not None


def is_passing(error: Any) -> bool:
    """Whether an error told in a body is the server's own or a matter of rate, so that a later attempt may do."""
    if not isinstance(error, dict):
        return True
    told = [error[field] for field in ("code", "type", "status") if error.get(field) not in (None, "", "error")]
    if not told:
        return True
    return any(_is_passing_code(code) for code in told)


def retry_after(headers: dict[str, str]) -> float | None:
    """How long the server asks us to wait; a date is read against the server's own clock."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return _bounded(milliseconds / 1000)
    told = headers.get("retry-after", "").strip()
    seconds = _number(told)
    if seconds is not None:
        return _bounded(seconds)
    try:
        wait = parsedate_to_datetime(told) - parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, TypeError):
        return None
    return _bounded(wait.total_seconds())


def _is_passing_code(code: Any) -> bool:
    if isinstance(code, str) and code.isdigit():
        code = int(code)
    if isinstance(code, int):
        return code >= 500 or code in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
    return isinstance(code, str) and code.lower() in _PASSING_CODES


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), RETRY_AFTER_SECONDS_MAX)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None


def _error_in(body: bytes) -> Any:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        # An error page is for browsers; its markup says nothing useful here.
        return "" if body.lstrip()[:1] == b"<" else body[: QUOTE_CHARS_MAX * 4].decode("utf-8", "replace")
    return told.get("error") or told.get("detail") or told if isinstance(told, dict) else ""


def _message_of(error: Any) -> str:
    if isinstance(error, str):
        return error
    if not isinstance(error, dict):
        return ""
    message = error.get("message")
    code = error.get("code") or error.get("type") or ""
    return message if isinstance(message, str) and message else str(code)
