"""The newest messages of a session."""

from collections.abc import Sequence

from carrel.context.budget import as_line
from carrel.context.model import TIMELINE, Line
from carrel.context.store import Said
from carrel.kernel import minute_of

_CHARS_MAX = 160


def timeline_lines(said: Sequence[Said], name: str) -> list[Line]:
    """Return a line for each message of a session, newest first."""
    return [
        Line(
            id=one.id,
            kind="log",
            section=TIMELINE,
            scope=name,
            source=one.agent_label or one.author,
            reason="said in this session",
            line=as_line(
                f"- {minute_of(one.created_at)[:10]} {one.provenance.marked(one.role)}: {one.content}", _CHARS_MAX
            ),
        )
        for one in said
    ]
