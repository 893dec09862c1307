"""The client of the public API against a real HTTP server."""

import socket
import threading
from collections.abc import Iterator

import pytest

from carrel.bridge import Client, NotReachable, Refused, TimedOut, segment
from tests.bridge.tiny_server import Asked, Frames, HangUp, Raw, TinyServer
from tests.harness.elapsing import Elapsing


def test_it_sends_token_query_and_json_over_one_connection(tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/runs", {"runs": []})
    tiny.answers("POST", "/api/runs", {"runId": "run_1"}, status=202)
    with Client(tiny.url + "/", "crl_owner_x_y") as client:
        assert client.get("/api/runs", {"limit": 5, "state": None, "q": "a b", "archived": True}) == {"runs": []}
        assert client.post("/api/runs", {"message": "Grüße"}, idempotency_key="k1") == {"runId": "run_1"}
        client.close()
    first, second = tiny.asked
    assert first.query == {"limit": "5", "q": "a b", "archived": "1"}
    assert first.headers["Authorization"] == "Bearer crl_owner_x_y"
    assert second.body == {"message": "Grüße"}
    assert second.headers["X-Idempotency-Key"] == "k1"
    assert tiny.connections == 1


def test_an_empty_response_is_none(tiny: TinyServer) -> None:
    tiny.answers("DELETE", "/api/tokens/tok_1", status=204)
    assert Client(tiny.url).delete("/api/tokens/tok_1") is None


def test_a_key_is_encoded_as_one_path_segment(tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/sessions/agent:main:web:a/b", {"session": 1})
    assert Client(tiny.url).get(f"/api/sessions/{segment('agent:main:web:a/b')}") == {"session": 1}


def test_it_reconnects_after_the_server_closes_the_connection(tiny: TinyServer) -> None:
    tiny.does("GET", "/announced", lambda _: (200, Frames(iter([b"{}"]))))
    tiny.answers("GET", "/silent", HangUp({}))
    tiny.answers("POST", "/after", {"said": "once"})
    client = Client(tiny.url)
    assert client.get("/announced") == {}
    assert client.get("/silent") == {}
    assert tiny.hang_ups.acquire(timeout=5)
    assert tiny.hang_ups.acquire(timeout=5)
    assert client.post("/after") == {"said": "once"}
    assert tiny.connections == 3


@pytest.mark.parametrize(
    ("status", "not_allowed"), [(400, False), (401, True), (403, True), (409, False), (500, False)]
)
def test_a_refusal_has_the_servers_message(tiny: TinyServer, status: int, not_allowed: bool) -> None:
    tiny.answers("GET", "/x", {"error": {"code": "c", "message": "Say please.", "field": "f"}}, status=status)
    with pytest.raises(Refused) as caught:
        Client(tiny.url).get("/x")
    assert (caught.value.status, caught.value.code, caught.value.field) == (status, "c", "f")
    assert str(caught.value) == "Say please."
    assert caught.value.not_allowed is not_allowed


def test_an_error_without_a_message_is_a_refusal_too(tiny: TinyServer) -> None:
    tiny.answers("GET", "/x", Raw(b"<html>Bad gateway</html>"), status=502)
    with pytest.raises(Refused, match="502"):
        Client(tiny.url).get("/x")


def test_a_response_that_is_not_json_is_not_a_carrel_server(tiny: TinyServer) -> None:
    tiny.answers("GET", "/x", Raw(b"<html>Welcome</html>"))
    with pytest.raises(NotReachable, match="not like a Carrel server"):
        Client(tiny.url).get("/x")


def test_a_closed_port_is_not_reachable() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        with pytest.raises(NotReachable, match="No Carrel server answers"):
            Client(f"http://127.0.0.1:{held.getsockname()[1]}").get("/healthz")


@pytest.mark.parametrize("url", ["", "ftp://x", "http://", "http:///path"])
def test_an_invalid_url_is_refused(url: str) -> None:
    with pytest.raises(NotReachable, match="is not the URL of a server"):
        Client(url)


def test_a_slow_response_times_out_and_the_next_request_reconnects(tiny: TinyServer) -> None:
    gate = threading.Event()

    def slow(_: Asked) -> tuple[int, object]:
        gate.wait(5)
        return 200, {"late": True}

    tiny.does("GET", "/slow", slow)
    tiny.answers("GET", "/fast", {"late": False})
    client = Client(tiny.url)
    with pytest.raises(TimedOut, match=r"within 0.1 seconds"):
        client.get("/slow", timeout_seconds=0.1)
    gate.set()
    assert client.get("/fast") == {"late": False}


def frame(seq: int, name: str = "run.queued") -> bytes:
    return f'id: {seq}\nevent: {name}\ndata: {{"seq": {seq},\ndata:  "name": "{name}"}}\n\n'.encode()


def test_a_stream_resumes_after_the_last_event_it_saw(tiny: TinyServer, elapsing: Elapsing) -> None:
    elapsing.skip_pauses()
    connections = iter(
        [
            [b'event: stream.ready\ndata: {"seq": 6}\n\n', b": ping\n\n", frame(7), frame(8), b"id: 9\nevent: ru"],
            [b'event: stream.ready\r\ndata: {"seq": 9}\r\n\r\n', frame(9)],
        ]
    )
    tiny.does("GET", "/api/stream", lambda _: (200, Frames(iter(next(connections)))))
    stream = Client(tiny.url, "t").stream("/api/stream", {"sessionKey": "main"})
    seen = [next(stream) for _ in range(5)]
    assert [event.name for event in seen] == ["stream.ready", "run.queued", "run.queued", "stream.ready", "run.queued"]
    assert [event.body["seq"] for event in seen] == [6, 7, 8, 9, 9]
    assert [asked.headers.get("Last-Event-ID") for asked in tiny.asked] == [None, "8"]
    assert tiny.asked[1].query == {"sessionKey": "main"}


def test_a_stream_cut_before_its_first_event_resumes_where_it_was_opened(tiny: TinyServer, elapsing: Elapsing) -> None:
    elapsing.skip_pauses()
    tiny.does("GET", "/s", lambda _: (200, Frames(iter([b'event: stream.ready\ndata: {"seq": 4}\n\n']))))
    stream = Client(tiny.url).stream("/s")
    next(stream), next(stream)
    assert tiny.asked[1].headers["Last-Event-ID"] == "4"


def test_a_stream_with_an_idle_limit_ends_without_an_error(tiny: TinyServer) -> None:
    gate = threading.Event()

    def pieces() -> Iterator[bytes]:
        yield frame(1)
        gate.wait(5)

    tiny.does("GET", "/s", lambda _: (200, Frames(pieces())))
    assert len(list(Client(tiny.url).stream("/s", idle_seconds=2))) == 1
    gate.set()


def test_a_refused_stream_raises_at_once(tiny: TinyServer) -> None:
    tiny.answers("GET", "/s", {"error": {"code": "unauthenticated", "message": "Who?"}}, status=401)
    with pytest.raises(Refused, match="Who"):
        next(Client(tiny.url).stream("/s"))


def test_a_server_that_always_closes_the_stream_is_given_up(tiny: TinyServer, elapsing: Elapsing) -> None:
    elapsing.skip_pauses()
    tiny.does("GET", "/s", lambda _: (200, Frames(iter([]))))
    with pytest.raises(NotReachable, match="closes the event stream"):
        next(Client(tiny.url).stream("/s"))
