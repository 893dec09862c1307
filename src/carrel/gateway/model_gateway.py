"""The gateway to a model server: one POST per step in the server's dialect, answered by a stream or plain JSON."""

import re
from contextlib import aclosing
from hashlib import sha256
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import structs

from carrel.gateway.dialect import Dialect
from carrel.gateway.faults import Faults
from carrel.gateway.items import NOT_SENT, json_value
from carrel.gateway.model import Gateway, OnSend, OnText, Step, StepAnswer, keep_nothing
from carrel.kernel import REDACTED, EventReader
from carrel.kernel.settings import GatewaySettings
from carrel.wire import StreamedReply, Wire, WireFault

CHECK_SECONDS = 5.0
MODELS_MAX = 1000
# Names that servers give a model's context window: LM Studio (as loaded), vLLM, OpenRouter, others; llama.cpp has
# `meta.n_ctx`.
_WINDOWS = ("loaded_context_length", "max_model_len", "context_length", "context_window", "max_context_length")
_STREAM_TYPE = "text/event-stream"
_VERSION = re.compile(r"/v\d+(?:alpha|beta)?\d*$")
# JSON never starts like this; a colon begins a comment.
_STREAM_STARTS = (b"event:", b"data:", b"id:", b"retry:", b":")


class ModelGateway(Gateway):
    """Takes steps at a model server."""

    takes_context = True

    def __init__(self, name: str, settings: GatewaySettings, wire: Wire, dialect: Dialect) -> None:
        self.name = name
        self.translates = dialect.translates
        self._settings = settings
        self._wire = wire
        self._dialect = dialect
        self._url = endpoint(settings.base_url, dialect.path)
        self._models_url = endpoint(settings.base_url, dialect.path, dialect.models_path)
        self._authorization = dialect.authorization
        # Model -> context window in tokens, as its server last reported.
        self.windows: dict[str, int] = {}
        self._faults = Faults(name, settings.api_key, dialect.server)

    async def take(self, step: Step, on_text: OnText, on_send: OnSend = keep_nothing) -> StepAnswer:
        """Return the model's answer to `step`, streamed or not."""
        body, seconds = self._dialect.write(step), self._settings.timeout_seconds
        if self.translates:
            await on_send(body)
        usual = {"Content-Type": "application/json", "Accept": f"{_STREAM_TYPE}, application/json"}
        headers = self._authorization | usual | self._dialect.headers(step)
        reading = self._wire.stream("POST", self._url, headers=headers, body=body, timeout_seconds=seconds)
        try:
            async with reading as reply:
                if reply.status not in (HTTPStatus.OK, HTTPStatus.CREATED):
                    raise self._faults.of_status(reply.status, dict(reply.headers), await reply.read())
                answer = await self._read_filtered(step, reply, on_text)
                return structs.replace(answer, left_out=self._left_out(body))
        except WireFault as fault:
            raise self._faults.of_wire(fault) from None

    async def check(self) -> None:
        """Raise GatewayFault unless the gateway answers and accepts our key; it need not list its models."""
        try:
            status, body = await self._list()
        except WireFault as fault:
            raise self._faults.of_unanswered_check(fault) from None
        if status >= 500 or status == HTTPStatus.UNAUTHORIZED:
            raise self._faults.of_check(status, {}, body)
        self.windows = listed_windows(body)

    async def models(self) -> tuple[str, ...]:
        """Return the configured models, then those the gateway lists; raise GatewayFault if it cannot be reached."""
        try:
            status, body = await self._list()
        except WireFault as fault:
            raise self._faults.of_wire(fault) from None
        configured = (self._settings.model, *self._settings.models)
        listed = listed_models(body) if status == HTTPStatus.OK else ()
        return tuple(dict.fromkeys(model for model in (*configured, *listed) if model))[:MODELS_MAX]

    def _left_out(self, body: bytes) -> tuple[str, ...]:
        """Return the files that were left out. A body may be large, so it is read only if some may be missing."""
        may_lack = self.translates and NOT_SENT.encode() in body
        return self._dialect.read_sent(body.decode()).left_out if may_lack else ()

    async def _list(self) -> tuple[int, bytes]:
        url, headers = self._models_url, self._authorization
        reply = await self._wire.request("GET", url, headers=headers, timeout_seconds=CHECK_SECONDS)
        return reply.status, reply.body

    async def _read_filtered(self, step: Step, reply: StreamedReply, on_text: OnText) -> StepAnswer:
        """Read the answer, with the run token removed from the streamed text and from the result."""
        seed = sha256(step.body).hexdigest()
        if not step.run_token:
            return await self._read(reply, seed, on_text)
        filtered = SecretFilter(step.run_token, on_text)
        answer = await self._read(reply, seed, filtered.feed)
        filtered.end()
        return without_secret(step.run_token, answer)

    async def _read(self, reply: StreamedReply, seed: str, on_text: OnText) -> StepAnswer:
        reader = self._dialect.reader(seed=seed, faults=self._faults, on_text=on_text)
        if reply.media_type == _STREAM_TYPE:
            async with aclosing(reply.events()) as events:
                async for event in events:
                    reader.feed(event)
                    if reader.is_finished:
                        break
            await reply.drain()
            return reader.end()
        body = await reply.read()
        if not body.lstrip().startswith(_STREAM_STARTS):
            return reader.read_whole(body)
        # Some proxies drop the content type of a stream.
        parser = EventReader(len(body) + 1)
        for event in (*parser.feed(body), *parser.close()):
            if not reader.is_finished:
                reader.feed(event)
        return reader.end()


