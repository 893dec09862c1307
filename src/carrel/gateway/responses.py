"""Open Responses: a step's body is sent unchanged; the caller has built and stored it."""

from carrel.gateway.event_stream import AnswerReader, read_whole
from carrel.gateway.faults import Faults
from carrel.gateway.model import OnText, Step, StepAnswer

RUN_TOKEN_HEADER = "x-carrel-run-token"  # noqa: S105  (a name, not a secret)


class ResponsesDialect:
    """Steps go to `/v1/responses`."""

    translates = False
    path = "/responses"
    models_path = "/models"
    server = "an Open Responses server"

    def authorization(self, api_key: str) -> dict[str, str]:
        """Return the key as a bearer token."""
        return bearer(api_key)

    def headers(self, step: Step) -> dict[str, str]:
        """Return the headers that name session and agent, and the token of the run."""
        token = {RUN_TOKEN_HEADER: step.run_token} if step.run_token else {}
        return session_headers(step) | token

    def write(self, step: Step) -> bytes:
        """Return the step's body."""
        return step.body

    def reader(self, *, seed: str, faults: Faults, on_text: OnText) -> AnswerReader:
        """Return a reader of the protocol's events."""
        return AnswerReader(seed=seed, faults=faults, on_text=on_text)

    def read_whole(self, body: bytes, *, seed: str, faults: Faults, on_text: OnText) -> StepAnswer:
        """Return the answer in a response resource."""
        return read_whole(body, seed=seed, faults=faults, on_text=on_text)


def bearer(api_key: str) -> dict[str, str]:
    """Return the header with the key; none without a key."""
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}


def session_headers(step: Step) -> dict[str, str]:
    """Return the headers that name session and agent, for servers that keep sessions themselves."""
    agent = {"x-openclaw-agent-id": step.agent_id} if step.agent_id else {}
    return {"x-openclaw-session-key": step.address} | agent
