"""What clients send and follow: streams, notifications, A2A, Open Responses, webhooks and channels."""

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

# Posts to external channels: how long one is retried, and how long it is kept after its end.
POSTING_HOURS_MAX = 24
POSTS_KEPT_HOURS = 24

# Telegram. Message length is counted in UTF-16 units, as Telegram counts it.
TELEGRAM_MESSAGE_UNITS_MAX = 4_096
TELEGRAM_CALL_SECONDS_MAX = 15
TELEGRAM_FILE_SECONDS_MAX = 30
TELEGRAM_POSTS_AT_A_TIME = 8
TELEGRAM_TOPIC_NAME_CHARS_MAX = 128
