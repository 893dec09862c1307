"""The API against its own document: no error, status or answer that is not described there, whatever is sent.

A short seeded run in the suite; CARREL_SCHEMATHESIS_EXAMPLES sets how many examples an endpoint gets.
"""

import asyncio
import os
import re
import threading
import warnings
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import load_all_checks
from schemathesis.core.failures import Failure
from schemathesis.core.parameters import ParameterLocation
from schemathesis.core.result import Ok
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.python._constants.orchestrator import make_constants_value_source
from schemathesis.schemas import APIOperation, BaseSchema

from carrel.kernel.limits import A2A_ID_CHARS_MAX
from carrel.kernel.settings import HooksSettings, Settings
from carrel.main.assembly import whole_document
from tests.harness.server import HttpServer, open_http_server

EXAMPLES = int(os.environ.get("CARREL_SCHEMATHESIS_EXAMPLES", "0"))
# Of how many requests a short run sends one.
SENT_OF = 1 if EXAMPLES else 4
WAIT_SECONDS_MAX = 30.0
# Longer texts and lists are not tried here: to make them takes minutes, and tests of their own send them.
ITEMS_TRIED_MAX = 40
CHARS_TRIED_MAX = 1_000 if EXAMPLES else 100
_TRIED = {"maxItems": ITEMS_TRIED_MAX, "maxLength": CHARS_TRIED_MAX}


def without_high_limits(part: Any) -> Any:
    """Return a part of the document without limits so high that an example at the limit is expensive."""
    if isinstance(part, dict):
        kept = {name: value for name, value in part.items() if not _is_high(name, value)}
        return {name: without_high_limits(value) for name, value in kept.items()}
    return [without_high_limits(one) for one in part] if isinstance(part, list) else part


def _is_high(name: str, value: Any) -> bool:
    return name in _TRIED and isinstance(value, int) and value > _TRIED[name]


SCHEMA = schemathesis.openapi.from_dict(without_high_limits(whole_document()))
# Many examples of one endpoint take longer than a test may, on a busy machine.
pytestmark = [pytest.mark.timeout(1800)] if EXAMPLES else []


Operation = APIOperation[Any, Any, Any, Any]


class Listed(NamedTuple):
    """A finding that no schema can rule out: the kind, the operations, the error's code and place, and the reason.

    `place` is the field that the error names, or both it and the sentence.
    """

    kind: str
    operations: str
    code: str
    place: str
    reason: str


