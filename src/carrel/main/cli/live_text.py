"""The live line of a chat: text of a run as it is written, over the WebSocket; doing without it loses no answer."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from carrel.bridge import Client

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

_OPEN_SECONDS = 5.0
# When nothing comes for this long the run itself is looked at: the last frame may have been lost with the line.
_LOOK_SECONDS = 10.0
_RESTS = ("waiting", "failed", "cancelled")


class Live:
    """One open line, bound to the sessions it was told to."""

    def __init__(self, line: "ClientConnection") -> None:
        self._line = line

    def bind(self, session_key: str, client_instance: str) -> None:
        """Listen to that session as well from now on."""
        frame = {"type": "bind", "sessionId": session_key, "clientInstanceId": client_instance}
        self._line.send(json.dumps(frame))

    def pieces(self, run_id: str, *, ended: Callable[[], bool]) -> Iterator[str]:
        """Yield the pieces of the run's text; returns when its reply is done, it has `ended` or the line is cut."""
        from websockets.exceptions import ConnectionClosed

        begun = False
        while True:
            try:
                frame: dict[str, Any] = json.loads(self._line.recv(timeout=_LOOK_SECONDS))
            except TimeoutError:
                if ended():
                    return
                continue
            except (ConnectionClosed, ValueError):
                return
            if frame.get("runId") != run_id:
                continue
            text = frame.get("text") or ""
            if frame.get("type") == "assistant_chunk" and text:
                begun = True
                yield text
            elif frame.get("type") == "assistant_done":
                if text and not begun:
                    yield text
                return
            elif (frame.get("payload") or {}).get("state") in _RESTS:
                # It asks back or came to no good end: no reply will follow.
                return


@contextmanager
def listen(client: Client, session_key: str, client_instance: str) -> Iterator[Live | None]:
    """Open the live line of a session; None where there is none to be had."""
    try:
        from websockets.exceptions import WebSocketException
        from websockets.sync.client import connect
    except ImportError:
        yield None
        return
    offered: Any = [f"bearer.{client.token}"] if client.token else None
    try:
        line = connect(
            "ws" + client.url.removeprefix("http") + "/ws/chat", subprotocols=offered, open_timeout=_OPEN_SECONDS
        )
    except (OSError, WebSocketException):
        yield None
        return
    with line:
        live = Live(line)
        live.bind(session_key, client_instance)
        yield live
