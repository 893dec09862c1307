"""`carrel connect`, from an empty home to a first answer, and with a server that is running."""

import os
import subprocess
from pathlib import Path

import pytest

from carrel.main.settings import load
from tests.harness.process import ANSWER_SECONDS, CARREL, Ended, Start, clean_environment
from tests.scripted_dialects import ScriptedChat
from tests.scripted_gateway import MODEL, http_error, text

pytestmark = pytest.mark.kinds("chat")

# What the server says to a probe, which asks for nothing.
PROBED = http_error(400, "messages is required")


def written_in(home: Path) -> Path:
    """The settings file of a home on which nothing else is set."""
    return home / ".carrel" / "carrel.toml"


def connect(folder: Path, *words: str, **environment: str) -> Ended:
    """Run the command in a folder that is also its home."""
    whole = [str(CARREL), "connect", *words]
    given = clean_environment(folder, **environment)
    done = subprocess.run(
        whole, cwd=folder, env=given, capture_output=True, text=True, timeout=2 * ANSWER_SECONDS, check=False
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def test_one_command_leads_from_an_empty_home_to_the_first_answer(tmp_path: Path, gateway: ScriptedChat) -> None:
    gateway.script(PROBED, text("Hello there."))
    done = connect(tmp_path, gateway.base_url)
    assert (done.code, done.out) == (0, "Hello there.\n"), done.err
    assert "speaks chat; it lists 1 model." in done.err
    assert "+[gateway.default]" in done.err
    assert "11 tokens in, 7 out" in done.err
    stored = load(written_in(tmp_path), {}, {}).settings.gateway["default"]
    assert (stored.kind, stored.base_url, stored.model) == ("chat", gateway.base_url, MODEL)
    assert written_in(tmp_path).stat().st_mode & 0o077 == 0


def test_on_a_terminal_it_asks_which_server_and_whether_to_write(tmp_path: Path, gateway: ScriptedChat) -> None:
    gateway.script(PROBED)
    person, terminal = os.openpty()
    os.write(person, f"{gateway.base_url}\nn\n".encode())
    given = clean_environment(tmp_path)
    done = subprocess.run(
        [str(CARREL), "connect"], cwd=tmp_path, env=given, stdin=terminal, capture_output=True, text=True,
        timeout=ANSWER_SECONDS, check=False,
    )  # fmt: skip
    os.close(person)
    os.close(terminal)
    said = done.stdout + done.stderr
    assert "Which server (ollama, lmstudio" in said
    assert f"Write {written_in(tmp_path)}? [Y/n]" in said
    assert (done.returncode, "Nothing was changed." in said) == (1, True)
    assert not written_in(tmp_path).exists()


def test_a_running_server_takes_the_model_up_without_a_restart(
    tmp_path: Path, start: Start, gateway: ScriptedChat
) -> None:
    server = start()
    with server.client() as client:
        assert client.get("/api/health").json()["gateways"][0]["name"] == "builtin"
        gateway.script(PROBED, text("Here I am."))
        done = connect(server.folder, gateway.base_url, "--data-dir", str(server.folder))
        assert (done.code, done.out) == (0, "Here I am.\n"), done.err
        rows = {row["name"]: row["value"] for row in client.get("/api/settings").json()["settings"]}
        assert rows["gateway.default.base_url"] == gateway.base_url


def test_a_key_is_named_in_the_file_and_never_written_there(tmp_path: Path, gateway: ScriptedChat) -> None:
    gateway.script(PROBED, text("Thank you."))
    done = connect(tmp_path, gateway.base_url, "--key-env", "MY_KEY", MY_KEY="secret-0123456789")
    assert done.code == 0, done.err
    written = written_in(tmp_path).read_text()
    assert ('api_key_env = "MY_KEY"' in written, "secret" in written + done.out + done.err) == (True, False)
    assert gateway.requests[-1].headers["authorization"] == "Bearer secret-0123456789"


def test_a_server_that_does_not_answer_changes_nothing(tmp_path: Path) -> None:
    done = connect(tmp_path, "http://127.0.0.1:9")
    assert (done.code, "127.0.0.1:9" in done.err) == (3, True)
    assert not written_in(tmp_path).exists()


def test_a_wrong_name_is_told_with_the_nearest(tmp_path: Path) -> None:
    done = connect(tmp_path, "olama")
    assert (done.code, "did you mean ollama?" in done.err) == (2, True)


def test_a_turn_that_fails_is_told_with_its_reason(tmp_path: Path, gateway: ScriptedChat) -> None:
    gateway.script(PROBED, http_error(400, "this model takes no tools"))
    done = connect(tmp_path, gateway.base_url)
    assert (done.code, "this model takes no tools" in done.err) == (1, True)


def test_the_settings_are_read_again_on_a_signal(start: Start, gateway: ScriptedChat) -> None:
    server = start()
    table = f'[gateway.default]\nkind = "chat"\nbase_url = "{gateway.base_url}"\nmodel = "m"\n'
    (server.folder / "carrel.toml").write_text(table)
    gateway.script(text("Heard."))
    changed = [f"gateway.default.{field}" for field in ("kind", "base_url", "model")]
    with server.client() as client:
        assert client.post("/api/settings/reload").json() == {"changed": changed, "needRestart": []}
        (server.folder / "carrel.toml").write_text(f"[runs]\nattempts_max = 2\n{table}")
        assert client.post("/api/settings/reload").json() == {"changed": [], "needRestart": ["runs.attempts_max"]}
        (server.folder / "carrel.toml").write_text("nonsense = 1\n")
        wrong = client.post("/api/settings/reload")
        assert (wrong.status_code, "nonsense" in wrong.json()["error"]["details"]["problems"][0]) == (422, True)
        os.kill(server.started.pid, 1)
        run = client.post("/api/runs", json={"message": "still there?"}).json()["runId"]
        waited = client.get(f"/api/runs/{run}/wait", params={"timeoutSeconds": 20}).json()
    assert waited["reply"] == "Heard.", "a wrong file changes nothing"
