"""Parsing, exit codes, start-up cost and discovery of the server."""

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import threading
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from carrel.main.cli.arguments import normalized
from carrel.main.cli.discovery import connect
from carrel.main.cli.program import COMMANDS, LISTS, VERBS, examples_of, parser
from tests.bridge.tiny_server import TinyServer
from tests.main.cli.conftest import Carrel, run_of

PROGRAM = [sys.executable, "-c", "import sys; from carrel.main.cli import main; sys.exit(main())"]


def test_every_published_command_is_there() -> None:
    names = {command.name for command in COMMANDS}
    published = {
        "serve", "up", "init", "status", "doctor", "chat", "send", "queue", "events", "backup", "restore", "migrate",
        "openapi", *(f"sessions {verb}" for verb in ("list", "show", "tail", "reset", "archive", "search")),
        *(f"runs {verb}" for verb in ("list", "show", "wait", "answer", "cancel", "retry", "why", "receipt")),
        "runs compare",
        *(f"token {verb}" for verb in ("create", "list", "revoke")),
        *(f"agents {verb}" for verb in ("list", "show", "create", "update", "disable", "enable", "delete")),
        *(f"users {verb}" for verb in ("list", "create", "update", "delete")),
        "token renew", "whoami", "env",
    }  # fmt: skip
    assert {" ".join(normalized(name.split(), VERBS, ())) for name in published} <= names


def test_without_a_command_the_help_is_shown(carrel: Carrel) -> None:
    ended = carrel()
    assert ended.code == 0
    assert "carrel chat" in ended.out


@pytest.mark.parametrize("words", [("nonsense",), ("runs", "--x"), ("runs", "show"), ("sessions", "--state", "x")])
def test_wrong_usage_ends_with_2(carrel: Carrel, words: tuple[str, ...]) -> None:
    assert carrel(*words).code == 2


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("sesions",), "there is no command 'sesions'; did you mean sessions?"),
        (("runs", "lst"), "there is no command 'lst'; did you mean list?"),
        (("runs", "list", "--lmit", "3"), "'--lmit' is not known here; did you mean --limit?"),
        # An option is not abbreviated: this would be the token.
        (("runs", "list", "--to", "main"), "'--to' is not known here; did you mean --token?"),
        (("sessions", "--arch"), "'--arch' is not known here; did you mean --archived?"),
    ],
)
def test_a_wrong_word_is_told_with_the_nearest(carrel: Carrel, words: tuple[str, ...], hint: str) -> None:
    ended = carrel(*words)
    assert ended.code == 2
    assert hint in ended.err


def test_help_and_ls_are_understood(carrel: Carrel) -> None:
    assert carrel("help", "runs").out == carrel("runs", "--help").out
    nowhere = ("--url", "http://127.0.0.1:9", "--token", "t")
    assert [carrel(*words, *nowhere).code for words in (("runs", "ls"), ("ls", "runs"), ("ls",))] == [3, 3, 3]


def test_a_noun_that_cannot_list_shows_its_help(carrel: Carrel) -> None:
    assert carrel("import") == carrel("import", "--help")


def test_every_example_is_one_of_its_command_and_can_be_parsed() -> None:
    for command in COMMANDS:
        for line in examples_of(command):
            assert f"carrel {command.name}".removesuffix(" list") in line
            typed = line.removeprefix("source <(").removesuffix(" | source").removesuffix(")")
            typed = typed.removeprefix('eval "$(').removesuffix(')"')
            parsed = parser().parse_args(normalized(shlex.split(typed)[1:], VERBS, LISTS))
            assert parsed.parser.prog == f"carrel {command.name}"


def test_a_refused_field_that_was_an_option_is_named_as_such(at: Carrel, tiny: TinyServer) -> None:
    refusal = {"error": {"code": "invalid_params", "message": "There is no agent 'x'.", "field": "agentId"}}
    tiny.answers("POST", "/api/tokens", refusal, status=422)
    assert at("token", "create", "agent", "--agent", "x").err == "--agent: There is no agent 'x'.\n"
    assert "needs --agent" in at("token", "create", "agent").err


def test_wrong_usage_is_told_as_json_where_json_was_asked_for(carrel: Carrel) -> None:
    ended = carrel("runs", "list", "--json", "--lmit", "3")
    assert (ended.code, json.loads(ended.err)["error"]["code"]) == (2, "usage")


