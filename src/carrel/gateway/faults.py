"""Turns an error into a GatewayFault: whether it is transient, and a message that never contains a key."""

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

_TOO_LONG_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error", "request_too_large"})
# Servers without a code for it use these words; some report it as a server error.
_TOO_LONG_WORDS = re.compile(
    r"\bcontext[ _](size|length|window|limit)\b|\b(prompt|input) is too long\b|\binput token count\b"
    r"|\bmaximum prompt length\b",
    re.IGNORECASE,
)
# An account without money answers like a rate limit, but waiting does not help.
_SPENT_CODES = frozenset({"billing_hard_limit_reached", "enforced_spend_limit_reached", "insufficient_quota"})
# A proxy answers this when the server behind it does not.
_NOBODY_BEHIND = (HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT)
# llama.cpp answers this to everything while it loads its model.
_LOADING_CODE = "unavailable_error"
_TRANSIENT_STATUSES = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS)
_TRANSIENT_CODES = frozenset((
    "api_error", "cancelled", "internal_error", "internal_server_error", "internalservererror", "overloaded",
    "overloaded_error", "rate_limit", "rate_limit_error", "rate_limit_exceeded", "request_timeout", "server_error",
    "server_overloaded", "service_unavailable", "slow_down", "temporarily_unavailable", "timeout", "timeout_error",
    "too_many_requests", "unavailable", "unavailable_error", "vector_store_timeout",
))  # fmt: skip


class Faults:
    """Builds the faults of one gateway, with its key removed wherever a server repeats it."""

    def __init__(self, name: str, api_key: str, server: str = "an Open Responses server") -> None:
        self._name = name
        self._api_key = api_key
        self._server = server

    def of_wire(self, fault: WireFault) -> GatewayFault:
        """Return the fault of a request without a response."""
        head = f'The gateway "{self._name}"'
        match fault.kind:
            case WireFaultKind.CONNECT:
                return self._unreachable(fault.message)
            case WireFaultKind.TIMEOUT:
                hint = f"Raise gateway.{self._name}.timeout_seconds if its model needs longer."
                return self._fault("gateway_timeout", f"{head} took too long. {fault.message} {hint}", True)
            case WireFaultKind.BROKEN | WireFaultKind.TOO_LARGE:
                return self._fault("gateway_unreadable", f"{head} returned no readable answer. {fault.message}", True)
            case WireFaultKind.INVALID | WireFaultKind.FORBIDDEN:
                hint = f"Check gateway.{self._name}.base_url and .api_key."
                return self._fault("gateway_misconfigured", f"{head} cannot be called. {fault.message} {hint}", False)

    def of_unanswered_check(self, fault: WireFault) -> GatewayFault:
        """Return the fault of a check without a response: for whatever reason, the server is not reachable."""
        if fault.kind in (WireFaultKind.TIMEOUT, WireFaultKind.BROKEN):
            return self._unreachable(fault.message)
        return self.of_wire(fault)

    def of_check(self, status: int, headers: dict[str, str], body: bytes) -> GatewayFault:
        """Return the fault of a check that was answered with an error status."""
        fault, error = self.of_status(status, headers, body), _error_in(body)
        is_loading = isinstance(error, dict) and error.get("type") == _LOADING_CODE
        fault.unreachable = status in _NOBODY_BEHIND or is_loading
        return fault

    def of_status(self, status: int, headers: dict[str, str], body: bytes) -> GatewayFault:
        head = f'The gateway "{self._name}" answered HTTP {status}'
        error = _error_in(body)
        quoted = self._quote(_message_of(error))
        is_large = status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or is_too_long(error)
        if is_large and status not in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return self._too_long(f"{head}{quoted}")
        if (status in _TRANSIENT_STATUSES or status >= 500) and not is_spent(error):
            code = "gateway_rate_limited" if status == HTTPStatus.TOO_MANY_REQUESTS else "gateway_unavailable"
            return self._fault(code, f"{head}{quoted}", True, retry_after(headers))
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            # The server's message often repeats part of the key, so it is not quoted.
            return self._fault("gateway_unauthorized", f"{head}. Check gateway.{self._name}.api_key.", False)
        if status == HTTPStatus.NOT_FOUND:
            hint = f"Check gateway.{self._name}.base_url and .kind, and the model's name."
            return self._fault("gateway_not_found", f"{head}{quoted} {hint}", False)
        if 300 <= status < 400:
            hint = f"Redirects are not followed: set gateway.{self._name}.base_url to the final address."
            return self._fault("gateway_misconfigured", f"{head}. {hint}", False)
        return self._fault("gateway_refused", f"{head}{quoted}", False)

    def of_error(self, error: Any) -> GatewayFault:
        """Return the fault of an error inside a response; without a code it counts as a server error."""
        message = f'The gateway "{self._name}" failed{self._quote(_message_of(error))}'
        if is_too_long(error):
            return self._too_long(message)
        return self._fault("gateway_failed", message, is_transient(error))

    def of_refusal(self, refusal: str) -> GatewayFault:
        return self._fault("model_refused", f"The model refused to answer{self._quote(refusal)}", False)

    def unreadable(self, why: str) -> GatewayFault:
        """Return the fault of a response that cannot be understood."""
        hint = f"Check that gateway.{self._name}.base_url is {self._server}."
        message = f'The gateway "{self._name}" returned no readable answer: {why} {hint}'
        return self._fault("gateway_unreadable", message, True)

    def _unreachable(self, why: str) -> GatewayFault:
        hint = f"Start it, or correct gateway.{self._name}.base_url."
        message = f'The gateway "{self._name}" cannot be reached. {why} {hint}'
        return GatewayFault("gateway_unreachable", message, retryable=True, unreachable=True)

    def _too_long(self, message: str) -> GatewayFault:
        """Return the fault of a prompt that is too long; a retry would fail too, so the message says what to change."""
        hint = "This is too long for its model: lower delivery.history_chars_max, or reset the session with /reset."
        return self._fault(PROMPT_TOO_LONG, f"{message} {hint}", False)

    def _fault(
        self, code: str, message: str, retryable: bool, retry_after_seconds: float | None = None
    ) -> GatewayFault:
        return GatewayFault(code, message, retryable=retryable, retry_after_seconds=retry_after_seconds)

    def _quote(self, message: str) -> str:
        """Return the server's message as the end of a sentence: one short line without secrets."""
        if len(self._api_key) >= _KEY_CHARS_MIN:
            message = message.replace(self._api_key, "[redacted]")
        shown = clip(redact(one_line(message)), QUOTE_CHARS_MAX)
        return f": {shown}{'' if shown[-1] in '.!?…' else '.'}" if shown else "."


