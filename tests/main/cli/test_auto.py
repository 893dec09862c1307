"""What `carrel auto` requests from the server and prints."""

import json
import re
from typing import Any

import pytest

from tests.bridge.tiny_server import TinyServer
from tests.main.cli.conftest import Carrel


def run_of(**changes: Any) -> dict[str, Any]:
    """An auto run as the API shows it, with some fields changed."""
    run: dict[str, Any] = {
        "runId": "auto_1",
        "runKind": "TASK_RUN",
        "status": "active",
        "taskId": "task_1",
        "goalId": None,
        "tickCount": 3,
        "nextTickAt": "2026-06-01T09:00:00.000Z",
    }
    return run | changes


def test_bare_auto_lists_what_works_in_the_main_session(at: Carrel, tiny: TinyServer) -> None:
    other = run_of(runId="auto_2", runKind="GOAL_RUN", goalId="goal_1", status="stopping", nextTickAt=None)
    tiny.answers("GET", "/api/auto/runs", {"sessionId": "main", "runs": [run_of(), other]})
    assert re.sub(r"\d+d ago|in \d+d", "then", at("auto").out).splitlines() == [
        "auto_1\tTASK_RUN\tactive\ttask_1\t\t3\tthen",
        "auto_2\tGOAL_RUN\tstopping\ttask_1\tgoal_1\t3\t",
    ]
    assert tiny.asked[0].query == {"sessionId": "main", "includeEnded": "0"}
    assert json.loads(at("auto", "--json").out)["runs"][0]["runId"] == "auto_1"


@pytest.mark.parametrize(
    ("words", "body"),
    [
        (("Tidy up",), {"sessionId": "main", "text": "Tidy up"}),
        (("--task", "task_1", "--every", "5"), {"sessionId": "main", "taskId": "task_1", "intervalSeconds": 5}),
        (("--goal", "goal_1", "--session", "web:c"), {"sessionId": "web:c", "goalId": "goal_1"}),
        ((), {"sessionId": "main"}),
    ],
)
def test_start_sends_what_to_work_on_and_prints_the_id(
    at: Carrel, tiny: TinyServer, words: tuple[str, ...], body: dict[str, Any]
) -> None:
    tiny.answers("POST", "/api/auto/start", {"run": run_of()}, status=201)
    assert at("auto", "start", *words).out == "auto_1\n"
    assert tiny.asked[0].body == body


@pytest.mark.parametrize(
    ("words", "body"),
    [(("auto_1",), {"runId": "auto_1"}), (("web:c",), {"sessionId": "web:c"}), ((), {"sessionId": "main"})],
)
def test_stop_names_one_or_a_session(
    at: Carrel, tiny: TinyServer, words: tuple[str, ...], body: dict[str, Any]
) -> None:
    tiny.answers("POST", "/api/auto/stop", {"stopped": ["auto_1"]})
    assert at("auto", "stop", *words).out == "auto_1\n"
    assert tiny.asked[0].body == body
