"""Hooks for other programs: hand something to an agent, wake it in its main lane, and events of Claude Code."""

from carrel.board import ClaudeEvent, is_unrecorded, record, require_hooks, run_hook, wake
from carrel.context import AROUND_CHARS, ContextLimits, ContextRequest, injected
from carrel.journal import clean
from carrel.kernel import PEOPLE, Access, Input, Kind, Shape, clip
from carrel.kernel.fields import Name, Text
from carrel.kernel.limits import MESSAGE_CHARS_MAX
from carrel.storage import Tx
from carrel.surfaces.api.endpoint import Call, NoQuery, endpoint
from carrel.surfaces.api.session_ids import Reference
from carrel.surfaces.api.shapes import QueuedRun
from carrel.surfaces.http.errors import field_named

_PROGRAMS: tuple[Kind, ...] = (*PEOPLE, "client")


class HookMessage(Input, frozen=True, kw_only=True):
    """A message to an agent; `sessionKey` only where the settings allow it. `name` labels the run."""

    message: Text
    agent_id: Name | None = None
    session_key: Reference | None = None
    name: Name | None = None


class WakeText(Input, frozen=True, kw_only=True):
    """A text for an agent's main lane."""

    text: Text
    agent_id: Name | None = None


class HookOutput(Shape, frozen=True, kw_only=True):
    """What Claude Code adds to its conversation."""

    hook_event_name: str
    additional_context: str


class ClaudeAnswer(Shape, frozen=True, kw_only=True, omit_defaults=True):
    """The answer to an event, as Claude Code reads it."""

    hook_specific_output: HookOutput | None = None


@endpoint("POST", "/api/hooks/agent", status=202, who=_PROGRAMS, creates=True, tool="sessions_send")
def hook_agent(call: Call[HookMessage, NoQuery], tx: Tx, access: Access) -> QueuedRun:
    """Hand a message to an agent, in a session of its own unless the settings let programs name one."""
    new, services = call.body, call.services
    require_hooks(services.settings.hooks)
    services.refuse_when_draining()
    run = run_hook(
        tx, access, services.settings.hooks, services.rules, new.message,
        agent=new.agent_id, reference=new.session_key, name=new.name,
    )  # fmt: skip
    return QueuedRun(run_id=run.id, session_key=run.key)


@endpoint("POST", "/api/hooks/wake", status=202, who=_PROGRAMS, creates=True, tool="sessions_send")
def hook_wake(call: Call[WakeText, NoQuery], tx: Tx, access: Access) -> QueuedRun:
    """Wake an agent in its main lane with a text."""
    require_hooks(call.services.settings.hooks)
    call.services.refuse_when_draining()
    with field_named("text", below="message"):
        run = wake(tx, access, call.services.rules, call.body.text, call.body.agent_id)
    return QueuedRun(run_id=run.id, session_key=run.key)


@endpoint("POST", "/api/hooks/claude", who=PEOPLE)
async def hook_claude(call: Call[ClaudeEvent, NoQuery]) -> ClaudeAnswer:
    """Record an event of Claude Code, as its hooks send it; a prompt is answered with the context of its session."""
    require_hooks(call.services.settings.hooks)
    # Before the prompt becomes an entry, so that it does not recall itself.
    context = await _context(call) if call.body.wants_context else ""
    log = call.body.log()
    if log is not None and not is_unrecorded(log, call.services.settings.intake):
        await call.write(lambda tx, access: record(tx, access, log))
    output = HookOutput(hook_event_name=call.body.hook_event_name, additional_context=context)
    return ClaudeAnswer(hook_specific_output=output if context else None)


async def _context(call: Call[ClaudeEvent, NoQuery]) -> str:
    """Return the context for a prompt, as a run would be shown it; may be empty."""
    settings = call.services.settings.context
    if not settings.augment:
        return ""
    request = ContextRequest(
        reference=call.body.session,
        question=clean(clip(call.body.prompt, MESSAGE_CHARS_MAX)),
        mode=settings.mode,
        limits=ContextLimits(max_chars=settings.max_chars - AROUND_CHARS),
    )
    found = await call.services.contexts.build(call.access, request)
    return injected(found.block) if found.layers else ""
