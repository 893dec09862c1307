"""Tasks, goals, schedules, memory, and what is on the board."""

# Schedules: how far ahead the next window is searched (29 February on a given weekday may be 40 years away), after how
# many minutes a failed window is retried, and how often to look even if nothing is due, since clocks may be changed.
SCHEDULES_PER_ACCOUNT_MAX = 1_000
CRON_CHARS_MAX = 200
CRON_YEARS_MAX = 41
TIMEZONE_CHARS_MAX = 64
SCHEDULE_EXECUTIONS_MAX = 1_000_000_000
SCHEDULE_RETRY_MINUTES = (1, 5, 15)
SCHEDULES_AT_A_TIME = 100
SCHEDULE_LOOK_SECONDS = 60
SCHEDULE_BROKEN_SECONDS = 60

# Auto runs. A server renews the leases of its auto runs; an expired one belonged to a server that is gone. It must
# expire before the lease of the tick does, so that no other server picks the tick up again.
AUTO_LEASE_SECONDS = 20
AUTO_RUNS_AT_A_TIME = 100
AUTO_LOOK_SECONDS = 60
AUTO_BROKEN_SECONDS = 60
AUTO_INTERVAL_SECONDS_MAX = 7 * 86_400
AUTO_RUNS_PER_SESSION_MAX = 20
AUTO_RUNS_PER_ACCOUNT_MAX = 1_000
# An auto run is held when it says or does the same thing this many times in a row.
AUTO_SAME_MAX = 3
AUTO_TITLE_CHARS_MAX = 200

# Tasks
TASK_TITLE_CHARS_MAX = 2_000
# Between two neighbours of a column; if the gap gets smaller, the column is ranked anew.
TASK_RANK_GAP_MIN = 1e-6
TASK_RANK_MAX = 1e9
TASKS_SPREAD_AT_ONCE = 64
TASK_DESCRIPTION_CHARS_MAX = 100_000
BLOCKED_REASON_CHARS_MAX = 2_000
TASK_TAGS_MAX = 32
TASK_TAG_CHARS_MAX = 200
TASK_METADATA_BYTES_MAX = 16 * 1024
TASK_DEPENDENCIES_MAX = 100
# How many tasks one may depend on, counting indirect ones, and how deep tasks nest: writes walk both.
TASK_DEPENDENCIES_IN_ALL_MAX = 1_000
TASK_DEPTH_MAX = 50
TASK_PARTIES_MAX = 200
TASK_LIST_ROWS_DEFAULT = 100
TASK_LIST_ROWS_MAX = 500
THREAD_ROWS_DEFAULT = 50
THREAD_ROWS_MAX = 200
HISTORY_MESSAGES_DEFAULT = 25
ACTIVITY_ROWS_DEFAULT = 30
# What a run on a task is shown of the thread without asking.
SNIPPET_MESSAGES_MAX = 5
# How many messages are searched for those that the session has not seen yet.
SNIPPET_MESSAGES_READ_MAX = 50
SNIPPET_MESSAGE_CHARS_MAX = 300
HEADING_TITLE_CHARS_MAX = 200
HEADING_NAMES_CHARS_MAX = 1_000
HEADING_DESCRIPTION_CHARS_MAX = 4_000
HEADING_BRIEFING_CHARS_MAX = 4_000
# What a run of a plan is shown of the plan.
HEADING_GOAL_CHARS_MAX = 1_000
HEADING_PLAN_CHARS_MAX = 1_500
HEADING_PLAN_TASKS_MAX = 20
HEADING_RESULTS_MAX = 5
HEADING_RESULT_CHARS_MAX = 1_200
# A block of a heading is cut to the remaining space, but never below this.
HEADING_BLOCK_CHARS_MIN = 80
# Waiting messages that one run takes together; the rest start another run.
JOINED_MESSAGES_MAX = 50
OVERVIEW_TASKS_MAX = 100
OVERVIEW_TOP_TASKS = 3
# How many other agents a run on a task is shown, and how many names an error lists.
TEAM_SHOWN_MAX = 30
TEAM_DESCRIPTION_CHARS_MAX = 160
NAMES_LISTED_MAX = 20
RESPONSE_RECIPIENTS_MAX = 10
RESPONSE_REQUEST_CHARS_MAX = 1_000
RESPONSE_REQUEST_HOURS = 4
TASK_RUN_ENDS_AT_A_TIME = 16
TASK_RUN_END_RETRY_SECONDS = 30

