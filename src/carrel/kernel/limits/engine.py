"""Runs, turns, duties and exchanges between lanes."""

# Requests
BODY_BYTES_MAX = 20 * 1024 * 1024
# For a request that needs no token.
OPEN_BODY_BYTES_MAX = 16 * 1024
# All requests being received, and all responses being sent, at one moment; bodies that fit into a connection's buffer
# do not count.
REQUESTS_BYTES_MAX = 256 * 1024 * 1024
RESPONSES_BYTES_MAX = 256 * 1024 * 1024
# A large response is cut off when it is read more slowly than this.
RESPONSE_BYTES_PER_SECOND_MIN = 32 * 1024
# A page of a list ends before it gets larger; the rest is on the next page.
PAGE_BYTES_MAX = 4 * 1024 * 1024
PAGE_ROWS_AT_A_TIME = 100
SMALL_BODY_BYTES_MAX = 64 * 1024
# Per body: this many are decoded within some twenty milliseconds.
BODY_VALUES_MAX = 100_000
BUSY_RETRY_SECONDS = 5
REQUEST_HEAD_BYTES_MAX = 64 * 1024
REQUEST_HEAD_SECONDS_MAX = 20
QUERY_PARAMETERS_MAX = 100
REQUEST_BODY_SECONDS_MAX = 300
# Longer than clients and proxies keep idle connections: if the server closed first, it could cut off a new request.
KEEP_ALIVE_SECONDS = 75
OPEN_FILES_WANTED = 65_536
# Statements that a connection to PostgreSQL keeps prepared; a server repeats a few hundred.
POSTGRES_STATEMENTS_MAX = 500
# A smaller table is read as fast without statistics; and how many writes pass between two checks for larger ones.
ANALYZED_ROWS_MIN = 50
WRITES_PER_LOOK_AT_STATISTICS = 200
# Objects created between two garbage collections. Requests leave few cycles: reference counts free the rest.
OBJECTS_BETWEEN_COLLECTIONS = 50_000
IDEMPOTENCY_KEY_CHARS_MAX = 200
IDEMPOTENCY_KEPT_HOURS = 24
IDEMPOTENT_SECRETS_MAX = 1_000
REQUEST_ID_CHARS_MAX = 128
LIST_ROWS_DEFAULT = 50
LIST_ROWS_MAX = 200
HISTORY_ROWS_DEFAULT = 200
HISTORY_ROWS_MAX = 1000
EXPECTED_HISTORIES_MAX = 2_000
# A message of a transcript is dated if it comes this much later than the one before, or on another day.
DATED_AFTER_MINUTES = 180
# Shorter sessions are read on the event loop: changing threads would take longer than reading them.
SHORT_SESSION_ENTRIES_MAX = 32
SMALL_BOARD_ROWS_MAX = 100
LONG_READ_SECONDS_MAX = 30
WRITE_IDLE_SECONDS_MAX = 10
# Line comparisons when two receipts are compared; these take about a second.
DIFF_COMPARISONS_MAX = 5_000_000
# Waiting runs beyond this are not counted: every health check would wait for the count.
WAITING_COUNTED_MAX = 10_000
# Threads. More on SQLite would only wait for each other: reading a file in Python needs the interpreter's lock.
LONG_READERS_SQLITE = 2
LONG_READERS_POSTGRES = 4
# In addition, for reads that no turn waits for, such as searches. With a second one on SQLite, runs take twice as long
# beside searches (`bench search`).
PATIENT_READERS_SQLITE = 1
PATIENT_READERS_POSTGRES = 2
FOLLOWER_LEASE_SECONDS = 30
FOLLOWER_GATHER_SECONDS = 0.05
FOLLOWER_GATHER_SECONDS_MAX = 0.5
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
REFUSALS_PER_LANE_MAX = 200

# Names and texts
AGENT_ID_CHARS_MAX = 64
NAME_CHARS_MAX = 200
LABEL_CHARS_MAX = 512
CHAT_TITLE_CHARS_MAX = 60
SESSION_TITLE_CHARS_MAX = 120
MESSAGE_CHARS_MAX = 100_000
INSTRUCTIONS_EXTRA_CHARS_MAX = 20_000
SESSION_REFERENCE_CHARS_MAX = 240
CLIENT_ID_CHARS_MAX = 200
BRIEFING_CHARS_MAX = 20_000
TOKEN_NAMES_MAX = 200

