"""`carrel tasks` against a real server: what it prints, what it accepts for a task, and how it ends."""

import json
import subprocess
import threading
from typing import Any

import pytest

from tests.harness.process import CARREL, Ended, RunningServer
from tests.scripted_gateway import Gate, ScriptedGateway, text

OK, FAILED, USAGE, UNREACHABLE, NOT_ALLOWED, TIMED_OUT = range(6)
WATCH_SECONDS = 20.0


@pytest.fixture
def staffed(running: RunningServer, gateway: ScriptedGateway) -> RunningServer:
    """A server with the agents main and writer."""
    gateway.rule = lambda _: text("On it.")
    with running.client() as client:
        assert client.post("/api/agents", json={"id": "writer", "name": "Writer"}).status_code == 201
    return running


def made(ended: Ended) -> str:
    """Return the id that `create` printed."""
    assert ended.code == OK, ended.err
    return ended.out.strip()


def read(ended: Ended) -> Any:
    """Return the JSON that a command printed."""
    assert ended.code == OK, ended.err
    return json.loads(ended.out)


def test_a_title_and_an_agent_are_all_it_takes(staffed: RunningServer) -> None:
    task = made(staffed.carrel("tasks", "create", "Write the report", "--assign", "main"))
    shown = read(staffed.carrel("tasks", "show", task, "--json"))
    assert shown["task"]["assignedAgentIds"] == ["main"]
    (run,) = read(staffed.carrel("runs", "list", "--task", task, "--json"))["runs"]
    assert run["sessionKey"] == f"agent:main:task:{task}"
    assert staffed.carrel("runs", "wait", run["id"]).out == "On it.\n"
    listed = staffed.carrel("tasks").out.split("\t")
    assert (listed[0], listed[-1]) == (task, "Write the report\n")
    assert read(staffed.carrel("tasks", "--json"))["tasks"][0]["id"] == task
    assert "Main: On it." in staffed.carrel("tasks", "show", "last").out


def test_every_option_of_a_new_task_is_kept(staffed: RunningServer) -> None:
    options = ("--description", "All of it.", "--priority", "high", "--tag", "press", "--tag", "urgent")
    task = made(staffed.carrel("tasks", "create", "Call", *options, "--assign", "owners", "--assign", "writer"))
    kept = read(staffed.carrel("tasks", "show", task, "--json"))["task"]
    assert (kept["description"], kept["priorityLabel"], kept["tags"]) == ("All of it.", "high", ["press", "urgent"])
    assert (kept["assignedAgentIds"], kept["assignedUserIds"]) == (["writer"], ["owners"])
    assert "All of it." in staffed.carrel("tasks", "show", task).out


def test_a_task_is_named_by_the_beginning_of_its_id(staffed: RunningServer) -> None:
    for name in ("report-one", "report-two", "letter"):
        made(staffed.carrel("tasks", "create", name.title(), "--id", name))
    assert read(staffed.carrel("tasks", "show", "let", "--json"))["task"]["id"] == "letter"
    assert read(staffed.carrel("tasks", "show", "last", "--json"))["task"]["id"] == "letter"
    several = staffed.carrel("tasks", "show", "report")
    assert several.code == USAGE
    assert "report-one" in several.err
    missing = staffed.carrel("tasks", "why", "nothing")
    assert (missing.code, missing.err.count("\n")) == (FAILED, 1)


def test_without_a_task_last_says_how_to_create_one(staffed: RunningServer) -> None:
    ended = staffed.carrel("tasks", "show", "last")
    assert (ended.code, "carrel tasks create" in ended.err) == (FAILED, True)


def test_a_message_shows_whom_it_told_and_waits_for_the_replies(staffed: RunningServer) -> None:
    task = made(staffed.carrel("tasks", "create", "Talk", "--assign", "main"))
    (first,) = read(staffed.carrel("runs", "list", "--task", task, "--json"))["runs"]
    assert staffed.carrel("runs", "wait", first["id"]).code == OK
    told = staffed.carrel("tasks", "message", task, "@writer what now?").out.split("\t")
    assert told[:2] == ["writer", "mention"]
    waited = staffed.carrel("tasks", "message", "last", "-", "--wait", "20", stdin="@all hello\n")
    assert waited.code == OK, waited.err
    assert sorted(waited.out.splitlines()) == ["main: On it.", "writer: On it."]
    answered = read(staffed.carrel("tasks", "message", "last", "@main hello", "--wait", "20", "--json"))
    assert [run["reply"] for run in answered["runs"]] == ["On it."]