REFUSED = "RejectedPositiveData"
NUL = r"Text must not contain NUL characters\."
COMPLETIONS = r"POST /v1/chat/completions"
TASKS_AND_GOALS = r"(POST|PATCH) /api/(goals|tasks).*"
LISTED = (
    Listed(REFUSED, r"GET /api/.*", "invalid_params", "cursor", "a cursor is opaque"),
    Listed(REFUSED, r"GET /a2a/{agent}/tasks", "INVALID_PARAMS", "pageToken", "a page token is opaque"),
    Listed(REFUSED, r"POST /v1/responses(/compact)?", "invalid_params", r"input\.\d+\.encrypted_content", "opaque"),
    # Depends on what exists, or on the time.
    Listed(REFUSED, r"GET /v1/responses/{id}/input_items", "invalid_params", "after", "unknown item"),
    Listed(
        REFUSED, r"PATCH /api/account", "invalid_params", r"settings\.(default|orchestrator)AgentId", "unknown agent"
    ),
    Listed(REFUSED, r"PATCH /api/account", "invalid_params", r"settings\.orchestratorChatTaskId", "the server sets it"),
    Listed(REFUSED, r"(POST|PATCH) /api/agents.*", "invalid_params", "gateway|mcp", "unknown gateways and servers"),
    Listed(REFUSED, r"POST /api/runs/{id}/replay", "invalid_params", "gateway", "unknown, or not to a model"),
    Listed(REFUSED, r"(POST|PATCH) /api/schedules.*", "invalid_params", "timezone", "unknown time zone"),
    Listed(REFUSED, r"(POST|PATCH) /api/schedules.*", "invalid_params", "cron", "the parts of a cron expression"),
    Listed(REFUSED, r"POST /api/schedules/{id}/run", "limit_reached", "maxExecutions", "it fired as often as it may"),
    Listed(REFUSED, r"POST /api/budgets.*", "invalid_params", "subject|tokens", "depends on another field"),
    Listed(REFUSED, r"POST /api/tokens", "invalid_params", "spaceIds", "only people and agents, and spaces that exist"),
    Listed(REFUSED, r"POST /api/tokens", "invalid_params", "expiresAt", "must be in the future"),
    Listed(REFUSED, r"POST /api/tokens", "invalid_params", r"(agentId|userId|agentIds.*)", "unknown agents and users"),
    Listed(
        REFUSED,
        r"(POST|PATCH) /api/tasks.*",
        "invalid_params",
        "topicId|spaceId|parentId|dependencies|agentIds|userIds|attachmentIds",
        "unknown, or the task itself",
    ),
    Listed(
        REFUSED,
        r"(POST|PATCH) /api/(log|notes|ingest).*",
        "invalid_params",
        "topicId|taskId|spaceId|relatedLogId|attachmentIds",
        "unknown",
    ),
    Listed(REFUSED, r"POST /api/ingest", "invalid_params", "entries|type|content", "one entry, or several"),
    Listed(REFUSED, TASKS_AND_GOALS, "illegal_transition", "status|", "the move is not in the table"),
    Listed(REFUSED, r"(POST|PATCH) /api/tasks.*", "assignee_required", "status|", "nobody is assigned"),
    Listed(
        REFUSED,
        r"POST /v1/(chat/completions|responses(/compact)?)",
        "unknown_model",
        "model|x-openclaw-agent-id",
        "unknown agent",
    ),
    Listed(REFUSED, r"POST /a2a/.*/tasks/{id}:cancel", "TASK_NOT_CANCELABLE", "", "the task has ended"),
    Listed(REFUSED, r"(GET|POST) /a2a/.*/tasks/{id}:subscribe", "UNSUPPORTED_OPERATION", "", "the task has ended"),
    Listed(REFUSED, r"POST /a2a/.*/message:.*", "INVALID_PARAMS", r"configuration\..*\.url", "must be public"),
    Listed(REFUSED, r"POST /a2a/.*/pushNotificationConfigs", "INVALID_PARAMS", "url", "must be public"),
    # Depends on another field.
    Listed(REFUSED, r"POST /api/hooks/agent", "invalid_params", "sessionKey", "a hook may not name a session"),
    Listed(REFUSED, r"POST /api/runs", "invalid_params", "agentId", "agentId or sessionKey, not both"),
    Listed(
        REFUSED,
        r"(GET|POST) /api/schedules.*",
        "session_required",
        "sessionId",
        "an agent has a session, others name one",
    ),
    Listed(REFUSED, r"(GET|POST) /api/auto/.*", "session_required", "sessionId", "a session or an auto run is named"),
    Listed(REFUSED, r"POST /api/auto/start", "invalid_params", "text|taskId", "one of goal, task and text"),
    Listed(REFUSED, r"(POST|PATCH) /api/memory.*", "invalid_params", "content|reason", "needs some text"),
    Listed(REFUSED, r"GET /api/memory.*", "session_required", "sessionId", "a session or a scope is named"),
    Listed(REFUSED, r"(GET|POST) /api/goals", "session_required", "sessionId", "needed to list and to create"),
    Listed(REFUSED, r"(POST|PATCH) /api/goals.*", "invalid_params", "name", "needs more than white space"),
    Listed(REFUSED, r"(GET|POST|PUT) /api/plans.*", "session_required", "sessionId", "always needed, and has a code"),
    Listed(REFUSED, r"(POST|PUT) /api/plans/{id}.*", "illegal_transition", "", "depends on the status of the plan"),
    Listed(REFUSED, r"PUT /api/plans/{id}", "invalid_params", "title|dependencies", "as of tasks"),
    Listed(
        REFUSED, r"(GET|POST) /api/sessions/active", "invalid_params", "clientInstanceId", "needed by browsers only"
    ),
    Listed(REFUSED, r"POST /api/(accounts|users)", "invalid_params", "slug", "without one, it is made from the name"),
    Listed(REFUSED, r"(POST|PATCH) /api/tasks.*", "blocked_reason_required", "blockedReason", "needed when blocked"),
    Listed(REFUSED, r"(POST|PATCH) /api/tasks.*", "invalid_params", "labels", "another name for tags"),
    Listed(REFUSED, r"(POST|PATCH) /api/tasks.*", "invalid_params", "title", "needs more than white space"),
    Listed(REFUSED, r"POST /api/tasks", "invalid_params", "status", "a task in the inbox has no assignee"),
    Listed(REFUSED, r"POST /api/tasks", "invalid_params", "id", "one name is reserved"),
    Listed(REFUSED, r"POST /api/tasks/{id}/messages", "invalid_params", "content", "may be empty only with a file"),
    Listed(
        REFUSED, r"POST /api/(chat|plans/.*)", "invalid_conversation_key", "conversationKey", "a short one must exist"
    ),
    Listed(REFUSED, r"POST /api/models/(probe|connect)", "invalid_params", "server", "a name of a server, or a URL"),
    Listed(REFUSED, r"POST /api/reindex", "invalid_params", "id", "not with everything"),
    Listed(REFUSED, r"POST /agent/task_list", "invalid_params", "assigneeSlug|status", "unknown agents and users"),
    Listed(REFUSED, r"POST /agent/clawboard_update_task", "invalid_params", "id", "something is to be changed"),
    Listed(REFUSED, r"POST /api/hooks/claude", "invalid_params", f".*{NUL}", "what tools were given may be any JSON"),
    Listed(
        REFUSED, r"PATCH /api/spaces/{id}/connectivity", "invalid_params", ".*connectivity.*", "the names of spaces"
    ),
    Listed(REFUSED, r"(POST|PATCH) /api/topics.*", "invalid_params", "spaceId|parentId", "unknown spaces and topics"),
    Listed(REFUSED, r"POST /agent/sessions_spawn", "invalid_params", "mode", "mode session needs thread"),
    Listed(REFUSED, r"POST /api/chat", "invalid_params", "sessionId", "sessionKey names another session"),
    Listed(REFUSED, r"POST /api/chat", "invalid_params", "text", "may be empty only with a file"),
    Listed(REFUSED, r"POST /v1/responses/compact", "invalid_params", "input", "input or previous_response_id"),
    Listed(REFUSED, COMPLETIONS, "invalid_params", "messages", "needs a message, or an output that is waited for"),
    Listed(REFUSED, COMPLETIONS, "invalid_params", r"messages\.\d+\.tool_call_id", "no call waits for this output"),
    Listed(REFUSED, COMPLETIONS, "invalid_params", r"messages\.\d+\.content", "the newest needs text"),
    Listed(REFUSED, COMPLETIONS, "invalid_params", rf"messages\.\d+.*: {NUL}", "a database cannot store it"),
    Listed(REFUSED, COMPLETIONS, "budget_used_up", "", "the budgets that are set here may be used up"),
    Listed(
        REFUSED, rf"{COMPLETIONS}|POST /v1/responses", "invalid_params", "tool_choice", "names tools of the request"
    ),
    Listed(
        REFUSED,
        rf"{COMPLETIONS}|POST /v1/responses",
        "invalid_params",
        r"tools\.\d+(\.function)?\.name",
        "two tools of one name",
    ),
    Listed(REFUSED, r"POST /v1/responses", "invalid_params", "store", "nobody could read the response"),
    Listed(
        REFUSED, r"POST /v1/responses", "invalid_params", "input", "needs a message, or an output that is waited for"
    ),
    Listed(REFUSED, r"POST /v1/responses", "invalid_params", r"input\.\d+\.call_id", "no call waits for this output"),
    Listed(
        REFUSED, r"POST /v1/responses(/compact)?", "invalid_params", r"input\.\d+\.content", "the newest needs text"
    ),
    Listed(REFUSED, r"POST /a2a/.*/message:.*", "INVALID_PARAMS", r"message\.parts", "one part must have text"),
    Listed(REFUSED, r"POST /api/schedules", "invalid_params", "targetId", "a message has no target"),
    Listed(REFUSED, r"POST /api/schedules", "invalid_params", "message", "needed by the type message"),
    Listed(REFUSED, r"POST /api/schedules", "invalid_params", "type", "goals and tasks do not exist yet"),
    Listed(REFUSED, r"POST /agent/response_request", "invalid_params", "taskId", "may be left out in a run on a task"),
    # What tools take is shown to models too, and so has no patterns.
    Listed(REFUSED, r"POST /agent/\w+", "invalid_params", "message|title", "needs some text"),
    Listed(REFUSED, r"POST /agent/task_\w+", "invalid_params", "taskId", "needed outside of a run on a task"),
    Listed(REFUSED, r"POST /agent/task_\w+", "invalid_params", "assigneeSlugs", "unknown agents and users"),
    Listed(REFUSED, r"POST /agent/memory_(add|update)", "invalid_params", "content", "needs some text"),
    Listed(REFUSED, r"POST /agent/goal_(create|update)", "invalid_params", "name", "needs some text"),
    Listed(REFUSED, r"POST /agent/goal_plan_tasks", "invalid_params", "dependencies", "tasks of the plan only"),
    Listed(REFUSED, r"POST /agent/memory_(add|update)", "too_long", "tags", "the length of a tag"),
    Listed(REFUSED, r"POST /agent/memory_promote", "invalid_params", "reason", "needs some text"),
    Listed(REFUSED, r"POST /agent/memory_add", "invalid_scope", "scope", "not every session has every scope"),
    Listed(REFUSED, r"POST /agent/session(_status|s_history|s_send)", "invalid_params", "sessionKey", "a reference"),
    # Tools take what models write: null for what is left out, and numbers and booleans as strings.
    Listed("AcceptedNegativeData", r"POST /agent/\w+", "", "", "what is plainly meant is accepted"),
    # Any JSON may be in these.
    Listed(REFUSED, r"POST /agent/artifact_add", "invalid_params", f"data.*: {NUL}", "a database cannot store it"),
    Listed(
        REFUSED,
        r"POST /v1/responses(/compact)?",
        "invalid_params",
        rf"input\.\d+.*: {NUL}",
        "a database cannot store it",
    ),
    Listed(REFUSED, TASKS_AND_GOALS, "invalid_params", f"metadata.*: {NUL}", "a database cannot store it"),
    Listed(REFUSED, TASKS_AND_GOALS, "too_long", "metadata", "as JSON it has a size"),
    Listed(REFUSED, r"PATCH /api/tasks/{id}", "invalid_params", "position|(before|after)Id", "one of three, and known"),
    Listed(REFUSED, r"PATCH /api/sessions/{key}", "invalid_params", "title", "it is displayName by another name"),
    Listed(
        REFUSED, r"POST /api/topics/{id}/(merge|split)", "invalid_params", "(topic|entry)Ids", "which there must be"
    ),
    # The path of a task, whose id may be the same word, covers this one.
    Listed("RejectedPositiveData", r"POST /api/tasks/reorder", "invalid_params", r"orderedIds", "not of that status"),
    Listed("AllowHeaderMismatch", r"POST /api/tasks/reorder", "method_not_allowed", "", "is a task with that id"),
    Listed("UnsupportedMethodResponse", r"POST /api/tasks/reorder", "not_found", "", "is a task with that id"),
    # The path of GetTask, where the id may be anything, covers this one.
    Listed("AllowHeaderMismatch", r"POST /a2a/.*/tasks/{id}:cancel", "method_not_allowed", "", "GET is GetTask"),
    Listed("UnsupportedMethodResponse", r"POST /a2a/.*/tasks/{id}:cancel", "TASK_NOT_FOUND", "", "is GetTask"),
)
# The entries of the list that this process has met.
FOUND: set[Listed] = set()


