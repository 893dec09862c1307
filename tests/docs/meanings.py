"""The words of the made pages that the code does not hold: what a setting is for, and what to do about an error."""

from carrel.kernel import Code

SETTINGS = """
A setting is read from the environment, else from the file (`carrel.toml` in the working directory, or `--config`), else
it has its default. In the environment `runs.attempts_max` is `CARREL_RUNS__ATTEMPTS_MAX`; in the file it is
`attempts_max` below `[runs]`. A name that does not exist, or a value that does not fit, stops the start with a sentence
that names it. `GET /api/settings` shows the owner what is in force and where it comes from. How to use them is told in
[Operating a server](../guides/operating.md).
"""

ERRORS = """
Every error of the API has the same body. `message` is a sentence for people, `code` is for programs, `field` is there
when one field or parameter is to blame, and `requestId` is also the header `X-Request-Id` of every answer.

```json
{"error": {"code": "invalid_params", "message": "…", "field": "message"}, "requestId": "req_…"}
```
"""

ERRORS_END = """
A run that failed is no error of the API: it is read with 200, and its `error` and `reason` tell what happened; see
[Runs and queues](../guides/runs-and-queues.md).
"""

API = """
The same as a machine reads it: `GET /api/openapi.json`, or `carrel openapi` without a server. Requests and answers are
JSON; a name that a request does not know is refused. Send the token as `Authorization: Bearer <token>`. A star marks
what must be given. Lists take `limit` and `cursor` and answer `nextCursor`. A POST that makes something honours
`X-Idempotency-Key`. What can go wrong is told in [Errors](errors.md), what `GET /api/stream` sends in
[Events](events.md).
"""

MEANINGS = {
    "agent_http.session_key_auth": "`loopback`: a program on this machine may call tools with a session key alone",
    "agents.defaults.sandbox.session_tools_visibility": "`spawned`: a sandboxed agent sees only what it spawned",
    "agents.defaults.subagents.archive_after_minutes": "idle minutes after which a child is archived; 0 never",
    "agents.defaults.subagents.max_children": "sub-agents of one session that may live at once",
    "agents.defaults.subagents.run_timeout_seconds": "time limit of a sub-agent's run; 0 is none",
    "a2a.enabled": "whether the server speaks A2A at all",
    "a2a.public_card": "whether agent cards are shown without a token",
    "a2a.blocking_wait_seconds": "how long a blocking SendMessage waits before it returns the task as it is",
    "a2a.streaming": "whether tasks can be followed as streams; the card says so",
    "a2a.extended_card": "whether the extended card, with all skills, can be asked for",
    "a2a.required_extensions": "URIs of extensions that every A2A request must declare",
    "a2a.grpc_port": "the port for A2A over gRPC, which takes the extra `carrel[grpc]`; 0 is off",
    "a2a.push.enabled": "whether webhooks can be told of a task's changes; the card says so",
    "a2a.push.allow_private_addresses": "whether webhooks on loopback and private addresses are allowed",
    "a2a.push.attempts_max": "how often a webhook is tried before it is given up",
    "a2a.tasks.timeout_minutes": "time limit of a run that came over A2A; 0 is none",
    "a2a.tasks.ttl_days": "how long such a run is kept after its end; 0 is for ever",
    "auth.mode": "`loopback` lets callers on this machine in without a token, as owner",
    "channels.telegram.agent_id": "the agent that people talk to on Telegram; the account's default agent where empty",
    "channels.telegram.api_base_url": "where Telegram's Bot API answers, or a server of your own that speaks it",
    "channels.telegram.bot_token": "the bot's token from @BotFather; without it there is no bot",
    "channels.telegram.open": "whether people who are no owners may talk to the agent too",
    "channels.telegram.owner_ids": "Telegram users who are the owner there",
    "channels.telegram.webhook_secret": "the end of the address that Telegram posts to; without it there is no bot",
    "delivery.history_chars_max": "how much of a session's transcript a turn is shown",
    "delivery.input_chars_max": "how much of one message a turn is shown; more is cut and marked",
    "delivery.instructions": "`inline` puts the instructions into the message, for gateways that know no such field",
    "delivery.no_reply_attempts": "how often an empty answer is asked for; without effect in this version",
    "delivery.tool_rounds_max": "rounds of tool calls in one turn",
    "events.replay_max": "missed events a stream sends before it tells its reader to begin anew",
    "events.retention_days": "how long events are kept; 0 is for ever",
    "gateway.<name>.api_key": "sent as a bearer token; better in the environment",
    "gateway.<name>.base_url": "the server's address, before `/v1/responses`; for `a2a` the agent's or its card's",
    "gateway.<name>.history": "`gateway` sends only the new words, for servers that keep the transcript themselves",
    "gateway.<name>.kind": "`responses` speaks Open Responses, `a2a` to a remote A2A agent; `builtin` needs no model",
    "gateway.<name>.model": "the model where neither agent nor session names one; without any, `default`",
    "gateway.<name>.models": "further models that may be named",
    "gateway.<name>.run_tokens": "send each step a token of its run, for agents that call tools by `/agent` or `/mcp`",
    "gateway.<name>.stream": "ask for the answer piece by piece",
    "gateway.<name>.timeout_seconds": "how long one step may take",
    "log.format": "`text` is for people at a terminal",
    "log.level": "what is logged at all",
    "runs.attempts_max": "attempts before a run whose gateway is down becomes a dead letter",
    "runs.concurrency": "turns at a time in one server",
    "runs.lane_queue_max": "messages that may wait in one lane",
    "runs.lease_seconds": "after how long the run of a lost worker is taken back",
    "runs.retention_days": "how long an ended run is kept; 0 is for ever",
    "runs.timeout_minutes": "time limit of a run that names none; 0 is none",
    "runs.waiting_days": "how long a run waits for a person; 0 is for ever",
    "server.drain_seconds": "how long running turns may take to end when the server is told to stop",
    "server.host": "the address to listen on",
    "server.port": "the port to listen on; 0 takes a free one",
    "server.public_url": "how others reach this server, if not by host and port",
    "sessions.base_entries_max": "entries after which a main lane begins anew; without effect in this version",
    "sessions.agent_to_agent.max_ping_pong_turns": "rounds two agents go on talking after a send; 0 is none",
    "sessions.reply_back_expiry_minutes": "how long such a talk may take in all",
    "sessions.closed_retention_days": "how long closed generations are kept; 0 is for ever",
    "sessions.scope": "`global` makes all direct chats with an agent one: its main lane",
    "sessions.send_policy.default": "what holds where no rule matches",
    "sessions.send_policy.rules": "which sessions may be sent to; of the rules that match, one that denies wins",
    "sessions.thread_bindings.enabled": "whether a spawn may go on in a thread of its requester's channel",
    "sessions.task_scoped": "off: work on tasks goes to the agent's main lane",
    "storage.data_dir": "the database, the owner's token and the address of the running server",
    "storage.durability": "`normal` is faster and may lose the last moments when the power fails",
    "storage.url": "a SQLite file, or a PostgreSQL database for several servers",
    "tools.sessions.visibility": "which sessions an agent's tools may see: its own, its tree, its agent's, all",
    "tools.agent_to_agent.enabled": "whether agents may see and address one another's sessions",
    "tools.agent_to_agent.allow": "which agents may, as patterns that both must match; empty is every agent",
    "tools.subagents.tools.allow": "session tools that sub-agents are offered after all",
    "tools.subagents.tools.deny": "tools that sub-agents are not offered; wins",
    "tools.sessions_spawn.attachments.enabled": "whether a spawn may bring files",
    "tools.sessions_spawn.attachments.max_files": "files of one spawn",
    "tools.sessions_spawn.attachments.max_file_bytes": "bytes of one such file",
    "tools.sessions_spawn.attachments.max_total_bytes": "bytes of all files of one spawn",
    "tools.sessions_spawn.attachments.retain_on_session_keep": "whether files outlive a child that is kept",
    "tools.sessions_spawn.attachments.dir": "where in the child's workspace they lie",
}