# Attachments of one message
ATTACHMENTS_MAX = 8
ATTACHMENT_BYTES_MAX = 10 * 1024 * 1024
# Files of its task's thread that a run is given, newest first.
THREAD_FILES_MAX = 8
THREAD_FILES_BYTES_MAX = 20 * 1024 * 1024
# The texts among the files of a message that are shown in the request, together; longer ones are opened with a tool.
INLINE_FILES_CHARS_MAX = 8_000
# Files that the file tools list per source, and characters of text they return at once.
FILES_LISTED_MAX = 100
FILE_READ_CHARS_MAX = 20_000
# Reading a PDF's text in a process of its own: how many at once on a server, and how many pages.
PDF_AT_ONCE_MAX = 2
PDF_PAGES_MAX = 300
PDF_PROCESSOR_SECONDS_MAX = 10
PDF_SECONDS_MAX = 30
PDF_MEMORY_BYTES_MAX = 512 * 1024 * 1024
# Files per person that were uploaded ahead of a message and are not used yet.
UPLOADS_UNUSED_MAX = 200
UPLOADS_UNUSED_DAYS = 1
# The headers of one part of a multipart body.
PART_HEADER_BYTES_MAX = 8 * 1024

# Files for a sub-agent: a folder without a lane is removed once no running call can still claim it.
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
# What later runs of a session are shown of a call: characters of its result, and of its arguments.
EARLIER_RESULT_CHARS_MAX = 2_000
EARLIER_ARGUMENTS_CHARS_MAX = 1_000
# The results of earlier runs may take this fraction (one in …) of the history.
EARLIER_RESULTS_PART = 3
TOOL_CALLS_PER_ROUND_MAX = 64
# What a fork copies of a session: its newest entries, as many as a request can show, and the files that go with them.
FORKED_ENTRIES_MAX = 1_000
FORKED_FILE_BYTES_MAX = 32 * 1024 * 1024
# How many messages join a run at one step; more join at the next.
STEERING_MESSAGES_PER_STEP_MAX = 20
QUESTION_CHARS_MAX = 4_000
ERROR_CHARS_MAX = 2_000

# How many items and parts the streamed answer of a model may have; more come only from a broken or hostile server.
ANSWER_PARTS_MAX = 20_000

# The largest file that is read for the API key of a gateway
API_KEY_BYTES_MAX = 16_384

# Token limit of an answer if the model server requires one and the settings name none
OUTPUT_TOKENS_DEFAULT = 8_192

# Retries of a run: 5 s, doubled each time, up to 300 s
RETRY_BASE_SECONDS = 5
RETRY_MAX_SECONDS = 300

# How often a gateway that runs wait for is checked, and how many of them continue per transaction when it answers
UNREACHABLE_CHECK_SECONDS = 5
UNREACHABLE_RELEASED_MAX = 500

# Budgets that owners may set in one account, and how often a held run checks again if nobody releases it
BUDGETS_MAX = 1_000
HELD_LOOK_HOURS = 24

# Loops: identical results or answers in a row; calls in a row without a new result, compared with this many different
# earlier ones. Auto runs have a lower limit of their own.
LOOP_SAME_MAX = 5
LOOP_STALE_MAX = 12
LOOP_CYCLE_MAX = 8
# Runs in a row in which agents have only answered one another.
LOOP_TALK_RUNS_MAX = 30

# How often a server looks for a slot that may have become free on another one, if due runs wait for it
SLOT_POLL_MS = 500
# The most runs of one gateway or agent that settings or owners can allow at once
CONCURRENCY_MAX = 10_000

# Background duties
SAFETY_POLL_SECONDS = 5
LIFELINE_SECONDS = 5
DEADLINE_SECONDS = 0.1
STORE_AWAY_SECONDS = 0.5
PRUNE_SECONDS = 60
FEED_LATE_SECONDS = 60
PRUNE_ROWS_MAX = 500
NOTIFY_PAUSE_MS_MIN = 3
NOTIFY_PAUSE_MS_MAX = 20