# Pauses after its last turn before a task in progress is resumed, one per attempt; after the last, a person takes over.
STALL_PAUSES_MINUTES = (1, 5, 15, 60)
STALLS_AT_A_TIME = 16
STALL_RETRY_SECONDS = 60

# Spaces and topics
SPACES_PER_ACCOUNT_MAX = 500
SPACE_ID_CHARS_MAX = 200
# Each row names all other spaces, so even a short list is long.
SPACE_LIST_ROWS_MAX = 100
TOPIC_NAME_CHARS_MAX = 2_000
TOPIC_DESCRIPTION_CHARS_MAX = 100_000
TOPIC_DIGEST_CHARS_MAX = 10_000
TOPIC_DEPTH_MAX = 50
# Merges that a topic remembers; older ones can no longer be undone as a whole.
TOPIC_MERGES_KEPT = 24
TOPIC_LIST_ROWS_DEFAULT = 100
TOPIC_LIST_ROWS_MAX = 500

# Heartbeats
HEARTBEATS_AT_A_TIME = 16
HEARTBEAT_SECONDS_MIN = 1
HEARTBEAT_DAYS_MAX = 366
HEARTBEAT_RETRY_SECONDS = 60
# Entries that are looked at before a heartbeat; the next look continues after them.
HEARTBEAT_ENTRIES_MAX = 1_000
HEARTBEAT_TASKS_MAX = 20
# How long before its due date heartbeats name a task.
HEARTBEAT_DUE_DAYS = 1
# Delegated runs that are followed up at a time, and the pause after a follow-up that failed.
FOLLOWUPS_AT_A_TIME = 16
FOLLOWUP_RETRY_SECONDS = 60
# What is kept of the input and the output of another program's tool.
HOOK_RAW_CHARS_MAX = 5_000
# The tools for tasks. A search looks at the newest tasks, a page at a time.
TASK_LOAD_MESSAGES_DEFAULT = 10
LISTED_DESCRIPTION_CHARS_MAX = 300
TASK_SEARCH_ROWS_MAX = 2_000
TASK_SEARCH_PAGE_ROWS = 200
TASK_SEARCH_RESULTS_DEFAULT = 20
TASK_SEARCH_RESULTS_MAX = 100
# Memory
MEMORY_CONTENT_CHARS_MAX = 2_000
MEMORY_TITLE_CHARS_MAX = 200
MEMORY_TAGS_MAX = 32
MEMORY_TAG_CHARS_MAX = 64
MEMORY_REASON_CHARS_MAX = 1_000
# Words of one memory that are indexed, and words of one question that are looked up.
MEMORY_WORDS_MAX = 400
MEMORY_QUERY_WORDS_MAX = 16
MEMORY_WORD_CHARS_MAX = 40
# Memories of one scope that a turn's recall looks at per word, and because they are new.
MEMORY_MATCHES_MAX = 12
MEMORY_NEWEST_MAX = 24
# Recalled from each scope that has any, whatever the others hold.
MEMORY_RESERVED_PER_SCOPE = 2
# Returned by a search, and characters of each that a tool shows.
MEMORY_FOUND_DEFAULT = 10
MEMORY_FOUND_MAX = 50
MEMORY_CONTENT_SHOWN_CHARS_MAX = 600
MEMORY_QUERY_CHARS_MAX = 500
# Runs that are listed as having been shown a memory, newest first.
MEMORY_READS_MAX = 200
# Statements kept of one message, and characters of each.
MEMORY_STATED_MAX = 5
MEMORY_STATED_CHARS_MAX = 500
# Search
SEARCH_QUERY_CHARS_MAX = 500
SEARCH_QUERY_WORDS_MAX = 24
SEARCH_SPACES_MAX = 500
# How many tasks outside its spaces, newest first, are searched because the agent works on them.
SEARCH_OWN_TASKS_MAX = 200
# Different words indexed per document, and characters of each.
SEARCH_WORDS_MAX = 4_000
SEARCH_WORD_CHARS_MAX = 40
# Characters of each part of a document that is embedded by itself.
SEARCH_CHUNK_CHARS = 1_000
# Documents looked up for all words of a query, and for each word; a word with more matches says too little.
SEARCH_MATCHES_MAX = 60_000
SEARCH_MATCHES_PER_WORD_MAX = 15_000
SEARCH_MATCHES_PER_WORD_MIN = 500
# For all words, while somebody waits for a context; then, per kind, vectors compared and documents looked at closely,
# unless more are wanted.
SEARCH_QUICK_MATCHES_MAX = 6_000
SEARCH_QUICK_VECTORS_MAX = 50_000
SEARCH_QUICK_CANDIDATES = 40
SEARCH_SECONDS_MAX = 5
SEARCH_RETRY_SECONDS = 1
# How long the only search of a caller waits for its turn; searches finish, and free a slot, well within this.
SEARCH_TURN_SECONDS_MAX = 10
# Accounts and callers whose last admission is remembered.
SEARCH_ADMISSIONS_KEPT_MAX = 10_000
# From this many writes a second on, a search pauses for this multiple of the last one's duration, up to the maximum.
SEARCH_BUSY_WRITES_PER_SECOND = 50
SEARCH_REST = 3
SEARCH_REST_SECONDS_MAX = 0.5
# Of a text that was found, in an answer of the API and of a tool.
SEARCH_SHOWN_CHARS_MAX = 2_000
SEARCH_SHOWN_TO_TOOLS_CHARS_MAX = 320
SEARCH_FOUND_DEFAULT = {"topic": 24, "task": 48, "log": 120, "note": 24}
SEARCH_FOUND_MAX = {"topic": 120, "task": 240, "log": 320, "note": 120}
# With more entries in front of a caller, it is not checked whether these are all of its session.
SEARCH_SHOWN_COMPARED_MAX = 100
# Documents of one account that are loaded at a time, and removed ones that are remembered.
SEARCH_LOAD_ROWS = 20_000
SEARCH_REMOVALS_MAX = 10_000
# Documents of all accounts whose figures this process keeps in memory, at about 100 bytes each.
SEARCH_DOCUMENTS_IN_MEMORY_MAX = 4_000_000
# Entries next to one another that count as one segment of a conversation.
SEARCH_SEGMENT_ENTRIES = 48
# How many scopes per account are cached.
SEARCH_SCOPES_KEPT = 4
SEARCH_EMBED_TEXTS_MAX = 64
SEARCH_EMBED_SECONDS_MAX = 30
# While somebody waits for results; after that, words alone count.
SEARCH_QUERY_EMBED_SECONDS_MAX = 2
SEARCH_DIMENSIONS_MAX = 8_192
# Texts whose embeddings stay in memory for the next comparison, at about two kilobytes each.
SIMILARITY_TEXTS_KEPT = 5_000
SEARCH_REBUILD_ROWS = 200
SEARCH_REBUILDS_AT_A_TIME = 2
# Sorting: bundles of a session, candidates for them, and what a model is shown.
TERSE_CHARS_MAX = 24
SUMMARY_CHARS_MAX = 56
SUMMARY_READ_CHARS_MAX = 2_000
CLASSIFIER_NAME_CHARS_MAX = 60
# Read for one bundle: entries before and after its first; topics and tasks it may belong to, how many of the topics are
# looked at closely; and messages that represent a topic without a profile, how many such topics are read, and
# characters of each message.
CLASSIFIER_BUNDLE_ENTRIES_MAX = 80
CLASSIFIER_CANDIDATES_MAX = 500
CLASSIFIER_SHORTLIST_MAX = 24
CLASSIFIER_TASKS_MAX = 200
CLASSIFIER_SAID_ENTRIES_READ = 48
CLASSIFIER_UNPROFILED_MAX = 24
CLASSIFIER_SAID_CHARS_MAX = 400
# How a topic is recognised: words of its profile, and the newest messages of a session that the next one continues.
CLASSIFIER_PROFILE_WORDS_MAX = 80
CLASSIFIER_RECENT_SAID_MAX = 5
# Within this time a message is more readily taken to continue the one before it.
CLASSIFIER_PAUSE_SECONDS = 600
# Grouping: bundles after which topics are reviewed; newest entries of a space that are grouped anew; new messages
# before that is repeated: a tenth of the existing ones, up to this maximum; entries up to which a topic may still be
# merged into another; and messages up to which a topic is too small to stand alone.
CLASSIFIER_MERGE_BUNDLES = 24
CLASSIFIER_GROUPED_ENTRIES_MAX = 4_000
CLASSIFIER_GROUPED_SHARE = 10
CLASSIFIER_GROUPED_AFTER_MAX = 200
CLASSIFIER_MERGED_ENTRIES_MAX = 400
CLASSIFIER_FRAGMENT_LINES_MAX = 2
# One turn of an account: entries it begins with, how long it may take, and how long a server may hold it.
CLASSIFIER_ENTRIES_AT_A_TIME = 500
CLASSIFIER_ACCOUNTS_AT_A_TIME = 4
CLASSIFIER_TURN_SECONDS_MAX = 120
CLASSIFIER_LEASE_SECONDS = 600
# Entries of one session that are sorted again at a time.
CLASSIFIER_REPLAYED_MAX = 1_000
# What a model is shown for one bundle, and how long it may take.
CLASSIFIER_SHOWN_TOPICS_MAX = 24
CLASSIFIER_SHOWN_TASKS_MAX = 48
CLASSIFIER_SHOWN_ENTRIES_MAX = 24
CLASSIFIER_SHOWN_CHARS_MAX = 600
CLASSIFIER_MODEL_SECONDS_MAX = 75
# How long our own requests are counted and their answers recognised when they come back; short answers that anybody may
# give, such as "ok", are recognised for less long.
OWN_REQUEST_MINUTES = 60
SHORT_ANSWER_CHARS_MAX = 24
SHORT_ANSWER_MINUTES = 2
# Routing memory: how many places are kept per session, for how long, and characters of what was said there.
ROUTES_MAX = 12
ROUTE_DAYS_MAX = 90
ROUTE_ANCHOR_CHARS_MAX = 800
# The newest entries of a session from which its space is determined.
SPACE_ENTRIES_READ = 12
# Digests: entries that one is written from, its lines of earlier entries, characters of each entry that a model is
# shown, and of each sentence that a digest by rule repeats.
DIGEST_ENTRIES_MAX = 120
DIGEST_LINES_MAX = 6
DIGEST_LINE_CHARS_MAX = 240
DIGEST_SENTENCE_CHARS_MAX = 120
# Context: the length of a block, and the lines of its sections.
CONTEXT_TEXT_CHARS_DEFAULT = 2_200
CONTEXT_TEXT_CHARS_MAX = 12_000
CONTEXT_LINES_DEFAULT = 6
CONTEXT_LINES_MAX = 40
CONTEXT_QUERY_CHARS_MAX = 500
CONTEXT_ROUTES_SHOWN = 4
# Entries that are read for a timeline; some are tool calls, which it leaves out.
CONTEXT_TIMELINE_ROWS_MAX = 400
# Turns in which a model looks for facts at a time; characters of each text it is shown.
EXTRACTIONS_AT_A_TIME = 4
EXTRACTION_TEXT_CHARS_MAX = 12_000
EXTRACTION_ATTEMPTS_MAX = 3
EXTRACTION_RETRY_SECONDS = 60
EXTRACTION_LEASE_SECONDS = 300

