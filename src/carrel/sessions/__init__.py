"""Agents, lanes and their generations: who is spoken to, under which name, and who may see it. No queue lives here."""

from carrel.sessions.administering import account_settings, change_account, make_token
from carrel.sessions.agent_store import agent_by_id, agent_by_slug, agent_enabled, every_agent
from carrel.sessions.agents import (
    agent_wire,
    change_agent,
    ensure_default_account,
    make_agent,
    open_account,
    require_agent,
)
from carrel.sessions.chats import ChatAddress, active_session, chat_session, shared_key
from carrel.sessions.lifecycle import archive, change_lane, close_generation, open_generation
from carrel.sessions.model import (
    MAIN_AGENT,
    Agent,
    BehaviorFlags,
    Lane,
    LaneChange,
    LaneFilter,
    LaneRow,
    Profile,
    Session,
    SubagentRules,
    Thinking,
    ToolRules,
    Wire,
    kinds_listed_as,
    shown_channel,
)
from carrel.sessions.pointers import (
    Active,
    active,
    chosen_key,
    fresh_key,
    point,
    repair,
    require_makeable,
    transport_name,
)
from carrel.sessions.policy import decide, require_sending
from carrel.sessions.routing import Place, default_agent, find_lane, find_place, lane_for_work, named_agent
from carrel.sessions.spellings import Spelling, read_spelling
from carrel.sessions.store import (
    children_of,
    closed_sessions_before,
    delete_lane,
    delete_session,
    generations_of,
    has_lanes_of_others,
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
    "MAIN_AGENT", "Active", "Agent", "BehaviorFlags", "ChatAddress", "Lane", "LaneChange", "LaneFilter", "LaneRow",
    "Place", "Profile", "Session", "Spelling", "SubagentRules", "Thinking", "ToolRules", "Wire", "account_settings",
    "active", "active_session", "agent_by_id", "agent_by_slug", "agent_enabled", "agent_wire", "archive",
    "change_account", "change_agent", "change_lane", "chat_session", "children_of", "chosen_key", "close_generation",
    "closed_sessions_before", "decide", "default_agent", "delete_lane", "delete_session", "ensure_default_account",
    "every_agent", "find_lane", "find_place", "fresh_key", "generations_of", "has_lanes_of_others", "insert_lane",
    "kinds_listed_as", "lane_for_work", "lane_of", "lane_row", "lane_rows", "lanes_of_agent", "lock_lane",
    "make_agent", "make_token", "may_address", "may_see", "named_agent", "note_ending", "open_account",
    "open_generation", "open_session_of", "open_sessions_of_task", "point", "read_spelling", "repair",
    "require_agent", "require_makeable", "require_sending", "require_sight", "session_by_id", "shared_key",
    "shown_channel", "transport_name",
]  # fmt: skip
