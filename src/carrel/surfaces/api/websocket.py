"""The chat's WebSocket: messages in, live text and events of bound sessions out."""

import asyncio
from contextlib import ExitStack
from functools import partial

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from carrel.chats import ChatAddress, chat_session
from carrel.commands import require_usable
from carrel.delivery import LivePiece
from carrel.journal import Event, feed_pages, feed_start
from carrel.kernel import PEOPLE, Access, Code, Refusal, SessionKey
from carrel.kernel.limits import CHAT_BINDINGS_MAX, CHAT_FRAMES_WAITING_MAX, STREAM_PING_SECONDS
from carrel.runs import stop_lane
from carrel.sessions import lane_of
from carrel.storage import Tx
from carrel.surfaces.api.chat import ChatLine, send_line
from carrel.surfaces.api.silent_text import SilentTextFilter
from carrel.surfaces.api.websocket_frames import Frame, InFrame, error_frame, frame_of, system_frame
from carrel.surfaces.http import websockets
from carrel.surfaces.http.bodies import decode_body, refuse_too_many_values
from carrel.surfaces.http.errors import refusal_response
from carrel.surfaces.http.identity import identify, refuse_token_in_query
from carrel.surfaces.http.revocation import until_revoked
from carrel.surfaces.http.services import Services
from carrel.visibility import may_see, visible_events

_BEARER = "bearer."


async def chat_socket(socket: WebSocket) -> None:
    """Serve one connection from its handshake to its end."""
    services: Services = socket.app.state.services
    offered = next((name for name in socket.scope.get("subprotocols", []) if name.startswith(_BEARER)), None)
    try:
        access = await _identify(socket, services, offered)
    except Refusal as refusal:
        await socket.send_denial_response(refusal_response(refusal, socket.state.request_id))
        return
    await socket.accept(subprotocol=offered)
    cursor = (await services.db.read(lambda tx: feed_start(tx, access, None))).after
    await _Connection(socket, services, access, offered).serve(cursor)


CHAT_SOCKET = WebSocketRoute("/ws/chat", chat_socket)


async def _identify(socket: WebSocket, services: Services, offered: str | None) -> Access:
    """Return the caller: by the token in the subprotocol, else by cookie or header."""
    refuse_token_in_query(socket)
    token = offered.removeprefix(_BEARER) if offered else None
    access = await identify(socket, services, socket.app.state.wrong_tokens, token=token)
    if access is None:
        raise Refusal(Code.UNAUTHENTICATED, "Sign in, or offer the subprotocol bearer.<token>.")
    access.require(*PEOPLE)
    return access


