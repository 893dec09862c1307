"""`carrel a2a` against the official SDK's server, over every transport and version."""

import json
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from a2a.types import Part

from carrel.bridge import A2aClient, Refused
from carrel.main.cli.a2a import token_for
from tests.bridge.tiny_server import Frames, Raw, TinyServer
from tests.main.cli.conftest import Carrel
from tests.scripted_gateway import Gate
from tests.sdk_agent import Remote, SdkAgent, Turn

DIALECTS: dict[str, dict[str, Any]] = {
    "json-rpc 1.0": {},
    "http+json 1.0": {"interfaces": [("HTTP+JSON", "1.0")]},
    "json-rpc 0.3": {"interfaces": [("JSONRPC", "0.3")]},
    "json-rpc 0.3, old card": {"interfaces": [("JSONRPC", "0.3")], "old_card": True},
}
each_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
WORKING = {"id": "t1", "contextId": "c1", "status": {"state": "TASK_STATE_WORKING"}}
DONE = WORKING | {
    "status": {"state": "TASK_STATE_COMPLETED"},
    "artifacts": [{"artifactId": "a", "parts": [{"text": "Done."}]}],
}


def tiny_agent(tiny: TinyServer, answer: Any, *, status: int = 200, streaming: bool = True) -> None:
    """Make the tiny server an agent that gives one answer to everything."""
    interface = {"url": tiny.url + "/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    card = {"name": "Tiny", "supportedInterfaces": [interface], "capabilities": {"streaming": streaming}}
    tiny.answers("GET", "/.well-known/agent-card.json", card)
    tiny.does("POST", "/rpc", lambda asked: (status, answer(asked.body["method"]) if callable(answer) else answer))


async def ask(turn: Turn) -> None:
    """Ask once, then take the answer."""
    if turn.context.current_task is None:
        await turn.updater.requires_input(turn.words("Which one?"))
    else:
        await turn.updater.complete(turn.words(f"Taking {turn.text}."))


def test_a_card_is_shown_with_its_ways_in_and_what_the_agent_can_do(carrel: Carrel, remote: Remote) -> None:
    agent = remote()
    shown = carrel("a2a", "card", agent.url)
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert "name\tEcho" in lines
    assert f"interface\tHTTP+JSON 1.0 {agent.url}/rest" in lines
    assert "capabilities\tstreaming" in lines
    assert "skill\tEcho: Repeats." in lines
    whole = json.loads(carrel("a2a", "card", f"{agent.url}/.well-known/agent-card.json", "--json").out)
    assert whole["supportedInterfaces"][0]["protocolBinding"] == "JSONRPC"


def test_an_old_card_is_shown_too(carrel: Carrel, remote: Remote) -> None:
    agent = remote(interfaces=[("JSONRPC", "0.3")], old_card=True)
    assert f"interface\tJSONRPC 0.3 {agent.url}/rpc" in carrel("a2a", "card", agent.url).out


@each_dialect
def test_send_prints_the_answer_alone(carrel: Carrel, remote: Remote, dialect: dict[str, Any]) -> None:
    agent = remote(**dialect)
    ended = carrel("a2a", "send", agent.url, "hello, wörld")
    assert (ended.code, ended.out, ended.err) == (0, "You said: hello, wörld\n", "")
    piped = carrel("a2a", "send", agent.url, "-", stdin="from a\npipe\n")
    assert piped.out == "You said: from a\npipe\n"


@each_dialect
def test_send_as_json_is_in_the_form_of_1_0_whatever_is_spoken(
    carrel: Carrel, remote: Remote, dialect: dict[str, Any]
) -> None:
    answer = json.loads(carrel("a2a", "send", remote(**dialect).url, "hi", "--json").out)
    assert answer["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert answer["task"]["artifacts"][0]["parts"] == [{"text": "You said: hi"}]


@each_dialect
def test_stream_prints_text_as_it_comes_and_states_on_stderr(
    carrel: Carrel, remote: Remote, dialect: dict[str, Any]
) -> None:
    async def speak(turn: Turn) -> None:
        await turn.updater.start_work(turn.words("Looking."))
        await turn.updater.add_artifact([Part(text="One ")], artifact_id="a")
        await turn.updater.add_artifact([Part(text="two.")], artifact_id="a", append=True)
        await turn.updater.complete()

    agent = remote(speak, **dialect)
    ended = carrel("a2a", "stream", agent.url, "count")
    assert (ended.code, ended.out) == (0, "One two.\n")
    assert ended.err == "submitted\nworking: Looking.\ncompleted\n"
    events = [json.loads(line) for line in carrel("a2a", "stream", agent.url, "count", "--json").out.splitlines()]
    assert [next(iter(event)) for event in events] == [
        "task",
        "statusUpdate",
        "artifactUpdate",
        "artifactUpdate",
        "statusUpdate",
    ]


def test_an_agent_that_does_not_stream_says_what_to_use(carrel: Carrel, remote: Remote) -> None:
    ended = carrel("a2a", "stream", remote(streaming=False).url, "hello")
    assert ended.code == 1
    assert "carrel a2a send" in ended.err


def test_a_bare_message_is_an_answer(carrel: Carrel, remote: Remote) -> None:
    async def greet(turn: Turn) -> None:
        await turn.say(Part(text="Good day."))

    agent = remote(greet, makes_tasks=False)
    assert carrel("a2a", "send", agent.url, "hello").out == "Good day.\n"
    streamed = carrel("a2a", "stream", agent.url, "hello")
    assert (streamed.code, streamed.out, streamed.err) == (0, "Good day.\n", "")


def test_a_task_can_be_left_alone_looked_at_listed_and_cancelled(carrel: Carrel, remote: Remote) -> None:
    gate = Gate()

    async def dawdle(turn: Turn) -> None:
        await turn.updater.start_work(turn.words("Wait."))
        await gate.passed()

    agent = remote(dawdle)
    task = carrel("a2a", "send", agent.url, "slowly", "--no-wait", "--context", "c-1").out.strip()
    gate.wait_reached()
    shown = carrel("a2a", "get", agent.url, task, "--history", "5").out
    assert f"task\t{task}" in shown
    assert "context\tc-1" in shown
    assert "user: slowly" in shown
    listed = carrel("a2a", "list", agent.url, "--context", "c-1", "--status", "working", "--limit", "5")
    assert listed.out.startswith(f"{task}\tworking\tc-1\t")
    assert carrel("a2a", "list", agent.url, "--status", "completed").out == ""
    assert carrel("a2a", "cancel", agent.url, task).out == "canceled\n"
    gate.open()
    again = carrel("a2a", "cancel", agent.url, task)
    assert again.code == 1
    assert "cannot be canceled" in again.err
    unknown = carrel("a2a", "get", agent.url, "no-such-task")
    assert (unknown.code, unknown.out) == (1, "")


def test_a_list_goes_on_from_its_page(carrel: Carrel, remote: Remote) -> None:
    agent = remote()
    for number in range(3):
        carrel("a2a", "send", agent.url, f"number {number}")
    first = carrel("a2a", "list", agent.url, "--limit", "2")
    token = first.err.split("--page ")[1].strip()
    rest = carrel("a2a", "list", agent.url, "--limit", "2", "--page", token)
    assert (len(first.out.splitlines()), len(rest.out.splitlines()), rest.err) == (2, 1, "")
    assert len({line.split("\t")[0] for line in (first.out + rest.out).splitlines()}) == 3
    assert len(json.loads(carrel("a2a", "list", agent.url, "--json").out)["tasks"]) == 3


@each_dialect
def test_a_question_is_printed_with_the_way_to_answer_it(
    carrel: Carrel, remote: Remote, dialect: dict[str, Any]
) -> None:
    agent = remote(ask, **dialect)
    asked = carrel("a2a", "send", agent.url, "take one")
    assert (asked.code, asked.out) == (0, "Which one?\n")
    task = asked.err.rpartition("--task ")[2].split("`")[0]
    assert carrel("a2a", "send", agent.url, "the red one", "--task", task).out == "Taking the red one.\n"
    streamed = carrel("a2a", "stream", agent.url, "take one")
    assert (streamed.code, streamed.out) == (0, "Which one?\n")


@pytest.mark.parametrize("command", ["send", "stream"])
def test_what_fails_or_is_refused_ends_with_1_and_the_reason(carrel: Carrel, remote: Remote, command: str) -> None:
    async def refuse(turn: Turn) -> None:
        if turn.text == "refuse":
            await turn.updater.reject(turn.words("Not my business."))
        else:
            await turn.updater.failed(turn.words("The printer is on fire."))

    agent = remote(refuse)
    failed, refused = carrel("a2a", command, agent.url, "fail"), carrel("a2a", command, agent.url, "refuse")
    assert (failed.code, refused.code, failed.out, refused.out) == (1, 1, "", "")
    assert "The printer is on fire." in failed.err
    assert "Not my business." in refused.err


def test_files_go_along_and_come_back_by_name(carrel: Carrel, remote: Remote, clean_machine: Path) -> None:
    got: list[tuple[str, str, bytes]] = []

    async def look(turn: Turn) -> None:
        got.extend((part.filename, part.media_type, part.raw) for part in turn.parts if part.raw)
        await turn.updater.add_artifact([Part(raw=b"x", filename="back.bin")])
        await turn.updater.complete(turn.words("Seen."))

    (clean_machine / "a.png").write_bytes(b"\x89PNG")
    (clean_machine / "notes").write_text("hello")
    agent = remote(look)
    ended = carrel("a2a", "send", agent.url, "look", "--file", "a.png", "--file", "notes")
    assert (ended.code, ended.out) == (0, "Seen.\n")
    assert "back.bin" in ended.err
    assert got == [("a.png", "image/png", b"\x89PNG"), ("notes", "application/octet-stream", b"hello")]


@pytest.mark.parametrize(
    "words",
    [
        ("send", "URL", ""),
        ("send", "URL", "-"),
        ("send", "URL", "hi", "--file", "no-such-file"),
        ("send",),
        ("get", "URL"),
    ],
)
def test_wrong_usage_ends_with_2(carrel: Carrel, remote: Remote, words: tuple[str, ...]) -> None:
    agent = remote()
    assert carrel("a2a", *[agent.url if word == "URL" else word for word in words]).code == 2


def test_nobody_there_ends_with_3_and_an_address_that_is_none_too(carrel: Carrel) -> None:
    with SdkAgent() as agent:
        url = agent.url
    for address in (url, "ftp://agent.example", "http://", "http://[broken"):
        ended = carrel("a2a", "card", address)
        assert (ended.code, ended.out) == (3, ""), address
        assert "carrel up" not in ended.err


def test_without_the_right_token_it_ends_with_4_and_with_it_well(carrel: Carrel, remote: Remote) -> None:
    agent = remote(token="secret-of-the-agent")
    refused = carrel("a2a", "send", agent.url, "hello")
    assert refused.code == 4
    assert "--token" in refused.err
    assert carrel("a2a", "send", agent.url, "hello", "--token", "secret-of-the-agent").code == 0


def test_an_agent_that_stays_silent_ends_with_5(carrel: Carrel, remote: Remote) -> None:
    gate = Gate()

    async def dawdle(turn: Turn) -> None:
        await gate.passed()

    agent = remote(dawdle)
    for command in ("send", "stream"):
        ended = carrel("a2a", command, agent.url, "hello", "--timeout", "0.3")
        assert ended.code == 5, command
    gate.open()


def test_after_a_dropped_stream_the_current_state_is_shown(carrel: Carrel, tiny: TinyServer) -> None:
    frame = f"data: {json.dumps({'jsonrpc': '2.0', 'result': {'task': WORKING}})}\n\n".encode()
    found: dict[str, Any] = {"result": DONE}

    def answer(method: str) -> Any:
        return Frames(iter([frame])) if method == "SendStreamingMessage" else found

    tiny_agent(tiny, answer)
    ended = carrel("a2a", "stream", tiny.url, "hello")
    assert (ended.code, ended.out, ended.err) == (0, "Done.\n", "working\n")
    found["result"] = WORKING
    ended = carrel("a2a", "stream", tiny.url, "hello")
    assert ended.code == 5
    assert f"carrel a2a get {tiny.url} t1" in ended.err


@pytest.mark.parametrize(
    ("status", "answer", "code"),
    [
        (200, Raw(b"<html>"), 3),
        (200, {"result": None}, 3),
        (502, Raw(b"<html>"), 3),
        (401, None, 4),
        (200, {"error": {"code": -32603, "message": "oops"}}, 1),
    ],
)
def test_answers_that_are_none_end_with_a_sentence(
    carrel: Carrel, tiny: TinyServer, status: int, answer: Any, code: int
) -> None:
    tiny_agent(tiny, answer, status=status)
    for command in ("send", "stream"):
        ended = carrel("a2a", command, tiny.url, "hello")
        assert (ended.code, ended.out) == (code, "")
        assert ended.err


def test_a_card_that_leads_nowhere_ends_with_a_sentence(carrel: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/.well-known/agent-card.json", {"name": "Bare", "capabilities": {"streaming": True}})
    for command in ("send", "stream"):
        ended = carrel("a2a", command, tiny.url, "hello")
        assert ended.code == 1
        assert "JSONRPC 1.0" in ended.err
    assert carrel("a2a", "card", tiny.url).out.startswith("name\tBare\n")
    tiny.answers("GET", "/.well-known/agent-card.json", [])
    assert carrel("a2a", "card", tiny.url).code == 3


def test_what_strangers_write_does_not_steer_the_terminal(carrel: Carrel, remote: Remote) -> None:
    async def paint(turn: Turn) -> None:
        await turn.updater.add_artifact([Part(text="\x1b]0;evil\x07")])
        await turn.updater.complete()

    agent = remote(paint)
    for command in ("send", "stream"):
        assert "\x1b" not in carrel("a2a", command, agent.url, "hello").out


def arguments(url: str, token: str = "", **more: Any) -> Namespace:
    return Namespace(agent_url=url, token=token, config=None, data_dir=None, **more)


def test_a_stranger_never_learns_the_tokens_of_our_own_server(
    clean_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = clean_machine / ".carrel"
    folder.mkdir()
    (folder / "owner_token").write_text("crl_owner_1_x\n")
    (folder / "server.json").write_text(json.dumps({"url": "http://127.0.0.1:4321", "pid": os.getpid()}))
    assert token_for(arguments("http://localhost:4321/a2a/main")).token == "crl_owner_1_x"
    assert token_for(arguments("http://127.0.0.1:8787")).token == "crl_owner_1_x", "where it would be if it ran"
    for stranger in (
        "http://127.0.0.1:9999",
        "https://127.0.0.1:4321",
        "https://agent.example",
        "http://10.0.0.7:4321",
    ):
        assert token_for(arguments(stranger)).token == "", stranger
    monkeypatch.setenv("CARREL_TOKEN", "crl_client_2_y")
    assert token_for(arguments("http://127.0.0.1:9999")).token == "crl_client_2_y"
    found = token_for(arguments("https://agent.example"))
    assert found.token == ""
    assert "CARREL_TOKEN is for your own server" in found.hint
    monkeypatch.setenv("CARREL_URL", "https://carrel.example:443")
    assert token_for(arguments("https://carrel.example/a2a/main")).token == "crl_client_2_y"
    assert token_for(arguments("https://agent.example")).token == ""
    assert token_for(arguments("https://agent.example", "given")).token == "given"


def test_a_token_does_not_follow_the_card_to_another_server(carrel: Carrel, tiny: TinyServer, remote: Remote) -> None:
    agent = remote()
    interface = {"url": agent.url + "/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    card = {"supportedInterfaces": [interface], "capabilities": {"streaming": True}}
    tiny.answers("GET", "/.well-known/agent-card.json", card)
    for command in (("send", "hi"), ("stream", "hi"), ("get", "t"), ("list",), ("cancel", "t")):
        ended = carrel("a2a", command[0], tiny.url, *command[1:], "--token", "secret")
        assert ended.code == 1
        assert f"use {agent.url} as the URL of the agent" in ended.err
    assert agent.calls == []
    assert {asked.headers.get("Authorization") for asked in tiny.asked} == {"Bearer secret"}
    assert carrel("a2a", "send", tiny.url, "hi").out == "You said: hi\n", "without a token it may lead anywhere"
    assert [call.headers.get("authorization") for call in agent.calls] == [None]


@pytest.mark.parametrize("elsewhere", ["https://{host}", "http://{host}:1", "http://other.example:{port}"])
def test_another_scheme_host_or_port_is_another_server(tiny: TinyServer, elsewhere: str) -> None:
    host, port = tiny.url.removeprefix("http://").split(":")
    there = elsewhere.format(host=host, port=port)
    interface = {"url": there, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    tiny.answers("GET", "/.well-known/agent-card.json", {"supportedInterfaces": [interface]})
    with pytest.raises(Refused) as caught:
        A2aClient(tiny.url, "secret").task("t")
    assert there in str(caught.value)


def test_the_client_commands_load_no_server_and_no_foreign_package(remote: Remote) -> None:
    code = "import sys; from carrel.main.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code, "a2a", "send", remote().url, "hello"],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout == "You said: hello\n"
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert not loaded & {"a2a", "httpx", "starlette", "uvicorn", "apsw", "google", "pydantic", "asyncio"}
    assert not {name for name in done.stderr.split() if name.startswith(("carrel.surfaces", "carrel.wire"))}