def endpoint(base_url: str, path: str, target: str | None = None) -> str:
    """Return the URL of `target`, or of `path`, on the server.

    `base_url` may end in a slash, in a version such as `/v1`, or in the whole `path`; without either, `/v1` is added.
    """
    given = base_url.strip().rstrip("/")
    root = given.removesuffix(path).rstrip("/")
    version = "" if root != given or _VERSION.search(root) else "/v1"
    return f"{root}{version}{target or path}"


def model_window(gateway: Gateway, settings: GatewaySettings, model: str) -> int | None:
    """Return how many tokens a model takes: by the settings, else by its server's list; None if that is unknown."""
    if settings.context_tokens:
        return settings.context_tokens
    return gateway.windows.get(model or settings.model) if isinstance(gateway, ModelGateway) else None


def listed_models(body: bytes) -> tuple[str, ...]:
    """Return the ids in a list of models; none if it is no such list."""
    return tuple(row["id"] for row in _listed(body))


def listed_windows(body: bytes) -> dict[str, int]:
    """Return the context window of each model in a list whose server reports it."""
    found = {}
    for row in _listed(body):
        meta = row.get("meta")
        said = [row.get(name) for name in _WINDOWS] + ([meta.get("n_ctx")] if isinstance(meta, dict) else [])
        window = next((value for value in said if isinstance(value, int) and value > 0), None)
        if window is not None:
            found[row["id"]] = window
    return found


def _listed(body: bytes) -> list[dict[str, Any]]:
    parsed = json_value(body)
    # Some servers list their models without an object around the list.
    rows = parsed.get("data") if isinstance(parsed, dict) else parsed
    listed = rows if isinstance(rows, list) else []
    return [row for row in listed if isinstance(row, dict) and isinstance(row.get("id"), str)]


class SecretFilter:
    """Passes streamed text on without a secret. A piece may end inside it, so a possible beginning is held back."""

    def __init__(self, secret: str, on_text: OnText) -> None:
        self._secret = secret
        self._on_text = on_text
        self._held = ""

    def feed(self, piece: str) -> None:
        """Take the next piece and pass on what cannot be part of the secret."""
        text = (self._held + piece).replace(self._secret, REDACTED)
        length = min(len(text), len(self._secret) - 1)
        held = next((size for size in range(length, 0, -1) if text.endswith(self._secret[:size])), 0)
        safe, self._held = text[: len(text) - held], text[len(text) - held :]
        if safe:
            self._on_text(safe)

    def end(self) -> None:
        """Pass on what was held back: nothing follows that could complete the secret."""
        if self._held:
            self._on_text(self._held)


def without_secret(secret: str, answer: StepAnswer) -> StepAnswer:
    """Return the answer as it may be stored: some agents show the token in the calls they made with it."""
    text = msgspec.json.encode(answer)
    if secret.encode() not in text:
        return answer
    return msgspec.json.decode(text.replace(secret.encode(), REDACTED.encode()), type=StepAnswer)
