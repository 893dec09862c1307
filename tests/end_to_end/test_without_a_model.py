"""A server without a model: everything works, and two servers that are told the same answer the same."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from carrel.kernel import elapsed_seconds
from tests.harness.process import ANSWER_SECONDS, servers_in
from tests.requirements.mark import requirement

# Ids and moments differ from server to server; ids are replaced by the order in which they appear.
ID = re.compile(r"\b[a-z]+_[0-9a-hjkmnp-tv-z]{26}\b|\b[0-9a-f]{8}-[0-9a-f-]{27}\b")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+Z")
RARELY_SORTED = {"CARREL_CLASSIFIER__INTERVAL_SECONDS": "86400"}
SAID = (
    "The harbour lamps have to be green.", "We order the harbour lamps in Hamburg.", "ok",
    "The boiler in the cellar leaks again.", "A plumber comes for the boiler on Monday.",
)  # fmt: skip


def post(client: httpx.Client, path: str, **body: Any) -> Any:
    """Send something and return the answer."""
    answer = client.post(path, json=body)
    assert answer.is_success, answer.text
    return answer.json() if answer.content else None


def get(client: httpx.Client, path: str, **query: Any) -> Any:
    """Read something."""
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def until(found: Callable[[], Any], otherwise: str) -> Any:
    """Look again until something is there; return it."""
    deadline = elapsed_seconds() + ANSWER_SECONDS
    while not (there := found()):
        assert elapsed_seconds() < deadline, otherwise
    return there


def anonymous(told: object) -> str:
    """Return what was told, without ids and moments."""
    known: dict[str, str] = {}
    text = MOMENT.sub("<moment>", str(told))
    return ID.sub(lambda found: known.setdefault(found[0], f"<{len(known)}>"), text)


def chatted(client: httpx.Client) -> list[str]:
    """What the built-in agent answers in a chat, and over A2A."""
    answers = []
    for line in ("hello", "my colour is blue", "which colour is mine?"):
        run = post(client, "/api/runs", message=line, sessionKey="agent:main:web:a-conversation")["runId"]
        answers.append(get(client, f"/api/runs/{run}/wait", timeoutSeconds=20)["reply"])
    sent = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": sent}}
    task = client.post("/a2a", json=asked, headers={"A2A-Version": "1.0"}).json()["result"]["task"]
    return [*answers, task["status"]["state"], task["artifacts"][0]["parts"][0]["text"]]


def planned(client: httpx.Client) -> list[Any]:
    """What becomes of plan mode and of an auto run."""
    key = "agent:main:web:a-planned-conversation"
    post(client, "/api/runs", message="hello", sessionKey=key)
    plan = post(client, "/api/plans/enable", sessionId=key)
    post(client, "/api/plans/disable", sessionId=key)
    auto = post(client, "/api/auto/start", sessionId=key, text="Count the lamps", intervalSeconds=604_800)["run"]

    def ticked() -> Any:
        runs = get(client, "/api/runs", limit=50)["runs"]
        return [run["state"] for run in runs if run["provenance"]["kind"] == "auto" and run["state"] == "completed"]

    return [plan["enabled"], auto["runKind"], until(ticked, "the auto run never ticked")[:1]]


def sorted_out(client: httpx.Client) -> list[Any]:
    """What the board makes of a conversation: topics, classifications, digests, what is found, and a context."""
    for number, text in enumerate(SAID):
        source = {"sessionKey": "discord-1", "channel": "discord", "messageId": f"m-{number}"}
        post(client, "/api/log", type="conversation", content=text, agentId="user", source=source)

    def logs() -> Any:
        return get(client, "/api/log", sessionKey="discord-1")["logs"]

    # Asked for, and not done by the clock: what a digest tells depends on when it is written.
    post(client, "/api/classifier/run", limit=50)
    until(lambda: all(log["classificationStatus"] != "pending" for log in logs()), "entries were never sorted")
    post(client, "/api/digests/run")
    until(lambda: any(topic["digest"] for topic in get(client, "/api/topics")["topics"]), "no digest was written")
    until(lambda: get(client, "/api/health")["index"]["pending"] == 0, "the index never caught up")
    names = {topic["id"]: topic["name"] for topic in get(client, "/api/topics")["topics"]}
    found = get(client, "/api/search", q="Which harbour lamps?", sessionKey="discord-1")
    asked = {"q": "Which harbour lamps?", "sessionKey": "discord-1"}
    context = get(client, "/api/context", **asked, mode="full", timelineLimit=0)
    return [
        [(log["content"], log["classificationStatus"], names.get(log["topicId"]), log["summary"]) for log in logs()],
        sorted((topic["name"], topic["digest"]) for topic in get(client, "/api/topics")["topics"]),
        [(log["content"], log["score"]) for log in found["logs"]],
        context["layers"],
        context["block"],
    ]


@requirement("P.nomodel")
def test_everything_works_without_a_model_and_equal_input_gives_equal_output(tmp_path: Path) -> None:
    told = []
    for name in ("one", "another"):
        (tmp_path / name).mkdir()
        with (
            servers_in(tmp_path / name) as start,
            start(CARREL_CLASSIFIER__INTERVAL_SECONDS="86400").client() as client,
        ):
            told.append([sorted_out(client), chatted(client), planned(client)])
    board, chat, modes = told[0]
    assert "blue" in chat[2]
    assert chat[3] == "TASK_STATE_COMPLETED"
    assert modes == [True, "TASK_RUN", ["completed"]]
    logs, topics, found, layers, block = board
    assert {status for _, status, _, _ in logs} == {"classified"}
    assert any(digest for _, digest in topics)
    assert found
    assert "B:semantic" in layers
    assert "harbour lamps" in block
    assert anonymous(told[0]) == anonymous(told[1])
