"""Who may call what: the one table of rights, of every route, tool and A2A method, for every kind of token.

`MAY` is an answer, `LOGIN` 401, `NEVER` 403, `HIDDEN` 404 or its equivalent: there is no such thing for this caller.
"""

from typing import Literal

Verdict = Literal["may", "login", "never", "hidden"]
MAY: Verdict = "may"
LOGIN: Verdict = "login"
NEVER: Verdict = "never"
HIDDEN: Verdict = "hidden"
# The kinds of callers, in the order of the rules' words below.
STRANGERS = ("none", "wrong", "expired", "revoked")
KINDS = (*STRANGERS, "client", "agent", "run", "user", "owner", "another account's owner")
Rights = dict[str, Verdict]


def _rule(client: Verdict, agent: Verdict, run: Verdict, user: Verdict, owner: Verdict, other: Verdict) -> Rights:
    """Return the rights of every kind; callers without a valid token must log in."""
    known = dict(zip(KINDS[len(STRANGERS) :], (client, agent, run, user, owner, other), strict=True))
    return dict.fromkeys(STRANGERS, LOGIN) | known


OPEN: Rights = dict.fromkeys(KINDS, MAY)
ANYBODY = _rule(MAY, MAY, MAY, MAY, MAY, MAY)
# Lists and what every account has one of: the owner of another account sees its own.
READERS = _rule(NEVER, MAY, MAY, MAY, MAY, MAY)
PEOPLE = _rule(NEVER, NEVER, NEVER, MAY, MAY, MAY)
PROGRAMS = _rule(MAY, NEVER, NEVER, MAY, MAY, MAY)
OWNERS = _rule(NEVER, NEVER, NEVER, NEVER, MAY, MAY)
OPERATOR = _rule(NEVER, NEVER, NEVER, NEVER, MAY, NEVER)
# One thing of the account, which the owner of another account cannot know of.
READERS_OF_ONE = READERS | {"another account's owner": HIDDEN}
PEOPLE_WITH_ONE = PEOPLE | {"another account's owner": HIDDEN}
OWNERS_WITH_ONE = OWNERS | {"another account's owner": HIDDEN}

