"""The way to a remote agent: its card, the interface that the card leads to, and one request at a time over the wire.

It knows the protocol's requests and faults, and nothing of steps, runs or tools.
"""

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from http import HTTPStatus
from urllib.parse import urlsplit

from msgspec import Struct

from carrel.a2a import A2aFault, A2aRequest, A2aSpeech, RemoteRun, card_addresses, choose_interface, does_stream
from carrel.gateway.a2a.faults import RemoteFaults
from carrel.gateway.model import GatewayFault, Item
from carrel.kernel import clip, one_line
from carrel.kernel.limits import NAME_CHARS_MAX
from carrel.kernel.settings import GatewaySettings
from carrel.wire import Resolver, StreamedReply, Wire, WireFault, public_target

Read = Callable[[int, bytes], Item]
CARD_SECONDS = 5.0
LISTED_MAX = 20
_HEADERS = {"A2A-Version": "1.0", "Accept": "application/json"}
# Said by the way to the agent and not by the agent, whatever stands in the body.
_OF_THE_WAY = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)


class Remote(Struct, frozen=True, kw_only=True):
    """A remote agent as its card tells of it. `is_foreign`: only public addresses of it are called."""

    name: str
    speech: A2aSpeech
    is_streaming: bool
    is_foreign: bool


class Reach:
    """Finds the remote agent of one gateway and makes requests of it."""

    def __init__(self, settings: GatewaySettings, wire: Wire, faults: RemoteFaults) -> None:
        self._settings = settings
        self._wire = wire
        self._faults = faults
        self._remote: Remote | None = None

    async def remote(self) -> Remote:
        """The agent; its card is read once, and again after anything that may mean it has changed."""
        if self._remote is None:
            self._remote = await self.look()
        return self._remote

    def forget(self) -> None:
        """Read the card anew next time."""
        self._remote = None

    def remember(self, remote: Remote) -> None:
        """Take the agent to be as it was just found."""
        self._remote = remote

    async def look(self) -> Remote:
        """The agent as its card tells of it now."""
        card, card_url = await self._card()
        try:
            interface = choose_interface(card, card_url)
        except ValueError as error:
            raise self._faults.of_card(str(error)) from None
        return Remote(
            name=clip(one_line(str(card.get("name") or "")), NAME_CHARS_MAX),
            speech=A2aSpeech(interface),
            is_streaming=does_stream(card),
            is_foreign=await leads_elsewhere(self._settings.base_url, interface.url),
        )

    async def task(self, remote: Remote, task_id: str, *, history: int = 0) -> Item:
        """A run of the remote as it stands, with its newest messages."""
        return await self._ask(remote, remote.speech.get(task_id, history=history), remote.speech.read_task)

    async def working_in(self, remote: Remote, context_id: str) -> list[str]:
        """The runs of the remote that work, or wait for their turn, in a context."""
        asked = remote.speech.list({"contextId": context_id, "pageSize": LISTED_MAX})
        listed = await self._ask(remote, asked, remote.speech.read_list)
        runs = [RemoteRun({"task": task}) for task in listed["tasks"]]
        return [run.id for run in runs if run.id and not run.is_resting]

    async def cancel(self, remote: Remote, task_id: str) -> None:
        """Ask the remote to stop a run."""
        await self._ask(remote, remote.speech.cancel(task_id), remote.speech.read_task)

    def stream(self, remote: Remote, request: A2aRequest) -> AbstractAsyncContextManager[StreamedReply]:
        """The answer to one request while it comes."""
        return self._wire.stream(
            request.method,
            request.url,
            headers={**request.headers, **self._authorization()},
            body=request.body,
            # The whole step has this bound too, and that one knows better what to do when it is reached.
            timeout_seconds=self._settings.timeout_seconds + 1,
            public_only=remote.is_foreign,
        )

    async def understand(self, reply: StreamedReply, read: Read) -> Item:
        """What a whole answer says, in the words of the protocol; GatewayFault when it says no."""
        body = await reply.read()
        if reply.status in _OF_THE_WAY or reply.status >= 500:
            raise self._faults.of_status(reply.status, dict(reply.headers), body)
        try:
            return read(reply.status, body)
        except A2aFault as fault:
            if fault.reason:
                raise self._faults.of_told(fault) from None
            if reply.status >= 300:
                raise self._faults.of_status(reply.status, dict(reply.headers), body) from None
            raise self._faults.unreadable(fault.message) from None

    def understand_event(self, text: str, remote: Remote) -> Item:
        """What one event of a stream says."""
        try:
            return remote.speech.read_streamed(text)
        except A2aFault as fault:
            raise (self._faults.of_told(fault) if fault.reason else self._faults.unreadable(fault.message)) from None

    async def _ask(self, remote: Remote, request: A2aRequest, read: Read) -> Item:
        try:
            async with self.stream(remote, request) as reply:
                return await self.understand(reply, read)
        except WireFault as fault:
            raise self._faults.of_wire(fault) from None

    async def _card(self) -> tuple[Item, str]:
        """The card and where it lies: at the first of its usual places that has one."""
        missing: GatewayFault | None = None
        for url in card_addresses(self._settings.base_url):
            try:
                reply = await self._wire.request(
                    "GET", url, headers={**_HEADERS, **self._authorization()}, timeout_seconds=CARD_SECONDS
                )
            except WireFault as fault:
                raise self._faults.of_wire(fault) from None
            if reply.status == HTTPStatus.OK:
                return self._parsed(reply.body), url
            missing = missing or self._faults.of_status(reply.status, dict(reply.headers), reply.body)
            if reply.status != HTTPStatus.NOT_FOUND:
                break
        assert missing is not None, "a card has at least one address"
        raise missing

    def _parsed(self, body: bytes) -> Item:
        try:
            card = json.loads(body)
        except (ValueError, RecursionError):
            card = None
        if not isinstance(card, dict):
            raise self._faults.unreadable("its card is no JSON object.")
        return card

    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._settings.api_key}"} if self._settings.api_key else {}


async def leads_elsewhere(base_url: str, url: str, resolve: Resolver | None = None) -> bool:
    """Whether a card on the public internet leads to another host: then it may not lead into our own network."""
    if urlsplit(base_url.strip()).hostname == urlsplit(url).hostname:
        return False
    try:
        await (public_target(base_url.strip(), resolve) if resolve else public_target(base_url.strip()))
    except WireFault:
        # The operator's own network, or not to be found; there the card knows the way as well as its operator.
        return False
    return True
