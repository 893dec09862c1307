"""The step in which Carrel's own agents run on OpenClaw's gateway."""

from typing import Any

from tests.openclaw.model import BLOCK, messages_of, words_of
from tests.openclaw.pair import Pair
from tests.scripted_gateway import calls, text

RUN_SECONDS = 180.0
TASK = "almanac"
Run = dict[str, Any]


def two_agents_work_on_a_task_through_the_gateway(pair: Pair) -> str:
    """Two agents whose model is the gateway work on a task: with tools, a history, and a second generation."""
    pair.typed("carrel openclaw setup --backend --yes")
    pair.post("/api/agents", {"id": "writer", "name": "Writer"})
    pair.typed(f'carrel tasks create "Write the almanac" --id {TASK} --assign main --assign writer')
    _call_a_tool(pair)
    _fire_a_schedule(pair)
    going_on = _go_on(pair)
    for status in ("in_progress", "review", "done"):
        pair.post(f"/api/tasks/{TASK}/status", {"status": status})
    pair.post(f"/api/tasks/{TASK}/reopen", {})
    pair.model.play("Read the almanac again", text("It reads well."))
    again = _said(pair, "writer", "Read the almanac again")
    assert again["generation"] == going_on["generation"] + 1, (going_on["generation"], again["generation"])
    seen = _seen(pair, "Read the almanac again")
    assert "February is written" not in seen, "the new generation has the old one's history"
    anew = f"generation {again['generation']} began anew"
    return f"main called a tool, a schedule fired, writer went on with a history, and {anew}"


def _call_a_tool(pair: Pair) -> None:
    # One of those that OpenClaw has as well, and refuses under our name.
    wanted = {"id": "carrel_session_status", "args": {}}
    pair.model.play("What is this task about", calls(("tool_call", wanted)), text("It is about the almanac."))
    run = _said(pair, "main", "What is this task about?")
    assert run["reply"] == "It is about the almanac.", run["reply"]
    assert run["toolsCalled"] == ["session_status"], run["toolsCalled"]


def _fire_a_schedule(pair: Pair) -> None:
    """OpenClaw refuses session keys like those of schedules under their own names."""
    pair.model.play("Count the hens", text("Nine hens are here."))
    made = pair.typed('carrel schedule create main "0 9 * * *" "Count the hens" --isolated')
    fired = pair.typed(f"carrel schedule run {made.out.strip()} --wait")
    assert "Nine hens are here." in fired.out, fired.out + fired.err


def _go_on(pair: Pair) -> Run:
    """Say two things in one session: the gateway keeps what came first, and Carrel does not send it again."""
    pair.model.play("Begin the almanac", text("January is written."))
    pair.model.play("Go on with the almanac", text("February is written."))
    _said(pair, "writer", "Begin the almanac")
    run = _said(pair, "writer", "Go on with the almanac")
    assert run["reply"] == "February is written.", run["reply"]
    assert "January is written." in _seen(pair, "Go on with the almanac"), "the gateway has forgotten what came first"
    sent = [item for step in pair.get(f"/api/runs/{run['id']}/receipt")["steps"] for item in step["input"]]
    assert "assistant" not in {item.get("role") for item in sent}, "Carrel sends what the gateway keeps"
    return run


def _seen(pair: Pair, words: str) -> str:
    """Return what the model was sent with the last request about something, without what the board recalls."""
    whole = "\n".join(words_of(message) for message in messages_of(pair.model.asked_about(words)[-1]))
    return BLOCK.sub("", whole)


def _said(pair: Pair, agent: str, words: str) -> Run:
    """Say something to an agent about the task, and wait for the answer."""
    run = pair.post("/api/runs", {"agentId": agent, "taskId": TASK, "message": words})["runId"]
    pair.until(f"{agent} has answered {words!r}", lambda: pair.get(f"/api/runs/{run}")["run"]["endedAt"], RUN_SECONDS)
    ended: Run = pair.get(f"/api/runs/{run}")["run"]
    assert ended["state"] == "completed", f"{agent}: {ended['state']} {ended['error']} {ended['reason']}"
    return ended