ENDPOINTS: dict[str, Rights] = {
    "GET /healthz": OPEN,
    "GET /readyz": OPEN,
    "GET /api/openapi.json": OPEN,
    # Without X-Forwarded-For, as from this machine, it is open; the walk asks from afar.
    "GET /metrics": OWNERS,
    "GET /api/metrics": OWNERS,
    "GET /api/metrics/history": OWNERS,
    "GET /api/health": READERS,
    "GET /api/settings": OPERATOR,
    "POST /api/settings/reload": OPERATOR,
    "GET /api/mcp/servers": PEOPLE,
    "POST /api/mcp/servers/{name}/test": OWNERS,
    "GET /api/models/servers": OPERATOR,
    "POST /api/models/probe": OPERATOR,
    "POST /api/models/connect": OPERATOR,
    "POST /api/runs/{id}/advance": PEOPLE_WITH_ONE,
    "POST /api/runs/{id}/steer": PEOPLE_WITH_ONE,
    "POST /api/runs/{id}/replay": PEOPLE_WITH_ONE,
    "POST /api/sessions/{key}/fork": PEOPLE_WITH_ONE,
    "GET /api/runs/{id}/artifacts": READERS_OF_ONE,
    "GET /api/artifacts/{id}/content": READERS_OF_ONE,
    "GET /api/context": READERS,
    "GET /api/spaces": READERS,
    "POST /api/spaces": OWNERS,
    "PATCH /api/spaces/{id}": OWNERS_WITH_ONE,
    "PATCH /api/spaces/{id}/connectivity": OWNERS_WITH_ONE,
    # Asked for the default space, which every account has.
    "GET /api/spaces/allowed": READERS,
    "DELETE /api/spaces/{id}": OWNERS_WITH_ONE,
    "GET /api/topics": READERS,
    "POST /api/topics": PEOPLE,
    "GET /api/topics/{id}": READERS_OF_ONE,
    "PATCH /api/topics/{id}": PEOPLE_WITH_ONE,
    "DELETE /api/topics/{id}": PEOPLE_WITH_ONE,
    "POST /api/topics/reorder": PEOPLE_WITH_ONE,
    "POST /api/topics/{id}/merge": PEOPLE_WITH_ONE,
    "POST /api/topics/{id}/split": PEOPLE_WITH_ONE,
    "GET /api/topics/{id}/thread": READERS_OF_ONE,
    "POST /api/auth/session": OPEN,
    "DELETE /api/auth/session": OPEN,
    "GET /api/auth/me": ANYBODY,
    "GET /api/accounts": OPERATOR,
    "POST /api/accounts": OPERATOR,
    "GET /api/account": READERS,
    "PATCH /api/account": OWNERS,
    "GET /api/users": OWNERS,
    "POST /api/users": OWNERS,
    "PATCH /api/users/{id}": OWNERS_WITH_ONE,
    "DELETE /api/users/{id}": OWNERS_WITH_ONE,
    "GET /api/tokens": OWNERS,
    "POST /api/tokens": OWNERS,
    "DELETE /api/tokens/{id}": OWNERS_WITH_ONE,
    "GET /api/agents": READERS,
    "POST /api/agents": OWNERS,
    # Asked for the agent `main`, which every account has.
    "GET /api/agents/{id}": READERS,
    "GET /api/agents/{id}/prompt": PEOPLE,
    "PATCH /api/agents/{id}": OWNERS_WITH_ONE,
    "DELETE /api/agents/{id}": OWNERS_WITH_ONE,
    "GET /api/changes": READERS,
    "GET /api/stream": READERS,
    "GET /api/sessions": READERS,
    "POST /api/sessions": PEOPLE,
    "GET /api/sessions/active": READERS,
    "POST /api/sessions/active": PEOPLE_WITH_ONE,
    "GET /api/sessions/recent": READERS,
    "GET /api/sessions/{key}": READERS_OF_ONE,
    "GET /api/sessions/{key}/generations": READERS_OF_ONE,
    "GET /api/sessions/{key}/history": READERS_OF_ONE,
    "GET /api/sessions/{key}/queue": READERS_OF_ONE,
    "GET /api/sessions/{key}/access": READERS_OF_ONE,
    # A message to a key creates the session in the sender's account, but the task of a task lane must be there.
    "POST /api/sessions/{key}/send": PEOPLE_WITH_ONE,
    "PATCH /api/sessions/{key}": PEOPLE_WITH_ONE,
    "POST /api/sessions/{key}/archive": PEOPLE_WITH_ONE,
    "POST /api/sessions/{key}/unarchive": PEOPLE_WITH_ONE,
    "POST /api/sessions/{key}/reset": PEOPLE_WITH_ONE,
    "POST /api/sessions/{key}/stop": PEOPLE_WITH_ONE,
    "DELETE /api/sessions/{key}": PEOPLE_WITH_ONE,
    "POST /api/runs": PEOPLE,
    "GET /api/runs": READERS,
    "GET /api/usage": READERS,
    # Asked for the account's own budget.
    "GET /api/budgets": OWNERS,
    "POST /api/budgets": OWNERS,
    "POST /api/budgets/allow": OWNERS,
    "DELETE /api/budgets": OWNERS,
    "GET /api/runs/{id}": READERS_OF_ONE,
    "GET /api/runs/{id}/wait": READERS_OF_ONE,
    "GET /api/runs/{id}/why": READERS_OF_ONE,
    "GET /api/runs/{id}/receipt": READERS_OF_ONE,
    "GET /api/runs/{id}/receipt/compare": READERS_OF_ONE,
    "POST /api/runs/{id}/cancel": PEOPLE_WITH_ONE,
    "POST /api/runs/{id}/answer": PEOPLE_WITH_ONE,
    "POST /api/runs/{id}/retry": PEOPLE_WITH_ONE,
    "POST /api/runs/{id}/allow": PEOPLE_WITH_ONE,
    "POST /api/runs/{id}/announce": PEOPLE_WITH_ONE,
    "GET /api/tasks": READERS,
    # By its flags: the agent of the walk has those that every agent has.
    "POST /api/tasks": PEOPLE,
    "POST /api/tasks/reorder": READERS_OF_ONE,
    "GET /api/tasks/{id}": READERS_OF_ONE,
    "PATCH /api/tasks/{id}": READERS_OF_ONE,
    "DELETE /api/tasks/{id}": PEOPLE_WITH_ONE,
    "POST /api/tasks/{id}/status": READERS_OF_ONE,
    "POST /api/tasks/{id}/reopen": PEOPLE_WITH_ONE,
    "POST /api/tasks/{id}/assign": PEOPLE_WITH_ONE,
    "POST /api/tasks/{id}/stop": PEOPLE_WITH_ONE,
    "GET /api/tasks/{id}/thread": READERS_OF_ONE,
    "POST /api/tasks/{id}/messages": PEOPLE_WITH_ONE,
    "GET /api/tasks/{id}/history": READERS_OF_ONE,
    "GET /api/tasks/{id}/sessions": READERS_OF_ONE,
    "GET /api/tasks/{id}/why": READERS_OF_ONE,
    "POST /api/tasks/{id}/seen": READERS_OF_ONE,
    "POST /api/orchestrator-chat": PEOPLE,
    "POST /api/attachments": PEOPLE,
    "GET /api/attachments/{id}": READERS_OF_ONE,
    "GET /api/commands": PEOPLE,
    "POST /api/chat": PEOPLE,
    "GET /api/auto/runs": READERS_OF_ONE,
    "GET /api/auto/runs/{id}": READERS_OF_ONE,
    "POST /api/auto/start": PEOPLE_WITH_ONE,
    "POST /api/auto/stop": PEOPLE_WITH_ONE,
    "GET /api/schedules": READERS_OF_ONE,
    "POST /api/schedules": PEOPLE_WITH_ONE,
    "GET /api/schedules/{id}": READERS_OF_ONE,
    "PATCH /api/schedules/{id}": PEOPLE_WITH_ONE,
    "DELETE /api/schedules/{id}": PEOPLE_WITH_ONE,
    "POST /api/schedules/{id}/run": PEOPLE_WITH_ONE,
    # Asked for the main session, which every account has, and for a memory in it.
    "GET /api/classifier/status": READERS,
    "GET /api/classifier/pending": READERS,
    "GET /api/classifier/session-routing": READERS,
    "POST /api/classifier/session-routing": PEOPLE_WITH_ONE,
    "POST /api/classifier/run": OWNERS,
    "POST /api/classifier/replay": OWNERS_WITH_ONE,
    "POST /api/digests/run": OWNERS,
    "GET /api/memory": READERS,
    "GET /api/memory/search": READERS,
    "GET /api/search": READERS,
    "POST /api/reindex": OWNERS,
    "POST /api/memory": PEOPLE,
    "PATCH /api/memory/{id}": PEOPLE_WITH_ONE,
    "DELETE /api/memory/{id}": PEOPLE_WITH_ONE,
    "POST /api/memory/{id}/promote": PEOPLE_WITH_ONE,
    "GET /api/memory/{id}/reads": READERS_OF_ONE,
    "GET /api/goals": PEOPLE,
    "POST /api/goals": PEOPLE,
    "GET /api/goals/{id}": PEOPLE_WITH_ONE,
    "PATCH /api/goals/{id}": PEOPLE_WITH_ONE,
    "DELETE /api/goals/{id}": PEOPLE_WITH_ONE,
    "POST /api/goals/{id}/complete": PEOPLE_WITH_ONE,
    # Asked for the main session too, and for a plan of it; switched in another.
    "GET /api/plans": READERS,
    "POST /api/plans/enable": PEOPLE,
    "POST /api/plans/disable": PEOPLE,
    "GET /api/plans/{id}": READERS_OF_ONE,
    "PUT /api/plans/{id}": PEOPLE_WITH_ONE,
    "POST /api/plans/{id}/approve": PEOPLE_WITH_ONE,
    "POST /api/plans/{id}/cancel": PEOPLE_WITH_ONE,
    "POST /api/plans/{id}/resume": PEOPLE_WITH_ONE,
    # Agents send notes only, about an entry; the one that is asked for belongs to a task.
    "GET /api/log": READERS,
    "POST /api/log": PEOPLE,
    "POST /api/ingest": PEOPLE,
    "GET /api/log/{id}": READERS_OF_ONE,
    "PATCH /api/log/{id}": PEOPLE_WITH_ONE,
    "DELETE /api/log/{id}": PEOPLE_WITH_ONE,
    "GET /api/notes": READERS,
    "POST /api/notes": READERS,
    "GET /api/notifications": PEOPLE,
    "POST /api/notifications/{id}/read": PEOPLE_WITH_ONE,
    "POST /api/notifications/read-all": PEOPLE,
    # The last: a wake creates the main lane of the other account, which is hidden in the rows above.
    "POST /api/hooks/agent": PROGRAMS,
    "POST /api/hooks/wake": PROGRAMS,
    "POST /api/hooks/claude": PEOPLE,
    "GET /api/hooks/in": OWNERS,
    "GET /api/hooks/in/deliveries": OWNERS,
    "GET /api/hooks/in/deliveries/{id}": OWNERS_WITH_ONE,
    "POST /api/hooks/in/deliveries/{id}/redeliver": OWNERS_WITH_ONE,
    "POST /api/hooks/in/{name}/test": OWNERS_WITH_ONE,
}

