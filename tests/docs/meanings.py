"""Prose for the generated reference pages: what a setting is for, and what to do about an error."""

from carrel.kernel import Code

SETTINGS = """
A setting comes from the environment, or else from the file (`carrel.toml` in the working directory, or `--config`), or
else it has its default. `runs.attempts_max` is `CARREL_RUNS__ATTEMPTS_MAX` in the environment, and `attempts_max` under
`[runs]` in the file. An unknown name or an invalid value stops the server at startup, with a message that names it.
`GET /api/settings` shows the owner every value and where it comes from. [Operating a server](../guides/operating.md)
explains how to use them.
"""

ERRORS = """
Every API error has the same body. `message` is a sentence for people, `code` is for programs, `field` names the field
or parameter at fault, if there is one, and `requestId` is also in the response header `X-Request-Id`.

```json
{"error": {"code": "invalid_params", "message": "…", "field": "message"}, "requestId": "req_…"}
```
"""

ERRORS_END = """
A failed run is not an API error: it is returned with 200, and its `error` and `reason` say what happened; see
[Runs and queues](../guides/runs-and-queues.md).
"""

API = """
For programs: `GET /api/openapi.json`, or `carrel openapi` without a server. Requests and responses are JSON; unknown
fields in a request are refused. Send the token as `Authorization: Bearer <token>`. A star marks required
fields. Lists take `limit` and `cursor` and return `nextCursor`. A POST that creates something accepts
`X-Idempotency-Key`. [Errors](errors.md) lists what can go wrong, [Events](events.md) what `GET /api/stream` sends.
"""

