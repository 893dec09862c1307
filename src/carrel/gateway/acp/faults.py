"""The faults of a coding agent, with messages that say what to do."""

from carrel.gateway.faults import Faults
from carrel.gateway.model import GatewayFault


class AcpFaults(Faults):
    """Builds the faults of one gateway to a coding agent."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "", "a program that speaks the Agent Client Protocol")

    def of_account(self) -> GatewayFault:
        """Return the fault of an account that may not use the agent."""
        hint = f"The operator can add its slug to gateway.{self._name}.accounts."
        message = f'The gateway "{self._name}" is not for this account. {hint}'
        return self._fault("gateway_forbidden", message, False)

    def of_settings(self, why: str) -> GatewayFault:
        """Return the fault of settings that cannot work."""
        return self._fault("gateway_misconfigured", f'The gateway "{self._name}" cannot be used. {why}', False)

    def of_command(self, command: str) -> GatewayFault:
        """Return the fault of a command that does not exist."""
        hint = f"Install it, or correct gateway.{self._name}.command."
        message = f'The gateway "{self._name}" cannot be started: there is no command {command}. {hint}'
        return GatewayFault("gateway_unreachable", message, retryable=True, unreachable=True)

    def of_full(self, programs_max: int) -> GatewayFault:
        """Return the fault of a gateway whose programs are all busy."""
        message = f'All {programs_max} programs of the gateway "{self._name}" are busy.'
        return self._fault("gateway_unavailable", message, True)

    def of_start(self, why: str, *, needs_login: bool) -> GatewayFault:
        """Return the fault of an agent that failed before it had a session."""
        if needs_login:
            return self.of_login(why)
        return self._fault("gateway_unavailable", f"{self._agent} cannot be used{self._quote(why)}", True)

    def of_login(self, why: str) -> GatewayFault:
        """Return the fault of an agent that nobody has signed in."""
        hint = "Sign in with the agent's own command, as the user that runs Carrel, or give it a key in an environment"
        message = f"{self._agent} needs a login{self._quote(why)} {hint} variable that gateway.{self._name}.env names."
        return self._fault("gateway_unauthorized", message, False)

    def of_death(self, why: str, *, retryable: bool) -> GatewayFault:
        """Return the fault of an agent that ended in the middle of its turn."""
        return self._fault("agent_died", f"{self._agent} ended during its turn{self._quote(why)}", retryable)

    def of_failure(self, why: str, *, retryable: bool) -> GatewayFault:
        """Return the fault of a turn that the agent reports as failed."""
        return self._fault("agent_failed", f"{self._agent} failed{self._quote(why)}", retryable)

    def of_cancelled(self) -> GatewayFault:
        """Return the fault of a turn that the agent cancelled by itself."""
        return self._fault("agent_cancelled", f"{self._agent} cancelled its turn.", False)

    def of_length(self, chars_max: int) -> GatewayFault:
        """Return the fault of a reply that is too long."""
        message = f"{self._agent} was ended: its reply has more than {chars_max} characters."
        return self._fault("gateway_unreadable", message, False)

    def of_timeout(self, seconds: float) -> GatewayFault:
        """Return the fault of a turn that took too long; work that was started is not started again."""
        hint = f"Raise gateway.{self._name}.timeout_seconds if its work needs longer."
        return self._fault("gateway_timeout", f"{self._agent} did not finish within {seconds:g} seconds. {hint}", False)

    @property
    def _agent(self) -> str:
        return f'The coding agent of gateway "{self._name}"'
