"""The client for Open Responses: one POST per step, answered by an event stream or plain JSON.

It sends the step's body unchanged; the caller has built and stored it.
"""

import json
from contextlib import aclosing
from hashlib import sha256
from http import HTTPStatus

from carrel.gateway.event_stream import AnswerReader, read_whole
from carrel.gateway.faults import Faults
from carrel.gateway.model import OnSend, OnText, Step, StepAnswer, keep_nothing
from carrel.gateway.secret_filter import SecretFilter, without_secret
from carrel.kernel.settings import GatewaySettings
from carrel.wire import EventReader, StreamedReply, Wire, WireFault

CHECK_SECONDS = 5.0
MODELS_MAX = 1000
RUN_TOKEN_HEADER = "x-carrel-run-token"  # noqa: S105  (a name, not a secret)
_STREAM_TYPE = "text/event-stream"


class ResponsesGateway:
    """Takes steps at `<base_url>/v1/responses`."""

    translates = False

    def __init__(self, name: str, settings: GatewaySettings, wire: Wire) -> None:
        self.name = name
        self._settings = settings
        self._wire = wire
        self._root = root_of(settings.base_url)
        self._faults = Faults(name, settings.api_key)

    async def take(self, step: Step, on_text: OnText, on_send: OnSend = keep_nothing) -> StepAnswer:
        """Return the model's answer to `step`, streamed or not."""
        headers = {
            **self._authorization(),
            "Content-Type": "application/json",
            "Accept": f"{_STREAM_TYPE}, application/json",
            "x-openclaw-session-key": step.address,
        }
        if step.agent_id:
            headers["x-openclaw-agent-id"] = step.agent_id
        if step.run_token:
            headers[RUN_TOKEN_HEADER] = step.run_token
        try:
            async with self._wire.stream(
                "POST",
                f"{self._root}/v1/responses",
                headers=headers,
                body=step.body,
                timeout_seconds=self._settings.timeout_seconds,
            ) as reply:
                if reply.status not in (HTTPStatus.OK, HTTPStatus.CREATED):
                    raise self._faults.of_status(reply.status, dict(reply.headers), await reply.read())
                return await self._read_filtered(step, reply, on_text)
        except WireFault as fault:
            raise self._faults.of_wire(fault) from None

    async def check(self) -> bool:
        """Return whether the gateway answers and accepts our key; it need not list its models."""
        try:
            reply = await self._wire.request(
                "GET", f"{self._root}/v1/models", headers=self._authorization(), timeout_seconds=CHECK_SECONDS
            )
        except WireFault:
            return False
        return reply.status < 500 and reply.status != HTTPStatus.UNAUTHORIZED

    async def models(self) -> tuple[str, ...]:
        """Return the configured models, then those the gateway lists; raise GatewayFault if it cannot be reached."""
        try:
            reply = await self._wire.request(
                "GET", f"{self._root}/v1/models", headers=self._authorization(), timeout_seconds=CHECK_SECONDS
            )
        except WireFault as fault:
            raise self._faults.of_wire(fault) from None
        configured = (self._settings.model, *self._settings.models)
        listed = _listed(reply.body) if reply.status == HTTPStatus.OK else ()
        return tuple(dict.fromkeys(model for model in (*configured, *listed) if model))[:MODELS_MAX]

    async def close(self) -> None:
        """Do nothing: nothing is kept between steps."""

    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._settings.api_key}"} if self._settings.api_key else {}

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
        reader = AnswerReader(seed=seed, faults=self._faults, on_text=on_text)
        if reply.media_type == _STREAM_TYPE:
            async with aclosing(reply.events()) as events:
                async for event in events:
                    reader.feed(event)
                    if reader.is_finished:
                        break
            await reply.drain()
            return reader.end()
        body = await reply.read()
        if not body.lstrip().startswith((b"event:", b"data:")):
            return read_whole(body, seed=seed, faults=self._faults, on_text=on_text)
        # Some proxies drop the content type of a stream.
        parser = EventReader(len(body) + 1)
        for event in (*parser.feed(body), *parser.close()):
            if not reader.is_finished:
                reader.feed(event)
        return reader.end()


def root_of(base_url: str) -> str:
    """Return the URL to append `/v1/…` to, whether the setting ends in a slash, `/v1` or the whole path."""
    return base_url.strip().rstrip("/").removesuffix("/responses").removesuffix("/v1").rstrip("/")


def _listed(body: bytes) -> tuple[str, ...]:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return ()
    rows = parsed.get("data") if isinstance(parsed, dict) else None
    ids = (row.get("id") for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()
    return tuple(model for model in ids if isinstance(model, str))
