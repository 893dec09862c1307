"""The journal of entries and the feed of events. Histories, transcripts and timelines query the journal."""

from carrel.journal.changes import ChangePage, changes_since, sequence_at
from carrel.journal.feed import FeedStart, feed_pages, feed_start
from carrel.journal.follower_store import events_behind, feed_is_late
from carrel.journal.followers import Follower, FollowerDuty
from carrel.journal.location_store import spaces_of
from carrel.journal.model import (
    DEFAULT_SPACE,
    About,
    DeletedEntry,
    EntriesDeleted,
    Entry,
    Event,
    EventFilter,
    NewEntry,
    TaskView,
    about_lane,
    as_report,
    json_text,
)
from carrel.journal.store import (
    append_entry,
    append_event,
    append_once,
    attached_in,
    changes_of_run,
    delete_entry,
    delete_transcript,
    deletions_of,
    entries_by_id,
    entries_by_session,
    entries_matching,
    entries_of_run,
    entries_of_session,
    entries_of_task,
    events_after,
    newest_settled,
    pending_entries,
    prune_events,
    runs_of_events,
    session_has_entries,
    talk_around_run,
    talk_of_runs,
    update_entry,
)
from carrel.journal.text_cleanup import ContextMarks, clean, quoted_lines_removed
from carrel.journal.threads import unseen_messages

__all__ = [
    "DEFAULT_SPACE", "About", "ChangePage", "ContextMarks", "DeletedEntry", "EntriesDeleted", "Entry", "Event",
    "EventFilter", "FeedStart", "Follower", "FollowerDuty", "NewEntry", "TaskView", "about_lane", "append_entry",
    "append_event", "append_once", "as_report", "attached_in", "changes_of_run", "changes_since", "clean",
    "delete_entry", "delete_transcript", "deletions_of", "entries_by_id", "entries_by_session", "entries_matching",
    "entries_of_run", "entries_of_session", "entries_of_task", "events_after", "events_behind", "feed_is_late",
    "feed_pages", "feed_start", "json_text", "newest_settled", "pending_entries", "prune_events",
    "quoted_lines_removed", "runs_of_events", "sequence_at", "session_has_entries", "spaces_of", "talk_around_run",
    "talk_of_runs", "unseen_messages", "update_entry",
]  # fmt: skip