# Sign-in cookies
LOGIN_DAYS = 30

# Exchanges between lanes: how long after the end of a call its reply may still arrive inline, and how often and how
# long an undelivered result is offered again.
INLINE_GRACE_SECONDS = 5
INLINE_LOOK_SECONDS = 5
OFFER_AGAIN_SECONDS = 15
OFFER_AGAIN_SECONDS_MAX = 300
OFFERING_SECONDS_MAX = 1_800
EXCHANGES_AT_A_TIME = 50
# Rounds that two agents may continue after a send.
PING_PONG_TURNS_MAX = 5
POSTS_AT_A_TIME = 16
POST_SECONDS_MAX = 30
# Outlasts the longest post, so no other server sends the same one.
POST_LEASE_SECONDS = 60
EXCHANGE_BROKEN_SECONDS = 60
ANNOUNCED_PART_CHARS_MAX = 3_500

# Programs that the settings name.
# The end of what a program writes to stderr, which is shown when it dies.
PROGRAM_ERROR_OUTPUT_BYTES_MAX = 4_096
# How long a program may take to end after its input is closed, and again after it is asked to end.
PROGRAM_END_SECONDS = 2

# Coding agents: what one may send, and how much of it is kept.
ACP_MESSAGE_BYTES_MAX = 16 * 1024 * 1024
# What one may send within this many seconds: messages (text is streamed as messages), and bytes of any kind.
ACP_MESSAGES_MAX = 20_000
ACP_RECEIVED_BYTES_MAX = 128 * 1024 * 1024
ACP_FLOOD_SECONDS = 10
# Received but unprocessed bytes, counting a minimum per message; beyond that, reading pauses.
ACP_WAITING_BYTES_MAX = 8 * 1024 * 1024
ACP_WAITING_BYTES_MIN = 1_024
# How many of its questions may be open.
ACP_REQUESTS_AT_ONCE_MAX = 16
ACP_ANSWER_CHARS_MAX = 1_000_000
# What is kept of its actions in a step: how many calls and plans, and how much of each.
ACP_ACTS_PER_STEP_MAX = 500
ACP_ACT_CHARS_MAX = 8_000
ACP_NAME_CHARS_MAX = 200
# A text file that it reads or writes through us.
ACP_FILE_BYTES_MAX = 10 * 1024 * 1024
# How many programs of one gateway run, each with one session, and how long an idle one is kept.
ACP_PROGRAMS_MAX = 16
ACP_IDLE_SECONDS = 1_800
# How long one may take to stop after its turn is cancelled.
ACP_CANCEL_SECONDS = 3

# MCP servers: how many an agent may use, and what one may offer and send.
MCP_SERVERS_PER_AGENT_MAX = 16
MCP_SERVER_NAME_CHARS_MAX = 24
MCP_TOOLS_PER_SERVER_MAX = 128
MCP_TOOL_PAGES_MAX = 16
# Model servers reject longer function names.
MCP_TOOL_NAME_CHARS_MAX = 64
MCP_DESCRIPTION_CHARS_MAX = 2_000
MCP_SCHEMA_BYTES_MAX = 16 * 1024
MCP_SCHEMA_DEPTH_MAX = 16
MCP_ARGUMENTS_BYTES_MAX = 1024 * 1024
MCP_MESSAGE_BYTES_MAX = 16 * 1024 * 1024
MCP_FILES_PER_RESULT_MAX = 16
MCP_CALLS_AT_ONCE_MAX = 16
# What one may send unasked: messages, and bytes of any kind, within this many seconds.
MCP_UNASKED_MESSAGES_MAX = 2_000
MCP_RECEIVED_BYTES_MAX = 128 * 1024 * 1024
MCP_FLOOD_SECONDS = 10
# A server that dies is restarted after 1 s, doubled each time up to 60 s; one that has run this long counts as sound.
MCP_RESTART_SECONDS = 1
MCP_RESTART_SECONDS_MAX = 60
# How long a server's list of tools is cached, and the minimum time between two listings.
MCP_LIST_AGAIN_SECONDS = 300
MCP_LIST_PAUSE_SECONDS = 1
# A server that leaves this many calls in a row unanswered is ended.
MCP_UNANSWERED_MAX = 3
