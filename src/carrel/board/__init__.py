"""The board: incoming entries, where they belong, searching them, and follow-ups on delegated work."""

from carrel.board.classifier.duty import (
    Classifier,
    ask_for_digests,
    ask_for_turn,
    backlog,
    classifier_gauges,
    sort_again,
    sorted_by,
)
from carrel.board.classifier.merges import join_topics, split_topic
from carrel.board.classifier.sorter import Sorter
from carrel.board.documents import BoardDocuments
from carrel.board.entries import LogShape, change_entry, delete_entry, log_shapes, read_file, readable_entry
from carrel.board.followups import followup_duty, observe_delegated_runs
from carrel.board.hooks import ClaudeEvent, require_hooks, run_hook, wake
from carrel.board.ingests import Ingests, accept, is_unrecorded
from carrel.board.intake import record
from carrel.board.locations import (
    add_route,
    board_key,
    infer_space,
    named_session,
    prune_routes,
    visible_routes,
)
from carrel.board.membership import observe_changes, settle_accounts
from carrel.board.model import Classification, LogChange, LogFilter, LogSource, LogType, NewLog, Summary
from carrel.board.model_calls import Model
from carrel.board.search import BoardFound, BoardQuery, Ranked, board_search, found_entry, scope_of_search
from carrel.board.search_shapes import SearchShape, search_shape
from carrel.board.store import Route, RouteFields, list_entries, routes_of

__all__ = [
    "BoardDocuments", "BoardFound", "BoardQuery", "Classification", "Classifier", "ClaudeEvent", "Ingests", "LogChange",
    "LogFilter", "LogShape", "LogSource", "LogType", "Model", "NewLog", "Ranked", "Route", "RouteFields", "SearchShape",
    "Sorter", "Summary", "accept", "add_route", "ask_for_digests", "ask_for_turn", "backlog", "board_key",
    "board_search", "change_entry", "classifier_gauges", "delete_entry", "followup_duty", "found_entry", "infer_space",
    "is_unrecorded", "join_topics", "list_entries", "log_shapes", "named_session", "observe_changes",
    "observe_delegated_runs", "prune_routes", "read_file", "readable_entry", "record", "require_hooks", "routes_of",
    "run_hook", "scope_of_search", "search_shape", "settle_accounts", "sort_again", "sorted_by", "split_topic",
    "visible_routes", "wake",
]  # fmt: skip
