"""How Chat Completions servers are talked to."""

from urllib.parse import urlsplit

import msgspec

from carrel.gateway.chat.answers import ChatReader, read_chat
from carrel.gateway.chat.request import Names, chat_request
from carrel.gateway.faults import Faults
from carrel.gateway.model import OnText, Step, StepAnswer
from carrel.gateway.prompt import read_prompt
from carrel.gateway.responses import bearer, session_headers
from carrel.kernel.settings import GatewaySettings

# Hosts with names of their own for what all others call the same.
_NAMES = {
    "openai.com": Names(tokens="max_completion_tokens", context="developer"),
    "azure.com": Names(tokens="max_completion_tokens"),
}


class ChatDialect:
    """Steps go to `/v1/chat/completions`."""

    translates = True
    path = "/chat/completions"
    models_path = "/models"
    server = "a Chat Completions server"

    def __init__(self, settings: GatewaySettings) -> None:
        host = urlsplit(settings.base_url.strip()).hostname or ""
        self._max_output_tokens = settings.max_output_tokens
        self._names = next((names for domain, names in _NAMES.items() if host.endswith(domain)), Names())

    def authorization(self, api_key: str) -> dict[str, str]:
        """Return the key as a bearer token."""
        return bearer(api_key)

    def headers(self, step: Step) -> dict[str, str]:
        """Return the names of session and agent."""
        return session_headers(step)

    def write(self, step: Step) -> bytes:
        """Return the step as a chat request."""
        prompt = read_prompt(step, has_context=True)
        return msgspec.json.encode(chat_request(prompt, max_output_tokens=self._max_output_tokens, names=self._names))

    def reader(self, *, seed: str, faults: Faults, on_text: OnText) -> ChatReader:
        """Return a reader of chunks."""
        return ChatReader(seed=seed, faults=faults, on_text=on_text)

    def read_whole(self, body: bytes, *, seed: str, faults: Faults, on_text: OnText) -> StepAnswer:
        """Return the answer in a chat completion."""
        return read_chat(body, seed=seed, faults=faults, on_text=on_text)
