"""Every fixed limit, named with its unit. What an operator may change is a setting instead."""

# Requests
BODY_BYTES_MAX = 20 * 1024 * 1024
# Of a request that needs no token.
OPEN_BODY_BYTES_MAX = 16 * 1024
# Of all bodies that are being received at one moment; up to the size that a connection buffers anyway, none counts.
BODIES_BYTES_MAX = 256 * 1024 * 1024
SMALL_BODY_BYTES_MAX = 64 * 1024
BUSY_RETRY_SECONDS = 5
REQUEST_HEAD_BYTES_MAX = 64 * 1024
REQUEST_HEAD_SECONDS_MAX = 20
QUERY_PARAMETERS_MAX = 100
REQUEST_BODY_SECONDS_MAX = 300
# Longer than clients and proxies keep idle connections: if the server closed first, it could cut off a new request.
KEEP_ALIVE_SECONDS = 75
OPEN_FILES_WANTED = 65_536
IDEMPOTENCY_KEY_CHARS_MAX = 200
IDEMPOTENCY_KEPT_HOURS = 24
IDEMPOTENT_SECRETS_MAX = 1_000
REQUEST_ID_CHARS_MAX = 128
LIST_ROWS_DEFAULT = 50
LIST_ROWS_MAX = 200
HISTORY_ROWS_DEFAULT = 200
HISTORY_ROWS_MAX = 1000
# What is shorter is read on the loop: changing threads would take longer than reading it.
SHORT_SESSION_ENTRIES_MAX = 32
LONG_READ_SECONDS_MAX = 30
WRITE_IDLE_SECONDS_MAX = 10
# Of lines, when two receipts are compared; these take about a second.
DIFF_COMPARISONS_MAX = 5_000_000
# Threads. More on SQLite would only wait for each other: reading a file in Python needs the interpreter's lock.
LONG_READERS_SQLITE = 2
LONG_READERS_POSTGRES = 4
# Besides, for reads that no turn waits for, such as searches. With a second one on SQLite, runs beside searches end
# half as fast (`bench search`).
PATIENT_READERS_SQLITE = 1
PATIENT_READERS_POSTGRES = 2
FOLLOWER_LEASE_SECONDS = 30
FOLLOWER_ACCOUNTS_AT_A_TIME = 4
CHANGES_ROWS_DEFAULT = 500
CHANGES_ROWS_MAX = 5000
WAIT_SECONDS_DEFAULT = 30
WAIT_SECONDS_MAX = 600
# The longest time limit of a run: one year.
RUN_TIMEOUT_SECONDS_MAX = 31_536_000
STOP_SECONDS_MAX = 5
RECENT_SESSIONS_DEFAULT = 5
RECENT_SESSIONS_MAX = 20
ROW_MESSAGES_MAX = 20
REFUSED_CALLS_MAX = 200

# Names and texts
AGENT_ID_CHARS_MAX = 64
NAME_CHARS_MAX = 200
LABEL_CHARS_MAX = 512
CHAT_TITLE_CHARS_MAX = 60
MESSAGE_CHARS_MAX = 100_000
INSTRUCTIONS_EXTRA_CHARS_MAX = 20_000
SESSION_REFERENCE_CHARS_MAX = 240
CLIENT_ID_CHARS_MAX = 200
BRIEFING_CHARS_MAX = 20_000
TOKEN_NAMES_MAX = 200

# Attachments of one message
ATTACHMENTS_MAX = 8
ATTACHMENT_BYTES_MAX = 10 * 1024 * 1024
# Files that were sent ahead of a message and that none uses yet, per account.
UPLOADS_UNUSED_MAX = 200
UPLOADS_UNUSED_DAYS = 1
# The headers of one part of a multipart body.
PART_HEADER_BYTES_MAX = 8 * 1024

# Files for a sub-agent: a folder that no lane owns is removed once no call can still be about to claim it.
FILE_NAME_BYTES_MAX = 255
STRAY_FOLDER_MINUTES = 15
SWEEP_SECONDS = 60
SWEPT_AT_A_TIME = 100

# A sub-agent's result: how long the child may take to write its notes, and how much of result and notes is announced.
ANNOUNCE_SECONDS_MAX = 120
ANNOUNCED_RESULT_CHARS_MAX = 8_000

