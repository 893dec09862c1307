"""A run's text while it is being written, over the WebSocket. Without it, replies still arrive complete."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from carrel.bridge import Client

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

_OPEN_SECONDS = 5.0
# After this long without a frame, read the run itself: the last frame may have been lost.
_CHECK_SECONDS = 10.0
_NO_REPLY_STATES = ("waiting", "failed", "cancelled")


class Live:
    """An open WebSocket, bound to one or more sessions."""

    def __init__(self, socket: "ClientConnection") -> None:
        self._socket = socket

    def bind(self, session_key: str, client_instance: str) -> None:
        """Also receive frames of this session from now on."""
        frame = {"type": "bind", "sessionId": session_key, "clientInstanceId": client_instance}
        self._socket.send(json.dumps(frame))

    def pieces(
        self, run_id: str, *, ended: Callable[[], bool], failed: Callable[[dict[str, Any]], None]
    ) -> Iterator[str]:
        """Yield the run's text in pieces until the reply is done, the run has `ended` or the connection drops.

        `failed` is called with every attempt that failed and will be repeated.
        """
        from websockets.exceptions import ConnectionClosed

        begun = False
        while True:
            try:
                frame: dict[str, Any] = json.loads(self._socket.recv(timeout=_CHECK_SECONDS))
            except TimeoutError:
                if ended():
                    return
                continue
            except (ConnectionClosed, ValueError):
                return
            if frame.get("runId") != run_id:
                continue
            text, payload = frame.get("text") or "", frame.get("payload") or {}
            if frame.get("type") == "assistant_chunk" and text:
                begun = True
                yield text
            elif frame.get("type") == "assistant_done":
                if text and not begun:
                    yield text
                return
            elif payload.get("name") == "run.retrying":
                failed(payload)
            elif payload.get("state") in _NO_REPLY_STATES:
                # The run is waiting, failed or was cancelled: no reply will follow.
                return


@contextmanager
def listen(client: Client, session_key: str, client_instance: str) -> Iterator[Live | None]:
    """Open a WebSocket bound to a session; None when it cannot be opened."""
    try:
        from websockets.exceptions import WebSocketException
        from websockets.sync.client import connect
    except ImportError:
        yield None
        return
    offered: Any = [f"bearer.{client.token}"] if client.token else None
    try:
        socket = connect(
            "ws" + client.url.removeprefix("http") + "/ws/chat", subprotocols=offered, open_timeout=_OPEN_SECONDS
        )
    except (OSError, WebSocketException):
        yield None
        return
    with socket:
        live = Live(socket)
        live.bind(session_key, client_instance)
        yield live
