"""An agent behind a gateway acts as its run, with a run token: it asks a question, and the server may die."""

from typing import Any

import httpx

from tests.harness.process import RunningServer, Start, reaching
from tests.requirements.mark import requirement
from tests.scripted_gateway import Gate, ScriptedGateway, text

TOKENS = {"CARREL_GATEWAY__DEFAULT__RUN_TOKENS": "yes", "CARREL_LOG__LEVEL": "debug"}
QUESTION = {"question": "Which of the two?"}


def begin(running: RunningServer) -> str:
    with running.client() as client:
        return str(client.post("/api/runs", json={"message": "write the report"}).json()["runId"])


def rested(running: RunningServer, run_id: str) -> dict[str, Any]:
    """Return the run once it has ended or waits."""
    with running.client() as client:
        client.get(f"/api/runs/{run_id}/wait", params={"timeoutSeconds": 20})
        run: dict[str, Any] = client.get(f"/api/runs/{run_id}").json()["run"]
    return run


def ask_back(running: RunningServer, token: str) -> httpx.Response:
    with running.client(token) as agent:
        return agent.post("/agent/request_input", json=QUESTION)


def handed(gateway: ScriptedGateway) -> str:
    """Return the token sent with the newest step."""
    return gateway.requests[-1].headers["x-carrel-run-token"]


@requirement("S0.x.secrets")
def test_an_agent_asks_back_by_itself_and_goes_on_with_the_answer(start: Start, gateway: ScriptedGateway) -> None:
    gate = Gate()
    gateway.script(text("I have asked.", before=gate), text("The second one it is."))
    running = start(**reaching(gateway), **TOKENS)
    run_id = begin(running)
    gate.wait_reached()
    token = handed(gateway)
    assert ask_back(running, token).json() == {"ok": True, "waitingFor": "input"}
    gate.open()
    waiting = rested(running, run_id)
    assert (waiting["state"], waiting["note"]) == ("waiting", QUESTION["question"])
    with running.client() as client:
        assert client.post(f"/api/runs/{run_id}/answer", json={"text": "the second"}).status_code == 202
    assert rested(running, run_id)["reply"] == "The second one it is."
    assert ask_back(running, token).status_code == 401
    assert running.stop() == 0
    log = running.log_file.read_text()
    assert not [one for one in (token, handed(gateway)) if one.rpartition("_")[2] in log]


@requirement("S0.x.tools.once")
def test_a_question_that_was_taken_outlives_the_sudden_death_of_the_server(
    start: Start, gateway: ScriptedGateway
) -> None:
    gate = Gate()
    gateway.script(text("Never received.", before=gate), text("The second one it is."))
    running = start(**reaching(gateway), **TOKENS)
    run_id = begin(running)
    gate.wait_reached()
    assert ask_back(running, handed(gateway)).status_code == 200
    running.kill()
    again = start(**reaching(gateway), **TOKENS)
    waiting = rested(again, run_id)
    assert (waiting["state"], waiting["note"], waiting["attempt"]) == ("waiting", QUESTION["question"], 2)
    assert len(gateway.requests) == 1, "nothing is sent to the gateway before the answer"
    with again.client() as client:
        client.post(f"/api/runs/{run_id}/answer", json={"text": "the second"})
    assert rested(again, run_id)["reply"] == "The second one it is."
    gate.open()