# Turns
ARTIFACT_BYTES_MAX = 10 * 1024 * 1024
ARTIFACTS_PER_RUN_MAX = 1000
# What a list shows of a text.
ARTIFACT_PREVIEW_CHARS_MAX = 4_000
# Files count by their size in base64, as they are stored.
ARTIFACT_BYTES_PER_RUN_MAX = 64 * 1024 * 1024
TOOL_RESULT_BYTES_MAX = 80 * 1024
TOOL_MESSAGE_CHARS_MAX = 4_000
TOOL_CALLS_PER_ROUND_MAX = 64
QUESTION_CHARS_MAX = 4_000
ERROR_CHARS_MAX = 2_000

# How many items and parts the streamed answer of a model may have; more come only from a broken or hostile server.
ANSWER_PARTS_MAX = 20_000

# The largest file that is read for the API key of a gateway
API_KEY_BYTES_MAX = 16_384

# How many tokens an answer may have where the server wants to be told and the settings do not say
OUTPUT_TOKENS_DEFAULT = 8_192

# Retries of a run: 5 s, doubled each time, up to 300 s
RETRY_BASE_SECONDS = 5
RETRY_MAX_SECONDS = 300

# Background duties
SAFETY_POLL_SECONDS = 5
LIFELINE_SECONDS = 5
DEADLINE_SECONDS = 0.1
STORE_AWAY_SECONDS = 0.5
PRUNE_SECONDS = 60
FEED_LATE_SECONDS = 60
PRUNE_ROWS_MAX = 500
NOTIFY_PAUSE_MS = 3

# Streams
STREAM_PING_SECONDS = 25
STREAM_PAGE_ROWS = 500
UNSETTLED_POLL_SECONDS = 0.02
STREAM_SEND_SECONDS_MAX = 20
STREAM_END_SECONDS_MAX = 1
CHAT_FRAMES_WAITING_MAX = 1_000
CHAT_BINDINGS_MAX = 20

# Notifications: how many a mailbox keeps (the newest), and how many are marked as read in one transaction.
NOTIFICATIONS_KEPT_MAX = 1_000
NOTIFICATIONS_READ_AT_A_TIME = 500
NOTIFICATION_SUBJECT_CHARS_MAX = 80

# A2A
A2A_ID_CHARS_MAX = 512
A2A_LEVELS_MAX = 28
A2A_VALUES_MAX = 10_000
A2A_HISTORY_MESSAGES = 100
A2A_PAGE_TASKS = 50
A2A_PAGE_TASKS_MAX = 100
A2A_PAGE_OBJECTIVES = 10
A2A_SCOPE_RUNS_MAX = 1_000
OBJECTIVE_HINT_CHARS = 80
A2A_TOTALS_KEPT_MAX = 1_000
A2A_CARD_SECONDS = 60

# Open Responses
RESPONSE_ITEMS_MAX = 2_000
RESPONSE_TOOLS_MAX = 128
RESPONSE_EXTRAS_BYTES_MAX = 8 * 1024 * 1024
RESPONSE_METADATA_PAIRS_MAX = 16
RESPONSE_METADATA_NAME_CHARS_MAX = 64
RESPONSE_METADATA_CHARS_MAX = 512
RESPONSE_OUTPUT_CHARS_MAX = 1_000_000
RESPONSE_WAIT_SECONDS_MAX = 3_600
RESPONSE_PAGE_MAX = 100
RESPONSE_PAGE_DEFAULT = 20
# Of a program's runs that wait for outputs, the newest ones are compared with the calls that a request repeats.
OUTPUT_WAITS_COMPARED_MAX = 100
COMPACTION_CHARS_MAX = 20_000
COMPACTION_LINE_CHARS_MAX = 2_000

# gRPC: one connection carries many calls, so calls need a limit of their own; open files only limit connections.
GRPC_CALLS_MAX = 20_000
GRPC_CALLS_PER_CONNECTION_MAX = 5_000
GRPC_PING_SECONDS_MIN = 5
GRPC_END_SECONDS_MAX = 3

# Webhooks of A2A tasks. The lease outlasts the longest request, so no other server sends the same notification.
WEBHOOKS_PER_RUN_MAX = 20
WEBHOOKS_AT_A_TIME = 64
WEBHOOKS_PER_HOST_AT_A_TIME = 8
WEBHOOK_SECONDS_MAX = 15
WEBHOOK_LEASE_SECONDS = 30
WEBHOOK_URL_CHARS_MAX = 2_048
WEBHOOK_SECRET_CHARS_MAX = 8_192