def is_listed(failure: Failure, case: schemathesis.Case[Any], response: Any) -> bool:
    """Return whether the finding is in the list, or is about an integer such as 1.0, which is one only to a schema."""
    kind, (code, field, message) = type(failure).__name__, _error(response)
    if kind == REFUSED and re.search(r"must be an integer( or (null|a string))?, not a number", message):
        return True
    fitting = [
        one
        for one in LISTED
        if (kind, code) == (one.kind, one.code)
        and re.fullmatch(one.operations, case.operation.label)
        and any(re.fullmatch(one.place, said, re.DOTALL) for said in (field, f"{field}: {message}"))
    ]
    FOUND.update(fitting)
    return bool(fitting)


def _error(response: Any) -> tuple[str, str, str]:
    """Return the code, the field and the message of an error of any surface."""
    try:
        error = response.json()["error"]
    except (ValueError, KeyError, TypeError):
        return "", "", ""
    if "details" in error and "status" in error:
        info = error["details"][0]
        return info["reason"], info["metadata"].get("field", ""), error["message"]
    return error["code"], error.get("field") or error.get("param") or "", error["message"]


class Target:
    """A server in a thread of its own, and ids of things that are in it."""

    def __init__(self, server: HttpServer) -> None:
        self.url = server.url
        self.messages = 0
        self.headers = {"Authorization": f"Bearer {server.owner}"}
        with httpx.Client(base_url=server.url, headers=self.headers, timeout=WAIT_SECONDS_MAX) as client:
            for name in ("spare", "changing"):
                client.post("/api/agents", json={"id": name}).raise_for_status()
            user = client.post("/api/users", json={"name": "Ada"}).json()["user"]["id"]
            token = client.post("/api/tokens", json={"kind": "agent", "name": "x", "agentId": "spare"}).json()
            run = client.post("/api/runs", json={"message": "hello", "agentId": "spare"}).json()
            client.get(f"/api/runs/{run['runId']}/wait").raise_for_status()
            failed = client.post("/api/runs", json={"message": "fail", "agentId": "spare"}).json()
            client.get(f"/api/runs/{failed['runId']}/wait").raise_for_status()
            told = client.get("/api/notifications").json()["notifications"]
            said_again = {"type": "message", "message": "x", "cron": "0 0 1 1 *", "sessionId": "agent:spare:main"}
            schedule = client.post("/api/schedules", json=said_again).json()["schedule"]
            response = client.post("/v1/responses", json={"model": "carrel/spare", "input": "hello"}).json()
            work = client.post("/api/tasks", json={"title": "x", "assignedAgentIds": ["spare"]}).json()["task"]
            said = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
            task = client.post("/a2a/spare/message:send", json={"message": said}).json()["task"]
        self.known: dict[str, Any] = {
            "/v1/responses/": response["id"],
            "/v1/models/": "carrel/spare",
            "/a2a/": {"agent": "spare", "id": task["id"]},
            "/api/agents/": "changing",
            "/api/users/": user,
            "/api/tokens/": token["token"]["id"],
            "/api/runs/": run["runId"],
            "/api/schedules/": schedule["id"],
            "/api/notifications/": told[0]["id"],
            "/api/sessions/": "agent:spare:main",
            "/api/tasks/": work["id"],
        }


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """The server that everything is sent to."""
    opened: list[HttpServer] = []
    ready, leave = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        url = f"sqlite:///{tmp_path_factory.mktemp('schemathesis') / 'carrel.db'}"
        with_hooks = Settings(hooks=HooksSettings(enabled=True))
        async with open_http_server(url, settings=with_hooks) as server:
            opened.append(server)
            ready.set()
            await leave.wait()

    serving = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    serving.start()
    assert ready.wait(WAIT_SECONDS_MAX)
    yield Target(opened[0])
    loops[0].call_soon_threadsafe(leave.set)
    serving.join(WAIT_SECONDS_MAX)
    assert not serving.is_alive()
    # Other examples may need an entry that these did not, so this does not fail.
    for one in LISTED if EXAMPLES else ():
        if one not in FOUND:
            warnings.warn(f"No example needed {one}", stacklevel=1)


