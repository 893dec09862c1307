"""How requests to a kind of model server are made, and read once they are stored; Open Responses is the plain case."""

import json
from abc import ABC, abstractmethod

from msgspec import structs

from carrel.gateway.answers import StreamReader
from carrel.gateway.event_stream import AnswerReader
from carrel.gateway.items import read_not_sent
from carrel.gateway.model import Item, SentStep, Step
from carrel.kernel.settings import GatewaySettings

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

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings

    @property
    def authorization(self) -> dict[str, str]:
        """The headers of every request, with the key if there is one."""
        return {"Authorization": f"Bearer {self._settings.api_key}"} if self._settings.api_key else {}

    def headers(self, step: Step) -> dict[str, str]:
        """Return the headers of one step: session and agent, for servers that keep sessions themselves."""
        agent = {"x-openclaw-agent-id": step.agent_id} if step.agent_id else {}
        return {"x-openclaw-session-key": step.address} | agent

    @abstractmethod
    def write(self, step: Step) -> bytes:
        """Return the body to send."""

    @staticmethod
    @abstractmethod
    def read(request: Item) -> SentStep:
        """Return what a written request contains."""

    @classmethod
    def read_sent(cls, body: str) -> SentStep:
        """Return what a server was sent; `left_out` names the files that were replaced by a text saying so."""
        sent = cls.read(json.loads(body)) if body else SentStep(input=[])
        names = (read_not_sent(text) for item in sent.input for text in _heard(item)) if cls.translates else ()
        return structs.replace(sent, left_out=tuple(name for name in names if name is not None))


def _heard(item: Item) -> list[str]:
    """Return the texts of an item that may stand in for a file: parts, or lines if there are no parts."""
    heard = item.get("output") if item["type"] == "function_call_output" else item.get("content")
    if isinstance(heard, str):
        return heard.split("\n")
    is_said = item.get("role") == "assistant" or item["type"] == "reasoning"
    return [] if is_said else [part["text"] for part in heard or () if "text" in part]


class ResponsesDialect(Dialect):
    """Steps go to `/v1/responses`, unchanged: the caller has built and stored the body."""

    translates = False
    path = "/responses"
    server = "an Open Responses server"
    reader = AnswerReader

    def headers(self, step: Step) -> dict[str, str]:
        return super().headers(step) | ({RUN_TOKEN_HEADER: step.run_token} if step.run_token else {})

    def write(self, step: Step) -> bytes:
        return step.body

    @staticmethod
    def read(request: Item) -> SentStep:
        return SentStep(
            model=request["model"],
            instructions=request.get("instructions"),
            input=request["input"],
            tools=request["tools"],
        )
