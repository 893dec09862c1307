"""`status`, `doctor` and `init`."""

import json
import re
import sys
from pathlib import Path
from typing import Any

from carrel.main.cli.server import CONFIG_TEXT
from carrel.main.settings import load
from tests.bridge.tiny_server import Asked, TinyServer
from tests.gateway.acp.agents import PROGRAM as CODER
from tests.main.cli.conftest import Carrel, run_of
from tests.requirements.mark import requirement


def standing_server(tiny: TinyServer) -> None:
    checks = {"storage": "ok", "gateway": "degraded"}
    tiny.answers("GET", "/healthz", {"status": "ok", "version": "0.1.0"})
    counts = {"lanes": {"busy": 2, "queued": 5}, "waiting": {"person": 1, "program": 3}}
    tiny.answers("GET", "/api/health", {"status": "ready", "checks": checks, **counts})
    tiny.answers("GET", "/readyz", {"status": "not_ready", "checks": checks | {"storage": "failed"}}, status=503)
    me = {"actor": {"kind": "owner", "id": "usr_1"}, "account": {"slug": "default"}}
    tiny.answers("GET", "/api/auth/me", me)
    waiting = run_of(state="waiting", waitingFor="input", reply="Which?")
    failed = run_of(state="failed", error={"message": "away"})

    def runs(asked: Asked) -> tuple[int, Any]:
        return 200, {"runs": [waiting] if asked.query.get("waitingFor") == "person" else [failed]}

    tiny.does("GET", "/api/runs", runs)


def test_status_shows_lanes_and_what_waits(at: Carrel, on_terminal: Carrel, tiny: TinyServer) -> None:
    standing_server(tiny)
    shown = at("status").out
    for line in ("lanes busy\t2", "runs queued\t5", "waiting for you\t1", "recent failures\t1", "unhealthy\tgateway"):
        assert line in shown
    assert "waiting for a program\t3" in shown
    assert "Waiting for your input: Which?" in on_terminal("status").out
    assert json.loads(at("status", "--json").out)["health"]["lanes"] == {"busy": 2, "queued": 5}


def test_doctor_says_what_is_wrong_and_what_to_do(at: Carrel, tiny: TinyServer, clean_machine: Path) -> None:
    standing_server(tiny)
    ended = at("doctor", "--data-dir", str(clean_machine / "none"))
    assert ended.code == 1
    lines = ended.out.splitlines()
    assert lines[0].startswith("ok    python: 3.")
    for line in ("fail  storage: failed", "warn  gateway: degraded", "ok    token: owner of account default"):
        assert line in lines


def test_doctor_without_a_server_looks_at_port_directory_and_store(carrel: Carrel, clean_machine: Path) -> None:
    folder = clean_machine / "folder"
    folder.mkdir()
    (folder / "owner_token").write_text("x", encoding="utf-8")
    (folder / "owner_token").chmod(0o644)
    (folder / "carrel.db").write_text("not a database", encoding="utf-8")
    ended = carrel("doctor", "--data-dir", str(folder), "--json")
    states = {(row["what"], row["state"]) for row in json.loads(ended.out)["findings"]}
    assert {("owner token", "fail"), ("store", "fail"), ("data directory", "ok"), ("server", "warn")} <= states
    assert ended.code == 1


def test_doctor_names_the_line_to_change_for_a_server_of_another_dialect(
    carrel: Carrel, tiny: TinyServer, clean_machine: Path
) -> None:
    tiny.answers("POST", "/v1/chat/completions", {"error": {"message": "messages is required"}}, status=400)
    (clean_machine / "carrel.toml").write_text(f'[gateway.mine]\nkind = "responses"\nbase_url = "{tiny.url}"\n')
    done = carrel("doctor")
    assert f"fail  gateway.mine: {tiny.url} speaks chat, not responses" in done.out
    assert 'Write kind = "chat" in [gateway.mine].' in done.out


def test_doctor_knows_openclaw_and_the_kind_that_it_takes(
    carrel: Carrel, tiny: TinyServer, clean_machine: Path
) -> None:
    tiny.answers("POST", "/v1/responses", {"error": {"message": "model is required"}}, status=400)
    tiny.answers("GET", "/v1/models", {"data": [{"id": "openclaw"}, {"id": "openclaw/main"}]})
    for kind, advice in (("responses", 'Write kind = "openclaw" in [gateway.mine]'), ("openclaw", "speaks openclaw")):
        (clean_machine / "carrel.toml").write_text(f'[gateway.mine]\nkind = "{kind}"\nbase_url = "{tiny.url}"\n')
        assert advice in carrel("doctor").out


@requirement("P.acp.health")
def test_doctor_starts_a_coding_agent_and_asks_who_it_is(carrel: Carrel, clean_machine: Path) -> None:
    begun = f'[gateway.mine]\nkind = "acp"\ncommand = "{sys.executable}"\nargs = ["-S", "{CODER}"'
    (clean_machine / "carrel.toml").write_text(f"{begun}]\n")
    assert f"ok    gateway.mine: {sys.executable} speaks the Agent Client Protocol: scripted 1" in carrel("doctor").out
    (clean_machine / "carrel.toml").write_text(f'{begun}, "dies at once"]\n')
    done = carrel("doctor")
    assert "fail  gateway.mine: " in done.out
    assert "Its last output: I cannot even start." in done.out
    (clean_machine / "carrel.toml").write_text('[gateway.mine]\nkind = "acp"\ncommand = "no-such-agent"\n')
    assert "there is no command no-such-agent" in carrel("doctor").out


def test_doctor_with_wrong_settings_names_them(carrel: Carrel, clean_machine: Path) -> None:
    (clean_machine / "carrel.toml").write_text("prot = 1", encoding="utf-8")
    ended = carrel("doctor")
    assert ended.code == 1
    assert "did you mean server.port?" in ended.out


def test_init_writes_a_file_that_changes_nothing_and_overwrites_only_when_forced(
    carrel: Carrel, clean_machine: Path
) -> None:
    path = clean_machine / ".carrel" / "carrel.toml"
    assert carrel("init").code == 0
    assert path.stat().st_mode & 0o777 == 0o600
    again = carrel("init")
    assert again.code == 1
    assert "--force" in again.err
    path.write_text("[server]\nport = 1", encoding="utf-8")
    assert carrel("init", "--force").code == 0
    assert "port = 1" not in path.read_text(encoding="utf-8").splitlines()


def test_every_line_of_the_written_settings_is_valid_once_its_mark_is_taken_away() -> None:
    opened = [line.removeprefix("# ") for line in CONFIG_TEXT.splitlines() if re.match(r"(# )?(\[|\w+ = )", line)]
    Path("carrel.toml").write_text("\n".join(opened), encoding="utf-8")
    loaded = load(None, {}, {})
    assert sum(row.source == "file" for row in loaded.rows) > 12
    assert loaded.settings.gateway["default"].kind == "responses"
