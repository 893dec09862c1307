"""Routing memory: the topics and tasks to which a session's messages went."""

from collections.abc import Sequence

from carrel.board import Route
from carrel.context.budget import as_line
from carrel.context.model import ROUTING, Line

_NAME_CHARS, _ANCHOR_CHARS, _LINE_CHARS = 80, 120, 320


def routing_lines(routes: Sequence[Route]) -> list[Line]:
    """Return a line for each place, newest first."""
    return [
        Line(
            id=route.task_id or route.topic_id,
            kind="task" if route.task_id else "topic",
            section=ROUTING,
            scope=route.space_id,
            source="routing memory",
            reason="messages of this session went there",
            line=as_line(f"- {_place(route)}: {as_line(route.anchor, _ANCHOR_CHARS)}", _LINE_CHARS),
        )
        for route in reversed(routes)
    ]


def _place(route: Route) -> str:
    names = (route.topic_name, route.task_title) if route.task_title else (route.topic_name,)
    return " > ".join(as_line(name, _NAME_CHARS) for name in names)
