"""Completion: what is offered at each place of a command line, and the scripts that ask for it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.bridge.tiny_server import TinyServer
from tests.main.cli.conftest import Carrel

KEY = "agent:main:cli:report"


def offered(carrel: Carrel, *words: str) -> list[str]:
    ended = carrel("complete", "--", *words)
    assert ended.err == ""
    return ended.out.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("sess",), ["sessions"]),
        (("runs", "ans"), ["answer"]),
        (("runs", "list", "--st"), ["--state"]),
        (("runs", "--state", "c"), ["completed", "cancelled"]),
        (("runs", "c"), ["cancel", "compare"]),
        (("runs", "list", "--state", "c"), ["completed", "cancelled"]),
        (("tasks", "move", "report", "--reason", "x", "do"), ["done", "doing"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        (("send", "--wait", "--js"), ["--json"]),
        (("com",), ["completion"]),
    ],
)
def test_commands_options_and_states_are_offered(carrel: Carrel, words: tuple[str, ...], expected: list[str]) -> None:
    assert offered(carrel, *words) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("send", ""), ["main", "writer", KEY]),
        (("agents", "show", "w"), ["writer"]),
        (("sessions", "tail", "agent:"), [KEY]),
        (("runs", "list", "--session", ""), [KEY]),
        (("runs", "show", ""), ["last", "run_1", "run_2"]),
        (("runs", "compare", "last", "run_2"), ["run_2"]),
        (("runs", "show", "last", ""), []),
    ],
)
def test_what_the_server_lists_is_offered(
    carrel: Carrel, tiny: TinyServer, words: tuple[str, ...], expected: list[str]
) -> None:
    tiny.answers("GET", "/api/agents", {"agents": [{"id": "main"}, {"id": "writer"}]})
    tiny.answers("GET", "/api/sessions", {"sessions": [{"sessionKey": KEY}]})
    tiny.answers("GET", "/api/runs", {"runs": [{"id": "run_1"}, {"id": "run_2"}]})
    *typed, begun = words
    there = ("--url", tiny.url, "--token", "t")
    assert offered(carrel, *typed[:2], *there, *typed[2:], begun) == expected


def test_without_a_server_nothing_is_offered_and_nothing_is_said(carrel: Carrel) -> None:
    assert offered(carrel, "runs", "show", "--url", "http://127.0.0.1:9", "") == []
    assert offered(carrel, "no", "such", "thing", "") == []


def test_files_are_offered_where_a_file_is_taken(carrel: Carrel, clean_machine: Path) -> None:
    (clean_machine / "store.db").touch()
    assert offered(carrel, "restore", "sto") == ["store.db"]


def test_the_script_for_bash_asks_and_keeps_what_is_before_the_last_colon(carrel: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/sessions", {"sessions": [{"sessionKey": KEY}]})
    program = f"{sys.executable} -c 'import sys; from carrel.main.cli import main; sys.exit(main())'"
    line = f"carrel sessions tail --url {tiny.url} --token t agent:main:cl"
    ask = f'COMP_LINE="{line}"; COMP_POINT={len(line)}; _carrel; echo "${{COMPREPLY[@]}}"'
    script = "\n".join([carrel("completion", "bash").out, f'carrel() {{ {program} "$@"; }}', ask])
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=20)
    assert (done.stdout.strip(), done.stderr) == ("cli:report", "")


@pytest.mark.parametrize(("shell", "words"), [("zsh", "#compdef carrel"), ("fish", "complete -c carrel")])
def test_every_script_asks_the_hidden_command(carrel: Carrel, shell: str, words: str) -> None:
    script = carrel("completion", shell).out
    assert script.startswith(words)
    assert " complete -- " in script
    assert "complete " not in carrel("--help").out.replace("completion", "")
