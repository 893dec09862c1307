"""`openclaw setup`, `check` and `remove`, on configurations as people and OpenClaw write them."""

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from carrel.kernel import SystemClock
from carrel.main.json5 import read
from carrel.main.openclaw_config import config_path, gateway_secret, gateway_url, plugin_folder
from tests.bridge.tiny_server import Asked, TinyServer, tiny_server
from tests.harness.process import ANSWER_SECONDS, CARREL, Ended, RunningServer, servers_in

GATEWAY_TOKEN = "gateway-token-0123"
BY_HAND = """\
// The gateway of the barn.
{
  gateway: {
    mode: "local", // on this machine
    port: %d,
    auth: { mode: "token", token: "gateway-token-0123" },
  },
  channels: { telegram: { enabled: true } }, // ask Ann before you change this
}
"""
# What the plugin makes of its queue.
QUEUE = """
CREATE TABLE waiting (id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, body TEXT NOT NULL);
CREATE TABLE refused (id INTEGER PRIMARY KEY, body TEXT NOT NULL, reason TEXT NOT NULL);
CREATE TABLE sender (one INTEGER PRIMARY KEY CHECK (one = 1), owner TEXT, until INTEGER);
"""
AN_HOUR_MS = 3_600_000


@pytest.fixture
def openclaw() -> Iterator[TinyServer]:
    """A gateway as one that runs: it answers, and refuses a request for nothing as the real one does."""
    with tiny_server() as running:

        def responses(asked: Asked) -> tuple[int, Any]:
            known = {name.lower(): value for name, value in asked.headers.items()}.get(
                "authorization"
            ) == f"Bearer {GATEWAY_TOKEN}"
            return (400, {"error": {"message": "model: Invalid input"}}) if known else (401, {})

        running.answers("GET", "/health", {"ok": True, "status": "live"})
        running.does("POST", "/v1/responses", responses)
        yield running


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with servers_in(tmp_path_factory.mktemp("carrel")) as start:
        yield start()


@pytest.fixture
def running(served: RunningServer) -> Iterator[RunningServer]:
    """The server of this file; what a test leaves in its folder and its users go with the test."""
    environment = dict(served.environment)
    yield served
    served.environment = environment
    for name in (".openclaw", ".carrel"):
        shutil.rmtree(served.folder / name, ignore_errors=True)
    (served.folder / "carrel.toml").unlink(missing_ok=True)
    with served.client() as client:
        for user in client.get("/api/users").json()["users"]:
            client.delete(f"/api/users/{user['id']}").raise_for_status()


@pytest.fixture
def config(running: RunningServer, openclaw: TinyServer) -> Path:
    """OpenClaw's configuration in the home of whoever types."""
    path = running.folder / ".openclaw" / "openclaw.json"
    path.parent.mkdir()
    path.write_text(BY_HAND % int(openclaw.url.rpartition(":")[2]))
    return path


def found(config: Path) -> Any:
    """What a configuration says."""
    return read(config.read_text()).value


def queue_of(running: RunningServer, *, waiting: int = 0, lease_ms: int = AN_HOUR_MS) -> None:
    """Leave the queue of a plugin that is alive, unless its lease has ended."""
    path = running.folder / ".carrel" / "openclaw-queue.sqlite"
    path.parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(QUEUE)
        db.execute("INSERT INTO sender VALUES (1, 'plugin', ?)", (SystemClock().now_ms() + lease_ms,))
        db.executemany("INSERT INTO waiting (session, body) VALUES (?, ?)", [("s", "{}")] * (waiting + 3))
        db.execute("DELETE FROM waiting WHERE id <= 3")


def findings(ended: Ended) -> dict[str, dict[str, str]]:
    """The findings of a check by what they are about; of two, the one that is worse."""
    order = ("ok", "warn", "fail")
    listed = sorted(json.loads(ended.out)["findings"], key=lambda finding: order.index(finding["state"]))
    return {finding["what"]: finding for finding in listed}


def test_one_command_writes_all_that_openclaw_needs_and_keeps_the_rest(running: RunningServer, config: Path) -> None:
    before = config.read_text()
    config.chmod(0o644)
    done = running.carrel("openclaw", "setup", "--yes")
    assert done.code == 0, done.err
    assert "takes this up by itself" in done.err
    settings = found(config)
    entry = settings["plugins"]["entries"]["carrel"]
    assert entry["enabled"] is True
    assert entry["hooks"] == {"allowConversationAccess": True}
    assert entry["config"]["baseUrl"] == running.url
    assert settings["plugins"]["load"]["paths"] == [str(plugin_folder())]
    assert settings["gateway"]["http"]["endpoints"]["responses"] == {"enabled": True}
    assert settings["mcp"]["servers"]["carrel"]["args"][0] == "mcp"
    assert settings["channels"] == {"telegram": {"enabled": True}}
    lines = config.read_text().splitlines()
    assert [line for line in before.splitlines() if line not in lines] == [], "what was there is there as it was"
    assert config.stat().st_mode & 0o077 == 0, "a token is in it"
    backup = config.with_name("openclaw.json.before-carrel")
    assert (backup.read_text(), backup.stat().st_mode & 0o077) == (before, 0)


