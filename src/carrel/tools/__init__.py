"""What agents can do: one definition per tool, toolsets narrowed by wrapping, calls that are made once."""

from carrel.tools.caller import caller_again, caller_at
from carrel.tools.catalog import CATALOG
from carrel.tools.cleanup import Cleanup
from carrel.tools.coding import CODING_CATALOG
from carrel.tools.external_callers import (
    ExternalCaller,
    access_by_session_key,
    external_caller,
    note_refused_read,
    with_view,
)
from carrel.tools.external_calls import ExternalCalls, NewCall
from carrel.tools.invocation import call_tool, finish_waiting, lock_caller, prepare_call, refuse_call
from carrel.tools.memory.readers import (
    context_reader,
    memory_reader,
    plan_worked_on,
    reader_named,
    reader_of,
    reader_within,
    visible_memory,
)
from carrel.tools.model import Caller, NoChannelThread, OpenChannelThread, Preparation, Result, Tool, ToolServices, Wait
from carrel.tools.profiles import is_exchange_step, shown_tools
from carrel.tools.refusals import account_wide
from carrel.tools.remote import (
    BegunCall,
    begin_remote,
    catalog_for,
    connected_tool,
    connectors_of,
    end_remote,
    known_catalog,
)
from carrel.tools.session_access import SessionAccess, session_access
from carrel.tools.sessions.rows import session_row, shown_key
from carrel.tools.sessions.shapes import PlanMode, SessionHistory, SessionRow
from carrel.tools.sessions.spawn import workspace_of
from carrel.tools.tool_rules import require_part
from carrel.tools.toolset import Catalog, Permitted, Toolset, names_in, toolset_for
from carrel.tools.transcript import message_shape

__all__ = [
    "CATALOG", "CODING_CATALOG", "BegunCall", "Caller", "Catalog", "Cleanup", "ExternalCaller", "ExternalCalls",
    "NewCall", "NoChannelThread", "OpenChannelThread", "Permitted", "PlanMode", "Preparation", "Result",
    "SessionAccess", "SessionHistory", "SessionRow", "Tool", "ToolServices", "Toolset", "Wait", "access_by_session_key",
    "account_wide", "begin_remote", "call_tool", "caller_again", "caller_at", "catalog_for", "connected_tool",
    "connectors_of", "context_reader", "end_remote", "external_caller", "finish_waiting", "is_exchange_step",
    "known_catalog", "lock_caller", "memory_reader", "message_shape", "names_in", "note_refused_read", "plan_worked_on",
    "prepare_call", "reader_named", "reader_of", "reader_within", "refuse_call", "require_part",
    "session_access", "session_row", "shown_key", "shown_tools", "toolset_for", "visible_memory", "with_view",
    "workspace_of",
]  # fmt: skip
