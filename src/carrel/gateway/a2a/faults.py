"""What goes wrong with a remote agent, in words that say what to do."""

from http import HTTPStatus

from carrel.a2a import A2aFault
from carrel.gateway.faults import Faults
from carrel.gateway.model import GatewayFault

_PASSING = frozenset({"INTERNAL", "UNAVAILABLE", "QUEUE_FULL", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED"})
_ENDS = {
    "failed": ("remote_failed", "The remote agent failed"),
    "rejected": ("remote_rejected", "The remote agent refused"),
    "canceled": ("remote_canceled", "The remote agent's work was cancelled at its side"),
}


class RemoteFaults(Faults):
    """Tells the faults of one gateway to a remote agent."""

    def unreadable(self, why: str) -> GatewayFault:
        """An answer nobody can make sense of."""
        hint = f"Check that gateway.{self._name}.base_url is the address of an A2A agent or of its card."
        return self._fault(
            "gateway_unreadable", f'The gateway "{self._name}" gave no readable answer: {why} {hint}', True
        )

    def of_status(self, status: int, headers: dict[str, str], body: bytes) -> GatewayFault:
        """An answer whose status says that it is none."""
        if status == HTTPStatus.NOT_FOUND:
            hint = f"Check gateway.{self._name}.base_url: no A2A agent answers there."
            return self._fault("gateway_not_found", f'The gateway "{self._name}" answered HTTP {status}. {hint}', False)
        return super().of_status(status, headers, body)

    def of_told(self, fault: A2aFault) -> GatewayFault:
        """A refusal in the words of the protocol."""
        head = f'The remote agent of gateway "{self._name}"'
        said = self._quote(fault.message)
        match fault.reason:
            case "TASK_NOT_FOUND":
                return self._fault("remote_lost", f"{head} has forgotten its work; say it again{said}", False)
            case "CONTENT_TYPE_NOT_SUPPORTED":
                return self._fault("gateway_refused", f"{head} takes no such content{said}", False)
            case "VERSION_NOT_SUPPORTED" | "EXTENSION_SUPPORT_REQUIRED" | "METHOD_NOT_FOUND":
                return self._fault("gateway_misconfigured", f"{head} cannot be spoken to from here{said}", False)
            case reason if reason in _PASSING:
                return self._fault("gateway_failed", f"{head} could not take the message now{said}", True)
            case _:
                return self._fault("gateway_refused", f"{head} refused the message{said}", False)

    def of_card(self, why: str) -> GatewayFault:
        """A card that leads nowhere."""
        return self._fault("gateway_misconfigured", f'The gateway "{self._name}" cannot be spoken to. {why}', False)

    def of_end(self, state: str, said: str) -> GatewayFault:
        """A remote run that ended, and not well; taking the step again would only find the same end."""
        code, head = _ENDS.get(state, ("remote_failed", f"The remote agent ended as {state}"))
        return self._fault(code, f'{head} (gateway "{self._name}"){self._quote(said)}', False)

    def of_time(self, seconds: float, *, is_begun: bool) -> GatewayFault:
        """A remote run that rests too late; what was begun is not begun a second time."""
        hint = f"Raise gateway.{self._name}.timeout_seconds if its work needs longer."
        head = f'The remote agent of gateway "{self._name}"'
        return self._fault("gateway_timeout", f"{head} did not finish within {seconds:g} seconds. {hint}", not is_begun)

    def of_silence(self) -> GatewayFault:
        """A stream that broke off before it named what it tells of."""
        return self.unreadable("its stream ended before it said anything.")