def test_the_token_is_a_users_and_no_more_than_the_plugin_needs(running: RunningServer, config: Path) -> None:
    done = running.carrel("openclaw", "setup", "--yes")
    token = found(config)["plugins"]["entries"]["carrel"]["config"]["token"]
    assert token not in done.out + done.err
    with running.client(token) as client:
        assert client.get("/api/auth/me").json()["actor"]["kind"] == "user"
        entry = {"type": "conversation", "content": "hello", "source": {"sessionKey": "a2a:ann"}}
        assert client.post("/api/log", json=entry).status_code == 201
        assert client.get("/api/context", params={"sessionKey": "a2a:ann", "q": "hello"}).status_code == 200
        assert client.get("/api/tokens").status_code == 403


def test_a_second_time_there_is_nothing_to_do(running: RunningServer, config: Path) -> None:
    running.carrel("openclaw", "setup", "--yes")
    written = config.read_text()
    again = running.carrel("openclaw", "setup", "--yes")
    assert (again.code, again.out) == (0, "")
    assert "Nothing to do" in again.err
    assert config.read_text() == written
    with running.client() as client:
        assert len(client.get("/api/tokens").json()["tokens"]) == 2
        assert len(client.get("/api/users").json()["users"]) == 1


def test_a_token_that_is_revoked_is_replaced(running: RunningServer, config: Path) -> None:
    running.carrel("openclaw", "setup", "--yes")
    old = found(config)["plugins"]["entries"]["carrel"]["config"]["token"]
    with running.client() as client:
        client.delete(f"/api/tokens/tok_{old.split('_')[2]}").raise_for_status()
    assert running.carrel("openclaw", "setup", "--yes").code == 0
    new = found(config)["plugins"]["entries"]["carrel"]["config"]["token"]
    with running.client(new) as client:
        assert client.get("/api/auth/me").status_code == 200


def test_a_dry_run_shows_the_difference_and_changes_nothing(running: RunningServer, config: Path) -> None:
    before = config.read_text()
    shown = running.carrel("openclaw", "setup", "--dry-run")
    assert shown.code == 0
    assert '+          token: "<a new token>",' in shown.out
    assert ("-  channels" in shown.out, GATEWAY_TOKEN in shown.out) == (False, False)
    as_json = json.loads(running.carrel("openclaw", "setup", "--dry-run", "--json").out)
    assert (as_json["written"], as_json["changes"][0]["file"]) == (False, str(config))
    assert config.read_text() == before
    with running.client() as client:
        assert client.get("/api/users").json()["users"] == []


def test_without_a_yes_nothing_is_written(running: RunningServer, config: Path) -> None:
    before = config.read_text()
    refused = running.carrel("openclaw", "setup")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    person, terminal = os.openpty()
    os.write(person, b"n\n")
    done = subprocess.run(
        [str(CARREL), "openclaw", "setup", "--data-dir", str(running.folder)], cwd=running.folder,
        env=running.environment, stdin=terminal, capture_output=True, text=True, timeout=ANSWER_SECONDS, check=False,
    )  # fmt: skip
    os.close(person)
    os.close(terminal)
    assert (done.returncode, "Nothing was changed." in done.stderr) == (1, True)
    assert config.read_text() == before


def test_what_openclaw_wrote_itself_stays_plain_json(running: RunningServer, config: Path) -> None:
    settings = found(config) | {"plugins": {"allow": ["telegram"], "load": {"paths": ["/other/plugin"]}}}
    config.write_text(json.dumps(settings, indent=2) + "\n")
    assert running.carrel("openclaw", "setup", "--yes").code == 0
    plugins = json.loads(config.read_text())["plugins"]
    assert plugins["allow"] == ["telegram", "carrel"], "an allow list is all that is loaded"
    assert plugins["load"]["paths"] == ["/other/plugin", str(plugin_folder())]


