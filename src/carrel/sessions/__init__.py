"""Lanes and their generations, session references and send policy."""

from carrel.sessions.generations import (
    change_lane,
    close_generation,
    make_lane,
    next_session,
    open_generation,
    set_archived,
)
from carrel.sessions.model import (
    Lane,
    LaneChange,
    LaneDeleted,
    LaneFilter,
    LaneOptions,
    LaneRow,
    OfSession,
    RecallChanged,
    Session,
    kinds_listed_as,
    shown_channel,
)
from carrel.sessions.references import SESSION_REFERENCE, parse_reference
from carrel.sessions.routing import FoundSession, find_lane, find_session, lane_for_work, visible_lanes_called
from carrel.sessions.send_policy import channel_of, require_sending
from carrel.sessions.store import (
    LEFTOVERS,
    NewChild,
    children_of,
    closed_sessions_before,
    count_live_children,
    delete_lane,
    delete_session,
    forget_leftover,
    generations_of,
    idle_children,
    insert_child,
    insert_lane,
    lane_of,
    lane_row,
    lane_rows,
    lanes_of_agent,
    leave_files,
    leftovers_of,
    lock_lane,
    note_tokens,
    open_session_has_entries,
    open_session_of,
    session_by_id,
)
from carrel.sessions.title_store import task_titles
from carrel.sessions.titles import LaneTitle, clean_title, titles_of

__all__ = [
    "LEFTOVERS", "SESSION_REFERENCE", "FoundSession", "Lane", "LaneChange", "LaneDeleted", "LaneFilter", "LaneOptions",
    "LaneRow", "LaneTitle", "NewChild", "OfSession", "RecallChanged", "Session", "change_lane", "channel_of",
    "children_of", "clean_title", "close_generation", "closed_sessions_before", "count_live_children", "delete_lane",
    "delete_session", "find_lane", "find_session", "forget_leftover", "generations_of", "idle_children", "insert_child",
    "insert_lane", "kinds_listed_as", "lane_for_work", "lane_of", "lane_row", "lane_rows", "lanes_of_agent",
    "leave_files", "leftovers_of", "lock_lane", "make_lane", "next_session", "note_tokens", "open_generation",
    "open_session_has_entries", "open_session_of", "parse_reference", "require_sending", "session_by_id",
    "set_archived", "shown_channel", "task_titles", "titles_of", "visible_lanes_called",
]  # fmt: skip
