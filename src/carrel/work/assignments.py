"""Assigning tasks to agents and people, and unassigning them."""

from collections.abc import Iterable

from carrel.access import UserRemoved
from carrel.kernel import Access, Code, Refusal
from carrel.kernel.limits import TASK_PARTIES_MAX
from carrel.notices import Recipient
from carrel.runs import Rules
from carrel.storage import Tx
from carrel.work import store
from carrel.work.activities import publish, record
from carrel.work.audience import notify_about
from carrel.work.directory import directory_of
from carrel.work.model import Party, PartyKind, Status, Task
from carrel.work.moves import enter_status, refuse_chat
from carrel.work.permissions import Actor, actor_of, readable_task

Parties = list[tuple[PartyKind, str]]


def assign_task(
    tx: Tx, access: Access, task_id: str, rules: Rules, *, agent_ids: tuple[str, ...] = (),
    user_ids: tuple[str, ...] = (), remove: bool = False, quiet: bool = False,
) -> Task:  # fmt: skip
    """Assign agents and people to a task, or with `remove` unassign them; `quiet` notifies nobody."""
    task, actor = readable_task(tx, access, task_id, hold=True)
    actor.require("assign")
    refuse_chat(task)
    if task.status == "archived":
        raise Refusal(Code.ILLEGAL_TRANSITION, "This task is archived; nobody can be assigned to it.")
    parties = named_parties(tx, access, agent_ids, user_ids)
    if remove:
        return take_off(tx, access, actor, task, parties, rules)
    return assign(tx, access, actor, task, parties, rules, quiet=quiet)


def named_parties(tx: Tx, access: Access, agent_ids: Iterable[str], user_ids: Iterable[str]) -> Parties:
    """Return the parties that ids or slugs name, each once."""
    directory = directory_of(tx, access)
    agents: Parties = [("agent", directory.agent_id(name, "agentIds")) for name in agent_ids]
    users: Parties = [("user", directory.user_id(name, "userIds")) for name in user_ids]
    return list(dict.fromkeys([*agents, *users]))


def leaves_inbox_as(actor: Actor) -> Status:
    """Return the status of a task that this actor assigns: tasks from the orchestrator are started at once."""
    return "in_progress" if actor.kind == "agent" else "assigned"


def assign(
    tx: Tx, access: Access, actor: Actor, task: Task, parties: Parties, rules: Rules, *, first: Status | None = None,
    quiet: bool = False,
) -> Task:  # fmt: skip
    """Assign parties to a locked task; existing assignees are not notified again.

    A task in the inbox leaves it with the status `first`.
    """
    present = _present(tx, access, task)
    new = [party for party in parties if party not in present]
    if not new:
        return task
    if len(present) + len(new) > TASK_PARTIES_MAX:
        raise Refusal(Code.LIMIT_REACHED, f"A task has at most {TASK_PARTIES_MAX} assignees.")
    directory = directory_of(tx, access)
    for kind, party in new:
        if kind == "agent" and not directory.agents[party].enabled:
            raise Refusal(Code.FORBIDDEN, f"Agent {party} is disabled; enable it first.", field="agentIds")
    for kind, party in new:
        store.set_assigned(tx, access, task.id, kind, party, tx.now)
    names = ", ".join(directory.name_of(kind, party) or party for kind, party in new)
    summary = f"{actor.name} assigned {names}."
    record(tx, access, actor, task, "assigned", summary, parties=[{"kind": kind, "id": party} for kind, party in new])
    changed = store.save_task(tx, access, task)
    publish(tx, access, "task.assigned", changed)
    if changed.status == "inbox":
        changed = enter_status(tx, access, actor, changed, first or leaves_inbox_as(actor), rules, quiet=True).task
    if quiet:
        return changed
    recipients = sorted(Recipient(kind, party, "assignment") for kind, party in new if (kind, party) != actor.party)
    text = f"{actor.name} assigned you to this task: {changed.title}"
    notify_about(tx, access, actor, changed, text, recipients, rules)
    return changed


def take_off(tx: Tx, access: Access, actor: Actor, task: Task, parties: Parties, rules: Rules) -> Task:
    """Unassign parties from a locked task; an `assigned` task without assignees goes back to the inbox."""
    present = _present(tx, access, task)
    gone = [party for party in parties if party in present]
    if not gone:
        return task
    for kind, party in gone:
        store.set_assigned(tx, access, task.id, kind, party, None)
    directory = directory_of(tx, access)
    if directory.orchestrator is not None and ("agent", directory.orchestrator) in gone:
        store.subscribe(tx, access, task.id, "agent", directory.orchestrator)
    names = ", ".join(directory.name_of(kind, party) or party for kind, party in gone)
    data = {"parties": [{"kind": kind, "id": party} for kind, party in gone]}
    record(tx, access, actor, task, "unassigned", f"{actor.name} took {names} off the task.", **data)
    changed = store.save_task(tx, access, task)
    publish(tx, access, "task.assigned", changed)
    if changed.status == "assigned" and len(gone) == len(present):
        changed = enter_status(tx, access, actor, changed, "inbox", rules, quiet=True).task
    return changed


def forget_user(tx: Tx, removed: UserRemoved) -> None:
    access, user_id = removed.access, removed.user_id
    actor = actor_of(tx, access)
    for task_id in store.tasks_assigned_to(tx, access, "user", user_id):
        task = store.hold_task(tx, access, task_id)
        assert task is not None, "a task is never deleted"
        take_off(tx, access, actor, task, [("user", user_id)], Rules())
    store.forget_party(tx, access, "user", user_id)


def replace_assignees(
    tx: Tx, access: Access, actor: Actor, task: Task, wanted: Parties, kinds: tuple[str, ...], rules: Rules
) -> Task:  # fmt: skip
    """Replace the assignees of those kinds; other assignees of these kinds are unassigned."""
    present = [party for party in _present(tx, access, task) if party[0] in kinds]
    assigned = assign(tx, access, actor, task, wanted, rules)
    return take_off(tx, access, actor, assigned, [party for party in present if party not in wanted], rules)


def _present(tx: Tx, access: Access, task: Task) -> Parties:
    assigned: list[Party] = store.assignees_of(tx, access, [task.id]).get(task.id, [])
    return [(party.kind, party.party_id) for party in assigned]