def test_the_plugin_of_another_checkout_gives_way(running: RunningServer, config: Path, tmp_path: Path) -> None:
    other = tmp_path / "other-checkout"
    other.mkdir()
    (other / "openclaw.plugin.json").write_text('{"id": "carrel"}')
    config.write_text(json.dumps(found(config) | {"plugins": {"load": {"paths": [str(other)]}}}))
    assert running.carrel("openclaw", "setup", "--yes").code == 0
    assert found(config)["plugins"]["load"]["paths"] == [str(plugin_folder())]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{ gateway: \n  { port: 1 ", "is not valid JSON5: line 2, column 13: a comma or } is missing"),
        ("[]", "is not an object in braces"),
        ('{ plugins: { $include: "./plugins.json5" } }', "plugins is read from another file"),
        ("{ plugins: 7 }", "plugins is not an object"),
        ('{ gateway: { mode: "remote" } }', "on another machine"),
    ],
)
def test_a_configuration_that_cannot_be_changed_is_left_alone(
    running: RunningServer, config: Path, text: str, said: str
) -> None:
    config.write_text(text)
    refused = running.carrel("openclaw", "setup", "--yes")
    assert (refused.code, said in refused.err) == (1, True), refused.err
    assert config.read_text() == text


def test_without_a_configuration_it_is_said_how_to_get_one(running: RunningServer) -> None:
    refused = running.carrel("openclaw", "setup", "--yes")
    assert (refused.code, "openclaw onboard" in refused.err) == (1, True)
    assert findings(running.carrel("openclaw", "check", "--json"))["configuration"]["state"] == "fail"


def test_a_file_that_is_kept_read_only_stays_so(running: RunningServer, config: Path) -> None:
    config.chmod(0o400)
    refused = running.carrel("openclaw", "setup", "--yes")
    assert (refused.code, f"chmod u+w {config}" in refused.err) == (1, True), refused.err
    config.chmod(0o600)
    running.environment["OPENCLAW_CONFIG_READONLY"] = "1"
    refused = running.carrel("openclaw", "setup", "--yes")
    assert (refused.code, "OPENCLAW_CONFIG_READONLY" in refused.err) == (1, True)
    assert "plugins" not in found(config)
    with running.client() as client:
        assert client.get("/api/users").json()["users"] == [], "no token is made that nobody can use"


def test_a_gateway_that_does_not_reload_has_to_be_restarted(running: RunningServer, config: Path) -> None:
    config.write_text(config.read_text().replace('mode: "local",', 'mode: "local", reload: { mode: "off" },'))
    assert "openclaw gateway restart" in running.carrel("openclaw", "setup", "--yes").err


def test_as_a_backend_the_gateway_and_its_token_get_into_the_settings(running: RunningServer, config: Path) -> None:
    shown = json.loads(running.carrel("openclaw", "setup", "--backend", "--dry-run", "--json").out)
    changes = {Path(change["file"]).name: change["diff"] for change in shown["changes"]}
    assert set(changes) == {"openclaw.json", "openclaw_gateway_token", "carrel.toml"}
    assert GATEWAY_TOKEN not in changes["openclaw_gateway_token"] + changes["carrel.toml"]
    for line in ("+[gateway.default]", '+kind = "openclaw"', f'+base_url = "{gateway_url(found(config), {})}"'):
        assert line in changes["carrel.toml"]
    (running.folder / "carrel.toml").write_text('[gateway.default]\nkind = "chat"\nbase_url = "http://127.0.0.1:9"\n')
    shown = json.loads(running.carrel("openclaw", "setup", "--backend", "--dry-run", "--json").out)
    assert "+[gateway.openclaw]" in shown["changes"][-1]["diff"], "a model that is connected stays the default"


def test_removing_takes_everything_back_and_revokes_the_token(running: RunningServer, config: Path) -> None:
    before = config.read_text()
    running.carrel("openclaw", "setup", "--yes")
    token = found(config)["plugins"]["entries"]["carrel"]["config"]["token"]
    done = running.carrel("openclaw", "remove", "--yes")
    assert done.code == 0, done.err
    kept = {"http": {"endpoints": {"responses": {"enabled": True}}}}
    expected = read(before).value
    expected["gateway"] |= kept
    assert found(config) == expected, "others may use the endpoint by now"
    with running.client(token) as client:
        assert client.get("/api/auth/me").status_code == 401
    again = running.carrel("openclaw", "remove", "--yes")
    assert (again.code, "Nothing to do" in again.err) == (0, True)


def test_a_pair_that_works_has_nothing_missing(running: RunningServer, config: Path) -> None:
    running.carrel("openclaw", "setup", "--yes")
    queue_of(running)
    ended = running.carrel("openclaw", "check", "--json")
    states = {what: finding["state"] for what, finding in findings(ended).items()}
    assert (ended.code, set(states.values())) == (0, {"ok"}), ended.out
    assert "has taken 3 entries" in findings(ended)["outbox"]["found"]
    glance = running.carrel("doctor")
    assert f"ok    openclaw: {config} is set up, and the plugin is alive" in glance.out


