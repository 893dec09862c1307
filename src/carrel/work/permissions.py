"""Who may do what with a task and its files: one rule for the API, the tools and slash commands."""

from typing import Literal

from msgspec import Struct, structs

from carrel.access import account_of
from carrel.agents import Agent, BehaviorFlags, account_settings, agent_by_id
from carrel.kernel import Access, Code, Refusal, not_found
from carrel.kernel.limits import LIST_ROWS_MAX
from carrel.notifications import OWNERS
from carrel.records import Attachment, attachments_by_id, upload_of
from carrel.runs import Run
from carrel.storage import Tx
from carrel.visibility import tasks_seen
from carrel.work import store
from carrel.work.model import AGENT_STATUSES, PartyKind, Task
from carrel.work.orchestrator import named_task
from carrel.work.run_store import TaskRelation, place_of_run

Action = Literal["create", "change", "assign", "message", "archive", "reopen", "stop", "request", "oversee", "promote"]

# The flag that an agent needs for an action; the orchestrator needs none for tasks. Actions that are missing here are
# not for agents.
_FLAGS: dict[str, str] = {
    "create": "can_create_tasks",
    "change": "can_modify_task_status",
    "request": "can_mention_agents",
    "promote": "can_promote_memory",
}
# How many tasks with the same title a refusal lists.
_NAMED_MAX = 5
_ORCHESTRATOR_ONLY = ("assign", "message", "archive", "oversee")


# The flags that apply if neither the agent nor the account sets them.
_BUILT_IN = BehaviorFlags(
    can_create_tasks=False, can_modify_task_status=True, can_mention_agents=True, can_review_tasks=False,
    can_mark_done=False, can_promote_memory=False,
)  # fmt: skip


class Rights(Struct, frozen=True, kw_only=True):
    """Permissions for tasks and memory in general; many actors share the same."""

    kind: Literal["user", "agent", "system"]
    flags: BehaviorFlags | None = None
    is_orchestrator: bool = False
    # Whether its run is a heartbeat, which may write to threads: its answer is posted nowhere.
    is_heartbeat: bool = False

    def may(self, action: Action) -> bool:
        """Return whether the actor may do this with tasks that it may read."""
        if self.kind != "agent":
            return True
        if self.is_orchestrator and action != "promote" and (action in _FLAGS or action in _ORCHESTRATOR_ONLY):
            return True
        if action == "message" and self.is_heartbeat:
            return True
        assert self.flags is not None, "an agent has flags"
        return action in _FLAGS and bool(getattr(self.flags, _FLAGS[action]))

    def require(self, action: Action) -> None:
        """Refuse what the actor may not do, and say what would allow it."""
        if self.may(action):
            return
        if action in _FLAGS:
            message = f"This agent may not do this: its flag {_WIRE_NAMES[_FLAGS[action]]} is off."
        elif action in _ORCHESTRATOR_ONLY:
            message = "Only people and the account's orchestrator may do this."
        else:
            message = "Only people may do this."
        raise Refusal(Code.FORBIDDEN, message)


class Actor(Rights, frozen=True, kw_only=True):
    """Who acts on tasks: a person, an agent, or with kind `system` Carrel itself.

    `party_id` names them among a task's parties: a mailbox or an agent's id.
    """

    id: str
    party_id: str
    name: str
    run_id: str | None = None
    # The task that the actor's own run is bound to.
    task_id: str | None = None
    # Whether that run is a tick, which may finish its task: whoever started the auto run has agreed to that.
    is_tick: bool = False
    # Whether it belongs to an approved plan: then its agent itself says when the task is done.
    is_planned: bool = False
    # Whether that run ends with an answer in the task's thread.
    is_answering: bool = False
    spaces: tuple[str, ...] = ("*",)
    # Whether whoever caused its run may not see all spaces: then it is limited to theirs, whatever it works on.
    is_limited: bool = False

    @property
    def party(self) -> tuple[PartyKind, str]:
        """How the actor is listed among a task's parties."""
        return ("agent" if self.kind == "agent" else "user", self.party_id)

    @property
    def rights(self) -> Rights:
        """The actor's permissions, without its identity."""
        return Rights(**{name: getattr(self, name) for name in Rights.__struct_fields__})

    def may_finish(self, task_id: str) -> bool:
        """Return whether the actor may mark a task as done."""
        if self.flags is None or self.flags.can_mark_done or self.is_orchestrator:
            return True
        return (self.is_tick or self.is_planned) and self.task_id == task_id

    def require_status(self, task: Task, after: str) -> None:
        """Refuse a status that the actor may not set: an agent sets `done` with permission, and from review."""
        before = task.status
        if self.kind != "agent":
            return
        self.require("change")
        if after not in AGENT_STATUSES:
            raise Refusal(Code.FORBIDDEN, f"An agent may set {', '.join(AGENT_STATUSES)}; ask a person to set {after}.")
        if after != "done" or before == "done":
            return
        if not self.may_finish(task.id):
            raise Refusal(Code.FORBIDDEN, "This agent may not mark tasks as done: move the task to review and say so.")
        # Its own run of a plan is enough; a blocked task was stopped.
        is_own_plan = self.is_planned and self.task_id == task.id and before != "blocked"
        if before != "review" and not is_own_plan:
            why = f"An agent marks a task as done only from review; this one is {before}. Move it to review first."
            details: dict[str, object] = {"from": before, "to": after}
            raise Refusal(Code.ILLEGAL_TRANSITION, why, field="status", details=details)