# Goals and plans
GOAL_NAME_CHARS_MAX = 2_000
GOAL_DESCRIPTION_CHARS_MAX = 100_000
PLAN_MARKDOWN_CHARS_MAX = 100_000
PLANS_PER_GOAL_MAX = 10
PLAN_TASKS_MAX = 50
SESSION_PLANS_SHOWN = 20
SESSION_GOALS_MAX = 1_000
# Plans that are followed at a time, and the pause after a failure.
PLAN_NOTES_AT_A_TIME = 10
PLAN_NOTE_RETRY_SECONDS = 30

# Entries of the board: what a program may send, how many are listed, and how long an agent's note is.
LOG_SUMMARY_CHARS_MAX = 2_000
LOG_RAW_CHARS_MAX = 100_000
LOG_ROWS_DEFAULT = 200
LOG_ROWS_MAX = 1_000
LOG_RELATED_MAX = 100
NOTE_CHARS_MAX = 1_600
# A host may repeat a message that it was sent: how far back such echoes are looked for.
ECHO_MINUTES = 10
ECHO_ENTRIES_MAX = 50
# Entries that wait to be stored: per request, per account, per transaction; and how often storing one is tried.
INGEST_ENTRIES_MAX = 200
INGEST_WAITING_MAX = 100_000
INGEST_ROWS_AT_A_TIME = 100
INGEST_ACCOUNTS_AT_A_TIME = 4
INGEST_ATTEMPTS_MAX = 5
INGEST_RETRY_SECONDS = 30
# How many generations of spawning sessions are looked up for a sub-agent's session.
LINEAGE_STEPS_MAX = 32
