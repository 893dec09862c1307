"""How requests to servers of the Anthropic Messages API are made."""

import msgspec

from carrel.gateway.anthropic.answers import MessagesReader
from carrel.gateway.anthropic.request import messages_request
from carrel.gateway.model import Step
from carrel.gateway.prompt import read_prompt
from carrel.kernel.settings import GatewaySettings

VERSION = "2023-06-01"


class AnthropicDialect:
    """Steps go to `/v1/messages`."""

    translates = True
    path = "/messages"
    models_path = "/models?limit=1000"
    server = "a server of the Anthropic Messages API"
    reader = MessagesReader
    read_whole = staticmethod(MessagesReader.read_whole)

    def __init__(self, settings: GatewaySettings) -> None:
        self._max_output_tokens = settings.max_output_tokens

    def authorization(self, api_key: str) -> dict[str, str]:
        """Return the headers with the API version and the key."""
        return {"anthropic-version": VERSION} | ({"x-api-key": api_key} if api_key else {})

    def headers(self, step: Step) -> dict[str, str]:
        """Return no headers: the API has no sessions."""
        return {}

    def write(self, step: Step) -> bytes:
        """Return the step as a request of the API."""
        prompt = read_prompt(step, has_context=False)
        return msgspec.json.encode(messages_request(prompt, max_output_tokens=self._max_output_tokens))