class AgentFaults(Faults):
    """Builds the faults of one gateway to an agent that works by itself; `agent` says of which kind."""

    agent: str

    def of_agent(
        self, code: str, what: str, why: str = "", hint: str = "", *, retryable: bool = False
    ) -> GatewayFault:  # fmt: skip
        """Return the fault of something that the agent did: what it said about it, and what to do."""
        told = f'The {self.agent} of gateway "{self._name}" {what}{self._quote(why)}'
        return self._fault(code, f"{told} {hint}".rstrip(), retryable)

    def of_settings(self, why: str) -> GatewayFault:
        return self._fault("gateway_misconfigured", f'The gateway "{self._name}" cannot be used. {why}', False)

    def of_timeout(self, seconds: float, *, retryable: bool = False) -> GatewayFault:
        """Return the fault of work that took too long; work that was started is not started again."""
        what = f"did not finish within {seconds:g} seconds"
        hint = f"Raise gateway.{self._name}.timeout_seconds if its work needs longer."
        return self.of_agent("gateway_timeout", what, hint=hint, retryable=retryable)


def is_too_long(error: Any) -> bool:
    """Return whether an error says that the prompt exceeds the model's context."""
    codes = [error.get("code"), error.get("type")] if isinstance(error, dict) else []
    is_named = any(isinstance(code, str) and code in _TOO_LONG_CODES for code in codes)
    return is_named or _TOO_LONG_WORDS.search(_message_of(error)) is not None


def is_spent(error: Any) -> bool:
    """Return whether an error says that the account has no money left, or has reached its spending limit."""
    details = error.get("details") if isinstance(error, dict) else None
    named = [error.get("code"), error.get("type")] if isinstance(error, dict) else []
    named += [details.get("error_code")] if isinstance(details, dict) else []
    return any(isinstance(code, str) and code in _SPENT_CODES for code in named)


def is_transient(error: Any) -> bool:
    """Return whether an error in a body is a server error or a rate limit, so that a retry may succeed."""
    if not isinstance(error, dict):
        return True
    codes = [error[field] for field in ("code", "type", "status") if error.get(field) not in (None, "", "error")]
    return not codes or (not is_spent(error) and any(_is_transient_code(code) for code in codes))


def retry_after(headers: dict[str, str]) -> float | None:
    """Return how long the server asks us to wait; a date is compared with the server's own clock."""
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return _bounded(milliseconds / 1000)
    value = headers.get("retry-after", "").strip()
    if (seconds := _number(value)) is not None:
        return _bounded(seconds)
    try:
        wait = parsedate_to_datetime(value) - parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, TypeError):
        return None
    return _bounded(wait.total_seconds())


def _is_transient_code(code: Any) -> bool:
    if isinstance(code, str) and code.isdigit():
        code = int(code)
    if isinstance(code, int):
        return code >= 500 or code in _TRANSIENT_STATUSES
    return isinstance(code, str) and code.lower() in _TRANSIENT_CODES


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
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        # An HTML error page says nothing useful here.
        return "" if body.lstrip()[:1] == b"<" else body[: QUOTE_CHARS_MAX * 4].decode("utf-8", "replace")
    return parsed.get("error") or parsed.get("detail") or parsed if isinstance(parsed, dict) else ""


def _message_of(error: Any) -> str:
    if isinstance(error, str):
        return error
    if not isinstance(error, dict):
        return ""
    message = error.get("message")
    return message if isinstance(message, str) and message else str(error.get("code") or error.get("type") or "")
