"""Entries that belong in no topic end at once, each with its code."""

from typing import Any

import pytest

from carrel.board.filters import verdict
from carrel.journal import ContextMarks, NewEntry
from carrel.kernel import Provenance
from tests.requirements.mark import requirement

PERSON = Provenance(kind="external_user")
CHILD = "agent:main:subagent:0b1c"
CONTROL = ("failed", "filtered_control_plane")
ANCHORED = ("classified", "filtered_tool_activity")
NOISE = ("failed", "context_injection_noise")


def entry(content: str, kind: str = "conversation", **more: Any) -> NewEntry:
    fields: dict[str, Any] = {"role": "user", "author": "user", "provenance": PERSON} | more
    return NewEntry(type=kind, content=content, **fields)


@requirement("S4.filter.control")
@requirement("S4.filter.scaffold")
@requirement("S4.filter.cron")
@requirement("S4.filter.tool.anchored")
@requirement("S4.filter.tool.unanchored")
@requirement("S4.clean.artifact")
@pytest.mark.parametrize(
    ("new", "ruled"),
    [
        (entry("hello"), None),
        (entry("Tool call: is what the manual calls it"), None),
        (entry("HEARTBEAT_OK"), CONTROL),
        (entry("[cron:nightly] go"), CONTROL),
        (entry(" NO_REPLY\n"), CONTROL),
        (entry("NO_REPLY is a word of ours"), None),
        (entry("[System Message] The gateway was restarted."), CONTROL),
        (entry("Read HEARTBEAT.md if it exists and follow it."), CONTROL),
        (entry("Pre-compaction memory flush. Keep what lasts."), CONTROL),
        (entry("anything due?", provenance=Provenance(kind="heartbeat")), CONTROL),
        (entry("[Subagent Context] You are", bucket=CHILD), ("failed", "filtered_subagent_scaffold")),
        (entry("[Subagent Context] You are", bucket="channel:1"), None),
        (entry("backup done", "system", channel="cron-event"), ("failed", "filtered_cron_event")),
        (entry("Tool call: exec", "action", topic_id="t"), ANCHORED),
        (entry("exec said 1", "action", role="toolResult", task_id="t"), ANCHORED),
        (entry("Tool error: exec", "action"), ("failed", "filtered_unanchored_tool_activity")),
        (entry(f"{ContextMarks.BEGIN}\n- a line\n{ContextMarks.END}"), NOISE),
        (entry(f"{ContextMarks.HEADING}\n- a line"), NOISE),
        # A file without a word.
        (entry("", attachment_ids=("att_1",)), None),
    ],
)
def test_what_is_no_part_of_a_conversation_ends_with_its_code(new: NewEntry, ruled: tuple[str, str] | None) -> None:
    assert verdict(new) == ruled
    # The same rule holds for what is stored.
    assert verdict(new.written(1, "ent_1", 1)) == ruled