# Resolving host names given by clients
NAME_LOOKUPS_AT_A_TIME = 32
NAME_LOOKUP_SECONDS_MAX = 5

# Protection against token guessing
WRONG_TOKENS_PER_MINUTE_MAX = 30

# Metrics kept in memory, and how often gateways are checked
METRIC_MINUTES_MAX = 1_440
METRIC_SERIES_MAX = 5_000
GATEWAY_CHECK_SECONDS = 10

# Sign-in cookies
LOGIN_DAYS = 30

# Exchanges between lanes: how long to wait for the end of a call before its reply takes another way, and how often and
# how long an undelivered result is offered again.
INLINE_GRACE_SECONDS = 5
INLINE_LOOK_SECONDS = 5
OFFER_AGAIN_SECONDS = 15
OFFER_AGAIN_SECONDS_MAX = 300
OFFERING_SECONDS_MAX = 1_800
EXCHANGES_AT_A_TIME = 50
POSTS_AT_A_TIME = 16
POST_SECONDS_MAX = 30
# Outlasts the longest post, so no other server sends the same one.
POST_LEASE_SECONDS = 60
EXCHANGE_BROKEN_SECONDS = 60
ANNOUNCED_PART_CHARS_MAX = 3_500

# Posts to external channels: how long one is retried, and how long it is kept after its end.
POSTING_HOURS_MAX = 24
POSTS_KEPT_HOURS = 24

# Telegram. Message length is counted in UTF-16 units, as Telegram counts it.
TELEGRAM_MESSAGE_UNITS_MAX = 4_096
TELEGRAM_CALL_SECONDS_MAX = 15
TELEGRAM_FILE_SECONDS_MAX = 30
TELEGRAM_POSTS_AT_A_TIME = 8
TELEGRAM_TOPIC_NAME_CHARS_MAX = 128

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

# Auto runs. A server renews the leases of its auto runs; what none has renewed for that long was left by a server that
# is gone. It is shorter than what is left of the lease of a tick then, so that no other server takes the tick up again.
AUTO_LEASE_SECONDS = 20
AUTO_RUNS_AT_A_TIME = 100
AUTO_LOOK_SECONDS = 60
AUTO_BROKEN_SECONDS = 60
AUTO_INTERVAL_SECONDS_MAX = 7 * 86_400
AUTO_RUNS_PER_SESSION_MAX = 20
AUTO_RUNS_PER_ACCOUNT_MAX = 1_000
# The third time that an auto run says or does the same in a row, it is stopped.
AUTO_SAME_MAX = 3
AUTO_TITLE_CHARS_MAX = 200

# Tasks
TASK_TITLE_CHARS_MAX = 2_000
TASK_DESCRIPTION_CHARS_MAX = 100_000
BLOCKED_REASON_CHARS_MAX = 2_000
TASK_TAGS_MAX = 32
TASK_TAG_CHARS_MAX = 200
TASK_METADATA_BYTES_MAX = 16 * 1024
TASK_DEPENDENCIES_MAX = 100
# How many tasks one may depend on through others, and how deep tasks may be nested: both are walked in a write.
TASK_DEPENDENCIES_IN_ALL_MAX = 1_000
TASK_DEPTH_MAX = 50
TASK_PARTIES_MAX = 200
TASK_LIST_ROWS_DEFAULT = 100
TASK_LIST_ROWS_MAX = 500
THREAD_ROWS_DEFAULT = 50
THREAD_ROWS_MAX = 200
HISTORY_MESSAGES_DEFAULT = 25
ACTIVITY_ROWS_DEFAULT = 30
# What a run on a task is shown of the thread, unasked.
SNIPPET_MESSAGES_MAX = 5
SNIPPET_MESSAGE_CHARS_MAX = 300
HEADING_TITLE_CHARS_MAX = 200
HEADING_NAMES_CHARS_MAX = 1_000
HEADING_DESCRIPTION_CHARS_MAX = 4_000
HEADING_BRIEFING_CHARS_MAX = 4_000
# A block of a heading is cut to what is left for it, but not to less than this.
HEADING_BLOCK_CHARS_MIN = 80
# Messages that wait for an agent in one run; more begin another.
JOINED_MESSAGES_MAX = 50
OVERVIEW_TASKS_MAX = 100
OVERVIEW_TOP_TASKS = 3
RESPONSE_RECIPIENTS_MAX = 10
RESPONSE_REQUEST_CHARS_MAX = 1_000
RESPONSE_REQUEST_HOURS = 4
TASK_RUN_ENDS_AT_A_TIME = 16
TASK_RUN_END_RETRY_SECONDS = 30