# Over /agent and over MCP alike.
CALLERS_OF_TOOLS = _rule(NEVER, MAY, MAY, NEVER, MAY, MAY)
RUNS = _rule(NEVER, NEVER, MAY, NEVER, NEVER, NEVER)
NEVER_NOW = _rule(NEVER, NEVER, NEVER, NEVER, NEVER, NEVER)
# Of agents only the orchestrator, which the one that is asked here is not; nor does it have the flags canCreateTasks
# and canPromoteMemory.
ORCHESTRATORS = _rule(NEVER, NEVER, NEVER, NEVER, MAY, MAY)
TOOLS: dict[str, Rights] = {
    "clawboard_context": CALLERS_OF_TOOLS,
    "clawboard_create_note": CALLERS_OF_TOOLS,
    "clawboard_get_log": CALLERS_OF_TOOLS,
    "clawboard_get_task": CALLERS_OF_TOOLS,
    "clawboard_get_topic": CALLERS_OF_TOOLS,
    "clawboard_search": CALLERS_OF_TOOLS,
    "clawboard_update_task": CALLERS_OF_TOOLS,
    "agents_list": CALLERS_OF_TOOLS,
    "session_status": CALLERS_OF_TOOLS,
    "sessions_history": CALLERS_OF_TOOLS,
    "sessions_list": CALLERS_OF_TOOLS,
    "sessions_send": CALLERS_OF_TOOLS,
    "sessions_spawn": CALLERS_OF_TOOLS,
    "file_list": CALLERS_OF_TOOLS,
    "file_read": CALLERS_OF_TOOLS,
    "goal_complete": CALLERS_OF_TOOLS,
    "goal_create": CALLERS_OF_TOOLS,
    "goal_list": CALLERS_OF_TOOLS,
    "goal_plan_tasks": CALLERS_OF_TOOLS,
    "goal_update": CALLERS_OF_TOOLS,
    "memory_add": CALLERS_OF_TOOLS,
    "memory_forget": CALLERS_OF_TOOLS,
    "memory_promote": ORCHESTRATORS,
    "memory_read": CALLERS_OF_TOOLS,
    "memory_search": CALLERS_OF_TOOLS,
    "memory_update": CALLERS_OF_TOOLS,
    "plan_get": CALLERS_OF_TOOLS,
    # Only in plan mode, in which none of these sessions is.
    "plan_set_content": NEVER_NOW,
    "response_request": CALLERS_OF_TOOLS,
    "task_history": CALLERS_OF_TOOLS,
    "task_load": CALLERS_OF_TOOLS,
    "task_status": CALLERS_OF_TOOLS,
    "task_update": CALLERS_OF_TOOLS,
    "task_assign": ORCHESTRATORS,
    "task_create": ORCHESTRATORS,
    "task_delete": ORCHESTRATORS,
    "task_get": ORCHESTRATORS,
    "task_list": ORCHESTRATORS,
    "task_message": ORCHESTRATORS,
    "task_search": ORCHESTRATORS,
    "task_thread": ORCHESTRATORS,
    "artifact_add": RUNS,
    "decline": RUNS,
    "request_input": RUNS,
}

