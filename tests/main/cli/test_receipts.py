"""`runs receipt`, `runs compare` and `runs why`."""

from carrel.kernel import SystemClock, iso
from carrel.main.cli.receipts import bar
from tests.bridge.tiny_server import TinyServer
from tests.main.cli.conftest import Carrel

KEY = "agent:main:cli:c1"
RECEIPT = {
    "runId": "run_1",
    "sessionKey": KEY,
    "generation": 2,
    "steps": [
        {
            "n": 1,
            "attempt": 1,
            "sentAt": "2026-01-01T00:00:00.000Z",
            "model": "small",
            "instructionsVersion": "v2",
            "instructions": "line\n" * 20,
            "input": [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "write the report"}]},
                {"type": "function_call", "name": "task_history", "arguments": "{}"},
                {"type": "function_call_output", "output": '{"task": 1}'},
            ],
            "tools": ["task_history", "memory_search"],
            "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}],
        }
    ],
}


def test_a_receipt_is_a_picture_of_what_the_agent_saw(at: Carrel, tiny: TinyServer) -> None:
    tiny.answers("GET", "/api/runs/run_1/receipt", RECEIPT)
    shown = at("runs", "receipt", "run_1").out
    for part in (
        "instructions v2    ████████████████████████     100 characters",
        "tools (2)          task_history, memory_search",
        "user: write the report",
        "→ task_history({})",
        "assistant: Done.",
        "… 14 more lines; --full shows them",
    ):
        assert part in shown
    assert "more lines" not in at("runs", "receipt", "run_1", "--full").out
    assert at("runs", "receipt", "run_1", "--step", "2").code == 1


def test_a_receipt_says_what_a_gateway_cannot_be_told_and_where_nothing_was_sent(at: Carrel, tiny: TinyServer) -> None:
    step = {"n": 1, "attempt": 1, "sentAt": None, "input": [], "tools": [], "leftOut": ["instructions", "tools"]}
    tiny.answers("GET", "/api/runs/run_1/receipt", RECEIPT | {"steps": [step]})
    shown = at("runs", "receipt", "run_1").out
    assert "nothing was sent" in shown
    assert "cannot be told     instructions, tools" in shown


def test_bars_are_never_empty_for_something() -> None:
    assert bar(1, 1000).count("█") == 1
    assert bar(0, 1000).count("█") == 0
    assert bar(1000, 1000).count("·") == 0


def test_comparing_shows_what_differs(at: Carrel, tiny: TinyServer) -> None:
    answer = {
        "same": False,
        "instructions": {"same": True, "diff": ""},
        "input": {"same": False, "diff": "-old\n+new"},
        "tools": {"added": [], "removed": ["decline"]},
    }
    tiny.answers("GET", "/api/runs/run_1/receipt/compare", answer)
    shown = at("runs", "compare", "run_1", "run_2").out
    assert shown == "instructions: the same\ninput: different\n  -old\n  +new\ntools:\n  - decline\n"
    assert tiny.asked[0].query == {"with": "run_2"}


def test_why_answers_in_sentences(at: Carrel, tiny: TinyServer) -> None:
    reason = {
        "code": "lane_busy",
        "text": "Another run is before it.",
        "since": None,
        "actions": ["Wait, or cancel it."],
    }
    tiny.answers("GET", "/api/runs/run_1/why", {"moving": False, "reasons": [reason]})
    assert at("runs", "why", "run_1").out == "Another run is before it.\n  → Wait, or cancel it.\n"


def test_why_shows_the_commands_of_what_it_advises(at: Carrel, tiny: TinyServer) -> None:
    since = iso(SystemClock().now_ms() - 7_500_000)
    reason = {
        "code": "done",
        "text": "The run failed.",
        "since": since,
        "actions": ["read the log", "retry", "let it go on"],
    }
    tiny.answers("GET", "/api/runs/run_1/why", {"moving": False, "reasons": [reason]})
    shown = at("runs", "why", "run_1").out
    commands = "  → retry: `carrel runs retry run_1`\n  → let it go on: `carrel runs allow run_1`\n"
    assert shown == f"The run failed. (2h ago)\n  → read the log\n{commands}"
