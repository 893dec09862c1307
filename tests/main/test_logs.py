"""Log lines: what others have written into them acts on nothing."""

import json
import logging

import pytest

from carrel.kernel.settings import LogSettings
from carrel.main.logs import set_up_logs

HOSTILE = "a\x1b]0;evil\x07b\x9b2Jc\u202ed\u2066e"


@pytest.mark.parametrize("written", ["json", "text"])
def test_control_characters_in_a_log_line_do_not_reach_the_terminal(written: str) -> None:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        set_up_logs(LogSettings(format=written))  # type: ignore[arg-type]
        (handler,) = root.handlers
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
    record = logging.makeLogRecord({"msg": "line_refused", "reason": HOSTILE})
    line = handler.format(record)
    assert [sign for sign in "\x1b\x07\x9b\u202e\u2066" if sign in line] == []
    assert "line_refused" in line
    if written == "json":
        assert json.loads(line)["reason"] == HOSTILE
