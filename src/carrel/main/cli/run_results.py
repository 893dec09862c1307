"""Waiting for a run and showing its result; shared by the commands that send messages."""

import json
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from carrel.bridge import Client, Fault, Refused, Run, TimedOut
from carrel.kernel import MS_PER_SECOND, SystemClock, elapsed_seconds
from carrel.main.cli.command import Exit, Option, option
from carrel.main.cli.output import Screen

WAITING = "waiting for the reply…"


def wait_option(seconds: float) -> Option:
    """Return the option --wait of a command; `seconds` is its default."""
    text = "wait for the reply, at most S seconds (default: %(const)g)"
    return option("--wait", "S", text, type=float, nargs="?", const=seconds, field="")


# The codes of runs that are held: their message says until when.
_HELD = ("budget_used_up", "loop_suspected")


def fault_reporter(screen: Screen) -> Callable[[Fault], None]:
    """Return what tells a person which attempt failed, why, and when the next one starts; each once."""
    told: set[tuple[int, bool]] = set()

    def tell(fault: Fault) -> None:
        attempt = (fault.attempt, fault.unreachable_since is not None)
        if attempt in told:
            return
        told.add(attempt)
        said = f"{fault.message.rstrip('. ')}."
        if fault.unreachable_since and fault.code not in _HELD:
            said += " The message is kept and answered when it can be reached."
        elif fault.code not in _HELD:
            said = f"Attempt {fault.attempt} of {fault.attempts_max} failed: {said}"
            if fault.next_attempt_at:
                seconds = max(1, round(fault.next_attempt_at.timestamp() - SystemClock().now_ms() / MS_PER_SECOND))
                said += f" Next try in {seconds} s."
        screen.note(said)

    return tell


def wait_for(
    client: Client, run_id: str, screen: Screen, *, seconds: float, on_fault: Callable[[Fault], None] | None = None
) -> Run:  # fmt: skip
    """Return the run once it has ended or waits for a person, or as it is when the time is up.

    Failed attempts are reported meanwhile, by a reporter that may have reported some already.
    """
    with screen.waiting(WAITING):
        try:
            return client.runs.wait(run_id, seconds, on_fault=on_fault or fault_reporter(screen))
        except TimedOut:
            return client.runs.get(run_id)


def show_replies(client: Client, answer: dict[str, Any], seconds: float, screen: Screen) -> int:
    """Wait for the runs that an answer of the server names, show their results and return the exit code."""
    told = answer.get("notified")
    run_ids = [answer["runId"]] if told is None else [one["runId"] for one in told if one.get("runId")]
    if not run_ids:
        screen.note("No agent was told, so no reply will come. Mention one with @, or assign one.")
    ends_at, code, runs = elapsed_seconds() + seconds, int(Exit.OK), []
    for run_id in run_ids:
        run = wait_for(client, run_id, screen, seconds=max(0.0, ends_at - elapsed_seconds()))
        runs.append(run.raw)
        if told is not None and not screen.as_json:
            screen.piece(f"{run.agent_id}: ", "bold")
        code = max(code, show_result(run, screen))
    if screen.as_json:
        screen.json({"run": runs[0]} if told is None else answer | {"runs": runs})
    return code


def show_result(run: Run, screen: Screen, *, with_reply: bool = True) -> int:
    """Show a run's result and return the exit code; only the reply goes to stdout, and nothing with --json."""
    with_reply = with_reply and not screen.as_json
    if run.state == "completed":
        if with_reply:
            screen.line(run.reply or "")
        # What the reply lacks: files that the model did not get, or its end.
        kind, _, names = (run.note or "no_reply").partition(": ")
        if kind == "left_out":
            screen.note(f"The model could not be given: {names}.")
        elif run.note not in (None, "", "no_reply"):
            screen.note(f"The reply was cut short: {run.note}.")
        return Exit.OK
    if run.state == "waiting":
        if with_reply:
            screen.line(question_of(run))
        if asks_person(run):
            how = "yes|no" if run.waiting_for == "approval" else "TEXT"
            screen.note(f"To answer: `carrel runs answer {run.id} {how}`")
        return Exit.OK
    if run.ended:
        screen.note(f"The run {'failed' if run.state == 'failed' else 'was cancelled'}: {why_ended(run)}")
        return Exit.FAILED
    screen.note(f"No reply yet ({run.state}). To keep waiting: `carrel runs wait {run.id}`")
    return Exit.TIMED_OUT


def question_of(run: Run) -> str:
    """Return what a waiting run needs, from a person or from a program."""
    if run.waiting_for == "tool_output":
        return f"Waiting for a program: {run.question}"
    return f"Waiting for your {run.waiting_for or 'input'}: {run.question}"


def asks_person(run: Run) -> bool:
    """Return whether the run waits for a person."""
    return run.state == "waiting" and run.waiting_for != "tool_output"


def newest_question(client: Client, session_key: str) -> Run | None:
    """Return the newest run of a session if it waits for a person."""
    try:
        newest = list(client.runs.list(session_key=session_key, limit=1))
    except Refused as refused:
        if refused.status != HTTPStatus.NOT_FOUND:
            raise
        # The first message creates the session.
        return None
    return newest[0] if newest and asks_person(newest[0]) else None


def refusals_in(messages: Iterable[dict[str, Any]]) -> list[str]:
    """Return a sentence for each refused tool call among messages of a transcript."""
    blocks = (block for message in messages for block in message.get("content") or [])
    return [said for block in blocks if (said := refused_call(block))]


def refused_call(block: dict[str, Any]) -> str:
    """Return which tool call was refused and why, if this block of a transcript says so; else an empty text."""
    is_refused = block.get("outcome") == "refused"
    return f"✗ {block['name']} was refused: {refusal_in(block['text'])}" if is_refused else ""


def refusal_in(result: str) -> str:
    """Return why a tool call was refused, from its result; empty if it was not."""
    try:
        told = json.loads(result)
    except ValueError:
        return ""
    if not isinstance(told, dict) or not (told.get("ok") is False or told.get("status") == "forbidden"):
        return ""
    error = told.get("error")
    return str(error.get("message", error) if isinstance(error, dict) else error or "no reason was given")


def why_ended(run: Run) -> str:
    """Return why a run failed or was cancelled, in a few words."""
    error = run.error.message if run.error else ""
    words = error or run.note or run.reason or "no reason was given"
    return f"{words} (details: `carrel runs why {run.id}`)" if run.state == "failed" else words
