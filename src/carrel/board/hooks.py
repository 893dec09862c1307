"""Hooks: how other programs send messages to an agent, in a lane of their own or its main lane."""

from carrel.agents import Agent, default_agent, named_agent
from carrel.kernel import Access, Code, Envelope, Message, Provenance, Refusal, SessionKey, invalid, uuid_for
from carrel.kernel.settings import HooksSettings
from carrel.runs import Rules, Run, deliver
from carrel.sessions import find_session
from carrel.storage import Tx


def require_hooks(settings: HooksSettings) -> None:
    """Refuse while hooks are turned off."""
    if not settings.enabled:
        raise Refusal(Code.FORBIDDEN, "Hooks are turned off on this server; set hooks.enabled to true to use them.")


def run_hook(
    tx: Tx, access: Access, settings: HooksSettings, rules: Rules, message: str, *,
    agent: str | None = None, reference: str | None = None, name: str | None = None,
) -> Run:  # fmt: skip
    """Queue a message of another program; without a session reference, in a lane of its own."""
    if reference is not None:
        key = _named_lane(tx, access, settings, agent, reference)
    else:
        key = SessionKey.of(_addressed(tx, access, agent).id, f"hook:{uuid_for(tx.new_id('hook'), access.account_id)}")
    return deliver(tx, access, Envelope(key=key, message=_message(access, message), label=name), rules)


def wake(tx: Tx, access: Access, rules: Rules, text: str, agent: str | None = None) -> Run:
    """Queue a text of another program in an agent's main lane."""
    key = _addressed(tx, access, agent).base_key
    # The caller may address the agent, but need not be able to read its shared main lane.
    return deliver(tx, access.as_system(), Envelope(key=key, message=_message(access, text)), rules)


def _message(access: Access, text: str) -> Message:
    return Message(text=text, provenance=Provenance(kind="hook", actor=access.actor_id))


def _addressed(tx: Tx, access: Access, agent: str | None) -> Agent:
    return named_agent(tx, access, agent) if agent else default_agent(tx, access)


def _named_lane(tx: Tx, access: Access, settings: HooksSettings, agent: str | None, reference: str) -> SessionKey:
    if not settings.allow_request_session_key:
        text = "The server chooses the session of a hook: leave sessionKey out, or set hooks.allow_request_session_key."
        raise invalid("sessionKey", text)
    if agent is not None and not reference.lower().startswith("agent:"):
        reference = f"agent:{named_agent(tx, access, agent).slug}:{reference}"
    key = find_session(tx, access, reference).key
    if agent is not None and key.agent != named_agent(tx, access, agent).id:
        raise invalid("agentId", f"{key} belongs to agent {key.agent}; send agentId or sessionKey.")
    if not any(name.startswith(settings.allowed_session_key_prefixes) for name in (str(key), key.rest)):
        allowed = ", ".join(settings.allowed_session_key_prefixes) or "none"
        raise invalid("sessionKey", f"A hook may not name {key}; allowed prefixes: {allowed}.")
    return key
