"""The TypeScript client: compiled and installed as a package, run by Node, against a real server."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.dashboard.node import CLIENT, ROOT, NoNode, install, node_and_npm, program, run
from tests.harness.process import RunningServer, servers_in
from tests.requirements.mark import requirement

pytestmark = pytest.mark.timeout(600)
GUIDE = ROOT / "docs" / "guides" / "typescript-client.md"
QUIET = {"CARREL_CLASSIFIER__MODE": "off"}
SECONDS_MAX = 60
# What the package of the client needs, which is installed for the dashboard.
NEEDED = ("openapi-fetch", "openapi-typescript-helpers")

FOLLOW = """
import { followEvents } from "carrel-client";
const server = { url: process.env.CARREL_URL, token: process.env.CARREL_TOKEN };
for await (const frame of followEvents(server, { events: ["run.completed"] })) {
  console.log(frame.kind, frame.event?.runId ?? "");
}
"""
CALLS = """
import { createCarrel, followEvents, readAll } from "carrel-client";
const server = { url: process.env.CARREL_URL, token: process.env.CARREL_TOKEN };
const carrel = createCarrel(server);
const told = async (call) => call().then(() => "nothing", ({ status, code, field, passing, message }) =>
  [status, code, field, passing, message.length > 10].join(" "));
console.log(await told(() => carrel.POST("/api/runs", { body: { agentId: "main", message: 7 } })));
console.log(await told(() => carrel.GET("/api/tasks/{id}", { params: { path: { id: "nothing" } } })));
console.log(await told(() => createCarrel({ url: "http://127.0.0.1:9" }).GET("/api/tasks")));
console.log(await told(async () => { for await (const _ of followEvents({ ...server, token: "wrong" })); }));
for (let n = 0; n < 3; n += 1) await carrel.POST("/api/tasks", { body: { title: `task ${n}` } });
const pages = await readAll(
  (cursor) => carrel.GET("/api/tasks", { params: { query: { limit: 1, cursor } } }).then(({ data }) => data),
  ({ tasks }) => tasks, 2);
console.log(pages.rows.length, pages.more);
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the client is installed."""
    try:
        modules = install()
    except NoNode:
        pytest.skip("Node 20 or newer with npm is not installed")
    folder = tmp_path_factory.mktemp("consumer")
    installed = folder / "node_modules" / "carrel-client"
    shutil.copytree(CLIENT, installed, ignore=shutil.ignore_patterns("node_modules", "dist"))
    for name in NEEDED:
        (folder / "node_modules" / name).symlink_to(modules / name)
    run(program("tsc", "-p", "."), where=installed)
    return folder


def started(package: Path, served: RunningServer, script: str) -> subprocess.Popen[str]:
    """Start a script of somebody who uses the package."""
    environment = os.environ | {"CARREL_URL": served.url, "CARREL_TOKEN": served.token}
    command = [node_and_npm()[0], "--input-type=module", "--eval", script]
    return subprocess.Popen(command, cwd=package, env=environment, stdout=subprocess.PIPE, text=True)


def lines_of(package: Path, served: RunningServer, script: str) -> list[str]:
    """Return what a script has printed when it has ended well."""
    node = started(package, served, script)
    printed, _ = node.communicate(timeout=SECONDS_MAX)
    assert node.returncode == 0
    return printed.splitlines()


@requirement("P.client.typescript")
def test_what_the_guide_shows_works_as_it_says(package: Path, served: RunningServer) -> None:
    examples = re.findall(r"```js\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    printed = [lines_of(package, served, example) for example in examples]
    assert [lines[0].split()[0] for lines in printed] == ["ok", "401", "run.completed"]
    assert printed[1:] == [["401 unauthenticated false"], ["run.completed agent:main:main"]]


@requirement("P.client.typescript")
def test_a_refusal_says_what_was_wrong_and_a_list_is_read_page_by_page(package: Path, served: RunningServer) -> None:
    assert lines_of(package, served, CALLS) == [
        "400 invalid_params message false true",
        "404 not_found  false true",
        "0 unreachable  true true",
        "401 unauthenticated  false true",
        "2 true",
    ]


@requirement("P.client.typescript")
def test_a_stream_goes_on_behind_the_last_event_after_the_server_was_killed(package: Path, tmp_path: Path) -> None:
    def completed(server: RunningServer) -> str:
        with server.client() as http:
            run_id: str = http.post("/api/runs", json={"agentId": "main", "message": "hello"}).json()["runId"]
            assert http.get(f"/api/runs/{run_id}/wait", params={"timeoutSeconds": 20}).json()["status"] == "ok"
        return run_id

    with servers_in(tmp_path) as start:
        server = start(**QUIET)
        follower = started(package, server, FOLLOW)
        assert follower.stdout is not None
        try:
            assert follower.stdout.readline().split() == ["ready"]
            first = completed(server)
            assert follower.stdout.readline().split() == ["event", first]
            server.kill()
            again = start("--port", server.url.rpartition(":")[2], **QUIET)
            others = [completed(again), completed(again)]
            heard = [line for _ in range(3) if (line := follower.stdout.readline().split()) != ["ready"]]
            assert heard == [["event", run_id] for run_id in others]
        finally:
            follower.kill()
            follower.wait()
            follower.stdout.close()
