"""Fixtures of the command line's tests: a tiny API server, a clean environment, and streams that act as terminals."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from carrel.main.cli import main
from tests.bridge.tiny_server import TinyServer
from tests.harness.process import Ended
from tests.sdk_agent import remote

__all__ = ["Carrel", "remote", "run_of"]


class Terminal(io.StringIO):
    """A stream that acts as a terminal."""

    def isatty(self) -> bool:
        return True


Carrel = Callable[..., Ended]
# What moves OpenClaw's configuration.
OPENCLAW = ("OPENCLAW_HOME", "OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH", "OPENCLAW_PROFILE")


@pytest.fixture(autouse=True)
def clean_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CARREL_URL", "CARREL_TOKEN", "NO_COLOR", *OPENCLAW):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def carrel(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Carrel:
    """Run a command in this process, with output that is not a terminal."""

    def run(*words: str, stdin: str = "") -> Ended:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        capsys.readouterr()
        try:
            code = main(list(words))
        except SystemExit as ended:
            code = int(ended.code or 0)
        written = capsys.readouterr()
        return Ended(code, written.out, written.err)

    return run


@pytest.fixture
def at(carrel: Carrel, tiny: TinyServer) -> Carrel:
    """Run a command against the tiny server."""
    return lambda *words, stdin="": carrel(*words, "--url", tiny.url, "--token", "crl_owner_1_x", stdin=stdin)


@pytest.fixture
def on_terminal(carrel: Carrel, monkeypatch: pytest.MonkeyPatch, tiny: TinyServer) -> Carrel:
    """Run a command against the tiny server, with a terminal as output."""

    def run(*words: str, stdin: str = "") -> Ended:
        out, err = Terminal(), Terminal()
        with monkeypatch.context() as streams:
            streams.setattr("sys.stdout", out)
            streams.setattr("sys.stderr", err)
            ended = carrel(*words, "--url", tiny.url, "--token", "crl_owner_1_x", stdin=stdin)
        return Ended(ended.code, out.getvalue(), err.getvalue())

    return run


def run_of(**changes: object) -> dict[str, object]:
    """A run as the API shows it, with some fields changed."""
    run: dict[str, object] = {
        "id": "run_1",
        "agentId": "main",
        "sessionKey": "agent:main:cli:c1",
        "state": "completed",
        "message": {"id": "ent_1", "text": "hello\nthere"},
        "reply": "Good morning.",
        "error": None,
        "reason": None,
        "queuePosition": None,
        "createdAt": "2026-01-01T00:00:00.000Z",
    }
    return run | changes