# Spaces and topics
SPACES_PER_ACCOUNT_MAX = 500
SPACE_ID_CHARS_MAX = 200
TOPIC_NAME_CHARS_MAX = 2_000
TOPIC_DESCRIPTION_CHARS_MAX = 100_000
TOPIC_DIGEST_CHARS_MAX = 10_000
TOPIC_DEPTH_MAX = 50
TOPIC_LIST_ROWS_DEFAULT = 100
TOPIC_LIST_ROWS_MAX = 500

# Heartbeats
HEARTBEATS_AT_A_TIME = 16
HEARTBEAT_SECONDS_MIN = 1
HEARTBEAT_DAYS_MAX = 366
HEARTBEAT_RETRY_SECONDS = 60
# Entries that are looked at before a heartbeat; where there are more, the next look goes on.
HEARTBEAT_ENTRIES_MAX = 1_000
HEARTBEAT_TASKS_MAX = 20
# Delegated runs that are looked after at a time, and the pause after one that could not be.
FOLLOWUPS_AT_A_TIME = 16
FOLLOWUP_RETRY_SECONDS = 60
# Of what a tool of another program was given or has answered.
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
# Of one memory that can be found by, and of one question that are looked up.
MEMORY_WORDS_MAX = 400
MEMORY_QUERY_WORDS_MAX = 16
MEMORY_WORD_CHARS_MAX = 40
# Memories of one scope that a turn's recall looks at for one word, and for being new.
MEMORY_MATCHES_MAX = 12
MEMORY_NEWEST_MAX = 24
# Recalled of each scope that has any, whatever the others have.
MEMORY_RESERVED_PER_SCOPE = 2
# Returned by a search, and characters of each that a tool shows there.
MEMORY_FOUND_DEFAULT = 10
MEMORY_FOUND_MAX = 50
MEMORY_CONTENT_SHOWN_CHARS_MAX = 600
MEMORY_QUERY_CHARS_MAX = 500
# Runs that are listed as having been shown a memory, newest first.
MEMORY_READS_MAX = 200
# Statements of one message that are kept, and characters of each.
MEMORY_STATED_MAX = 5
MEMORY_STATED_CHARS_MAX = 500
# Search
SEARCH_QUERY_CHARS_MAX = 500
SEARCH_QUERY_WORDS_MAX = 24
SEARCH_SPACES_MAX = 500
# Of one document: the different words it is found by, and characters of each.
SEARCH_WORDS_MAX = 4_000
SEARCH_WORD_CHARS_MAX = 40
# Of one document: characters of each part that has a meaning of its own.
SEARCH_CHUNK_CHARS = 1_000
# Documents that are looked up for one word of a query, and for all of them; a word with more says too little.
SEARCH_MATCHES_PER_WORD_MAX = 15_000
SEARCH_MATCHES_MAX = 60_000
SEARCH_SECONDS_MAX = 5
SEARCH_RETRY_SECONDS = 1
# Of a text that was found, in an answer of the API and in that of a tool.
SEARCH_SHOWN_CHARS_MAX = 2_000
SEARCH_SHOWN_TO_TOOLS_CHARS_MAX = 320
SEARCH_FOUND_DEFAULT = {"topic": 24, "task": 48, "log": 120, "note": 24}
SEARCH_FOUND_MAX = {"topic": 120, "task": 240, "log": 320, "note": 120}
# Documents of one account that are loaded, and removed ones that are remembered, at a time.
SEARCH_LOAD_ROWS = 20_000
SEARCH_REMOVALS_MAX = 10_000
# Documents of all accounts whose figures this process keeps in memory, at about 100 bytes each.
SEARCH_DOCUMENTS_IN_MEMORY_MAX = 4_000_000
# Entries next to one another that count as one stretch of a conversation.
SEARCH_STRETCH_ENTRIES = 48
SEARCH_EMBED_TEXTS_MAX = 64
SEARCH_EMBED_SECONDS_MAX = 30
# Texts whose meanings are kept in memory to be compared again, at about two kilobytes each.
NEARNESS_TEXTS_KEPT = 2_000
SEARCH_REBUILD_ROWS = 200
SEARCH_REBUILDS_AT_A_TIME = 2
# Sorting: bundles of a session, candidates for them, and what a model is shown.
TERSE_CHARS_MAX = 24
SUMMARY_CHARS_MAX = 56
SUMMARY_READ_CHARS_MAX = 2_000
CLASSIFIER_NAME_CHARS_MAX = 60
# Read for one bundle: entries before and behind its first; topics and tasks it may belong to, how many of the topics
# are looked at closely, for their words and for being new, and what was last said there.
CLASSIFIER_BUNDLE_ENTRIES_MAX = 80
CLASSIFIER_CANDIDATES_MAX = 500
CLASSIFIER_SHORTLIST_MAX = 24
CLASSIFIER_RECENT_MAX = 12
CLASSIFIER_TASKS_MAX = 200
CLASSIFIER_SAID_ENTRIES_READ = 24
CLASSIFIER_SAID_MAX = 6
CLASSIFIER_SAID_CHARS_MAX = 400
# One turn of an account: entries it begins with, how long it may take, and how long a server may hold it.
CLASSIFIER_ENTRIES_AT_A_TIME = 500
CLASSIFIER_ACCOUNTS_AT_A_TIME = 4
CLASSIFIER_TURN_SECONDS_MAX = 120
CLASSIFIER_LEASE_SECONDS = 600
# Entries of one session that are sorted again at a time.
CLASSIFIER_REPLAYED_MAX = 1_000
# What a model is shown of one bundle, and how long it may take.
CLASSIFIER_SHOWN_TOPICS_MAX = 24
CLASSIFIER_SHOWN_TASKS_MAX = 48
CLASSIFIER_SHOWN_ENTRIES_MAX = 24
CLASSIFIER_SHOWN_CHARS_MAX = 600
CLASSIFIER_MODEL_SECONDS_MAX = 75
# Routing memory: places that are kept of one session, for how long, and characters of what was said there.
ROUTES_MAX = 12
ROUTE_DAYS_MAX = 90
ROUTE_ANCHOR_CHARS_MAX = 800
# The newest entries of a session that are asked for its space.
SPACE_ENTRIES_READ = 12
# Digests: entries that one is written from, its lines of earlier entries, and characters of each line.
DIGEST_ENTRIES_MAX = 120
DIGEST_LINES_MAX = 6
DIGEST_LINE_CHARS_MAX = 240
DIGEST_TASKS_SHOWN = 8
# Context: the length of a block, and the lines of its sections.
CONTEXT_TEXT_CHARS_DEFAULT = 2_200
CONTEXT_TEXT_CHARS_MAX = 12_000
CONTEXT_LINES_DEFAULT = 6
CONTEXT_LINES_MAX = 40
CONTEXT_QUERY_CHARS_MAX = 500
CONTEXT_ROUTES_SHOWN = 4
# Entries that are looked at for a timeline: among them are tool calls, which it does not show.
CONTEXT_TIMELINE_ROWS_MAX = 400
# Turns that a model is asked about at a time, to find what is worth keeping; characters of each text it is shown.
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
# Plans that are followed at a time, and the pause after one that could not be.
PLAN_NOTES_AT_A_TIME = 10
PLAN_NOTE_RETRY_SECONDS = 30

# Entries of the board: what a program may send, how many are listed, and how long an agent's note is.
LOG_SUMMARY_CHARS_MAX = 2_000
LOG_RAW_CHARS_MAX = 100_000
LOG_ROWS_DEFAULT = 200
LOG_ROWS_MAX = 1_000
LOG_RELATED_MAX = 100
NOTE_CHARS_MAX = 1_600
# What a host repeats of a message that it was sent: how far back that is looked for.
ECHO_MINUTES = 10
ECHO_ENTRIES_MAX = 50
# Entries that wait to be stored: of one request, of an account, in one transaction, and how often one is tried.
INGEST_ENTRIES_MAX = 200
INGEST_WAITING_MAX = 100_000
INGEST_ROWS_AT_A_TIME = 100
INGEST_ACCOUNTS_AT_A_TIME = 4
INGEST_ATTEMPTS_MAX = 5
INGEST_RETRY_SECONDS = 30
# How many steps a sub-agent's session is looked up through the sessions that it was spawned from.
LINEAGE_STEPS_MAX = 32
