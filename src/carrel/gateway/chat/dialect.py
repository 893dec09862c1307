"""How Chat Completions servers are talked to."""

from urllib.parse import urlsplit

import msgspec

from carrel.gateway.chat.answers import ChatReader, read_chat
from carrel.gateway.chat.request import chat_request
from carrel.gateway.faults import Faults
from carrel.gateway.model import OnText, Step, StepAnswer
from carrel.gateway.prompt import read_prompt
from carrel.gateway.responses import bearer, session_headers
from carrel.kernel.settings import GatewaySettings

# These refuse the field that all others know.
_NEW_LIMIT_FIELD = ("openai.com", "azure.com")


class ChatDialect:
    """Steps go to `/v1/chat/completions`."""

    translates = True
    path = "/chat/completions"
    models_path = "/models"
    server = "a Chat Completions server"

    def __init__(self, settings: GatewaySettings) -> None:
        host = urlsplit(settings.base_url.strip()).hostname or ""
        self._output_tokens_max = settings.output_tokens_max
        self._tokens_field = "max_completion_tokens" if host.endswith(_NEW_LIMIT_FIELD) else "max_tokens"

    def authorization(self, api_key: str) -> dict[str, str]:
        """Return the key as a bearer token."""
        return bearer(api_key)

    def headers(self, step: Step) -> dict[str, str]:
        """Return the names of session and agent."""
        return session_headers(step)

    def write(self, step: Step) -> bytes:
        """Return the step as a chat request."""
        request = chat_request(
            read_prompt(step), output_tokens_max=self._output_tokens_max, tokens_field=self._tokens_field
        )
        return msgspec.json.encode(request)

    def reader(self, *, seed: str, faults: Faults, on_text: OnText) -> ChatReader:
        """Return a reader of chunks."""
        return ChatReader(seed=seed, faults=faults, on_text=on_text)

    def read_whole(self, body: bytes, *, seed: str, faults: Faults, on_text: OnText) -> StepAnswer:
        """Return the answer in a chat completion."""
        return read_chat(body, seed=seed, faults=faults, on_text=on_text)
