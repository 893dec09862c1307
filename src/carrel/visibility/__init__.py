"""Who may see what: lanes, topics, tasks and entries, as predicates, conditions of lists and marks of the index."""

from carrel.visibility.item_store import (
    entries_seen,
    seen_entries,
    seen_log,
    seen_notifications,
    seen_of_sessions,
    seen_runs,
    seen_tasks,
    seen_tool_entries,
    seen_topics,
    tasks_seen,
    tasks_worked_on,
    topics_seen,
)
from carrel.visibility.lane_store import is_narrowed, seen_lanes
from carrel.visibility.lanes import VisibilityMode, may_see, require_visible, visibility_of, why_hidden
from carrel.visibility.lines import in_seen_lanes, visible_entries, visible_events
from carrel.visibility.marks import Findable, Viewer, is_mark, mark, session_mark, space_mark
from carrel.visibility.recall import ChosenBy, LaneRecall, Recalls
from carrel.visibility.tree_store import PERSONAL_KINDS, private_to

__all__ = [
    "PERSONAL_KINDS", "ChosenBy", "Findable", "LaneRecall", "Recalls", "Viewer", "VisibilityMode", "entries_seen",
    "in_seen_lanes", "is_mark", "is_narrowed", "mark", "may_see", "private_to", "require_visible", "seen_entries",
    "seen_lanes", "seen_log", "seen_notifications", "seen_of_sessions", "seen_runs", "seen_tasks", "seen_tool_entries",
    "seen_topics", "session_mark", "space_mark", "tasks_seen", "tasks_worked_on", "topics_seen", "visibility_of",
    "visible_entries", "visible_events", "why_hidden",
]  # fmt: skip
