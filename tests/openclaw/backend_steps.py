"""The step in which Carrel's own agents run on OpenClaw's gateway."""

from typing import Any

from tests.openclaw.gateway import CLERK
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
    _spawn_a_child(pair)
    _fire_a_schedule(pair)
    pair.typed("carrel agents update writer --set heartbeatMinutes=0.05")
    going_on = _go_on(pair)
    _answer_a_heartbeat(pair)
    for status in ("in_progress", "review", "done"):
        pair.post(f"/api/tasks/{TASK}/status", {"status": status})
    pair.post(f"/api/tasks/{TASK}/reopen", {})
    pair.model.play("Read the almanac again", text("It reads well."))
    again = _said(pair, "writer", "Read the almanac again")
    assert again["generation"] == going_on["generation"] + 1, (going_on["generation"], again["generation"])
    seen = _seen(pair, "Read the almanac again")
    assert "February is written" not in seen, "the new generation has the old one's history"
    _answer_as_another_agent(pair)
    anew = f"generation {again['generation']} began anew"
    return (
        "main called a tool and spawned a sub-agent, a schedule fired, writer went on with a history and answered a "
        f"heartbeat, {anew}, and {CLERK} answered for writer"
    )


def _call_a_tool(pair: Pair) -> None:
    # One of those that OpenClaw has as well, and refuses under our name.
    wanted = {"id": "carrel_agents_list", "args": {}}
    pair.model.play("What is this task about", calls(("tool_call", wanted)), text("It is about the almanac."))
    run = _said(pair, "main", "What is this task about?")
    assert run["reply"] == "It is about the almanac.", run["reply"]
    assert run["toolsCalled"] == ["agents_list"], run["toolsCalled"]


def _spawn_a_child(pair: Pair) -> None:
    """The session of a sub-agent is at the gateway too, whose own keys for sub-agents are refused to others."""
    wanted = {"id": "carrel_sessions_spawn", "args": {"task": "Count the geese"}}
    pair.model.play("Have the geese counted", calls(("tool_call", wanted)), text("Somebody counts them."))
    pair.model.play("Count the geese", text("Seven geese are here."))
    _said(pair, "main", "Have the geese counted")
    pair.until(
        "the sub-agent has answered",
        lambda: [run for run in _runs(pair, "spawn") if run["reply"] == "Seven geese are here."],
    )


def _runs(pair: Pair, kind: str) -> list[Run]:
    """Return the newest runs of a kind."""
    found: list[Run] = pair.get("/api/runs", provenance=kind)["runs"]
    return found


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


def _answer_a_heartbeat(pair: Pair) -> None:
    """What was just said to the agent is something to look at; a heartbeat is answered in its main session."""
    session = "agent:writer:main"
    runs = pair.until(
        "writer has answered a heartbeat",
        lambda: [run for run in pair.get("/api/runs", sessionKey=session)["runs"] if run["endedAt"]],
    )
    assert runs[0]["state"] == "completed", f"{runs[0]['state']} {runs[0]['error']} {runs[0]['reason']}"
    assert pair.model.asked_about("Heartbeat."), "no heartbeat has reached the model"
    pair.typed("carrel agents update writer --set heartbeatMinutes=0")


def _answer_as_another_agent(pair: Pair) -> None:
    """Let an agent that only OpenClaw knows answer for one that only Carrel knows."""
    assert not pair.gateway.has_heard(CLERK), f"{CLERK} was asked already"
    mapped = f'agents = ["writer={CLERK}"]'
    pair.change_settings(lambda settings: settings.replace('kind = "openclaw"', f'kind = "openclaw"\n{mapped}'))
    pair.model.play("Who keeps the books", text("The clerk does."))
    run = _said(pair, "writer", "Who keeps the books?")
    assert run["reply"] == "The clerk does.", run["reply"]
    assert pair.gateway.has_heard(CLERK), f"{CLERK} was not asked"


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
