"""What `carrel webhooks` requests from the server and prints."""

import json
from pathlib import Path
from typing import Any

from carrel.kernel import SystemClock, iso
from tests.bridge.tiny_server import TinyServer
from tests.main.cli.conftest import Carrel
from tests.requirements.mark import requirement

NOW = iso(SystemClock().now_ms())
WEBHOOK = {
    "name": "github",
    "kind": "github",
    "address": "http://127.0.0.1:8787/api/hooks/in/github",
    "action": "task",
    "target": "a task, assigned to main",
    "events": ["issues.opened"],
    "done": 2,
    "ignored": 1,
    "failed": 0,
    "lastReceivedAt": NOW,
    "refused": 3,
    "refusedReason": "the header X-Hub-Signature-256 is missing",
    "refusedAt": NOW,
}
DELIVERY: dict[str, Any] = {
    "id": "whd_1",
    "webhook": "github",
    "event": "issues.opened",
    "author": "octocat",
    "title": "A \x1b[31mdoor",
    "outcome": "done",
    "reason": None,
    "taskId": "task_1",
    "runId": None,
    "sessionKey": None,
    "attempts": 1,
    "receivedAt": NOW,
    "attemptedAt": NOW,
    "canRepeat": False,
}
FAILED = DELIVERY | {"id": "whd_2", "outcome": "failed", "reason": "There is no agent.", "taskId": None}


@requirement("P.webhook.cli")
def test_webhooks_are_listed_with_what_becomes_of_them(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/hooks/in", {"webhooks": [WEBHOOK], "nextCursor": None})
    (line,) = at("webhooks").out.splitlines()
    cells = line.split("\t")
    assert cells[:7] == ["github", "github", "a task, assigned to main", "2", "1", "0", "3"]
    assert cells[-1] == WEBHOOK["address"]


@requirement("P.webhook.cli")
def test_deliveries_are_listed_with_what_they_made_or_why_not(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/hooks/in/deliveries", {"deliveries": [FAILED, DELIVERY], "nextCursor": None})
    failed, done = (line.split("\t") for line in at("webhooks", "deliveries", "--outcome", "failed").out.splitlines())
    assert (failed[0], failed[3], failed[-1]) == ("whd_2", "failed", "There is no agent.")
    assert (done[0], done[3], done[-2]) == ("whd_1", "done", "task_1")
    assert "\x1b" not in done[-1]
    assert tiny.asked[-1].query == {"outcome": "failed", "limit": "50"}


@requirement("P.webhook.cli")
def test_a_delivery_is_shown_with_its_body_and_repeated(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/hooks/in/deliveries/whd_2", {"delivery": FAILED | {"payload": {"a": [1]}}})
    shown = at("webhooks", "show", "whd_2").out
    assert "reason\tThere is no agent." in shown
    assert json.loads(shown[shown.index("{") :]) == {"a": [1]}
    tiny.answers("POST", "/api/hooks/in/deliveries/whd_2/redeliver", {"delivery": DELIVERY})
    assert at("webhooks", "redeliver", "whd_2").out == "Done: task_1\n"


@requirement("P.webhook.cli")
def test_settings_are_tried_with_a_body_from_a_file(at: Carrel, tiny: TinyServer, tmp_path: Path) -> None:
    preview = {"event": "issues.opened", "ignoredBecause": None, "title": "A door", "text": "> It is open."}
    tiny.answers("POST", "/api/hooks/in/github/test", {"preview": preview})
    file = tmp_path / "issue.json"
    file.write_text('{"action": "opened"}')
    shown = at("webhooks", "test", "github", "--event", "issues.opened", "--file", str(file)).out
    assert shown.endswith("\n\n> It is open.\n")
    assert tiny.asked[-1].body == {"event": "issues.opened", "payload": {"action": "opened"}}
    file.write_text("no JSON")
    wrong = at("webhooks", "test", "github", "--file", str(file))
    assert (wrong.code, "is not JSON" in wrong.err) == (2, True)
