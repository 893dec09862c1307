"""The faults of a coding agent, with messages that say what to do."""

from carrel.gateway.faults import AgentFaults
from carrel.gateway.model import GatewayFault


class AcpFaults(AgentFaults):
    agent = "coding agent"

    def __init__(self, name: str) -> None:
        super().__init__(name, "", "a program that speaks the Agent Client Protocol")

    def of_account(self) -> GatewayFault:
        hint = f"The operator can add its slug to gateway.{self._name}.accounts."
        message = f'The gateway "{self._name}" is not for this account. {hint}'
        return self._fault("gateway_forbidden", message, False)

    def of_command(self, command: str) -> GatewayFault:
        hint = f"Install it, or correct gateway.{self._name}.command."
        message = f'The gateway "{self._name}" cannot be started: there is no command {command}. {hint}'
        return GatewayFault("gateway_unreachable", message, retryable=True, unreachable=True)

    def of_full(self, programs_max: int) -> GatewayFault:
        message = f'All {programs_max} programs of the gateway "{self._name}" are busy.'
        return self._fault("gateway_unavailable", message, True)

    def of_start(self, why: str) -> GatewayFault:
        """Return the fault of an agent that failed before it had a session."""
        return self.of_agent("gateway_unavailable", "cannot be used", why, retryable=True)

    def of_login(self, why: str) -> GatewayFault:
        hint = (
            "Sign in with the agent's own command, as the user that runs Carrel, or give it a key in an environment"
            f" variable that gateway.{self._name}.env names."
        )
        return self.of_agent("gateway_unauthorized", "needs a login", why, hint)