def test_a_reply_that_is_late_says_how_to_wait_on(staffed: RunningServer, gateway: ScriptedGateway) -> None:
    gate = Gate()
    gateway.rule = lambda _: text("Late.", before=gate)
    task = made(staffed.carrel("tasks", "create", "Talk"))
    ended = staffed.carrel("tasks", "message", task, "@main hello", "--wait", "0")
    assert (ended.code, "carrel runs wait" in ended.err) == (TIMED_OUT, True)
    gate.open()


def test_a_task_is_moved_done_reopened_stopped_and_explained(staffed: RunningServer) -> None:
    task = made(staffed.carrel("tasks", "create", "Walk"))
    assert "Nobody is assigned" in staffed.carrel("tasks", "why", task).out
    refused = staffed.carrel("tasks", "move", task, "assigned")
    assert (refused.code, "assignee" in refused.err) == (FAILED, True)
    assert staffed.carrel("tasks", "assign", task, "owners").out == f"{task} is assigned, assigned to owners.\n"
    assert staffed.carrel("tasks", "done", task).out == f"{task} is done.\n"
    assert "The task is done." in staffed.carrel("tasks", "why", task).out
    assert staffed.carrel("tasks", "reopen", task).out == f"{task} is review.\n"
    assert staffed.carrel("tasks", "move", task, "blocked", "--reason", "No paper.").out == f"{task} is blocked.\n"
    assert "No paper." in staffed.carrel("tasks", "why", task).out
    assert read(staffed.carrel("tasks", "why", task, "--json"))["moving"] is False
    assert staffed.carrel("tasks", "stop", task).code == OK
    off = staffed.carrel("tasks", "assign", task, "owners", "--remove")
    assert "assigned to nobody" in off.out
    assert staffed.carrel("tasks", "move", task, "nowhere").code == USAGE


def test_stopping_says_how_many_runs_it_cancelled(staffed: RunningServer, gateway: ScriptedGateway) -> None:
    gate = Gate()
    gateway.rule = lambda _: text("Late.", before=gate)
    task = made(staffed.carrel("tasks", "create", "Work", "--assign", "main"))
    gate.wait_reached()
    assert staffed.carrel("tasks", "stop", task).out == f"{task} is blocked, 1 run cancelled.\n"


def test_watching_shows_the_thread_who_works_and_the_status(staffed: RunningServer, gateway: ScriptedGateway) -> None:
    gate = Gate()
    gateway.rule = lambda _: text("Done with it.", before=gate)
    task = made(staffed.carrel("tasks", "create", "Watch", "--assign", "main"))
    gate.wait_reached()
    command = [str(CARREL), "tasks", "watch", "last", "--data-dir", str(staffed.folder)]
    watching = subprocess.Popen(
        command, env=staffed.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    alarm = threading.Timer(WATCH_SECONDS, watching.kill)
    alarm.start()
    try:
        assert watching.stdout is not None
        assert watching.stdout.readline().startswith("main is working on an answer")
        gate.open()
        assert watching.stdout.readline() == "Main: Done with it.\n"
        assert watching.stdout.readline() == "The task is now in_progress.\n"
        staffed.carrel("tasks", "message", task, "Thank you.")
        assert watching.stdout.readline().endswith(": Thank you.\n")
    finally:
        alarm.cancel()
        watching.kill()
        watching.wait()
        watching.stdout.close()  # type: ignore[union-attr]


def test_watching_as_json_points_to_the_events(staffed: RunningServer) -> None:
    ended = staffed.carrel("tasks", "watch", "last", "--json")
    assert (ended.code, "carrel events" in ended.err) == (USAGE, True)


def test_a_task_is_edited_and_archived_for_good(staffed: RunningServer) -> None:
    task = made(staffed.carrel("tasks", "create", "Paint"))
    assert (
        staffed.carrel("tasks", "edit", task, "--title", "Paint it", "--priority", "high").out == f"{task}: Paint it\n"
    )
    assert staffed.carrel("tasks", "edit", task).code == USAGE
    assert "pass --yes" in staffed.carrel("tasks", "delete", task).err
    assert staffed.carrel("tasks", "delete", task, "--yes").out == (
        "Archived; its runs are cancelled, and it can still be read.\n"
    )
    kept = read(staffed.carrel("tasks", "show", task, "--json"))["task"]
    assert (kept["title"], kept["priorityLabel"], kept["status"]) == ("Paint it", "high", "archived")


def test_tasks_that_are_open_are_listed(staffed: RunningServer) -> None:
    tasks = [made(staffed.carrel("tasks", "create", title)) for title in ("Paint", "Sell")]
    assert staffed.carrel("tasks", "move", tasks[0], "In-Progress").code == OK
    assert staffed.carrel("tasks", "done", tasks[0]).code == OK
    listed = read(staffed.carrel("tasks", "list", "--status", "open", "--json"))["tasks"]
    assert [task["id"] for task in listed] == tasks[1:]