def test_up_and_open_say_where_a_running_server_is(
    carrel: Carrel, tiny: TinyServer, clean_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.answers("GET", "/api/auth/me", {})
    data_dir = clean_machine / ".carrel"
    assert (carrel("open").code, "carrel up" in carrel("open").err) == (3, True)
    data_dir.mkdir(exist_ok=True)
    (data_dir / "server.json").write_text(json.dumps({"url": tiny.url, "pid": os.getpid()}))
    (data_dir / "owner_token").write_text("crl_owner_1_x\n")
    assert carrel("up").out == f"{tiny.url}/#token=crl_owner_1_x\n"
    monkeypatch.setattr("webbrowser.open", lambda _: False)
    assert carrel("open").out == f"{tiny.url}/#token=crl_owner_1_x\n"


def test_with_json_an_error_is_json_too(carrel: Carrel) -> None:
    ended = carrel("runs", "list", "--json", "--url", "http://127.0.0.1:9", "--token", "t")
    assert json.loads(ended.err)["error"]["code"] == "not_reachable"


@pytest.mark.parametrize("group", ["tasks", "runs", "sessions", "agents", "token", "auto", "schedule", "notifications"])
def test_a_noun_alone_lists(carrel: Carrel, group: str) -> None:
    # It gets as far as asking for the list.
    assert carrel(group, "--url", "http://127.0.0.1:9", "--token", "t").code == 3
    assert "COMMAND" in carrel(group, "--help").out


def test_no_server_ends_with_3_and_says_how_to_start_one(carrel: Carrel) -> None:
    ended = carrel("runs", "list", "--url", "http://127.0.0.1:9", "--token", "t")
    assert ended.code == 3
    assert "carrel up" in ended.err
    assert ended.out == ""


@pytest.mark.parametrize(("status", "code"), [(401, 4), (403, 4), (404, 1), (409, 1), (422, 1), (500, 1)])
def test_a_refusal_ends_with_its_number_and_the_servers_sentence(
    at: Carrel, tiny: TinyServer, status: int, code: int
) -> None:
    tiny.answers("GET", "/api/runs", {"error": {"code": "c", "message": "Not so."}}, status=status)
    ended = at("runs", "list")
    assert ended.code == code
    assert ended.err.startswith("Not so.")
    assert "Traceback" not in ended.err


def test_a_refused_field_is_named(at: Carrel, tiny: TinyServer) -> None:
    refusal = {"error": {"code": "invalid_params", "message": "It is too long.", "field": "name"}}
    tiny.answers("POST", "/api/agents", refusal, status=400)
    assert at("agents", "create", "x").err == "--name: It is too long.\n"


def test_wrong_settings_end_with_2_and_one_line_each(carrel: Carrel, clean_machine: Path) -> None:
    (clean_machine / "carrel.toml").write_text("[server]\nprot = 1\nport = 'x'", encoding="utf-8")
    for words in (("serve",), ("runs", "list"), ("migrate",)):
        ended = carrel(*words)
        assert ended.code == 2
        assert len(ended.err.splitlines()) == 2
        assert "did you mean server.port?" in ended.err


def test_the_help_is_cheap_and_imports_no_server() -> None:
    loads = "import sys; from carrel.main.cli import main\ntry: main(['--help'])\nfinally: print(sorted(sys.modules))"
    before = os.times()
    shown = subprocess.run([sys.executable, "-c", loads], capture_output=True, text=True, check=True, timeout=30)
    after = os.times()
    for heavy in ("starlette", "uvicorn", "apsw", "httpx", "psycopg", "websockets", "tomllib"):
        assert f"'{heavy}'" not in shown.stdout
    spent_seconds = after.children_user + after.children_system - before.children_user - before.children_system
    assert spent_seconds < 0.3


def test_every_command_explains_itself_within_eighty_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    # One parser for all: the program builds it anew for each command that is typed.
    whole = parser()
    for command in COMMANDS:
        with pytest.raises(SystemExit) as ended:
            whole.parse_args(normalized([*command.name.split(), "--help"], VERBS, LISTS))
        out = capsys.readouterr().out
        assert ended.value.code == 0
        assert command.summary in re.sub(r"\s+", " ", out)
        assert [line for line in out.splitlines() if len(line) > 80] == []


def test_the_help_of_a_command_is_shown(carrel: Carrel) -> None:
    command = COMMANDS[-1]
    ended = carrel(*command.name.split(), "--help")
    assert ended.code == 0
    assert command.summary in re.sub(r"\s+", " ", ended.out)


@pytest.mark.parametrize(("rows", "lines_read"), [(2000, 1), (1, 0)])
def test_a_reader_that_has_seen_enough_is_no_error(tiny: TinyServer, rows: int, lines_read: int) -> None:
    tiny.answers("GET", "/api/runs", {"runs": [run_of(sessionKey="k" * 200)] * rows})
    words = [*PROGRAM, "runs", "list", "--url", tiny.url, "--token", "t"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        assert started.stdout
        assert started.stderr
        for _ in range(lines_read):
            started.stdout.readline()
        started.stdout.close()
        assert started.stderr.read() == b""
        assert started.wait(timeout=20) == 0


@contextmanager
def heeding_interrupts() -> Iterator[None]:
    """Start programs as an interactive shell does; a background shell passes on that interrupts are ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_with_130_and_without_a_traceback(tiny: TinyServer) -> None:
    asked, gate = threading.Event(), threading.Event()

    def hang(_: object) -> tuple[int, object]:
        asked.set()
        gate.wait(10)
        return 200, {}

    tiny.does("GET", "/api/runs", hang)
    words = [*PROGRAM, "runs", "list", "--url", tiny.url, "--token", "t"]
    with heeding_interrupts(), subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        assert asked.wait(10)
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=10)
    gate.set()
    assert started.returncode == 130
    assert (out, err) == (b"", b"\n")


def test_the_local_servers_address_and_token_are_found(carrel: Carrel, tiny: TinyServer, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "owner_token").write_text("crl_owner_9_z\n", encoding="utf-8")
    (folder / "server.json").write_text(json.dumps({"url": tiny.url, "pid": os.getpid()}), encoding="utf-8")
    tiny.answers("GET", "/api/runs", {"runs": []})
    assert carrel("runs", "list", "--data-dir", str(folder)).code == 0
    assert tiny.asked[0].headers["Authorization"] == "Bearer crl_owner_9_z"


def test_an_address_left_by_a_dead_server_is_not_used(carrel: Carrel, tmp_path: Path) -> None:
    with subprocess.Popen(["/bin/true"]) as dead:
        dead.wait(timeout=5)
    (tmp_path / "server.json").write_text(json.dumps({"url": "http://127.0.0.1:1", "pid": dead.pid}), encoding="utf-8")
    (tmp_path / "carrel.toml").write_text("server.port = 2", encoding="utf-8")
    assert "127.0.0.1:2 " in carrel("runs", "list", "--data-dir", str(tmp_path)).err


def test_the_owners_token_is_not_sent_to_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "owner_token").write_text("crl_owner_9_z\n", encoding="utf-8")
    monkeypatch.setenv("CARREL_STORAGE__DATA_DIR", str(tmp_path))
    asked = {"token": None, "config": None, "data_dir": None}
    assert connect(Namespace(url="https://elsewhere.example", **asked)).token == ""
    assert connect(Namespace(url="http://localhost:1", **asked)).token == "crl_owner_9_z"
    assert connect(Namespace(url="127.0.0.1:1", **asked)).token == "crl_owner_9_z"


def test_address_and_token_come_from_the_environment_when_not_given(
    carrel: Carrel, tiny: TinyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARREL_URL", tiny.url)
    monkeypatch.setenv("CARREL_TOKEN", "crl_user_2_y")
    tiny.answers("GET", "/api/tokens", {"tokens": []})
    assert carrel("token", "list").code == 0
    assert tiny.asked[0].headers["Authorization"] == "Bearer crl_user_2_y"


def test_at_a_terminal_chat_prompts_answers_and_leaves(tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/sessions/active", {"sessionId": "c1", "sessionKey": "agent:main:cli:c1"})
    tiny.answers("POST", "/api/chat", {"runId": "run_1"}, status=202)
    tiny.answers("GET", "/api/runs/run_1/wait", {"runId": "run_1", "status": "ok"})
    tiny.answers("GET", "/api/runs/run_1", {"run": run_of()})
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(PROGRAM[0], [*PROGRAM, "chat", "--url", tiny.url, "--token", "t"])
    seen = read_until(terminal, b"you> ")
    os.write(terminal, b"hello\n")
    seen = read_until(terminal, b"you> ")
    os.write(terminal, b"/quit\n")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0
    assert b"Good morning." in seen


def read_until(terminal: int, words: bytes) -> bytes:
    """Return the terminal's output up to these words; the test's own time limit bounds the wait."""
    seen = b""
    while words not in seen:
        seen += os.read(terminal, 4096)
    return seen
