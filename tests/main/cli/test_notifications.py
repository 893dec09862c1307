"""What `carrel notifications` requests from the server and prints."""

import json

from carrel.kernel import SystemClock, iso
from tests.bridge.tiny_server import TinyServer
from tests.main.cli.conftest import Carrel

TOLD = {
    "id": "ntf_1",
    "type": "run_failed",
    "title": "main failed: Print the \x1b[31mlist",
    "body": "The printer has no paper.",
    "runId": "run_1",
    "taskId": None,
    "sessionKey": "agent:main:main",
    "createdAt": iso(SystemClock().now_ms()),
    "readAt": None,
}


def test_the_list_shows_what_is_new_and_can_keep_to_that(at: Carrel, tiny: TinyServer) -> None:
    read = TOLD | {"id": "ntf_0", "readAt": TOLD["createdAt"], "taskId": "task_1"}
    tiny.answers("GET", "/api/notifications", {"notifications": [TOLD, read], "unreadCount": 1})
    lines = at("notifications", "list").out.splitlines()
    assert [line.split("\t")[:2] for line in lines] == [["ntf_1", "new"], ["ntf_0", "read"]]
    assert [line.split("\t")[3] for line in lines] == ["run_1", "task_1"], "the task, where it is about one"
    assert "\x1b" not in lines[0]
    at("notifications", "list", "--unread", "--limit", "3")
    assert [asked.query for asked in tiny.asked] == [{"limit": "50"}, {"unread": "1", "limit": "3"}]


def test_one_is_shown_and_marked_and_all_are_marked(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("POST", "/api/notifications/ntf_1/read", {"notification": TOLD})
    tiny.answers("POST", "/api/notifications/read-all", {"read": 2})
    shown = at("notifications", "read", "ntf_1").out
    assert shown.splitlines()[1] == "The printer has no paper."
    assert "\x1b" not in shown
    assert "run\trun_1" in shown
    assert at("notifications", "read-all").out == "2 marked as read.\n"
    assert json.loads(at("notifications", "read-all", "--json").out) == {"read": 2}