ADVICE = {
    Code.INVALID_PARAMS: "A field or parameter does not fit; `field` names it. Sending the same again will not help.",
    Code.INVALID_JSON: "The body is no JSON.",
    Code.TOKEN_IN_QUERY: "A token stands in the address, where logs would keep it. Send a header, and revoke that one.",
    Code.SESSION_REQUIRED: "Say which session is meant.",
    Code.INVALID_CONVERSATION_KEY: "A new conversation key has 8 to 64 letters, digits, `_` and `-`.",
    Code.RESERVED_SESSION_KEY: "`global` and `unknown` name no session.",
    Code.UNAUTHENTICATED: "No token came, or one that is not valid (any more). Send `Authorization: Bearer <token>`.",
    Code.UNKNOWN_SESSION: "`x-openclaw-session-key` names no session of the token's agent. Name one, or leave it out.",
    Code.FORBIDDEN: "The token is valid and may not do this. Use one of a kind that may.",
    Code.SESSION_CLOSED: "The generation named is closed and nothing runs in it any more. Name the open one.",
    Code.SEND_DENIED: "The send policy keeps this session closed to messages; its owner can open it.",
    Code.TOOL_NOT_ALLOWED: "The agent's profile does not offer this tool.",
    Code.NOT_FOUND: "It is not there, or it is not yours: both look alike.",
    Code.METHOD_NOT_ALLOWED: "The address is right, the method is not.",
    Code.CONFLICT: "It does not fit what is there now. Read it again and decide anew.",
    Code.AMBIGUOUS_SESSION: "The short name fits several sessions; `details.sessionKeys` lists them.",
    Code.IDEMPOTENCY_MISMATCH: "This idempotency key was used for another body. Take a new key for a new request.",
    Code.ALREADY_ENDED: "The run has ended; nothing can happen to it any more.",
    Code.TOO_LARGE: "The body or a part of it is too large.",
    Code.UNSUPPORTED_MEDIA_TYPE: "Send `Content-Type: application/json`.",
    Code.TOO_LONG: "A text is longer than its bound.",
    Code.LIMIT_REACHED: "There are as many of these as there may be.",
    Code.QUEUE_FULL: "The lane's queue is full. Come again after `Retry-After` seconds.",
    Code.RATE_LIMITED: "Too many wrong tokens came from this address. Wait `Retry-After` seconds.",
    Code.INTERNAL: "Something broke here. The log knows more under the `requestId`.",
    Code.DRAINING: "The server is stopping. Send it again shortly: nothing was accepted.",
    Code.STORAGE_UNAVAILABLE: "The store does not answer. Try again shortly.",
}
