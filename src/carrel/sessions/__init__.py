"""Agents, lanes and their generations: who is spoken to, under which name, and who may see it. No queue lives here."""

from carrel.sessions.agent_store import agent_by_id, agent_by_slug, agent_enabled, every_agent
from carrel.sessions.agents import agent_wire, change_agent, ensure_default_account, make_agent, open_account, require_agent
from carrel.sessions.lifecycle import archive, change_lane, close_generation, open_generation
from carrel.sessions.model import (
    MAIN_AGENT,
    Agent,
    Lane,
    LaneChange,
    LaneFilter,
    LaneRow,
    Profile,
    Session,
    Thinking,
    Wire,
)
from carrel.sessions.pointers import Active, active, chosen_key, fresh_key, point, repair
from carrel.sessions.policy import decide, require_sending
from carrel.sessions.routing import Place, default_agent, find_lane, find_place, named_agent
from carrel.sessions.spellings import Spelling, read_spelling
from carrel.sessions.store import (
    children_of,
    closed_sessions_before,
    delete_lane,
    delete_session,
    generations_of,
    insert_lane,
    lane_of,
    lane_row,
    lane_rows,
    lanes_of_agent,
    lock_lane,
    note_ending,
    open_session_of,
    open_sessions_of_task,
    session_by_id,
)
from carrel.sessions.visibility import may_address, may_see, require_sight

__all__ = [
    "MAIN_AGENT", "Active", "Agent", "Lane", "LaneChange", "LaneFilter", "LaneRow", "Place", "Profile", "Session", "Spelling",
    "Thinking", "Wire", "active", "agent_by_id", "agent_by_slug", "agent_enabled", "agent_wire", "archive", "change_agent", "change_lane",
    "children_of", "chosen_key", "close_generation", "closed_sessions_before", "decide", "default_agent", "delete_lane",
    "delete_session", "ensure_default_account", "every_agent", "find_lane", "find_place", "fresh_key", "generations_of", "insert_lane",
    "lane_of", "lane_row", "lane_rows", "lanes_of_agent", "lock_lane", "make_agent", "may_address", "may_see", "named_agent",
    "note_ending", "open_account", "open_generation", "open_session_of", "open_sessions_of_task", "point", "read_spelling",
    "repair", "require_agent", "require_sending", "require_sight", "session_by_id",
]  # fmt: skip
