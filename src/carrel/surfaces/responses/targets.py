"""Which agent and lane a request is for: by the response it continues, its headers, its user, or a new lane.

The agents that a caller may call are its models.
"""

import re

from msgspec import Struct, structs
from starlette.datastructures import Headers

from carrel.agents import Agent, callable_agents, default_agent, named_agent
from carrel.kernel import MS_PER_SECOND, Access, Code, Refusal, SessionKey, caller_hash, key_text
from carrel.kernel.limits import NAME_CHARS_MAX
from carrel.runs import Run, live_runs_of_lane, run_by_id
from carrel.sessions import FoundSession, find_session
from carrel.storage import Tx
from carrel.surfaces.http.tool_callers import SESSION_HEADER
from carrel.surfaces.responses.errors import ResponsesError, wrong
from carrel.surfaces.responses.requests import MODEL, Json
from carrel.surfaces.responses.store import Response, response_by_id

_MODEL = re.compile(MODEL)
CHANNEL = r"[a-z][a-z0-9-]{0,31}"
_CHANNEL = re.compile(CHANNEL)
_UNKNOWN_MODEL = "unknown_model"
_RESERVED = ("subagent", "cron", "hook")
# Kinds of lanes that a program may name before they exist.
_OWN_KINDS = ("openresponses", "openresponses-user")
AGENT_HEADER = "x-openclaw-agent-id"
MODEL_HEADER = "x-openclaw-model"
CHANNEL_HEADER = "x-openclaw-message-channel"


class TargetHints(Struct, frozen=True, kw_only=True):
    """What a request says about its agent and session, as it was sent."""

    model: str | None
    user: str | None
    previous_id: str | None
    agent: str | None = None
    session: str | None = None
    backing_model: str | None = None
    channel: str | None = None

    @property
    def names_session(self) -> bool:
        """Whether the request belongs to a session that may have heard earlier messages."""
        return self.session is not None or self.user is not None


class Target(Struct, frozen=True, kw_only=True):
    """Where a request belongs: the lane, and the response that it continues with its run, if any."""

    key: SessionKey
    previous: Response | None = None
    run: Run | None = None


def read_hints(headers: Headers, model: str | None, user: str | None, previous_id: str | None) -> TargetHints:
    channel = headers.get(CHANNEL_HEADER) or None
    if channel is not None and not _CHANNEL.fullmatch(channel):
        raise wrong(CHANNEL_HEADER, "A channel's name must be 1 to 32 lower-case letters, digits and -.")
    backing = headers.get(MODEL_HEADER) or None
    if backing is not None and len(backing) > NAME_CHARS_MAX:
        raise wrong(MODEL_HEADER, f"A model's name may have at most {NAME_CHARS_MAX} characters.")
    return TargetHints(
        model=model,
        user=user or None,
        previous_id=previous_id,
        agent=headers.get(AGENT_HEADER) or None,
        session=headers.get(SESSION_HEADER) or None,
        backing_model=backing,
        channel=channel,
    )


def find_target(tx: Tx, access: Access, hints: TargetHints, kept: set[str]) -> Target:
    """Return where a request belongs; `kept` are responses that are not stored but known to this connection."""
    named = _named_agent(tx, access, hints)
    if hints.previous_id is not None:
        return _continuation(tx, access, hints, named, kept)
    if hints.session is not None:
        return Target(key=_session(tx, access, hints.session, named).key)
    agent = named or _agent(tx, access, None, "model")
    if hints.user is not None:
        owner = caller_hash(access.actor_id)
        return Target(key=SessionKey.of(agent.id, f"openresponses-user:{owner}:{key_text(hints.user)}"))
    return Target(key=SessionKey.of(agent.id, f"openresponses:{_new_uuid(tx)}"))


def _new_uuid(tx: Tx) -> str:
    """Return a new name in the form of a UUID."""
    drawn = caller_hash(tx.new_id("lane")) + caller_hash(tx.new_id("lane")) + caller_hash(tx.new_id("lane"))
    return f"{drawn[:8]}-{drawn[8:12]}-4{drawn[13:16]}-8{drawn[17:20]}-{drawn[20:32]}"


def _named_agent(tx: Tx, access: Access, hints: TargetHints) -> Agent | None:
    """Return the agent that is named, None when none is; a model that names no agent is refused."""
    if hints.agent is not None:
        return _agent(tx, access, hints.agent, AGENT_HEADER)
    return agent_of_model(tx, access, hints.model or "")


