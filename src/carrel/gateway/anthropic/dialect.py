"""How servers of the Anthropic Messages API are talked to."""

import msgspec

from carrel.gateway.anthropic.answers import MessagesReader, read_message
from carrel.gateway.anthropic.request import messages_request
from carrel.gateway.faults import Faults
from carrel.gateway.model import OnText, Step, StepAnswer
from carrel.gateway.prompt import read_prompt
from carrel.kernel.settings import GatewaySettings

VERSION = "2023-06-01"


class AnthropicDialect:
    """Steps go to `/v1/messages`."""

    translates = True
    path = "/messages"
    models_path = "/models?limit=1000"
    server = "a server of the Anthropic Messages API"

    def __init__(self, settings: GatewaySettings) -> None:
        self._max_output_tokens = settings.max_output_tokens

    def authorization(self, api_key: str) -> dict[str, str]:
        """Return the version of the API, and the key."""
        return {"anthropic-version": VERSION} | ({"x-api-key": api_key} if api_key else {})

    def headers(self, step: Step) -> dict[str, str]:
        """Return nothing: the API knows no sessions."""
        return {}

    def write(self, step: Step) -> bytes:
        """Return the step as a request of the API."""
        prompt = read_prompt(step, has_context=False)
        return msgspec.json.encode(messages_request(prompt, max_output_tokens=self._max_output_tokens))

    def reader(self, *, seed: str, faults: Faults, on_text: OnText) -> MessagesReader:
        """Return a reader of the API's events."""
        return MessagesReader(seed=seed, faults=faults, on_text=on_text)

    def read_whole(self, body: bytes, *, seed: str, faults: Faults, on_text: OnText) -> StepAnswer:
        """Return the answer in a message."""
        return read_message(body, seed=seed, faults=faults, on_text=on_text)