MEANINGS = {
    "auto.max_ticks": "ticks that an auto run has at most",
    "auto.resume_on_restart": "whether auto runs go on after a restart; otherwise they are interrupted",
    "auto.tick_seconds": "seconds from one tick of an auto run to the next, unless it has an interval of its own",
    "agent_http.session_key_auth": "`loopback`: programs on this machine may call tools with only a session key",
    "agents.workspaces_dir": "holds all workspaces, by account; empty means `workspaces` in `storage.data_dir`",
    "agents.defaults.sandbox.session_tools_visibility": "`spawned`: a sandboxed agent sees only what it spawned",
    "agents.defaults.subagents.archive_after_minutes": "archive a child after this many idle minutes; 0 never",
    "agents.defaults.subagents.max_children": "sub-agents that one session may have at once",
    "agents.defaults.subagents.run_timeout_seconds": "time limit of a sub-agent's run; 0 for none",
    "a2a.enabled": "whether the server offers A2A",
    "a2a.public_card": "whether agent cards can be read without a token",
    "a2a.blocking_wait_seconds": "how long a blocking SendMessage waits before it returns the unfinished task",
    "a2a.streaming": "whether tasks can be streamed; stated in the card",
    "a2a.extended_card": "whether the extended card, with all skills, is available",
    "a2a.required_extensions": "URIs of extensions that every A2A request must declare",
    "a2a.grpc_port": "port for A2A over gRPC, which needs the extra `carrel[grpc]`; 0 turns it off",
    "a2a.push.enabled": "whether tasks can have webhooks; stated in the card",
    "a2a.push.allow_private_addresses": "whether webhooks may use loopback and private addresses",
    "a2a.push.attempts_max": "attempts before a webhook is given up",
    "a2a.tasks.timeout_minutes": "time limit of a run that arrived over A2A; 0 for none",
    "a2a.tasks.ttl_days": "how long such a run is kept after it ends; 0 for ever",
    "a2a.opt.enabled": "whether A2A offers objectives and plans, as the extension OPT; stated in the card",
    "a2a.opt.max_plans_per_objective": "plans that an objective may have",
    "a2a.opt.max_tasks_per_plan": "tasks that a plan of an objective may have",
    "auth.mode": "`loopback` lets callers on this machine in without a token, as owner",
    "channels.telegram.agent_id": "the agent that people talk to on Telegram; empty for the account's default agent",
    "channels.telegram.api_base_url": "address of Telegram's Bot API, or of your own server that implements it",
    "channels.telegram.bot_token": "the bot's token from @BotFather; without it there is no bot",
    "channels.telegram.open": "whether people other than the owners may talk to the agent",
    "channels.telegram.owner_ids": "Telegram users who count as the owner",
    "channels.telegram.webhook_secret": "last part of the address that Telegram posts to; without it there is no bot",
    "delivery.history_chars_max": "how much of a session's transcript a turn sees",
    "delivery.input_chars_max": "how much of one message a turn sees; the rest is cut, with a mark",
    "delivery.instructions": "`inline` puts the instructions into the message, for gateways without such a field",
    "delivery.no_reply_attempts": "how often a model is asked in all when it answers a user's message with nothing",
    "delivery.tool_rounds_max": "rounds of tool calls in one turn",
    "events.replay_max": "missed events that a stream replays before it tells the client to start over",
    "events.retention_days": "how long events are kept; 0 for ever",
    "gateway.<name>.api_key": "the key that is sent; better set in the environment",
    "gateway.<name>.api_key_env": "the name of an environment variable with the key, in place of `api_key`",
    "gateway.<name>.api_key_file": "a file with the key that only its owner can read, in place of `api_key`",
    "gateway.<name>.base_url": "the server's address, with or without `/v1`; for `a2a`, of the agent or its card",
    "gateway.<name>.history": "`gateway` sends only the new messages, for servers that keep the transcript themselves",
    "gateway.<name>.kind": "what the server speaks, see [Models](../guides/models.md); `builtin` needs no model",
    "gateway.<name>.max_output_tokens": "most tokens of an answer, for `chat` and `anthropic`; 0 for their default",
    "gateway.<name>.model": "the model, unless the agent or session names one; empty sends `default`",
    "gateway.<name>.models": "other models that may be chosen",
    "gateway.<name>.run_tokens": "send each step a token of its run, for agents that call tools by `/agent` or `/mcp`",
    "gateway.<name>.stream": "whether replies are streamed",
    "gateway.<name>.timeout_seconds": "time limit of one step",
    "log.format": "`text` is easier to read in a terminal",
    "log.level": "least severe level that is logged",
    "memory.extraction": "what is kept of turns by itself: `off`, `rules`, or `model` to ask the agent's model as well",
    "memory.recall_chars_max": "characters of kept facts that a run is shown at most",
    "memory.recall_items_max": "memories that a run is shown at most; 0 shows none",
    "classifier.attempts_max": "attempts to sort an entry; the last one is made by rules",
    "classifier.interval_seconds": "seconds between two looks at entries that are not sorted yet",
    "classifier.mode": "who sorts entries: `rules`, `model`, `auto` (the model of the default agent, if any), `off`",
    "context.augment": "whether a message gets a block of context",
    "context.fetch_timeout_ms": "milliseconds that each part of a block may take; a part that takes longer is left out",
    "context.log_limit": "entries that are recalled for a block, at most",
    "context.max_chars": "characters of a block, at most",
    "context.mode": "how far a block looks: `cheap` (no search), `full`, `patient` (more of it), or `auto`",
    "context.task_limit": "tasks that are recalled for a block, at most",
    "context.task_lane": "how far the block of a task's session looks: the `task`, its `topic`, or its `space`",
    "context.topic_limit": "topics that are recalled for a block, at most",
    "context.total_budget_ms": "milliseconds that a whole block may take",
    "digests.chars_max": "characters of a digest, at most",
    "digests.interval_minutes": "minutes before the digest of a topic or task is renewed again",
    "digests.per_cycle": "digests that are renewed at a time, at most",
    "followups.ladder_minutes": "minutes after which delegated work is looked after; then at the last distance again",
    "followups.progress_after_minutes": "minutes from which people are told how long delegated work takes",
    "hooks.allow_request_session_key": "whether a hook may name the session that it starts a run in",
    "hooks.allowed_session_key_prefixes": "how the keys of sessions that a hook may name begin",
    "hooks.enabled": "whether other programs may start runs with hooks",
    "intake.ignore_session_prefixes": "how the keys of sessions begin whose entries are not recorded on the board",
    "search.concurrency": "searches that run at the same time on this server; further ones wait",
    "search.concurrency_wait_ms": "milliseconds that a search waits for its turn, then it gets `search_busy`",
    "search.embedding": "what compares meanings: `none`, `static` (packaged), `minilm` (an extra), or `endpoint`",
    "search.endpoint.api_key": "the key for the embeddings endpoint",
    "search.endpoint.base_url": "where embeddings are asked for: `POST <base_url>/v1/embeddings`",
    "search.endpoint.model": "the model that is asked for there",
    "search.include_tool_call_logs": "whether tool calls and their results can be found, once indexed anew",
    "search.query_cache_size": "answers that are kept until the index changes; 0 keeps none",
    "search.rerank_chunks_per_doc": "parts of a long text, from its beginning, whose meanings are compared",
    "search.single_token_window_max": "documents of each kind that are looked at closely for a query of one word",
    "search.source_topk": "documents of each kind that words and meaning each bring up to be looked at closely",
    "runs.attempts_max": "attempts before a run whose gateway is down becomes a dead letter",
    "runs.concurrency": "turns that one server works on at once",
    "runs.lane_queue_max": "messages that may wait in one lane",
    "runs.lease_seconds": "how long until the run of a lost worker is taken back",
    "runs.retention_days": "how long ended runs are kept; 0 for ever",
    "runs.timeout_minutes": "time limit of a run that sets none; 0 for none",
    "responses.tool_output_wait_minutes": "how long a run waits for the output of a program's function; 0 for ever",
    "runs.waiting_days": "how long a run waits for a person; 0 for ever",
    "server.drain_seconds": "how long running turns may take to finish when the server stops",
    "server.host": "address to listen on",
    "server.port": "port to listen on; 0 picks a free one",
    "server.public_url": "how clients reach this server, if not by host and port",
    "sessions.base_entries_max": "entries after which a main lane starts a new generation",
    "sessions.agent_to_agent.max_ping_pong_turns": "rounds two agents may continue after a send; 0 for none",
    "sessions.reply_back_expiry_minutes": "how long such an exchange may take in total",
    "sessions.closed_retention_days": "how long closed generations are kept; 0 for ever",
    "sessions.scope": "`global` merges all direct chats with an agent into its main lane",
    "sessions.send_policy.default": "what applies when no rule matches",
    "sessions.send_policy.rules": "which sessions may be sent to; if any matching rule denies, it wins",
    "sessions.thread_bindings.enabled": "whether a spawned session may use a thread of its requester's channel",
    "sessions.task_scoped": "off: work on tasks goes to the agent's main lane",
    "storage.data_dir": "holds the database, the owner's token and the running server's address",
    "storage.durability": "`normal` is faster, but a power failure may lose the last moments",
    "storage.url": "a SQLite file, or a PostgreSQL database for several servers",
    "tools.sessions.visibility": "which sessions an agent's tools can see: its own, its tree, its agent's, all",
    "tools.agent_to_agent.enabled": "whether agents may see and message each other's sessions",
    "tools.agent_to_agent.allow": "which agents may, as patterns that both must match; empty allows every agent",
    "tools.subagents.tools.allow": "session tools that sub-agents get in addition",
    "tools.subagents.tools.deny": "tools that sub-agents do not get; wins over `allow`",
    "tools.sessions_spawn.attachments.enabled": "whether a spawn may bring files",
    "tools.sessions_spawn.attachments.max_files": "files per spawn",
    "tools.sessions_spawn.attachments.max_file_bytes": "bytes per file",
    "tools.sessions_spawn.attachments.max_total_bytes": "bytes of all files of one spawn",
    "tools.sessions_spawn.attachments.retain_on_session_keep": "whether the files are kept when the child is kept",
    "tools.sessions_spawn.attachments.dir": "where in the child's workspace the files are placed",
}

