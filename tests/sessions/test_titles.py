"""What sessions are called: the rule, without a store."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.kernel.limits import SESSION_TITLE_CHARS_MAX
from carrel.sessions.title_store import TitleSource
from carrel.sessions.titles import lane_title

ID = "11111111-1111-4111-8111-111111111111"


def source(rest: str, **more: str) -> TitleSource:
    found: dict[str, str | None] = {"spawned_by": None, "name": None, "item": None, "maker": None, "words": None}
    return TitleSource(key=f"agent:writer:{rest}", agent="Writer", **(found | more))


@pytest.mark.parametrize(
    ("lane", "title"),
    [
        (source("main"), "Writer main"),
        (source("task:task_1", item="Write the report"), "Write the report"),
        (source("task:task_1", item="Write the report", name="Mine"), "Mine"),
        (source("task:task_1"), "A task of Writer"),
        (source("topic:topic_1", item="Releases"), "Releases"),
        (source("web:c-0123456789", words="How are\nthe sheep?"), "How are the sheep?"),
        (source("web:c-0123456789"), "New chat with Writer"),
        (source("telegram:direct:42", name="Ann"), "Telegram · Ann"),
        (source("telegram:group:42", name="Shepherds"), "Telegram group · Shepherds"),
        (source("a2a:0123456789ab:ctx", maker="alice", words="count"), "A2A · alice · count"),
        (source(f"openresponses:{ID}"), "API · a program"),
        (source("cron:sch_1", words="Morning report"), "Schedule · Morning report"),
        (source(f"hook:{ID}"), "Hook of Writer"),
        (source("node-laptop"), "Node of Writer"),
        (source(f"subagent:{ID}", name="Check the links"), "Check the links"),
        (source(f"subagent:{ID}"), "Sub-agent of Writer"),
    ],
)
def test_a_session_is_called_what_a_person_would_call_it(lane: TitleSource, title: str) -> None:
    assert lane_title(lane, None) == title


def test_a_sub_agent_is_called_after_its_parent() -> None:
    child, parent = source(f"subagent:{ID}"), source("task:task_1", item="Write the report")
    assert lane_title(child, parent) == "Sub-agent of Write the report"
    assert lane_title(child, child) == "Sub-agent of Sub-agent of Writer"


def test_a_title_shows_no_secret() -> None:
    assert "abcdefghijklmnop" not in lane_title(
        source("web:c-0123456789", words="use sk-abcdefghijklmnopqrstuvwx"), None
    )


@given(st.text(min_size=1), st.sampled_from(["web:c-0123456789", "task:task_1", "cron:sch_1", "telegram:direct:1"]))
def test_a_title_is_one_bounded_line_without_control_characters(text: str, rest: str) -> None:
    title = lane_title(source(rest, name=text * 40, item=text, words=text), None)
    assert 0 < len(title) <= SESSION_TITLE_CHARS_MAX
    assert not any(ord(sign) < 32 or 127 <= ord(sign) < 160 or sign in "\u202e\u2066\u2028" for sign in title)
