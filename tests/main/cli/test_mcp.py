"""`mcp`: the official client works over stdio, faults are reported, and client configurations are merged safely."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from tests.harness.process import CARREL, START_SECONDS, RunningServer, clean_environment, servers_in
from tests.main.cli.conftest import Carrel

WAIT_SECONDS_MAX = 30.0
PING = '{"jsonrpc":"2.0","id":7,"method":"ping"}\n'


def started(server: RunningServer, *words: str) -> StdioServerParameters:
    """Return how a client starts us next to a running server."""
    args = ["mcp", "--data-dir", str(server.folder), *words]
    return StdioServerParameters(command=str(CARREL), args=args, env=server.environment)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_official_client_works_over_stdio(tmp_path: Path, mode: str) -> None:
    with servers_in(tmp_path) as start:
        server = start()
        with server.client() as owner:
            owner.post("/api/runs", json={"message": "hello", "sessionKey": "agent:main:hook:t1"}).raise_for_status()
        where = started(server, "--session", "agent:main:hook:t1")
        async with Client(where, mode=mode, read_timeout_seconds=WAIT_SECONDS_MAX) as client:
            assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
            assert "session_status" in {tool.name for tool in (await client.list_tools()).tools}
            stood = await client.call_tool("session_status", {})
            refused = await client.call_tool("session_status", {"sessionKey": "agent:main:task:none"})
        assert stood.structured_content["sessionKey"] == "agent:main:hook:t1"
        assert refused.is_error


def test_faults_are_reported_as_protocol_errors(tmp_path: Path, carrel: Carrel) -> None:
    nobody = carrel("mcp", "--url", "http://127.0.0.1:9", "--token", "x", stdin=PING)
    error = json.loads(nobody.out)
    assert (nobody.code, error["id"], error["error"]["code"]) == (0, 7, -32000)
    assert "carrel up" in error["error"]["message"]
    quiet = carrel(
        "mcp", "--url", "http://127.0.0.1:9", stdin='{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    )
    assert quiet.out == "", "nobody waits for an answer to this"
    for line, code in (("nonsense\n", -32700), ("[]\n", -32600)):
        assert json.loads(carrel("mcp", "--url", "http://127.0.0.1:9", stdin=line).out)["error"]["code"] == code


def test_settings_that_cannot_be_read_are_reported_and_not_waited_for(carrel: Carrel, clean_machine: Path) -> None:
    (clean_machine / "carrel.toml").write_text("nonsense = 1\n")
    error = json.loads(carrel("mcp", stdin=PING).out)["error"]
    assert (error["code"], "nonsense" in error["message"]) == (-32000, True)


def test_a_token_that_is_not_known_is_reported_in_the_servers_own_words(tmp_path: Path, carrel: Carrel) -> None:
    with servers_in(tmp_path) as start:
        server = start()
        answer = json.loads(carrel("mcp", "--url", server.url, "--token", "crl_owner_a_b", stdin=PING).out)
        assert answer["error"]["data"]["error"]["code"] == "unauthenticated"
        many = "".join(PING.replace("7", str(n)) for n in range(50))
        ended = server.carrel("mcp", stdin=many)
    assert sorted(json.loads(line)["id"] for line in ended.out.splitlines()) == list(range(50))


def test_the_pipes_import_neither_the_server_nor_the_sdk(tmp_path: Path) -> None:
    program = (
        "import sys; from carrel.main.cli import main; code = main(['mcp', '--url', 'http://127.0.0.1:9']); "
        "heavy = {'mcp', 'pydantic', 'starlette', 'uvicorn', 'apsw', 'a2a'} & set(sys.modules); "
        "sys.exit(str(heavy) if heavy else code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=PING,
        env=clean_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("client", "file", "names"),
    [
        ("claude", ".mcp.json", ["mcpServers"]),
        ("cursor", ".cursor/mcp.json", ["mcpServers"]),
        ("openclaw", ".openclaw/openclaw.json", ["mcp", "servers"]),
    ],
)
def test_a_json_file_gets_our_entry_and_keeps_the_rest(
    carrel: Carrel, clean_machine: Path, client: str, file: str, names: list[str]
) -> None:
    path = clean_machine / file
    path.parent.mkdir(exist_ok=True)
    kept = {"theme": "dark", names[0]: {"other": {"command": "x"}} if len(names) == 1 else {"servers": {}}}
    path.write_text(json.dumps(kept))
    path.chmod(0o600)
    written = carrel("mcp", "config", client, "--write", "--session", "main")
    assert written.code == 0, written.err
    assert '+      "command": "carrel",' in written.out or '"command": "carrel"' in written.out
    found = json.loads(path.read_text())
    assert found["theme"] == "dark"
    inner = found
    for name in names:
        inner = inner[name]
    assert inner["carrel"] == {"command": "carrel", "args": ["mcp", "--session", "main"]}
    assert path.stat().st_mode & 0o777 == 0o600
    again = carrel("mcp", "config", client, "--write", "--session", "main")
    assert (again.code, again.out) == (0, "")


def test_a_toml_file_gets_a_table_at_its_end_and_another_of_that_name_stays(
    carrel: Carrel, clean_machine: Path
) -> None:
    path = clean_machine / ".codex" / "config.toml"
    first = carrel("mcp", "config", "codex", "--write")
    assert (first.code, path.read_text()) == (
        0,
        '[mcp_servers.carrel]\ncommand = "carrel"\nargs = ["mcp"]\n',
    )
    path.write_text('model = "x" # mine\n\n[mcp_servers.carrel]\ncommand = "else"\n')
    refused = carrel("mcp", "config", "codex", "--write")
    assert refused.code == 1
    assert "by hand" in refused.err
    assert path.read_text().startswith('model = "x" # mine')


@pytest.mark.parametrize("before", ['mcp_servers = { other = { command = "x" } }\n', "mcp_servers = 3\n"])
def test_a_toml_file_that_no_table_can_be_added_to_is_left_alone(
    carrel: Carrel, clean_machine: Path, before: str
) -> None:
    path = clean_machine / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text(before)
    refused = carrel("mcp", "config", "codex", "--write")
    assert (refused.code, path.read_text()) == (1, before)
    assert "mcp_servers" in refused.err.splitlines()[0]
    assert "by hand" in refused.err


def test_comments_in_a_configuration_of_openclaw_stay(
    carrel: Carrel, clean_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = clean_machine / "claw.json5"
    path.write_text("{\n  gateway: { port: 1 }, // the door\n}\n")
    monkeypatch.setenv("OPENCLAW_CONFIG_PATH", str(path))
    assert carrel("mcp", "config", "openclaw", "--write").code == 0
    written = path.read_text()
    assert written.startswith("{\n  gateway: { port: 1 }, // the door\n  mcp: {\n")
    assert 'command: "carrel"' in written


def test_without_write_the_entry_is_printed_and_nothing_is_touched(carrel: Carrel, clean_machine: Path) -> None:
    shown = carrel("mcp", "config", "claude", "--url", "http://server:8787", "--token", "crl_owner_a_secret")
    assert json.loads(shown.out) == {
        "mcpServers": {"carrel": {"command": "carrel", "args": ["mcp", "--url", "http://server:8787"]}}
    }
    assert "secret" not in shown.out
    assert "CARREL_TOKEN" in shown.err
    assert not (clean_machine / ".mcp.json").exists()


def test_what_cannot_be_understood_is_left_alone(carrel: Carrel, clean_machine: Path) -> None:
    path = clean_machine / ".mcp.json"
    path.write_text("{ // a comment\n")
    refused = carrel("mcp", "config", "claude", "--write")
    assert refused.code == 1
    assert path.read_text() == "{ // a comment\n"
    assert carrel("mcp", "config").code == 2
    assert carrel("mcp", "config", "emacs").code == 2