ADVICE = {
    Code.INVALID_PARAMS: "A field or parameter is invalid; `field` names it. Sending the same request again will fail.",
    Code.INVALID_JSON: "The body is not valid JSON.",
    Code.TOKEN_IN_QUERY: "A token was sent in the URL, where logs keep it. Send it in a header, and revoke this one.",
    Code.SESSION_REQUIRED: "Name the session.",
    Code.INVALID_CONVERSATION_KEY: "A new conversation key has 8 to 64 letters, digits, `_` and `-`.",
    Code.RESERVED_SESSION_KEY: "`global` and `unknown` are not session keys.",
    Code.UNAUTHENTICATED: "The token is missing, wrong, expired or revoked. Send `Authorization: Bearer <token>`.",
    Code.UNKNOWN_SESSION: "`x-openclaw-session-key` is not a session of the token's agent. Name one, or leave it out.",
    Code.FORBIDDEN: "The token is valid but not allowed to do this. Use a token of another kind.",
    Code.SESSION_CLOSED: "This generation is closed. Use the open one.",
    Code.SEND_DENIED: "The send policy denies messages to this session; its owner can allow them.",
    Code.TOOL_NOT_ALLOWED: "The agent's profile does not include this tool.",
    Code.NOT_FOUND: "It does not exist, or you may not see it; the two look the same.",
    Code.METHOD_NOT_ALLOWED: "The path exists, but not with this method.",
    Code.CONFLICT: "The request conflicts with the current state. Read it again before you retry.",
    Code.AMBIGUOUS_SESSION: "The short name matches several sessions; `details.sessionKeys` lists them.",
    Code.IDEMPOTENCY_MISMATCH: "This idempotency key was used with a different body. Use a new key for a new request.",
    Code.ILLEGAL_TRANSITION: "The task cannot move from its status to this one; the message names where it can move.",
    Code.ASSIGNEE_REQUIRED: "A task with this status needs an assignee. Assign somebody first.",
    Code.BLOCKED_REASON_REQUIRED: "Say in `blockedReason` why the task is blocked.",
    Code.ALREADY_ENDED: "The run has already ended.",
    Code.TOO_LARGE: "The body or a part of it is too large.",
    Code.UNSUPPORTED_MEDIA_TYPE: "Send `Content-Type: application/json`.",
    Code.TOO_LONG: "A text is longer than allowed.",
    Code.INVALID_SCOPE: "The text is not a memory scope, or the run has no such scope; the message lists the forms.",
    Code.PROMOTION_REQUIRED: "Nothing is written to `global` directly: promote a memory, with a reason.",
    Code.LIMIT_REACHED: "The maximum number of these has been reached.",
    Code.QUEUE_FULL: "The lane's queue is full. Try again after `Retry-After` seconds.",
    Code.SEARCH_BUSY: "Too many searches are running. Try again after `Retry-After` seconds.",
    Code.RATE_LIMITED: "Too many wrong tokens came from this address. Wait `Retry-After` seconds.",
    Code.INTERNAL: "The server failed. Its log has the details under the `requestId`.",
    Code.BUSY: "The server is receiving too many large requests at once. Try again after `Retry-After` seconds.",
    Code.DRAINING: "The server is stopping and accepted nothing. Try again shortly.",
    Code.STORAGE_UNAVAILABLE: "The store is not reachable. Try again shortly.",
}
