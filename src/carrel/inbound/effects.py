"""The effect of a delivery: a message to an agent, a task, or a message in a task's thread."""

from msgspec import structs

from carrel.agents import agent_by_slug, default_agent, every_agent
from carrel.inbound.model import Arrival, Effect
from carrel.inbound.webhooks import Rendered, Webhook
from carrel.inbound.wording import message_text, report_text
from carrel.kernel import (
    Access,
    Code,
    Envelope,
    Message,
    Provenance,
    Refusal,
    SessionKey,
    text_hash,
    uuid_for,
)
from carrel.kernel.limits import WEBHOOK_TASKS_OF_THREAD_MAX
from carrel.runs import Rules, deliver
from carrel.sessions import find_session
from carrel.storage import Tx
from carrel.work import Actor, Directory, NewTask, Task, create_task, post_report, readable_task


def carry_out(tx: Tx, access: Access, webhook: Webhook, arrival: Arrival, rendered: Rendered, rules: Rules) -> Effect:
    """Do what the settings say for a delivery; Refusal if that is not possible."""
    if webhook.settings.action == "task":
        return Effect(task_id=_as_task(tx, access, webhook, arrival, rendered, rules))
    text = message_text(webhook, arrival, rendered)
    key = _lane(tx, access, webhook, rendered.thread)
    source = Provenance(kind="hook", actor=webhook.actor_id, name=arrival.author or webhook.name, by=webhook.actor_id)
    envelope = Envelope(key=key, message=Message(text=text, provenance=source), label=rendered.title)
    return Effect(run_id=deliver(tx, access, envelope, rules).id, key=str(key))


def _lane(tx: Tx, access: Access, webhook: Webhook, thread: str) -> SessionKey:
    """Return the lane of a message: the one in the settings, else one for all deliveries about the same thing."""
    settings = webhook.settings
    if settings.session:
        return find_session(tx, access, settings.session).key
    if settings.agent:
        agent = agent_by_slug(tx, access, settings.agent)
        if agent is None:
            known = [one.slug for one in every_agent(tx, access)]
            raise Refusal.of_name(f"webhooks.{webhook.name}.agent", "agent", settings.agent, known)
    else:
        agent = default_agent(tx, access)
    about = f"{webhook.actor_id}\n{thread}" if thread else tx.new_id("hook")
    return SessionKey.of(agent.id, f"hook:{uuid_for(about, access.account_id)}")


def _as_task(
    tx: Tx, access: Access, webhook: Webhook, arrival: Arrival, rendered: Rendered, rules: Rules
) -> str:  # fmt: skip
    """Create a task, or add to the one that earlier deliveries about the same thing created; return its id."""
    actor = Actor(kind="system", id=webhook.actor_id, party_id="", name=f"webhook {webhook.name}")

    def make(task_id: str | None) -> str:
        new = _new_task(tx, access, webhook, rendered.title, message_text(webhook, arrival, rendered))
        return create_task(tx, access, structs.replace(new, id=task_id), rules, actor=actor).id

    if not rendered.thread:
        return make(None)
    # The id is derived from the thread, so that nothing else has to record it. An archived task is not continued.
    about = f"{webhook.name}-{text_hash(rendered.thread)[:16]}"
    for at in range(1, WEBHOOK_TASKS_OF_THREAD_MAX + 1):
        task_id = about if at == 1 else f"{about}-{at}"
        task = _present(tx, access, task_id)
        if task is None:
            return make(task_id)
        if task.status != "archived":
            post_report(tx, access, actor, task, report_text(webhook, arrival, rendered), rules)
            return task.id
    raise Refusal(Code.LIMIT_REACHED, f"{WEBHOOK_TASKS_OF_THREAD_MAX} tasks about this were archived already.")


def _present(tx: Tx, access: Access, task_id: str) -> Task | None:
    """Lock and return a task, if there is one."""
    try:
        return readable_task(tx, access, task_id, hold=True)[0]
    except Refusal:
        return None


def _new_task(tx: Tx, access: Access, webhook: Webhook, title: str, text: str) -> NewTask:
    settings, slugs = webhook.settings, tuple(filter(None, (webhook.settings.assignee,)))
    agents, users = Directory(tx, access).parties(slugs, f"webhooks.{webhook.name}.assignee")
    return NewTask(
        title=title,
        description=text,
        status=settings.status or None,
        blocked_reason="not given" if settings.status == "blocked" else None,
        topic_id=settings.topic or None,
        space_id=settings.space or None,
        assigned_agent_ids=agents,
        assigned_user_ids=users,
        created_by="webhook",
    )
