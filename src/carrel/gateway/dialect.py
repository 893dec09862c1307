"""How requests to a kind of model server are made; Open Responses is the plain case."""

from abc import ABC, abstractmethod

from carrel.gateway.answers import StreamReader
from carrel.gateway.event_stream import AnswerReader
from carrel.gateway.model import Step

RUN_TOKEN_HEADER = "x-carrel-run-token"  # noqa: S105  (a name, not a secret)


class Dialect(ABC):
    """A kind of server: steps go to `path`, `models_path` lists its models, and `reader` reads an answer.

    `server` names such a server in messages for people. If it `translates`, `write` returns a body other than the
    step's.
    """

    translates = True
    path: str
    models_path = "/models"
    server: str
    reader: type[StreamReader]

    def authorization(self, api_key: str) -> dict[str, str]:
        """Return the headers of every request, with the key if there is one."""
        return {"Authorization": f"Bearer {api_key}"} if api_key else {}

    def headers(self, step: Step) -> dict[str, str]:
        """Return the headers of one step: session and agent, for servers that keep sessions themselves."""
        agent = {"x-openclaw-agent-id": step.agent_id} if step.agent_id else {}
        return {"x-openclaw-session-key": step.address} | agent

    @abstractmethod
    def write(self, step: Step) -> bytes:
        """Return the body to send."""


class ResponsesDialect(Dialect):
    """Steps go to `/v1/responses`, unchanged: the caller has built and stored the body."""

    translates = False
    path = "/responses"
    server = "an Open Responses server"
    reader = AnswerReader

    def headers(self, step: Step) -> dict[str, str]:
        """Return also the token of the run."""
        return super().headers(step) | ({RUN_TOKEN_HEADER: step.run_token} if step.run_token else {})

    def write(self, step: Step) -> bytes:
        """Return the step's body."""
        return step.body