def agent_of_model(tx: Tx, access: Access, model: str) -> Agent | None:
    """Return the agent that a model names, None when it means the default one; ResponsesError for other models."""
    match = _MODEL.fullmatch(model)
    if match is None:
        raise wrong("model", "The model must be carrel or carrel/<agent>.", _UNKNOWN_MODEL)
    name = match[1] or match[2]
    return None if name is None else _agent(tx, access, name, "model")


def _agent(tx: Tx, access: Access, name: str | None, param: str) -> Agent:
    """Return the agent of that name, or the default one; ResponsesError when the caller may not call it."""
    try:
        return default_agent(tx, access) if name is None else named_agent(tx, access, name)
    except Refusal as refusal:
        message = refusal.message if name else "You may not call the default agent; name another: carrel/<agent>."
        raise wrong(param, message, _UNKNOWN_MODEL) from refusal


def own_response(tx: Tx, access: Access, response_id: str, kept: set[str] | None = None) -> Response | None:
    """Return a response of this caller if it is stored, or known to this connection."""
    response = response_by_id(tx, access, response_id)
    return response if response is not None and (response.stored or response.id in (kept or ())) else None


def _continuation(tx: Tx, access: Access, hints: TargetHints, named: Agent | None, kept: set[str]) -> Target:
    assert hints.previous_id is not None, "called only with one"
    previous = own_response(tx, access, hints.previous_id, kept)
    run = None if previous is None else run_by_id(tx, access, previous.run_id)
    if previous is None or run is None:
        message = "There is no response with this id to continue from, or it is not yours."
        raise ResponsesError(404, "previous_response_not_found", message, param="previous_response_id")
    if hints.session is not None and _session(tx, access, hints.session, named).key != run.session_key:
        raise _conflict(SESSION_HEADER, "previous_response_id belongs to another session.")
    if named is not None and named.id != run.agent_id:
        raise _conflict("model", f"previous_response_id belongs to agent {run.agent_id}.")
    return Target(key=run.session_key, previous=previous, run=run)


def _conflict(param: str, message: str) -> ResponsesError:
    return ResponsesError(409, "conflict", message, param=param)


def _session(tx: Tx, access: Access, reference: str, named: Agent | None) -> FoundSession:
    """Return the session that the header names; another caller's is treated as missing."""
    # A key without an agent means the agent that is named elsewhere in the request.
    as_agent = access if named is None else structs.replace(access, agent_id=named.id)
    message = "There is no such session, or it is not yours."
    unknown = ResponsesError(401, str(Code.UNKNOWN_SESSION), message, param=SESSION_HEADER)
    try:
        found = find_session(tx, as_agent, reference)
    except Refusal as refusal:
        if refusal.code is Code.NOT_FOUND:
            raise unknown from refusal
        refusal.field = SESSION_HEADER
        raise
    if found.key.kind in _RESERVED:
        message = f"A {found.key.kind} session only takes messages from the session that created it."
        raise wrong(SESSION_HEADER, message, str(Code.RESERVED_SESSION_KEY))
    if (named is not None and found.key.agent != named.id) or not _may_use(access, found):
        raise unknown
    if found.session is not None and found.session.closed_at is not None:
        live = live_runs_of_lane(tx, access, str(found.key))
        if not any(run.state == "running" for run in live):
            message = "This generation of the session is closed."
            raise ResponsesError(403, str(Code.SESSION_CLOSED), message, param=SESSION_HEADER)
    return found


def _may_use(access: Access, found: FoundSession) -> bool:
    """People may use any lane they see; a program one that it created, or creates now under a name of its own."""
    if access.kind != "client" or found.lane is not None:
        return True
    if found.key.kind == "openresponses-user":
        return found.key.rest.split(":")[1] == caller_hash(access.actor_id)
    return found.key.kind in _OWN_KINDS


def list_models(tx: Tx, access: Access) -> Json:
    return {"object": "list", "data": [_model(agent) for agent in callable_agents(tx, access)]}


def find_model(tx: Tx, access: Access, name: str) -> Json:
    """Return one model, by any name that a request may use for it."""
    message = f"There is no model '{name[:80]}', or you may not use it; GET /v1/models lists those you may."
    missing = ResponsesError(404, "model_not_found", message, param="model")
    try:
        agent = agent_of_model(tx, access, name) or _agent(tx, access, None, "model")
    except ResponsesError as unknown:
        raise missing from unknown
    if not agent.enabled:
        raise missing
    return _model(agent)


def _model(agent: Agent) -> Json:
    created = agent.created_at // MS_PER_SECOND
    return {"id": f"carrel/{agent.id}", "object": "model", "created": created, "owned_by": "carrel"}
