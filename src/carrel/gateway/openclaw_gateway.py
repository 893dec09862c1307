"""The gateway to OpenClaw: chooses its agent, names our sessions there, and recovers lost answers.

Our sessions are called `agent:<its agent>:carrel:<ours>`. OpenClaw lower-cases keys, refuses some first segments
(`subagent:`, `cron:`, `acp:`) and gives others a meaning (`thread:`, `group:`). So ours becomes one segment, with a
capital letter written as `^` and the small letter.
"""

from hashlib import sha256
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from msgspec import structs

from carrel.gateway.answers import build_answer
from carrel.gateway.items import json_value
from carrel.gateway.model import GatewayFault, OnSend, OnText, Step, StepAnswer, keep_nothing
from carrel.gateway.model_gateway import CHECK_SECONDS, ModelGateway, listed_models
from carrel.gateway.openclaw import dialect
from carrel.gateway.openclaw.recovery import HISTORY_MESSAGES_MAX, answer_among, asked_to_go_on, since_heard
from carrel.kernel.settings import GatewaySettings
from carrel.wire import Wire, WireFault

# OpenClaw sends this in place of an empty answer.
_NOTHING_SAID = "No response from OpenClaw."
_NO_ENDPOINT = "Its endpoint for responses is off: set gateway.http.endpoints.responses.enabled to true in OpenClaw."
NAMESPACE = "carrel:"
_LANE = "agent:"
_COLON, _CAPITAL = "~", "^"


class OpenClawGateway(ModelGateway):
    """Takes steps at an OpenClaw gateway, which keeps the history of every session."""

    def __init__(self, name: str, settings: GatewaySettings, wire: Wire) -> None:
        super().__init__(name, settings, wire, dialect.OpenClawDialect(settings))
        self._root = self._url.removesuffix("/responses").removesuffix("/v1")
        self._mapped = dict(pair.split("=", 1) for pair in settings.agents)

    async def take(self, step: Step, on_text: OnText, on_send: OnSend = keep_nothing) -> StepAnswer:
        """Return the answer to `step`; an answer that was given before but lost is not asked for again."""
        agent = await self._agent_for(step)
        step = structs.replace(step, address=key_at_gateway(step.address, agent), agent_id=agent)
        followed = [] if step.lost_at is None else since_heard(step, await self._history(step))
        if followed:
            if output := answer_among(followed):
                return self._found(step, output, on_text)
            step = asked_to_go_on(step)
        try:
            answer = dialect.with_own_names(await super().take(step, on_text, on_send))
        except GatewayFault as fault:
            raise self._explained(fault, agent) from None
        return structs.replace(answer, text="") if answer.text == _NOTHING_SAID else answer

    async def check(self) -> None:
        """Raise GatewayFault unless it answers, accepts our key and has its responses endpoint enabled."""
        await super().check()
        status, _ = await self._list()
        if status == HTTPStatus.NOT_FOUND:
            message = f'The gateway "{self.name}" answered HTTP 404. {_NO_ENDPOINT}'
            raise GatewayFault("gateway_not_found", message, retryable=False)

    async def _agent_for(self, step: Step) -> str:
        """Return the agent of OpenClaw that answers; empty if it lists none.

        In this order: the mapped one, the one with the same id, the one that the model names, the main one, any. The
        list is read each time, since agents may be added meanwhile, and with several, OpenClaw answers only if one is
        named.
        """
        names = [name for name in (step.agent_slug, step.agent_id) if name]
        if mapped := next((self._mapped[name] for name in names if name in self._mapped), ""):
            return mapped
        try:
            status, body = await self._list()
        except WireFault as fault:
            raise self._faults.of_wire(fault) from None
        listed = dialect.agents_listed(listed_models(body)) if status == HTTPStatus.OK else []
        wanted = (*names, *dialect.agents_listed([dialect.model_of(step)]), dialect.MAIN_AGENT, *listed)
        return next((name for name in wanted if name in listed), "")

    async def _history(self, step: Step) -> Any:
        """Return the newest messages of a session at the gateway; None if it does not return them."""
        url = f"{self._root}/sessions/{quote(step.address, safe='')}/history?limit={HISTORY_MESSAGES_MAX}"
        try:
            reply = await self._wire.request("GET", url, headers=self._authorization, timeout_seconds=CHECK_SECONDS)
        except WireFault:
            return None
        return json_value(reply.body) if reply.status == HTTPStatus.OK else None

    def _found(self, step: Step, output: list[dict[str, Any]], on_text: OnText) -> StepAnswer:
        seed = sha256(step.body).hexdigest()
        answer = dialect.with_own_names(build_answer(output, {}, seed=seed, faults=self._faults))
        if answer.text:
            on_text(answer.text)
        return answer

    def _explained(self, fault: GatewayFault, agent: str) -> GatewayFault:
        if fault.code == "gateway_not_found":
            hint = _NO_ENDPOINT
        elif "Unknown agent" in fault.message:
            hint = f'OpenClaw has no agent "{agent}": name one that it has in gateway.{self.name}.agents.'
        elif "invalid tool configuration" in fault.message:
            hint = "OpenClaw or one of its plugins has a tool with the name of one that was sent."
        else:
            return fault
        return GatewayFault(fault.code, f"{fault.message} {hint}", retryable=fault.retryable)


def key_at_gateway(address: str, agent: str) -> str:
    """Return the key for one of our addresses, prefixed with the agent that answers there, if one is named."""
    return (f"{_LANE}{agent}:" if agent else "") + NAMESPACE + _segment(address)


def _segment(address: str) -> str:
    if not address.startswith(_LANE):
        # A request of our own, whose address every recorder must recognise.
        return address
    plain = address.removeprefix(_LANE).replace(":", _COLON)
    return "".join(_CAPITAL + char.lower() if "A" <= char <= "Z" else char for char in plain)