@pytest.mark.parametrize(
    ("old", "new", "what", "said"),
    [
        ("enabled: true,\n        hooks", "enabled: false,\n        hooks", "plugin", "enabled is not true"),
        ("allowConversationAccess: true", "allowConversationAccess: false", "hooks", "sees no conversation"),
        ("plugins: {", 'plugins: { deny: ["carrel"],', "plugin", "plugins.deny names carrel"),
        ("plugins: {", 'plugins: { allow: ["telegram"],', "plugin", "plugins.allow does not name carrel"),
        ("plugins: {", "plugins: { enabled: false,", "plugin", "plugins.enabled is false"),
        ("paths: [", "paths: [], was: [", "plugin", "no folder in plugins.load.paths"),
        ("crl_user_", "crl_user_x", "carrel", "does not take the plugin's token"),
        ('command: "', 'command: "/no/such', "mcp", "is not a program"),
        (GATEWAY_TOKEN, "another", "endpoint", "the gateway refuses its token"),
    ],
)
def test_what_is_missing_is_named_with_what_mends_it(
    running: RunningServer, config: Path, old: str, new: str, what: str, said: str
) -> None:
    running.carrel("openclaw", "setup", "--yes")
    queue_of(running)
    assert old in config.read_text()
    config.write_text(config.read_text().replace(old, new))
    ended = running.carrel("openclaw", "check", "--json")
    finding = findings(ended)[what]
    assert (ended.code, finding["state"], said in finding["found"]) == (1, "fail", True), finding
    assert finding["advice"]


def test_a_gateway_in_which_the_endpoint_is_off_has_to_be_restarted(
    running: RunningServer, config: Path, openclaw: TinyServer
) -> None:
    running.carrel("openclaw", "setup", "--yes")
    openclaw.answers("POST", "/v1/responses", {}, status=404)
    finding = findings(running.carrel("openclaw", "check", "--json"))["endpoint"]
    assert (finding["state"], "Restart" in finding["advice"]) == ("fail", True)


def test_a_plugin_without_a_sign_of_life_and_entries_that_wait_are_told(running: RunningServer, config: Path) -> None:
    running.carrel("openclaw", "setup", "--yes")
    nothing = findings(running.carrel("openclaw", "check", "--json"))
    assert nothing["plugin in the gateway"]["state"] == "fail"
    queue_of(running, waiting=2, lease_ms=-AN_HOUR_MS)
    ended = running.carrel("openclaw", "check", "--json")
    assert (ended.code, findings(ended)["plugin in the gateway"]["state"]) == (1, "fail")
    assert "2 entries wait" in findings(ended)["outbox"]["found"]
    assert "carrel openclaw check" in running.carrel("doctor").out


def test_doctor_says_nothing_of_an_openclaw_that_does_not_name_the_plugin(running: RunningServer, config: Path) -> None:
    assert "openclaw" not in running.carrel("doctor").out


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "{home}/.openclaw/openclaw.json"),
        ({"OPENCLAW_HOME": "/srv/claw"}, "/srv/claw/.openclaw/openclaw.json"),
        ({"OPENCLAW_STATE_DIR": "/srv/state"}, "/srv/state/openclaw.json"),
        ({"OPENCLAW_HOME": "/srv/claw", "OPENCLAW_STATE_DIR": "~/state"}, "/srv/claw/state/openclaw.json"),
        ({"OPENCLAW_PROFILE": "rescue"}, "{home}/.openclaw-rescue/openclaw.json"),
        ({"OPENCLAW_STATE_DIR": "/srv/state", "OPENCLAW_CONFIG_PATH": "/etc/claw.json5"}, "/etc/claw.json5"),
    ],
)
def test_the_configuration_is_looked_for_where_openclaw_looks(variables: dict[str, str], expected: str) -> None:
    assert str(config_path(variables)) == expected.format(home=Path.home())
    assert str(config_path(variables, Path("/its/folder"))) == "/its/folder/openclaw.json"


def test_the_gateway_is_reached_as_its_configuration_says() -> None:
    assert gateway_url({}, {}) == "http://127.0.0.1:18789"
    assert gateway_url({"gateway": {"port": 1, "tls": {"enabled": True}}}, {}) == "https://127.0.0.1:1"
    assert gateway_url({"gateway": {"port": 1}}, {"OPENCLAW_GATEWAY_PORT": "2"}) == "http://127.0.0.1:2"
    assert gateway_secret({"gateway": {"auth": {"token": "${MY_TOKEN}"}}}, {"MY_TOKEN": "x"}) == "x"
    assert gateway_secret({"gateway": {"auth": {"mode": "password", "password": "p"}}}, {}) == "p"
    assert gateway_secret({"gateway": {"auth": {"mode": "none"}}}, {}) == ""
    assert gateway_secret({}, {"OPENCLAW_GATEWAY_TOKEN": "from the environment"}) == "from the environment"