class _Connection:
    """One client and the sessions it is bound to."""

    def __init__(self, socket: WebSocket, services: Services, access: Access, offered: str | None) -> None:
        self._socket = socket
        self._services = services
        self._access = access
        self._identify = partial(_identify, socket, services, offered)
        self._out: asyncio.Queue[Frame] = asyncio.Queue(CHAT_FRAMES_WAITING_MAX)
        # By session key, the latest bound last.
        self._listeners: dict[str, _Listener] = {}
        # Held from before a message is delivered until its lane is bound, so that no event of it is missed.
        self._binding = asyncio.Lock()
        self._active: SessionKey | None = None

    async def serve(self, cursor: int) -> None:
        """Serve until either side ends it."""

        def start(group: asyncio.TaskGroup) -> None:
            group.create_task(self._read(group))
            group.create_task(self._write())
            group.create_task(self._follow(cursor))

        revoked = until_revoked(self._services, self._access, self._identify)
        try:
            await websockets.serve(self._socket, self._services, revoked, start, name="chat_socket")
        finally:
            for listener in self._listeners.values():
                listener.close()

    async def _read(self, group: asyncio.TaskGroup) -> None:
        while True:
            raw = await websockets.next_message(self._socket)
            await self._check_access()
            try:
                await refuse_too_many_values(raw)
                frame = decode_body(raw, InFrame)
            except Refusal as refusal:
                self._send(error_frame(self._active.conversation if self._active else None, refusal))
                continue
            await self._handle(group, frame)

    async def _check_access(self) -> None:
        """Close the connection instead of taking a message if its token has just been revoked."""
        try:
            self._access = await self._identify()
        except Refusal as refusal:
            if refusal.code is Code.STORAGE_UNAVAILABLE:
                raise
            raise websockets.Closing(websockets.NOT_ALLOWED) from refusal

    async def _handle(self, group: asyncio.TaskGroup, frame: InFrame) -> None:
        act = {"bind": self._bind, "message": self._message, "stop": self._stop}[frame.type]
        try:
            await act(group, frame)
        except Refusal as refusal:
            self._send(error_frame(frame.session_id or (self._active.conversation if self._active else None), refusal))

    async def _bind(self, group: asyncio.TaskGroup, frame: InFrame) -> None:
        key = await self._services.db.read(lambda tx: self._find(tx, frame))
        async with self._binding:
            self._listen(group, key)
        self._send(system_frame(key.conversation, "runtime_event", {"bound": True}))

    def _find(self, tx: Tx, frame: InFrame) -> SessionKey:
        reference = frame.session_id or (str(self._active) if self._active and not frame.client_instance_id else None)
        address = ChatAddress(channel="web", client_instance_id=frame.client_instance_id, reference=reference)
        key = chat_session(tx, self._access, self._services.settings.sessions, address)
        require_usable(tx, self._access, key)
        return key

    async def _message(self, group: asyncio.TaskGroup, frame: InFrame) -> None:
        async with self._binding:
            line = ChatLine(
                text=frame.text,
                session_id=frame.session_id or (str(self._active) if self._active is not None else None),
                client_instance_id=frame.client_instance_id,
                client_message_id=frame.client_message_id or None,
                answers_run_id=frame.answers_run_id,
                attachments=frame.attachments,
            )
            received = await send_line(self._services, self._access, line)
            self._listen(group, received.key)
        if received.done is not None:
            session_id, reply = received.key.conversation, received.done.reply
            self._send(Frame(type="assistant_done", session_id=session_id, text=reply, command=True))

    async def _stop(self, _group: asyncio.TaskGroup, frame: InFrame) -> None:
        def work(tx: Tx) -> tuple[SessionKey, list[str]]:
            key = self._find(tx, frame)
            return key, stop_lane(tx, self._access, str(key), "stopped")

        key, stopped = await self._services.db.write(work)
        self._send(system_frame(key.conversation, "runtime_event", {"cancelledRuns": stopped}))

    def _listen(self, group: asyncio.TaskGroup, key: SessionKey) -> None:
        """Listen to a lane from now on; with too many, the one bound longest ago is dropped."""
        self._active, name = key, str(key)
        if name in self._listeners:
            return
        if len(self._listeners) >= CHAT_BINDINGS_MAX:
            self._listeners.pop(next(iter(self._listeners))).close()
        # It listens before anything is awaited, so no text from here on is missed.
        listener = _Listener(self._services, self._access, key)
        listener.task = group.create_task(self._forward(listener))
        self._listeners[name] = listener

    async def _forward(self, listener: "_Listener") -> None:
        while True:
            spoken = await listener.words.get()
            # A lane can be bound before it exists, and another person may be the one to create it.
            if not listener.is_seen:
                listener.is_seen = await self._services.db.read(partial(self._may_see, key=listener.key))
            if listener.is_seen:
                self._send_live(listener, spoken)

    def _may_see(self, tx: Tx, *, key: SessionKey) -> bool:
        lane = lane_of(tx, self._access, key)
        return lane is not None and may_see(tx, self._access, key, lane.made_by)

    def _send_live(self, listener: "_Listener", spoken: LivePiece) -> None:
        if spoken.kind == "text":
            self._send_text(listener, spoken.run_id, listener.silent_text.add(spoken.run_id, spoken.text))
        else:
            listener.silent_text.end(spoken.run_id, None)
            self._send(system_frame(listener.session_id, "progress_update", {"restart": True}, run_id=spoken.run_id))

    def _send_text(self, listener: "_Listener", run_id: str, text: str) -> None:
        if text:
            self._send(Frame(type="assistant_chunk", session_id=listener.session_id, run_id=run_id, text=text))

    async def _follow(self, after: int) -> None:
        async for page in feed_pages(self._services.db, self._access, after, wait_seconds=STREAM_PING_SECONDS):
            async with self._binding:
                bound = [event for event in page if event.key in self._listeners]
                seen = partial(visible_events, access=self._access, events=bound)
                for event in bound and await self._services.db.read(seen):
                    self._send_event(event)

    def _send_event(self, event: Event) -> None:
        # Live text is sent in the next round of the loop, an event only after its commit, so they stay in order.
        listener = self._listeners.get(event.key or "")
        frame = None if listener is None else frame_of(event)
        if listener is None or frame is None:
            return
        if event.name == "session.deleted":
            listener.is_seen = False
        if frame.type == "assistant_done" and frame.run_id is not None:
            self._send_text(listener, frame.run_id, listener.silent_text.end(frame.run_id, frame.text or None))
        self._send(frame)

    def _send(self, frame: Frame) -> None:
        try:
            self._out.put_nowait(frame)
        except asyncio.QueueFull:
            # The client does not read.
            raise websockets.Closing(websockets.TRY_AGAIN_LATER) from None

    async def _write(self) -> None:
        while True:
            await websockets.send_value(self._socket, await self._out.get())


class _Listener:
    """The live text of one bound lane, and the task that forwards it."""

    def __init__(self, services: Services, access: Access, key: SessionKey) -> None:
        self.key = key
        self.session_id = key.conversation
        # Whether the caller may see the lane, once that is known.
        self.is_seen = False
        self.silent_text = SilentTextFilter()
        self.task: asyncio.Task[None] | None = None
        self._stack = ExitStack()
        self.words = self._stack.enter_context(services.live.listening(access.account_id, str(key)))

    def close(self) -> None:
        """Stop listening."""
        self._stack.close()
        if self.task is not None:
            self.task.cancel()
