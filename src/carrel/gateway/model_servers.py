"""Model servers: well-known ones, and finding out which dialects and models any other has, without calling a model."""

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from typing import Literal

from msgspec import Struct

from carrel.gateway.dialect import Dialect
from carrel.gateway.dialects import DIALECTS
from carrel.gateway.model_gateway import CHECK_SECONDS, endpoint, listed_models
from carrel.gateway.openclaw.dialect import AGENT_MODEL
from carrel.kernel import Refusal, invalid
from carrel.kernel.settings import GatewaySettings
from carrel.wire import Reply, Wire, WireFault

ModelKind = Literal["openclaw", "responses", "chat", "anthropic"]
# The richest first.
_PROBED: tuple[ModelKind, ...] = ("responses", "chat", "anthropic")
# Statuses of a server that does not have this path.
_ABSENT = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED, HTTPStatus.GONE)
_UNWELCOME = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class ModelServer(Struct, frozen=True, kw_only=True):
    """A server by its name."""

    base_url: str
    key_env: str = ""
    # How to start it, shown to people whose server does not answer.
    start: str = ""
    # The dialect it was built for, if the richest one it speaks is an imitation or a draft.
    kind: str = ""

    def best_of(self, kinds: Sequence[str]) -> str:
        """Return the richest of the dialects that the server speaks."""
        return self.kind if self.kind in kinds else kinds[0]


# Where each listens, and where its key usually is. A guide has the same list.
MODEL_SERVERS = {
    "ollama": ModelServer(base_url="http://127.0.0.1:11434", start="Run: ollama serve"),
    "lmstudio": ModelServer(base_url="http://127.0.0.1:1234", start="Start the server in LM Studio's Developer tab."),
    "llamacpp": ModelServer(base_url="http://127.0.0.1:8080", start="Run: llama-server -m MODEL.gguf"),
    "vllm": ModelServer(base_url="http://127.0.0.1:8000", start="Run: vllm serve MODEL"),
    "openai": ModelServer(base_url="https://api.openai.com", key_env="OPENAI_API_KEY"),
    "anthropic": ModelServer(base_url="https://api.anthropic.com", key_env="ANTHROPIC_API_KEY", kind="anthropic"),
    "openclaw": ModelServer(
        base_url="http://127.0.0.1:18789",
        key_env="OPENCLAW_GATEWAY_TOKEN",
        start="Run: openclaw gateway",
        kind="openclaw",
    ),
    "openrouter": ModelServer(base_url="https://openrouter.ai/api", key_env="OPENROUTER_API_KEY", kind="chat"),
}


def model_server(named: str) -> ModelServer:
    """Return the server with a name or at a URL; otherwise raise Refusal with the closest name."""
    if named in MODEL_SERVERS:
        return MODEL_SERVERS[named]
    if "://" in named or "." in named or ":" in named:
        return ModelServer(base_url=named if "://" in named else f"http://{named}")
    meant = Refusal.nearest(named, MODEL_SERVERS)
    hint = f"did you mean {meant}?" if meant else f"name one of {', '.join(MODEL_SERVERS)}, or a URL."
    raise invalid("server", f"There is no server '{named[:80]}'; {hint}")


class Probe(Struct, frozen=True, kw_only=True):
    """The dialects found at an address, richest first, and its models.

    `trouble` explains in one sentence why nothing was found; `needs_key` means that the key is missing or wrong.
    """

    kinds: tuple[ModelKind, ...] = ()
    models: tuple[str, ...] = ()
    needs_key: bool = False
    trouble: str = ""


async def probe(base_url: str, api_key: str, wire: Wire, *, public_only: bool = False) -> Probe:
    """Send an empty request to each dialect's path: a server that speaks it rejects the request, not the path."""
    settings = GatewaySettings(base_url=base_url, api_key=api_key)
    dialects = {kind: DIALECTS[kind](settings) for kind in _PROBED}

    async def ask(method: str, dialect: Dialect, target: str, body: bytes = b"") -> Reply:
        headers = dialect.authorization | ({"Content-Type": "application/json"} if body else {})
        url, seconds = endpoint(base_url, dialect.path, target), CHECK_SECONDS
        return await wire.request(
            method, url, headers=headers, body=body, timeout_seconds=seconds, public_only=public_only
        )

    try:
        replies = await asyncio.gather(*(ask("POST", one, one.path, b"{}") for one in dialects.values()))
        lists = await asyncio.gather(*(ask("GET", one, one.models_path) for one in dialects.values()))
    except WireFault as fault:
        return Probe(trouble=fault.message)
    spoken: tuple[ModelKind, ...] = tuple(kind for kind, reply in zip(dialects, replies, strict=True) if _speaks(reply))
    listed = (listed_models(reply.body) for reply in lists if reply.status == HTTPStatus.OK)
    models = next(filter(None, listed), ())
    if AGENT_MODEL in models:
        # It speaks Open Responses in its own way, and its models are its agents.
        spoken = ("openclaw", *spoken)
    refused = all(reply.status in _UNWELCOME or not _speaks(reply) for reply in replies)
    trouble = "" if spoken else f"Nothing at {base_url} speaks Open Responses, Chat Completions or Anthropic Messages."
    return Probe(kinds=spoken, models=models, needs_key=bool(spoken) and refused, trouble=trouble)


def _speaks(reply: Reply) -> bool:
    if reply.status in _ABSENT:
        return False
    # An HTML page is for people, and LM Studio answers 200 for unknown paths.
    is_page = reply.headers.get("content-type", "").startswith("text/html")
    return not is_page and b"Unexpected endpoint" not in reply.body
