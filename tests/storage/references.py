"""Columns that name another row and are not a foreign key, each with its reason. Remove what no longer applies."""

OUTLIVES = "it outlives what it tells of, which may have been pruned"
PRUNED = "the run it names may be pruned first, and SQLite cannot set one column of a composite key to NULL"
ACTOR = "an actor is a token, a user, an agent or the system itself"
SENDER = "a name that the sender chose; no row of ours has it"
BOARD = "a name of the board, which has no tables yet"
LATER = "goals came after tasks, and SQLite cannot add a key to a table; a goal releases its tasks when it goes"
SESSION = "a session that nobody has spoken in has no lane yet; what is kept of it goes when its lane is deleted"
PARTY = "an agent or a person by mailbox; its kind says which"
LISTED = "a JSON list of names; what needs them reads them by the account"
OWN_NAME = "a part of the row's own name"

# By table and column; `*` stands for every table.
ONLY_NAMED = {
    "*.topic_id": BOARD,
    "*.space_id": BOARD,
    "*.actor_id": ACTOR,
    "*.made_by": ACTOR,
    "*.message_id": SENDER,
    "*.attachment_ids": LISTED,
    "*.idempotency_key": SENDER,
    "events.key": OUTLIVES,
    "events.run_id": OUTLIVES,
    "events.agent_id": OUTLIVES,
    "events.recipient": OUTLIVES,
    "events.task_id": OUTLIVES,
    "notifications.key": OUTLIVES,
    "notifications.run_id": OUTLIVES,
    "notifications.session_id": OUTLIVES,
    "notifications.entry_id": OUTLIVES,
    "notifications.task_id": OUTLIVES,
    "notifications.recipient": "a person's id, or the mailbox that all owners share",
    "entries.run_id": "an entry is kept as long as its session, which is longer than its run",
    "entries.agent_id": "the lane of the entry has the agent; a check for every entry would only repeat the lane's",
    "entries.author": ACTOR,
    "runs.sender_id": SENDER,
    "runs.parent_run_id": PRUNED,
    "runs.retried_from": PRUNED,
    "runs.waiting_for": "what a run waits for: a word, not a row",
    "calls.call_id": OWN_NAME,
    "calls.waits_for": PRUNED,
    "artifacts.artifact_id": OWN_NAME,
    "responses.previous_id": "the response it names may go with its run first; then the talk before it is gone",
    "lanes.key": OWN_NAME,
    "lanes.spawned_by": "the lane it names may be deleted before its children",
    "exchanges.requester_key": "the requester may be deleted before the exchange ends",
    "exchanges.requester_session_id": "the requester's session may be pruned before the exchange ends",
    "exchanges.requester_run_id": PRUNED,
    "exchanges.target_key": "the lane of `first_run_id`, which is a foreign key",
    "exchanges.current_run_id": PRUNED,
    "schedules.key": "a schedule outlives its session and says so",
    "schedules.run_id": PRUNED,
    "schedules.target_id": "a schedule outlives its goal or task and says so",
    "tasks.goal_id": LATER,
    "tasks.plan_id": LATER,
    "goals.key": SESSION,
    "plans.key": SESSION,
    "auto_runs.key": "its row goes with its session, right after it",
    "auto_runs.goal_id": "the goal may be deleted first, which ends the auto run; its kind stays what it was",
    "auto_runs.tick_run_id": PRUNED,
    "runs.auto_run_id": "an auto run is kept as long as its ticks, or goes with its session as they do",
    "entries.auto_run_id": "an entry is kept as long as its session, which is longer than its auto run",
    "tasks.created_by": "the kind of who created it: a word, not a row",
    "task_parties.party_id": PARTY,
    "notices.author_id": PARTY,
    "notices.entry_id": "the session of the entry it tells of may be pruned before its run",
    "response_requests.run_id": PRUNED,
    "search_documents.session_key": "a session of another system may be named; what is deleted here is removed",
    "memories.agent_id": "empty for memories that are of no agent; an agent is never deleted",
    "memories.source_run_id": OUTLIVES,
    "memories.source_entry_id": OUTLIVES,
    "memories.created_by": ACTOR,
    "memories.superseded_by": "the memory it names may be forgotten first",
    "memories.promoted_from": "the memory it names may be forgotten first",
    "memories.promoted_by": ACTOR,
    "memory_words.agent_id": "that of the memory",
    "tokens.agent_ids": LISTED,
    "tokens.space_ids": LISTED,
}
