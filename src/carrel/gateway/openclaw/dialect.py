"""How requests to OpenClaw's `/v1/responses` are made."""

import msgspec

from carrel.gateway.event_stream import AnswerReader, read_whole
from carrel.gateway.model import Step
from carrel.gateway.openclaw.names import SHARED_TOOLS
from carrel.gateway.openclaw.request import backend_model, model_of, openclaw_request
from carrel.gateway.responses import bearer, session_headers
from carrel.kernel.settings import GatewaySettings


class OpenClawDialect:
    """Steps go to `/v1/responses`; the session and the agent are named in headers."""

    translates = True
    path = "/responses"
    models_path = "/models"
    server = "an OpenClaw gateway"
    authorization = staticmethod(bearer)
    reader = AnswerReader
    read_whole = staticmethod(read_whole)

    def __init__(self, settings: GatewaySettings) -> None:
        self._left_out = SHARED_TOOLS if settings.session_tools == "openclaw" else frozenset[str]()

    def headers(self, step: Step) -> dict[str, str]:
        """Return the headers that name session and agent, and the model that replaces the agent's own."""
        model = backend_model(model_of(step))
        return session_headers(step) | ({"x-openclaw-model": model} if model else {})

    def write(self, step: Step) -> bytes:
        """Return the step as a request that OpenClaw accepts."""
        return msgspec.json.encode(openclaw_request(step, self._left_out))
