"""The command line against a real server: output and exit codes."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness.process import CARREL, Ended, RunningServer, Start, clean_environment
from tests.requirements.mark import requirement
from tests.scripted_gateway import Gate, ScriptedGateway, calls, http_error, text

OK, FAILED, USAGE, UNREACHABLE, NOT_ALLOWED, TIMED_OUT = range(6)


def read(ended: Ended) -> Any:
    """Return the JSON that a command printed."""
    assert ended.code == OK, ended.err
    return json.loads(ended.out)


def run_id(ended: Ended) -> str:
    """Return the run id that `send` printed."""
    assert ended.code == OK, ended.err
    found = re.fullmatch(r"(run_[0-9a-z]{26})\n", ended.out)
    assert found, ended.out
    return found[1]


def test_a_message_is_sent_awaited_and_looked_at(running: RunningServer, gateway: ScriptedGateway) -> None:
    gateway.rule = lambda request: text("Good morning.")
    answered = running.carrel("send", "main", "hello", "--wait", "20")
    assert (answered.code, answered.out, answered.err) == (OK, "Good morning.\n", "")
    piped = running.carrel("send", "agent:main:cli:from-a-pipe", "-", "--wait", "20", stdin="from a pipe\n")
    assert piped.out == "Good morning.\n"
    sent = run_id(running.carrel("send", "main", "once more"))
    assert running.carrel("runs", "wait", sent).out == "Good morning.\n"
    shown = read(running.carrel("runs", "show", sent, "--json"))["run"]
    assert (shown["state"], shown["message"]["text"]) == ("completed", "once more")
    listed = read(running.carrel("runs", "list", "--json"))["runs"]
    assert [run["message"]["text"] for run in listed] == ["once more", "from a pipe", "hello"]
    assert "once more" in running.carrel("runs", "list").out
    assert "Good morning." in running.carrel("runs", "show", sent).out


def test_a_receipt_is_shown_and_two_are_compared(running: RunningServer, gateway: ScriptedGateway) -> None:
    gateway.rule = lambda request: text("Good.")
    one = run_id(running.carrel("send", "agent:main:cli:receipt-one", "write the report"))
    two = run_id(running.carrel("send", "agent:main:cli:receipt-two", "write the poem"))
    for sent in (one, two):
        assert running.carrel("runs", "wait", sent).code == OK
    shown = running.carrel("runs", "receipt", one)
    assert shown.code == OK
    assert "Step 1" in shown.out
    assert "write the report" in shown.out
    assert "sessions_send" in shown.out
    steps = read(running.carrel("runs", "receipt", one, "--json"))["steps"]
    assert steps[0]["instructionsSha256"] in json.dumps(read(running.carrel("runs", "show", one, "--json")))
    compared = running.carrel("runs", "compare", one, two)
    assert compared.code == OK
    assert "different" in compared.out
    assert "write the poem" in compared.out
    assert running.carrel("runs", "compare", one, one).out == "Both runs saw the same.\n"
    assert running.carrel("runs", "receipt", one, "--step", "7").code == FAILED


@requirement("P.waiting")
def test_a_question_is_listed_explained_answered_and_cancelled(
    running: RunningServer, gateway: ScriptedGateway
) -> None:
    asking = calls(("request_input", {"question": "Which colour?"}))
    gateway.script(asking, text("Blue it is."), asking)
    asked = running.carrel("send", "main", "paint it", "--wait", "20")
    assert asked.code == OK
    assert "Which colour?" in asked.out
    (waiting,) = read(running.carrel("runs", "list", "--state", "waiting", "--json"))["runs"]
    why = read(running.carrel("runs", "why", waiting["id"], "--json"))
    assert why["moving"] is False
    assert why["reasons"][0]["code"] == "waiting_input"
    assert "Which colour?" in running.carrel("runs", "why", waiting["id"]).out
    assert [run["id"] for run in read(running.carrel("status", "--json"))["waiting"]] == [waiting["id"]]
    assert running.carrel("runs", "answer", waiting["id"]).code == USAGE
    assert running.carrel("runs", "answer", waiting["id"], "blue").code == OK
    assert running.carrel("runs", "wait", waiting["id"]).out == "Blue it is.\n"
    assert running.carrel("runs", "answer", waiting["id"], "again").code == FAILED
    other = run_id(running.carrel("send", "main", "paint that too"))
    assert "Which colour?" in running.carrel("runs", "wait", other).out
    assert running.carrel("runs", "cancel", other).code == OK
    again = running.carrel("runs", "cancel", other)
    assert (again.code, "already ended" in again.err) == (FAILED, True)


def test_a_failed_run_says_why_and_is_retried(running: RunningServer, gateway: ScriptedGateway) -> None:
    gateway.script(http_error(400, "not like this"), text("Better."))
    failed = running.carrel("send", "main", "hello", "--wait", "20", "--json")
    assert failed.code == FAILED
    run = json.loads(failed.out)["run"]
    assert "not like this" in run["error"]["message"]
    assert "retry" in running.carrel("runs", "why", run["id"]).out
    retried = run_id(running.carrel("runs", "retry", run["id"]))
    assert running.carrel("runs", "wait", retried).out == "Better.\n"
    assert running.carrel("runs", "retry", retried).code == FAILED


def test_a_lane_shows_its_queue_and_can_be_reset_and_archived(running: RunningServer, gateway: ScriptedGateway) -> None:
    gate = Gate()
    gateway.script(text("First.", before=gate), text("Second."))
    key = "agent:main:cli:busy-lane"
    first, second = (run_id(running.carrel("send", key, line)) for line in ("one", "two"))
    gate.wait_reached()
    queue = read(running.carrel("queue", key, "--json"))
    assert (queue["running"]["id"], [run["id"] for run in queue["runs"]]) == (first, [second])
    assert "lane_busy" in running.carrel("runs", "why", second, "--json").out
    timed_out = running.carrel("runs", "wait", second, "--timeout", "0.2")
    assert timed_out.code == TIMED_OUT
    gate.open()
    assert running.carrel("runs", "wait", second).out == "Second.\n"
    assert read(running.carrel("queue", key, "--json")) == {"running": None, "runs": []}
    assert running.carrel("sessions", "tail", key).out.splitlines() == [
        "user\tone", "assistant\tFirst.", "user\ttwo", "assistant\tSecond.",
    ]  # fmt: skip
    assert "generation 2" in running.carrel("sessions", "reset", key).out
    assert read(running.carrel("sessions", "show", key, "--json"))["session"]["state"] == "closed"
    assert key in running.carrel("sessions", "list").out
    assert key in running.carrel("sessions", "search", "busy-lane").out
    assert running.carrel("sessions", "archive", key).code == OK
    assert key not in running.carrel("sessions", "list").out
    assert running.carrel("sessions", "archive", key, "--undo").code == OK
    assert key in running.carrel("sessions", "list").out


def test_events_are_read_and_followed(running: RunningServer, gateway: ScriptedGateway) -> None:
    gateway.rule = lambda request: text("Good.")
    assert running.carrel("send", "main", "hello", "--wait", "20").code == OK
    events = [json.loads(line) for line in running.carrel("events", "--json").out.splitlines()]
    names = [event["name"] for event in events]
    assert [name for name in names if name.startswith("run.")] == ["run.queued", "run.started", "run.completed"]
    seqs = [event["seq"] for event in events]
    assert seqs == sorted(seqs)
    newest = str(seqs[-1])
    following = subprocess.Popen(
        [CARREL, "events", "--after", newest, "--follow", "--json", "--data-dir", str(running.folder)],
        env=running.environment, cwd=running.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        sent = run_id(running.carrel("send", "main", "hello again"))
        assert following.stdout is not None
        first = json.loads(following.stdout.readline())
        assert (first["name"], first["runId"]) == ("run.queued", sent)
    finally:
        following.kill()
        following.communicate(timeout=10)


def test_agents_and_tokens_are_made_used_and_ended(running: RunningServer, gateway: ScriptedGateway) -> None:
    gateway.rule = lambda request: text(f"I am {request.headers['x-openclaw-agent-id']}.")
    assert running.carrel("agents", "create", "writer", "--name", "Writer", "--model", "deep").code == OK
    assert running.carrel("agents", "create", "writer").code == FAILED
    assert read(running.carrel("agents", "show", "writer", "--json"))["agent"]["model"] == "deep"
    assert running.carrel("send", "writer", "who are you?", "--wait", "20").out == "I am writer.\n"
    assert running.carrel("agents", "update", "writer").code == USAGE
    made = read(running.carrel("token", "create", "agent", "--agent", "writer", "--json"))
    secret, token_id = made["secret"], made["token"]["id"]
    assert read(running.carrel("agents", "list", "--token", secret, "--json"))["agents"]
    assert running.carrel("token", "list", "--token", secret).code == NOT_ALLOWED
    assert token_id in running.carrel("token", "list").out
    assert secret not in running.carrel("token", "list").out
    assert running.carrel("token", "revoke", token_id).code == OK
    assert running.carrel("agents", "list", "--token", secret).code == NOT_ALLOWED
    assert running.carrel("agents", "disable", "writer").code == OK
    assert running.carrel("send", "writer", "are you there?").code in (FAILED, NOT_ALLOWED)


def test_a_piped_chat_answers_line_by_line(running: RunningServer, gateway: ScriptedGateway) -> None:
    gateway.script(text("Hello ", "there."), calls(("request_input", {"question": "Which colour?"})), text("Blue."))
    chatted = running.carrel("chat", "--session", "agent:main:cli:piped-chat", stdin="hello\npaint it\nblue\n")
    assert chatted.code == OK, chatted.err
    assert chatted.out.splitlines() == ["Hello there.", "Blue."]
    assert "Which colour?" in chatted.err


def test_status_and_doctor_tell_how_things_stand(running: RunningServer) -> None:
    status = read(running.carrel("status", "--json"))
    assert (status["url"], status["health"]["status"]) == (running.url, "ready")
    healthy = running.carrel("doctor")
    assert healthy.code == OK, healthy.out
    assert "fail" not in healthy.out
    findings = read(running.carrel("doctor", "--json"))["findings"]
    assert {finding["what"] for finding in findings} >= {"python", "settings"}


def test_a_backup_is_made_while_the_server_works_and_can_be_restored(start: Start, tmp_path: Path) -> None:
    running = start()
    assert running.carrel("send", "main", "remember the blue door", "--wait", "20").code == OK
    copy = tmp_path / "copy.db"
    assert running.carrel("backup", str(copy)).code == OK
    assert running.carrel("restore", str(copy)).code == FAILED, "a server is at work there"
    assert running.stop() == 0
    elsewhere = tmp_path / "elsewhere"
    restored = subprocess.run(
        [CARREL, "restore", str(copy), "--data-dir", str(elsewhere)],
        env=running.environment, cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert restored.returncode == OK, restored.stderr
    (elsewhere / "owner_token").write_text(running.token + "\n")
    again = RunningServer(elsewhere, running.environment)
    try:
        assert "remember the blue door" in again.carrel("sessions", "tail", "main").out
    finally:
        again.close()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("runs", "show", "run_00000000000000000000000000"), FAILED),
        (("sessions", "show", "agent:main:cli:nothing-here"), FAILED),
        (("runs", "frobnicate"), USAGE),
        (("send", "main", "   "), USAGE),
        (("send", "nobody", "hello"), FAILED),
        (("status", "--token", "crl_owner_wrong_wrong"), NOT_ALLOWED),
        (("status", "--url", "http://127.0.0.1:9", "--token", "x"), UNREACHABLE),
    ],
)
def test_what_goes_wrong_ends_with_its_own_number_and_a_sentence(
    running: RunningServer, words: tuple[str, ...], code: int
) -> None:
    ended = running.carrel(*words)
    assert ended.code == code, ended
    assert ended.out == ""
    assert ended.err.strip()
    assert "Traceback" not in ended.err


def test_without_a_server_a_command_says_how_to_start_one(tmp_path: Path) -> None:
    ended = _run(tmp_path)("status")
    assert ended.returncode == UNREACHABLE
    assert "carrel up" in ended.stderr


def _run(folder: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    environment = clean_environment(folder, CARREL_SERVER__PORT="9")
    return lambda *words: subprocess.run(
        [CARREL, *words], env=environment, cwd=folder, capture_output=True, text=True, timeout=30, check=False
    )
