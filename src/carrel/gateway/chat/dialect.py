"""How requests to Chat Completions servers are made."""

from urllib.parse import urlsplit

import msgspec

from carrel.gateway.chat.answers import ChatReader
from carrel.gateway.chat.request import Names, chat_request
from carrel.gateway.model import Step
from carrel.gateway.prompt import read_prompt
from carrel.gateway.responses import bearer, session_headers
from carrel.kernel.settings import GatewaySettings

# Hosts that use other names than everyone else.
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
    authorization = staticmethod(bearer)
    headers = staticmethod(session_headers)
    reader = ChatReader
    read_whole = staticmethod(ChatReader.read_whole)

    def __init__(self, settings: GatewaySettings) -> None:
        host = urlsplit(settings.base_url.strip()).hostname or ""
        self._max_output_tokens = settings.max_output_tokens
        self._names = next((names for domain, names in _NAMES.items() if host.endswith(domain)), Names())

    def write(self, step: Step) -> bytes:
        """Return the step as a chat request."""
        prompt = read_prompt(step, has_context=True)
        return msgspec.json.encode(chat_request(prompt, max_output_tokens=self._max_output_tokens, names=self._names))
