"""An agent does a task with real MCP servers, and Carrel is killed in the middle of a call of one."""

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.dashboard.node import NoNode
from tests.end_to_end.test_board import get, post
from tests.harness.process import RunningServer, Start, reaching
from tests.mcp_servers.installed import filesystem_server, git_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import ScriptedGateway, calls, text

# Node and the servers are installed the first time.
pytestmark = pytest.mark.timeout(600)
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
)
# After a commit: says that it is made, and does not come back before it is let go.
HOOK = "#!/bin/sh\necho made > {made}\nread line < {let_go}\n"
REPORT = "The spelling is right now, and it is committed once."
WAIT_SECONDS = 20


class Work:
    """A repository with a misspelt file, and a hook that holds the server after each commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes = folder / "notes.md"
        self.made, self.let_go = folder.with_name("made"), folder.with_name("let_go")
        folder.mkdir()
        self.git("init", "--quiet")
        self.git("config", "user.name", "Writer")
        self.git("config", "user.email", "writer@example.org")
        self.notes.write_text("This is teh plan.\n")
        (folder / "plan.png").write_bytes(PNG)
        self.git("add", ".")
        self.git("commit", "--quiet", "-m", "Begin")
        os.mkfifo(self.made)
        os.mkfifo(self.let_go)
        hook = folder / ".git" / "hooks" / "post-commit"
        hook.write_text(HOOK.format(made=self.made, let_go=self.let_go))
        hook.chmod(0o755)

    def git(self, *words: str) -> str:
        """Run Git in the repository; return what it says."""
        done = subprocess.run(["git", *words], cwd=self.folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path / "work")


@pytest.fixture
def environment(work: Work, gateway: ScriptedGateway) -> dict[str, str]:
    """What makes both servers those of the settings."""
    try:
        commands = {"FILES": filesystem_server(work.folder), "REPO": git_server(work.folder)}
    except NoNode:
        pytest.skip("Node 20 or newer with npm is not installed")
    servers: dict[str, str] = {}
    for name, (command, *args) in commands.items():
        prefix = f"CARREL_MCP__{name}__"
        servers |= {f"{prefix}COMMAND": command, f"{prefix}ARGS": json.dumps(args), f"{prefix}START_SECONDS": "300"}
    return {**reaching(gateway), **servers}


def script(work: Work, gateway: ScriptedGateway, task: str) -> None:
    """What the model does, step by step."""
    here = {"repo_path": str(work.folder)}
    edit = {"path": str(work.notes), "edits": [{"oldText": "teh", "newText": "the"}]}
    gateway.script(
        calls(
            ("files_read_text_file", {"path": str(work.notes)}),
            ("files_read_media_file", {"path": str(work.folder / "plan.png")}),
        ),
        calls(("files_edit_file", edit)),
        calls(("repo_git_add", {**here, "files": ["notes.md"]})),
        calls(("repo_git_commit", {**here, "message": "Spell it right"})),
        # After the restart.
        calls(("repo_git_log", here)),
        calls(("task_status", {"taskId": task, "status": "review"})),
        text(REPORT),
    )


def run_of(client: httpx.Client, task: str) -> dict[str, Any]:
    """The run of a task once it has ended or waits for somebody."""
    run: dict[str, Any] = get(client, "/api/runs", taskId=task)["runs"][-1]
    while run["state"] in ("queued", "running"):
        get(client, f"/api/runs/{run['id']}/wait", timeoutSeconds=WAIT_SECONDS)
        run = get(client, f"/api/runs/{run['id']}")["run"]
    return run


def results(gateway: ScriptedGateway) -> list[dict[str, Any]]:
    """The results of tools that the model was sent last, oldest first."""
    found = []
    for item in gateway.requests[-1].json["input"]:
        if item.get("type") == "function_call_output":
            output = item["output"]
            found.append(json.loads(output if isinstance(output, str) else output[0]["text"]))
    return found


@requirement("P.mcp.agent", "P.mcp.approval", "P.mcp.fate", "P.mcp.end", "P.mcp.results")
def test_an_agent_corrects_a_file_and_a_kill_in_its_commit_makes_no_second_one(
    start: Start, work: Work, environment: dict[str, str], gateway: ScriptedGateway
) -> None:
    running: RunningServer = start(**environment)
    with running.client() as client:
        rules = {"allow": ["*"], "ask": ["files_edit_file", "files_write_file"]}
        client.patch("/api/agents/main", json={"mcp": ["files", "repo"], "tools": rules}).raise_for_status()
        task = post(client, "/api/tasks", title="Correct the notes")["task"]["id"]
        script(work, gateway, task)
        client.patch(f"/api/tasks/{task}", json={"assignedAgentIds": ["main"]}).raise_for_status()
        waiting = run_of(client, task)
        assert waiting["state"] == "waiting", waiting
        assert waiting["note"].startswith("May main use edit_file of the MCP server files? (files_edit_file)")
        assert work.notes.read_text() == "This is teh plan.\n"
        read, picture = results(gateway)
        assert "This is teh plan." in read["text"]
        assert picture["files"][0]["mimeType"] == "image/png"
        (kept,) = get(client, f"/api/runs/{waiting['id']}/artifacts")["artifacts"]
        assert client.get(f"/api/artifacts/{kept['id']}/content").content == PNG
        post_answer(client, waiting["id"])
    # The commit is made, and Carrel does not know it yet.
    assert work.made.read_text() == "made\n"
    running.kill()
    running = start(**environment)
    with running.client() as client:
        ended = run_of(client, task)
        assert (ended["state"], ended["reply"]) == ("completed", REPORT), ended
        assert get(client, f"/api/tasks/{task}/thread")["messages"][-1]["content"] == REPORT
        assert get(client, f"/api/tasks/{task}")["task"]["status"] == "review"
    told = [one for one in results(gateway) if one.get("ok") is False]
    assert [one["error"]["code"] for one in told] == ["fate_unknown"]
    assert work.notes.read_text() == "This is the plan.\n"
    assert work.git("log", "--format=%s").splitlines() == ["Spell it right", "Begin"]


def post_answer(client: httpx.Client, run_id: str) -> None:
    """Approve what a run asks."""
    client.post(f"/api/runs/{run_id}/answer", json={"approve": True}).raise_for_status()