# Every caller has tasks of its own; those of others are hidden from everybody, whatever the method.
CALLERS_OF_AGENTS = _rule(MAY, NEVER, NEVER, MAY, MAY, MAY)
OF_A_TASK = CALLERS_OF_AGENTS
A2A: dict[str, Rights] = {
    "SendMessage": CALLERS_OF_AGENTS,
    "SendStreamingMessage": CALLERS_OF_AGENTS,
    "GetTask": OF_A_TASK,
    "ListTasks": CALLERS_OF_AGENTS,
    "CancelTask": OF_A_TASK,
    "SubscribeToTask": OF_A_TASK,
    "CreateTaskPushNotificationConfig": OF_A_TASK,
    "GetTaskPushNotificationConfig": OF_A_TASK,
    "ListTaskPushNotificationConfigs": OF_A_TASK,
    "DeleteTaskPushNotificationConfig": OF_A_TASK,
    "GetExtendedAgentCard": CALLERS_OF_AGENTS,
    "message/send": CALLERS_OF_AGENTS,
    "message/stream": CALLERS_OF_AGENTS,
    "tasks/get": OF_A_TASK,
    "tasks/list": CALLERS_OF_AGENTS,
    "tasks/cancel": OF_A_TASK,
    "tasks/resubscribe": OF_A_TASK,
    "tasks/pushNotificationConfig/set": OF_A_TASK,
    "tasks/pushNotificationConfig/get": OF_A_TASK,
    "tasks/pushNotificationConfig/list": OF_A_TASK,
    "tasks/pushNotificationConfig/delete": OF_A_TASK,
    "agent/getAuthenticatedExtendedCard": CALLERS_OF_AGENTS,
}
# A2A over HTTP+JSON: the routes below /a2a/{agent} in 1.0, each with its method.
_A2A_URLS = {
    "POST /message:send": "SendMessage",
    "POST /message:stream": "SendStreamingMessage",
    "GET /tasks": "ListTasks",
    "GET /tasks/{id}": "GetTask",
    "GET /tasks/{id}:subscribe": "SubscribeToTask",
    "POST /tasks/{id}:subscribe": "SubscribeToTask",
    "POST /tasks/{id}/pushNotificationConfigs": "CreateTaskPushNotificationConfig",
    "GET /tasks/{id}/pushNotificationConfigs": "ListTaskPushNotificationConfigs",
    "GET /tasks/{id}/pushNotificationConfigs/{webhook}": "GetTaskPushNotificationConfig",
    "DELETE /tasks/{id}/pushNotificationConfigs/{webhook}": "DeleteTaskPushNotificationConfig",
    "POST /tasks/{id}:cancel": "CancelTask",
    "GET /extendedAgentCard": "GetExtendedAgentCard",
}


