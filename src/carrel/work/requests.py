"""Asking other agents for a response on a task, once each until they answer or some hours have passed."""

from typing import Literal

from msgspec import UNSET, UnsetType

from carrel.kernel import MS_PER_HOUR, Access, Code, Refusal, Shape, invalid
from carrel.kernel.limits import RESPONSE_RECIPIENTS_MAX, RESPONSE_REQUEST_CHARS_MAX, RESPONSE_REQUEST_HOURS
from carrel.notices import Recipient
from carrel.runs import Rules
from carrel.storage import Tx
from carrel.work import store
from carrel.work.activities import record
from carrel.work.audience import notify_about
from carrel.work.directory import directory_of
from carrel.work.model import Task
from carrel.work.permissions import Actor, readable_task
from carrel.work.store import ResponseRequest


class Requested(Shape, frozen=True, kw_only=True):
    """An agent that was asked, and the run that asks it."""

    slug: str
    run_id: str


class Skipped(Shape, frozen=True, kw_only=True):
    """An agent that was not asked, and why: it has not received the last request yet, or not answered it."""

    slug: str
    reason: Literal["waiting", "recent", "not_found", "self"]
    # If nobody has that name: who was probably meant, and who can be asked.
    hint: str | UnsetType = UNSET


class ResponseRequests(Shape, frozen=True, kw_only=True):
    """Who was asked for a response, and who was not."""

    requested: list[Requested]
    skipped: list[Skipped]


def request_responses(
    tx: Tx, access: Access, task_id: str, slugs: tuple[str, ...], message: str, rules: Rules
) -> ResponseRequests:  # fmt: skip
    """Ask agents for a response on a task; return who was asked, and who was not and why."""
    task, actor = readable_task(tx, access, task_id, hold=True)
    actor.require("request")
    if not message.strip():
        raise invalid("message", "A request needs some text.")
    if len(message) > RESPONSE_REQUEST_CHARS_MAX:
        text = f"A request has at most {RESPONSE_REQUEST_CHARS_MAX} characters."
        raise Refusal(Code.TOO_LONG, text, field="message")
    if not 1 <= len(slugs) <= RESPONSE_RECIPIENTS_MAX:
        raise invalid("recipientSlugs", f"Name 1 to {RESPONSE_RECIPIENTS_MAX} agents.")
    if task.status == "archived":
        raise Refusal(Code.ILLEGAL_TRANSITION, "This task is archived; no agent works on it any more.")
    requested, skipped = list[Requested](), list[Skipped]()
    for slug in sorted(dict.fromkeys(slugs)):
        if (skip := _skipped(tx, access, actor, task, slug)) is not None:
            skipped.append(skip)
            continue
        agent_id = directory_of(tx, access).agent_id(slug, "recipientSlugs")
        asking = [Recipient("agent", agent_id, "response_request")]
        told = notify_about(tx, access, actor, task, message, asking, rules)
        if not told or told[0].run_id is None:
            skipped.append(Skipped(slug=slug, reason="waiting"))
            continue
        store.subscribe(tx, access, task.id, "agent", agent_id)
        asked = ResponseRequest(task_id=task.id, agent_id=agent_id, run_id=told[0].run_id)
        store.put_request(tx, access, asked)
        requested.append(Requested(slug=slug, run_id=told[0].run_id))
    if requested:
        names = ", ".join(one.slug for one in requested)
        record(tx, access, actor, task, "message", f"{actor.name} asked {names}: {message}", asked=names.split(", "))
    return ResponseRequests(requested=requested, skipped=skipped)


def _skipped(tx: Tx, access: Access, actor: Actor, task: Task, slug: str) -> Skipped | None:
    """Why an agent is not asked; None if it is."""
    directory = directory_of(tx, access)
    enabled = [one for one in directory.agents.values() if one.enabled]
    askable = [one for one in enabled if not task.is_chat or one.id == directory.orchestrator]
    agent = directory.agents.get(directory.party_id(slug))
    if agent is not None and actor.party == ("agent", agent.id):
        return Skipped(slug=slug, reason="self")
    if agent is None or agent not in askable:
        others = [one.slug for one in askable if ("agent", one.id) != actor.party]
        hint = Refusal.of_name("recipientSlugs", "agent", slug, others).message
        return Skipped(slug=slug, reason="not_found", hint=hint)
    last = store.request_of(tx, access, task.id, agent.id)
    if last is None or last.answered_at is not None:
        return None
    if last.delivered_at is None:
        return Skipped(slug=slug, reason="waiting")
    is_recent = tx.now - last.delivered_at < RESPONSE_REQUEST_HOURS * MS_PER_HOUR
    return Skipped(slug=slug, reason="recent") if is_recent else None
