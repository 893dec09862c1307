"""The connection to a remote agent: its card, the interface it names, the requests of the protocol, and its faults.

It knows nothing of steps, runs or tools.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from http import HTTPStatus

from msgspec import Struct

from carrel import a2a
from carrel.gateway.faults import AgentFaults
from carrel.gateway.items import json_value
from carrel.gateway.model import GatewayFault, Item
from carrel.kernel import clip, one_line
from carrel.kernel.limits import NAME_CHARS_MAX
from carrel.kernel.settings import GatewaySettings
from carrel.wire import StreamedReply, Wire, WireFault, is_in_own_network

Read = Callable[[int, bytes], Item]
CARD_SECONDS = 5.0
LISTED_MAX = 20
_HEADERS = {"A2A-Version": "1.0", "Accept": "application/json"}
# Statuses caused by the connection, not by the agent, whatever the body says.
_TRANSPORT = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
_INCOMPATIBLE = ("VERSION_NOT_SUPPORTED", "EXTENSION_SUPPORT_REQUIRED", "METHOD_NOT_FOUND")
_TRANSIENT = ("INTERNAL", "UNAVAILABLE", "QUEUE_FULL", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED")
# By the protocol's reason: the fault's code and its text; only `failed` is retried.
_REASONS = {
    "TASK_NOT_FOUND": ("remote_lost", "lost its task; send the message again"),
    "CONTENT_TYPE_NOT_SUPPORTED": ("gateway_refused", "does not accept this type of content"),
    **dict.fromkeys(_INCOMPATIBLE, ("gateway_misconfigured", "is not compatible with Carrel")),
    **dict.fromkeys(_TRANSIENT, ("gateway_failed", "could not accept the message now")),
}
_ENDS = {
    "failed": ("remote_failed", "The remote agent failed"),
    "rejected": ("remote_rejected", "The remote agent refused"),
    "canceled": ("remote_canceled", "The remote agent's work was cancelled on its side"),
}


class RemoteFaults(AgentFaults):
    agent = "remote agent"

    def __init__(self, name: str, api_key: str) -> None:
        super().__init__(name, api_key, "the address of an A2A agent or of its card")

    def of_status(self, status: int, headers: dict[str, str], body: bytes) -> GatewayFault:
        if status == HTTPStatus.NOT_FOUND:
            hint = f"Check gateway.{self._name}.base_url: no A2A agent answers there."
            return self._fault("gateway_not_found", f'The gateway "{self._name}" answered HTTP {status}. {hint}', False)
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            head = f'The gateway "{self._name}" answered HTTP {status}. Check gateway.{self._name}.api_key.'
            hint = f"It is sent only to the scheme, host and port of gateway.{self._name}.base_url."
            return self._fault("gateway_unauthorized", f"{head} {hint}", False)
        return super().of_status(status, headers, body)

    def of_protocol(self, fault: a2a.A2aFault) -> GatewayFault:
        code, what = _REASONS.get(fault.reason, ("gateway_refused", "refused the message"))
        return self.of_agent(code, what, fault.message, retryable=code == "gateway_failed")

    def of_end(self, state: str, said: str) -> GatewayFault:
        """Return the fault of a remote task that failed; a retry would find the same end."""
        code, head = _ENDS.get(state, ("remote_failed", f"The remote agent ended as {state}"))
        return self._fault(code, f'{head} (gateway "{self._name}"){self._quote(said)}', False)


class Remote(Struct, frozen=True, kw_only=True):
    """A remote agent as its card describes it.

    `is_elsewhere`: its origin (scheme, host and port) is not the configured one, so it does not get the API key. If
    `public_only`, only its public addresses may be called.
    """

    name: str
    codec: a2a.A2aCodec
    is_streaming: bool
    is_elsewhere: bool
    public_only: bool


class RemoteConnection:
    """Finds the remote agent of one gateway and sends it requests."""

    def __init__(self, settings: GatewaySettings, wire: Wire, faults: RemoteFaults) -> None:
        self._settings = settings
        self._wire = wire
        self._faults = faults
        self._remote: Remote | None = None

    async def remote(self) -> Remote:
        """Return the agent; its card is read once, and again after a fault that may mean it has changed."""
        return self._remote or await self.refresh()

    def forget(self) -> None:
        self._remote = None

    async def refresh(self) -> Remote:
        card, card_url, address = await self._card()
        try:
            interface = a2a.choose_interface(card, card_url)
            is_elsewhere = a2a.origin_of(interface.url) != a2a.origin_of(self._settings.base_url)
        except ValueError as error:
            raise self._faults.of_settings(str(error)) from None
        self._remote = Remote(
            name=clip(one_line(str(card.get("name") or "")), NAME_CHARS_MAX),
            codec=a2a.A2aCodec(interface),
            is_streaming=a2a.supports_streaming(card),
            is_elsewhere=is_elsewhere,
            # Only a card from our own network may name hosts there. The address it came from decides, because its
            # host's name may resolve to something else, or to nothing, a moment later.
            public_only=is_elsewhere and not is_in_own_network(address),
        )
        return self._remote

    async def task(self, remote: Remote, task_id: str, *, history: int = 0) -> Item:
        """Return a remote task in its current state, with its newest messages."""
        return await self._request(remote, remote.codec.get(task_id, history=history), remote.codec.read_task)

    async def active_tasks(self, remote: Remote, context_id: str) -> list[str]:
        """Return the ids of the remote tasks of a context that are running or queued."""
        request = remote.codec.list({"contextId": context_id, "pageSize": LISTED_MAX})
        listed = await self._request(remote, request, remote.codec.read_list)
        tasks = [a2a.RemoteTask({"task": task}) for task in listed["tasks"]]
        return [task.id for task in tasks if task.id and not task.is_settled]

    async def cancel(self, remote: Remote, task_id: str) -> None:
        await self._request(remote, remote.codec.cancel(task_id), remote.codec.read_task)

    def stream(self, remote: Remote, request: a2a.A2aRequest) -> AbstractAsyncContextManager[StreamedReply]:
        return self._wire.stream(
            request.method,
            request.url,
            headers={**request.headers, **({} if remote.is_elsewhere else self._authorization())},
            body=request.body,
            # The whole step has the same limit and handles it better, so that limit must expire first.
            timeout_seconds=self._settings.timeout_seconds + 1,
            public_only=remote.public_only,
        )

    async def read_reply(self, reply: StreamedReply, read: Read) -> Item:
        """Read a whole response with a reader of the protocol; raise GatewayFault if it is an error."""
        body = await reply.read()
        if reply.status in _TRANSPORT or reply.status >= 500:
            raise self._faults.of_status(reply.status, dict(reply.headers), body)
        try:
            return read(reply.status, body)
        except a2a.A2aFault as fault:
            if fault.reason:
                raise self._faults.of_protocol(fault) from None
            if reply.status >= 300:
                raise self._faults.of_status(reply.status, dict(reply.headers), body) from None
            raise self._faults.unreadable(fault.message) from None

    def read_event(self, text: str, remote: Remote) -> Item:
        """Read one event of a stream; raise GatewayFault if it is an error."""
        try:
            return remote.codec.read_event_text(text)
        except a2a.A2aFault as fault:
            known = fault.reason
            raise (self._faults.of_protocol(fault) if known else self._faults.unreadable(fault.message)) from None

    async def _request(self, remote: Remote, request: a2a.A2aRequest, read: Read) -> Item:
        try:
            async with self.stream(remote, request) as reply:
                return await self.read_reply(reply, read)
        except WireFault as fault:
            raise self._faults.of_wire(fault) from None

    async def _card(self) -> tuple[Item, str, str]:
        """Return the card, its URL (the first of the usual ones that has a card) and the IP address it came from."""
        missing: GatewayFault | None = None
        for url in a2a.card_urls(self._settings.base_url):
            try:
                headers = _HEADERS | self._authorization()
                reply = await self._wire.request("GET", url, headers=headers, timeout_seconds=CARD_SECONDS)
            except WireFault as fault:
                # The card is read before anything is sent, so the remote cannot have started the step.
                raise self._faults.of_unanswered_check(fault) from None
            if reply.status == HTTPStatus.OK:
                return self._parsed(reply.body), url, reply.address
            missing = missing or self._faults.of_check(reply.status, dict(reply.headers), reply.body)
            if reply.status != HTTPStatus.NOT_FOUND:
                break
        assert missing is not None, "a card has at least one URL"
        raise missing

    def _parsed(self, body: bytes) -> Item:
        if not isinstance(card := json_value(body), dict):
            raise self._faults.unreadable("its card is not a JSON object.")
        return card

    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._settings.api_key}"} if self._settings.api_key else {}