bounded = settings(
    max_examples=EXAMPLES or 2,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def operations(filtered: BaseSchema) -> pytest.MarkDecorator:
    """Return the mark that runs a test for every operation of a part of the document."""
    found = []
    for result in filtered.get_all_operations():
        assert isinstance(result, Ok), result
        found.append(result.ok())
    return pytest.mark.parametrize("operation", [pytest.param(one, id=one.label) for one in found])


# A stream goes on for ever, so it has tests of its own.
@operations(SCHEMA.exclude(path="/api/stream").exclude(method="DELETE"))
def test_every_answer_is_one_the_document_promises(operation: Operation, target: Target) -> None:
    _send_all(operation, target)


# After the others, which need what is deleted here.
@operations(SCHEMA.include(method="DELETE"))
def test_every_answer_to_a_deletion_is_one_the_document_promises(operation: Operation, target: Target) -> None:
    _send_all(operation, target)


def _send_all(operation: Operation, target: Target) -> None:
    """Send the requests of an operation.

    They are generated here: `schemathesis` itself does it when tests are collected, so every worker of a run would
    generate those of all operations first.
    """

    @bounded
    def send(case: schemathesis.Case[Any]) -> None:
        _send(case, target)

    load_all_checks()
    feedback = FeedbackSources(constants_value_source=make_constants_value_source(SCHEMA))
    run = build_operation_test(
        config=SCHEMA.config, operation=operation, test_func=send, given_kwargs={}, feedback=feedback
    )
    run()


def _send(case: schemathesis.Case[Any], target: Target) -> None:
    """Send a request; fail if its answer is neither in the document nor in the list."""
    if not _is_chosen(case):
        return
    _meet_something(case, target)
    _do_not_wait(case)
    response = case.call(base_url=target.url, headers=target.headers, timeout=WAIT_SECONDS_MAX)
    try:
        case.validate_response(response, headers=target.headers)
    except* Failure as found:
        unlisted = [one for one in found.exceptions if isinstance(one, Failure) and not is_listed(one, case, response)]
        if unlisted:
            raise ExceptionGroup(f"not listed: {_error(response)}", unlisted) from None
    assert response.headers["x-request-id"]
    _make_room(case, response, target)


def _is_chosen(case: schemathesis.Case[Any]) -> bool:
    """Return whether to send this one: a short run sends some, always the same."""
    shown = f"{case.method} {case.path_parameters} {case.query} {case.headers} {case.body!r}"
    return zlib.crc32(shown.encode(errors="replace")) % SENT_OF == 0


def _meet_something(case: schemathesis.Case[Any], target: Target) -> None:
    """Let half of the requests be about something that is there, and every message to an A2A agent be a new one."""
    if isinstance(case.body, dict):
        if case.operation.path.startswith("/a2a/"):
            _send_anew(case.body.get("message"), target)
        if case.operation.path.startswith("/v1/") and _is_valid(case, ParameterLocation.BODY):
            _name_an_agent(case.body)
    known = next((one for prefix, one in target.known.items() if case.operation.path.startswith(prefix)), None)
    for name, value in (case.path_parameters or {}).items() if _is_valid(case, ParameterLocation.PATH) else ():
        there = known.get(name) if isinstance(known, dict) else known
        if there is not None and len(str(value)) % 2:
            case.path_parameters[name] = there


def _is_valid(case: schemathesis.Case[Any], part: ParameterLocation) -> bool:
    """Return whether this part of the request is not wrong on purpose."""
    return case.meta is None or not case.meta.is_negative_at(part)


def _send_anew(message: Any, target: Target) -> None:
    """Give a message another id: one that was sent before is answered with its task, whatever else it says."""
    named = message.get("messageId") if isinstance(message, dict) else None
    if isinstance(named, str) and 0 < len(named) <= A2A_ID_CHARS_MAX - 8:
        target.messages += 1
        message["messageId"] = f"{target.messages}-{named}"


def _name_an_agent(body: dict[str, Any]) -> None:
    """Let half of the models be one that exists."""
    model = body.get("model")
    if isinstance(model, str) and len(model) % 2:
        body["model"] = "carrel/spare"


def _make_room(case: schemathesis.Case[Any], response: Any, target: Target) -> None:
    """Delete a new webhook: a task may have only some."""
    if case.operation.label == "POST /a2a/{agent}/tasks/{id}/pushNotificationConfigs" and response.status_code == 200:
        httpx.delete(f"{response.request.url}/{quote(response.json()['id'], safe='')}", headers=target.headers)


def _do_not_wait(case: schemathesis.Case[Any]) -> None:
    """Keep what the server would rightly wait for out of a short run."""
    if case.operation.path.endswith("/wait") and case.query:
        case.query.pop("timeoutSeconds", None)
    if case.operation.path.endswith("/send") and isinstance(case.body, dict):
        case.body.pop("timeoutSeconds", None)
