"""`mcp servers` and `agents mcp`: servers in the settings file, and agents that use them."""

import json
import tomllib
from pathlib import Path

import pytest

from tests.connectors.plain import plain
from tests.harness.process import RunningServer, Start
from tests.main.cli.conftest import Carrel
from tests.requirements.mark import requirement

OK, FAILED, USAGE = range(3)
PLAIN = " ".join((plain().command, *plain().args))


@pytest.fixture
def file(clean_machine: Path) -> Path:
    """The settings file, with something in it."""
    path = clean_machine / "carrel.toml"
    path.write_text('# ours\n[log]\nlevel = "error"\n\n[server]\nport = 0\n')
    return path


@requirement("P.mcp.cli")
def test_a_server_is_added_listed_and_removed_and_the_rest_of_the_file_stays(carrel: Carrel, file: Path) -> None:
    before = file.read_text()
    added = carrel("mcp", "servers", "add", "plain", "--command", PLAIN, "--env", "HOME", "--deny", "turn")
    assert added.code == OK
    assert "carrel agents mcp AGENT plain" in added.err
    written = tomllib.loads(file.read_text())["mcp"]["plain"]
    assert written == {"command": plain().command, "args": list(plain().args), "env": ["HOME"], "deny": ["turn"]}
    assert file.read_text().startswith(before)
    again = carrel("mcp", "servers", "add", "plain", "--url", "http://127.0.0.1:1/mcp")
    assert (again.code, "exists already" in again.err) == (FAILED, True)
    assert (
        carrel("mcp", "servers", "add", "other", "--url", "http://127.0.0.1:1/mcp", "--header", "X-Key=HOME").code == OK
    )
    rows = {row["name"]: row for row in json.loads(carrel("mcp", "servers", "list", "--json").out)["servers"]}
    assert (rows["plain"]["starts"], rows["other"]["starts"]) == (PLAIN, "http://127.0.0.1:1/mcp")
    assert carrel("mcp", "servers", "remove", "plain").code == OK
    assert carrel("mcp", "servers", "remove", "other").code == OK
    assert file.read_text() == before
    gone = carrel("mcp", "servers", "remove", "plain")
    assert gone.code == FAILED


@requirement("P.mcp.cli")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("add", "two__names", "--command", "x"), "an MCP server's name"),
        (("add", "plain"), "set either mcp.plain.command or mcp.plain.url"),
        (("add", "plain", "--command", "x", "--env", "KEY=secret"), "names of environment variables, and no values"),
        (("add", "plain", "--url", "http://127.0.0.1", "--header", "X: 1"), "mcp.plain.headers"),
    ],
)
def test_what_could_not_work_is_not_written(carrel: Carrel, file: Path, words: tuple[str, ...], says: str) -> None:
    before = file.read_text()
    ended = carrel("mcp", "servers", *words)
    assert (ended.code, says in ended.err) == (USAGE, True)
    assert file.read_text() == before


@requirement("P.mcp.cli")
def test_a_server_is_tried_where_its_settings_are(carrel: Carrel, file: Path) -> None:
    carrel("mcp", "servers", "add", "plain", "--command", PLAIN)
    tried = carrel("mcp", "servers", "test", "plain", "--json")
    assert [tool["name"] for tool in json.loads(tried.out)["tools"]][:2] == ["plain_look", "plain_change"]
    carrel("mcp", "servers", "add", "gone", "--command", "/nowhere/at-all")
    gone = carrel("mcp", "servers", "test", "gone")
    assert (gone.code, "gone does not work: The command /nowhere/at-all cannot be started" in gone.err) == (
        FAILED,
        True,
    )
    unknown = carrel("mcp", "servers", "test", "plane")
    assert (unknown.code, "they have: gone, plain" in unknown.err) == (FAILED, True)


@requirement("P.mcp.cli", "P.mcp.reload")
def test_a_running_server_takes_up_what_is_added_and_an_agent_is_given_it(start: Start) -> None:
    server: RunningServer = start()
    assert json.loads(server.carrel("agents", "mcp", "main", "--json").out)["servers"] == []
    file = str(server.folder / "carrel.toml")
    added = server.carrel("mcp", "servers", "add", "plain", "--command", PLAIN, "--config", file)
    assert (added.code, "The running server has applied it." in added.out) == (OK, True)
    assert server.carrel("agents", "mcp", "main", "plain").code == OK
    shown = json.loads(server.carrel("agents", "mcp", "main", "--json").out)
    assert (shown["agent"]["mcp"], shown["servers"][0]["status"]) == (["plain"], "idle")
    assert server.carrel("agents", "mcp", "main", "--none").code == OK
