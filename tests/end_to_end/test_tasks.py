"""Tasks from outside: two agents, two tasks and two accounts with the same names, at a gateway that records."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from tests.harness.process import RunningServer, Start, reaching
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Gate, Request, ScriptedGateway, calls, text

AGENTS = ("main", "writer")
TASKS = ("report", "letter")
WAIT_SECONDS = 20
# Unlike `<n>` in the description of a tool, a mark names an account and a task.
MARK = re.compile(r"<[\w-]+\.[\w./-]+>")


class Accounts:
    """Two accounts of one server, whose agents, tasks and people have the same names."""

    def __init__(self, running: RunningServer, tokens: dict[str, str]) -> None:
        self.tokens = tokens
        self._stack = ExitStack()
        self.clients = {slug: self._stack.enter_context(running.client(token)) for slug, token in tokens.items()}

    def close(self) -> None:
        self._stack.close()

    def post(self, account: str, path: str, **body: Any) -> dict[str, Any]:
        """Post to the API of one account."""
        answer = self.clients[account].post(path, json=body)
        assert answer.status_code < 300, answer.text
        return dict(answer.json())

    def say(self, account: str, task: str, words: str, *, wait: bool = True) -> list[str]:
        """Write to the thread of a task; return the runs that tell agents of it, once they have ended."""
        posted = self.post(account, f"/api/tasks/{task}/messages", content=f"@all {words}")
        runs = [told["runId"] for told in posted["notified"] if "runId" in told]
        return self.wait(account, runs) if wait else runs

    def wait(self, account: str, runs: list[str]) -> list[str]:
        """Wait for runs."""
        for run in runs:
            ended = self.clients[account].get(f"/api/runs/{run}/wait", params={"timeoutSeconds": WAIT_SECONDS})
            assert ended.json()["status"] == "ok", ended.text
        return runs

    def wait_until_quiet(self, account: str, task: str) -> None:
        """Wait until agents tell each other nothing more about a task."""
        live = ("queued", "running")
        while runs := [
            run["id"] for run in self.get(account, f"/api/runs?taskId={task}")["runs"] if run["state"] in live
        ]:
            self.wait(account, runs)

    def get(self, account: str, path: str) -> dict[str, Any]:
        """Get from the API of one account."""
        answer = self.clients[account].get(path)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


def accounts_of(running: RunningServer) -> dict[str, str]:
    """Create the second account, and the same agents and tasks in both; return their tokens."""
    with running.client() as owner:
        other = owner.post("/api/accounts", json={"name": "Other", "slug": "other"}).json()["ownerToken"]
    tokens = {"default": running.token, "other": other}
    for slug, token in tokens.items():
        with running.client(token) as client:
            assert client.post("/api/agents", json={"id": "writer", "name": "Writer"}).status_code == 201
            for task in TASKS:
                made = {"id": task, "title": f"Title <{slug}.{task}>", "assignedAgentIds": list(AGENTS)}
                assert client.post("/api/tasks", json=made).status_code == 201
    return tokens


@pytest.fixture
def accounts(running: RunningServer, gateway: ScriptedGateway) -> Iterator[Accounts]:
    """Both accounts; the gateway repeats every mark that it is shown, so that what leaks once leaks further."""
    gateway.rule = repeat_marks
    opened = Accounts(running, accounts_of(running))
    for slug in opened.clients:
        for task in TASKS:
            runs = opened.get(slug, f"/api/runs?taskId={task}")["runs"]
            opened.wait(slug, [run["id"] for run in runs])
    yield opened
    opened.close()


def repeat_marks(request: Request) -> Answer:
    """Answer with every mark of the request."""
    return text(" ".join(sorted(set(MARK.findall(request.body.decode())))) or "Nothing.")


def foreign_marks(gateway: ScriptedGateway) -> list[tuple[str, str]]:
    """Return (address, mark) of every mark that stands in a request of another task or account."""
    found = []
    for request in gateway.requests:
        address = request.json["user"]
        key, _, account = address.partition("@")
        task = key.split(":")[3] if ":task:" in key else ""
        mine = f"<{account or 'default'}.{task}"
        found += [(address, mark) for mark in MARK.findall(request.body.decode()) if not mark.startswith(mine)]
    return found


def steps_of(gateway: ScriptedGateway, address: str, words: str) -> list[Request]:
    """Return the first two requests of a session that hold some words; answers of others are told to it as well."""
    asked = [request for request in gateway.requests if request.json["user"] == address]
    return [request for request in asked if words.encode() in request.body][:2]


def addresses(gateway: ScriptedGateway) -> set[str]:
    """Return under which addresses the gateway was spoken to."""
    return {request.json["user"] for request in gateway.requests}


@requirement("S0.session.pair.agents", "S0.session.pair.tasks", "S0.session.address")
def test_every_pair_of_task_and_agent_has_its_own_session_and_hears_nothing_of_the_others(
    accounts: Accounts, gateway: ScriptedGateway
) -> None:
    for account in accounts.clients:
        for task in TASKS:
            accounts.say(account, task, f"<{account}.{task}.first>")
            accounts.say(account, task, f"<{account}.{task}.second>")
    expected = {
        f"agent:{agent}:task:{task}:v1{suffix}" for agent in AGENTS for task in TASKS for suffix in ("", "@other")
    }
    assert addresses(gateway) == expected
    assert foreign_marks(gateway) == []
    second = [request for request in gateway.requests if b".report.second>" in request.body]
    assert second
    assert all(b".report.first>" in request.body for request in second), "its own past is there"


def closings(accounts: Accounts) -> list[tuple[str, str, str]]:
    """Return id, time and reason of the closing of every session of the report."""
    sessions = accounts.get("default", "/api/tasks/report/sessions")["sessions"]
    return [(session["sessionId"], session["closedAt"], session["closedReason"]) for session in sessions]


@requirement("S0.close.done", "S0.reopen.noop", "S0.reopen.fresh", "S0.session.next")
def test_a_reopened_task_begins_anew_and_other_tasks_go_on(accounts: Accounts, gateway: ScriptedGateway) -> None:
    for task in TASKS:
        accounts.say("default", task, f"<default.{task}.old>")
    accounts.clients["default"].patch("/api/tasks/report", json={"status": "done"}).raise_for_status()
    sessions = closings(accounts)
    assert [reason for _, _, reason in sessions] == ["task_done"] * 2
    accounts.post("default", "/api/tasks/report/reopen")
    assert closings(accounts) == sessions
    accounts.say("default", "report", "<default.report.new>")
    accounts.say("default", "letter", "<default.letter.new>")
    # What agents tell each other about the old words may still be under way; it is not what this looks at.
    asked = [request for request in gateway.requests if b".new>" in request.body]
    assert {request.json["user"] for request in asked} == {
        f"agent:{agent}:task:{lane}" for agent in AGENTS for lane in ("report:v2", "letter:v1")
    }
    for request in asked:
        assert (b"<default.report.old>" in request.body) is False
        assert (b"<default.letter.old>" in request.body) is (":letter:" in request.json["user"])
    history = accounts.get("default", "/api/tasks/report/history")
    assert any("<default.report.old>" in message["content"] for message in history["messages"]), "people keep it"


@requirement("S0.route.continuation", "S0.send.everyturn", "S0.send.layers")
def test_a_tool_result_goes_back_to_the_same_session_with_instructions_and_tools(
    accounts: Accounts, gateway: ScriptedGateway
) -> None:

    def answer(request: Request) -> Answer:
        is_first = request.json["input"][-1].get("type") != "function_call_output"
        return calls(("session_status", {})) if is_first else text("Looked.")

    gateway.rule = answer
    posted = accounts.post("other", "/api/tasks/report/messages", content="@writer look")
    accounts.wait("other", [told["runId"] for told in posted["notified"] if told["id"] == "writer"])
    first, second = steps_of(gateway, "agent:writer:task:report:v1@other", "@writer look")
    assert first.json["instructions"] == second.json["instructions"] != ""
    assert first.json["tools"] == second.json["tools"] != []
    assert second.json["input"][-1]["type"] == "function_call_output"


@requirement("S0.session.pair.tasks", "S0.reopen.fresh", "P.kill")
def test_all_of_it_is_the_same_after_a_power_cut(start: Start, gateway: ScriptedGateway) -> None:
    gateway.rule = repeat_marks
    environment = reaching(gateway) | {"CARREL_RUNS__LEASE_SECONDS": "1"}
    first = start(**environment)
    tokens = accounts_of(first)
    before = Accounts(first, tokens)
    before.say("default", "report", "<default.report.old>")
    before.wait_until_quiet("default", "report")
    before.clients["default"].patch("/api/tasks/report", json={"status": "done"}).raise_for_status()
    before.post("default", "/api/tasks/report/reopen")
    gate = Gate()
    gateway.rule = lambda request: text("Never said.", before=gate)
    cut = {slug: before.say(slug, "report", f"<{slug}.report.cut>", wait=False) for slug in before.clients}
    gate.wait_reached()
    first.kill()
    before.close()
    gate.open()
    gateway.rule = repeat_marks
    after = Accounts(start(**environment), tokens)
    for slug, runs in cut.items():
        after.wait(slug, runs)
        after.say(slug, "letter", f"<{slug}.letter.after>")
    assert foreign_marks(gateway) == []
    renewed = [request for request in gateway.requests if request.json["user"] == "agent:main:task:report:v2"]
    assert renewed
    shown = [str(item) for request in renewed for item in request.json["input"] if "report.old" in str(item)]
    assert shown == []
    assert not any("Never said." in json.dumps(after.get(slug, "/api/tasks/report/thread")) for slug in tokens)
    after.close()


@requirement("S0.history.available", "S0.history.account", "S0.reopen.fresh")
def test_an_agent_that_asks_for_the_history_is_shown_its_own_accounts_past_and_nothing_more(
    accounts: Accounts, gateway: ScriptedGateway
) -> None:
    for slug in accounts.clients:
        accounts.say(slug, "report", f"<{slug}.report.old>")
    accounts.clients["default"].patch("/api/tasks/report", json={"status": "done"}).raise_for_status()
    accounts.post("default", "/api/tasks/report/reopen")

    def answer(request: Request) -> Answer:
        is_first = request.json["input"][-1].get("type") != "function_call_output"
        return calls(("task_history", {"taskId": "report"})) if is_first else text("Read.")

    gateway.rule = answer
    posted = accounts.post("default", "/api/tasks/report/messages", content="@writer what was said?")
    accounts.wait("default", [told["runId"] for told in posted["notified"] if told["id"] == "writer"])
    first, second = steps_of(gateway, "agent:writer:task:report:v2", "what was said?")
    assert b"<default.report.old>" not in first.body
    assert "<default.report.old>" in second.json["input"][-1]["output"]
    assert b"<other." not in second.body


@requirement("S0.history.account", "S0.history.shape")
def test_the_history_of_a_task_is_that_of_its_account(accounts: Accounts) -> None:
    accounts.say("default", "report", "<default.report.secret>")
    assert "<default.report.secret>" in json.dumps(accounts.get("default", "/api/tasks/report/history"))
    theirs = accounts.get("other", "/api/tasks/report/history")
    assert "<default." not in json.dumps(theirs)
    assert set(theirs) == {"task", "messages", "activities", "meta"}
    accounts.post("default", "/api/tasks", id="only-here", title="Only here")
    missing = httpx.codes.NOT_FOUND
    assert accounts.clients["other"].get("/api/tasks/only-here/history").status_code == missing
    assert accounts.clients["other"].get("/api/tasks/nowhere/history").status_code == missing
