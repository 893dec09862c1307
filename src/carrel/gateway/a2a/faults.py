"""The faults of a remote agent, with messages that say what to do."""

from http import HTTPStatus

from carrel.a2a import A2aFault
from carrel.gateway.faults import Faults
from carrel.gateway.model import GatewayFault

_INCOMPATIBLE = ("VERSION_NOT_SUPPORTED", "EXTENSION_SUPPORT_REQUIRED", "METHOD_NOT_FOUND")
_TRANSIENT = ("INTERNAL", "UNAVAILABLE", "QUEUE_FULL", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED")
# By the protocol's reason: the fault's code and its text; only `failed` is retried.
_REASONS = {
    "TASK_NOT_FOUND": ("remote_lost", "lost its task; send the message again"),
    "CONTENT_TYPE_NOT_SUPPORTED": ("gateway_refused", "does not accept this type of content"),
    **dict.fromkeys(_INCOMPATIBLE, ("gateway_misconfigured", "is not compatible with Carrel")),
    **dict.fromkeys(_TRANSIENT, ("gateway_failed", "could not accept the message now")),
}
_ENDS = {
    "failed": ("remote_failed", "The remote agent failed"),
    "rejected": ("remote_rejected", "The remote agent refused"),
    "canceled": ("remote_canceled", "The remote agent's work was cancelled on its side"),
}


class RemoteFaults(Faults):
    """Builds the faults of one gateway to a remote agent."""

    def __init__(self, name: str, api_key: str) -> None:
        super().__init__(name, api_key, "the address of an A2A agent or of its card")

    def of_status(self, status: int, headers: dict[str, str], body: bytes) -> GatewayFault:
        """Return the fault of a response with an error status."""
        if status == HTTPStatus.NOT_FOUND:
            hint = f"Check gateway.{self._name}.base_url: no A2A agent answers there."
            return self._fault("gateway_not_found", f'The gateway "{self._name}" answered HTTP {status}. {hint}', False)
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            head = f'The gateway "{self._name}" answered HTTP {status}. Check gateway.{self._name}.api_key.'
            hint = f"It is sent only to the scheme, host and port of gateway.{self._name}.base_url."
            return self._fault("gateway_unauthorized", f"{head} {hint}", False)
        return super().of_status(status, headers, body)

    def of_protocol(self, fault: A2aFault) -> GatewayFault:
        """Return the fault of an error reported by the A2A protocol."""
        head = f'The remote agent of gateway "{self._name}"'
        quoted = self._quote(fault.message)
        code, what = _REASONS.get(fault.reason, ("gateway_refused", "refused the message"))
        return self._fault(code, f"{head} {what}{quoted}", code == "gateway_failed")

    def of_card(self, why: str) -> GatewayFault:
        """Return the fault of a card without a usable interface."""
        return self._fault("gateway_misconfigured", f'The gateway "{self._name}" cannot be used. {why}', False)

    def of_end(self, state: str, said: str) -> GatewayFault:
        """Return the fault of a remote task that failed; a retry would find the same end."""
        code, head = _ENDS.get(state, ("remote_failed", f"The remote agent ended as {state}"))
        return self._fault(code, f'{head} (gateway "{self._name}"){self._quote(said)}', False)

    def of_timeout(self, seconds: float, *, is_started: bool) -> GatewayFault:
        """Return the fault of a remote task that took too long; work that was started is not started again."""
        head = f'The remote agent of gateway "{self._name}" did not finish within {seconds:g} seconds.'
        hint = f"Raise gateway.{self._name}.timeout_seconds if its work needs longer."
        return self._fault("gateway_timeout", f"{head} {hint}", not is_started)