# Carrel itself as an actor.
SERVER = Actor(kind="system", id="system", party_id="", name="Carrel")


def actor_of(tx: Tx, access: Access, run: Run | None = None) -> Actor:
    """Return the actor of an access, with an agent's flags; `run` is the run of the access, if known."""
    if access.kind in ("owner", "user"):
        mailbox, name = OWNERS if access.kind == "owner" else access.actor_id, access.name or "a person"
        return Actor(kind="user", id=access.actor_id, party_id=mailbox, name=name, spaces=access.space_ids)
    if access.agent_id is not None:
        if (agent := agent_by_id(tx, access, access.agent_id)) is None:
            raise not_found("agent")
        return agent_actor(tx, access, agent, run)
    if access.kind == "system":
        return SERVER
    raise Refusal(Code.FORBIDDEN, f"A token of kind {access.kind} may not use tasks; use one of a person or an agent.")


def agent_actor(tx: Tx, access: Access, agent: Agent, run: Run | None = None) -> Actor:
    settings = account_settings(account_of(tx, access))
    place = TaskRelation() if access.run_id is None else place_of_run(tx, access, access.run_id, run)
    return Actor(
        kind="agent",
        id=agent.id,
        party_id=agent.id,
        name=agent.name,
        run_id=access.run_id,
        flags=resolve_flags(agent, settings["agentDefaults"].get("behaviorFlags") or {}),
        is_orchestrator=settings["orchestratorAgentId"] == agent.id,
        **structs.asdict(place),
        spaces=access.narrowed(agent.profile.space_ids),
    )


def resolve_flags(agent: Agent, account: dict[str, object]) -> BehaviorFlags:
    """Return an agent's flags: its own, else the account's, else the built-in ones."""
    own, resolved = agent.profile.behavior_flags, dict[str, bool]()
    for name in BehaviorFlags.__struct_fields__:
        for value in (account.get(_WIRE_NAMES[name]), getattr(own, name)):
            if isinstance(value, bool):
                resolved[name] = value
    return structs.replace(_BUILT_IN, **resolved)


_WIRE_NAMES = dict(zip(BehaviorFlags.__struct_fields__, BehaviorFlags.__struct_encode_fields__, strict=True))


def readable_task(
    tx: Tx, access: Access, task_id: str, *, hold: bool = False, by_title: bool = False
) -> tuple[Task, Actor]:  # fmt: skip
    """Return a readable task, locked with `hold`, and the actor; one it may not read is not found.

    With `by_title`, a unique title may stand for the id.
    """
    actor = actor_of(tx, access)
    task = (store.hold_task if hold else store.task_by_id)(tx, access, named_task(tx, access, task_id))
    if task is None and by_title:
        task = _titled(tx, access, task_id)
    if task is None or not tasks_seen(tx, access, [task.id]):
        raise not_found("task")
    return task, actor


def _titled(tx: Tx, access: Access, title: str) -> Task | None:
    """Return the task with this title if the caller may read exactly one; Refusal if several."""
    seen = sorted(tasks_seen(tx, access, store.tasks_titled(tx, access, title, limit=LIST_ROWS_MAX)))
    if len(seen) > 1:
        named = ", ".join(seen[:_NAMED_MAX]) + (", ..." if len(seen) > _NAMED_MAX else "")
        raise Refusal(Code.NOT_FOUND, f"Several tasks have this title; give the id of one: {named}.", field="taskId")
    return store.task_by_id(tx, access, seen[0]) if seen else None


def read_file(tx: Tx, access: Access, file_id: str) -> Attachment:
    """Return a file: its sender may read it; once it is in a thread, everybody who may read the task."""
    if (upload := upload_of(tx, access, file_id)) is None:
        raise not_found("attachment")
    if upload.task_id is not None:
        try:
            readable_task(tx, access, upload.task_id)
        except Refusal as refusal:
            raise not_found("attachment") from refusal
    elif upload.made_by != actor_of(tx, access).party_id:
        raise not_found("attachment")
    return attachments_by_id(tx, access, (file_id,))[0]