def a2a_routes() -> dict[str, str]:
    """Return the method of every route of HTTP+JSON, in 1.0 and in 0.3."""
    new = {url.replace(" ", " /a2a/{agent}"): method for url, method in _A2A_URLS.items()}
    old = {url.replace("{agent}", "{agent}/v1").replace("extendedAgentCard", "card"): new[url] for url in new}
    return new | old


# What is asked for there, and not the route, decides: a method of A2A, or a tool.
ROUTES_OF_METHODS = ("POST /a2a", "POST /a2a/", "POST /a2a/{agent}", "POST /a2a/{agent}/")
ROUTES_OF_TOOLS = ("POST /agent/{tool}", "* /mcp")

# Every caller has responses of its own; those of others are hidden from everybody.
OF_A_RESPONSE = CALLERS_OF_AGENTS
RESPONSES: dict[str, Rights] = {
    "GET /v1/models": CALLERS_OF_AGENTS,
    "GET /v1/models/{name:path}": CALLERS_OF_AGENTS,
    "POST /v1/chat/completions": CALLERS_OF_AGENTS,
    "POST /v1/responses": CALLERS_OF_AGENTS,
    "WS /v1/responses": CALLERS_OF_AGENTS,
    "POST /v1/responses/compact": CALLERS_OF_AGENTS,
    "GET /v1/responses/{id}": OF_A_RESPONSE,
    "GET /v1/responses/{id}/input_items": OF_A_RESPONSE,
    "POST /v1/responses/{id}/cancel": OF_A_RESPONSE,
    "DELETE /v1/responses/{id}": OF_A_RESPONSE,
}
CHAT: dict[str, Rights] = {"WS /ws/chat": PEOPLE}

# A card needs no token, but a token that is sent must be right.
CARD = ANYBODY | {"none": MAY}
# The secret in the path decides, and no token.
SECRET: Rights = dict.fromkeys(KINDS, HIDDEN)
# The signature of the body decides, and no token.
SIGNED: Rights = dict.fromkeys(KINDS, LOGIN)
# The page is the same for everybody and holds nothing of an account.
DASHBOARD = (
    "", "chat", "chat/{id:path}", "board", "sessions", "sessions/{id:path}", "runs", "runs/{id:path}", "memory",
    "isolation", "isolation/{id:path}", "search", "agents", "goals", "schedules", "spaces", "tokens", "models", "usage",
    "settings", "health", "mcp-servers", "webhooks", "tasks/{id:path}",
)  # fmt: skip
PAGES: dict[str, Rights] = {
    **{f"GET /{page}": OPEN for page in DASHBOARD},
    "GET /static/{path:path}": OPEN,
    "GET /.well-known/agent-card.json": CARD,
    "GET /.well-known/agent.json": CARD,
    "GET /a2a/{agent}/.well-known/agent-card.json": CARD,
    "GET /a2a/{agent}/.well-known/agent.json": CARD,
    "GET /.well-known/oauth-protected-resource": OPEN,
    "GET /.well-known/oauth-protected-resource/mcp": OPEN,
    "GET /agent": CALLERS_OF_TOOLS,
    "POST /channels/telegram/{secret}": SECRET,
    "POST /api/hooks/in/{name}": SIGNED,
}
