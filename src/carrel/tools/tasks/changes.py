"""The tools that change tasks: move, change, create, assign, write to, archive, and ask other agents about them."""

from contextlib import suppress
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from carrel import work
from carrel.kernel import Refusal, invalid, parse_iso
from carrel.kernel.fields import Name
from carrel.kernel.limits import BLOCKED_REASON_CHARS_MAX, RESPONSE_RECIPIENTS_MAX, TASK_PARTIES_MAX, TASK_TAGS_MAX
from carrel.storage import Tx
from carrel.tools.model import Caller, Params, Result, Shown, Tool
from carrel.tools.tasks.reads import OneTask, TaskId
from carrel.tools.tasks.shapes import MessageResult, StatusResult, TaskResult, result_of, task_result
from carrel.tools.tool_rules import require_part
from carrel.topics import PRIORITIES

Slugs = Annotated[
    tuple[Name, ...], Meta(min_length=1, max_length=TASK_PARTIES_MAX, description="slugs of agents and users")
]
Parties = Annotated[tuple[Name, ...], Meta(max_length=TASK_PARTIES_MAX, description="slugs of agents and users")]
Reason = Annotated[str, Meta(description="why it is blocked")]
Title = Annotated[str, Meta(description="what is to be done")]
Description = Annotated[str, Meta(description="more about it")]
# The room below checks these; the schema says what is accepted.
Tags = Annotated[
    tuple[str, ...], Meta(description="words to find it by", extra_json_schema={"maxItems": TASK_TAGS_MAX})
]
Priority = (
    Annotated[int, Meta(description="1 (highest) to 5", extra_json_schema={"minimum": 1, "maximum": len(PRIORITIES)})]
    | Annotated[str, Meta(description="the same in words", extra_json_schema={"enum": list(PRIORITIES)})]
)
Moment = Annotated[str, Meta(description="an ISO 8601 time with its offset", extra_json_schema={"format": "date-time"})]


class SetStatus(OneTask, frozen=True, kw_only=True):
    """Which task, and its new status; `blockedReason` says why it is blocked."""

    status: Annotated[Literal["in_progress", "review", "done", "blocked"], Meta(description="its new status")]
    blocked_reason: Reason | None = None


MomentOrNone = Annotated[
    str,
    Meta(
        description="an ISO 8601 time; empty for none",
        extra_json_schema={"anyOf": [{"type": "string", "format": "date-time"}, {"const": ""}]},
    ),
]


class UpdateTask(OneTask, frozen=True, kw_only=True):
    """Which task, and what to change; what is left out stays. Lists replace what was there."""

    title: Title | None = None
    description: Description | None = None
    priority: Priority | None = None
    tags: Tags | None = None
    labels: Annotated[Tags, Meta(description="another name for tags")] | None = None
    assigned_agent_ids: Annotated[Parties, Meta(description="slugs of agents")] | None = None
    assigned_user_ids: Annotated[Parties, Meta(description="slugs of users")] | None = None
    status: Annotated[Name, Meta(description="its new status")] | None = None
    blocked_reason: Reason | None = None
    due_date: MomentOrNone | UnsetType | None = UNSET


class CreateTask(Params, frozen=True, kw_only=True):
    """What the task is; it begins in the inbox unless it is assigned or a status is given."""

    title: Title
    description: Description = ""
    topic_id: Annotated[Name, Meta(description="id of its topic")] | None = None
    priority: Priority | None = None
    tags: Tags | None = None
    labels: Annotated[Tags, Meta(description="another name for tags")] | None = None
    status: Annotated[str, Meta(description="inbox, assigned, in_progress or blocked")] | None = None
    blocked_reason: Reason | None = None
    due_date: Moment | None = None
    assignee_slugs: Parties = ()


class AssignTask(OneTask, frozen=True, kw_only=True):
    """Which task, and the agents and users who get it."""

    assignee_slugs: Slugs


class PostMessage(OneTask, frozen=True, kw_only=True):
    """Which task, and what to write to its thread."""

    content: Annotated[str, Meta(description="what to write")]


class DeleteTask(OneTask, frozen=True, kw_only=True):
    """Which task to archive, and why."""

    reason: Annotated[str, Meta(min_length=1, max_length=BLOCKED_REASON_CHARS_MAX, description="why")]


class RequestResponses(Params, frozen=True, kw_only=True):
    """The agents to ask, what to ask them, and the task it is about; that of the caller's run by default."""

    recipient_slugs: Annotated[
        tuple[Name, ...], Meta(min_length=1, max_length=RESPONSE_RECIPIENTS_MAX, description="slugs of agents")
    ]
    message: Annotated[str, Meta(description="what to ask")]
    task_id: Annotated[TaskId, Meta(description="yours by default")] | None = None


def lock_task(tx: Tx, caller: Caller, params: Params) -> None:
    """Lock the task that a call changes, by default that of its run, before the lane and the run of its caller."""
    task_id = getattr(params, params.TASK) or caller.actor.task_id
    # A task that the caller may not read is refused where the call is recorded.
    with suppress(Refusal):
        if task_id is not None:
            work.readable_task(tx, caller.access, task_id, hold=True)


def _status(tx: Tx, caller: Caller, params: SetStatus) -> Result:
    access, rules = caller.access, caller.services.rules
    moved = work.move_task(tx, access, params.task_id, params.status, rules, reason=params.blocked_reason, walk=True)
    return result_of(StatusResult(task=work.task_shape(tx, access, moved.task), changed=moved.changed))


def _update(tx: Tx, caller: Caller, params: UpdateTask) -> Result:
    access, rules = caller.access, caller.services.rules
    if params.status is not None:
        require_part(tx, access, "task_status", "task_update")
    if params.assigned_agent_ids is not None or params.assigned_user_ids is not None:
        require_part(tx, access, "task_assign", "task_update")
    plain = ("title", "description", "assigned_agent_ids", "assigned_user_ids", "blocked_reason")
    given = {name: value for name in plain if (value := getattr(params, name)) is not None} | _tags_and_level(params)
    if params.due_date is not UNSET:
        given["due_date"] = moment("dueDate", params.due_date)
    task = work.change_task(tx, access, params.task_id, work.TaskChange(**given), rules).task
    if params.status is not None:
        # By the rules of task_status, so that no status is easier to reach with this tool.
        task = work.move_task(tx, access, task.id, params.status, rules, reason=params.blocked_reason, walk=True).task
    return task_result(tx, access, task)


def _create(tx: Tx, caller: Caller, params: CreateTask) -> Result:
    if params.assignee_slugs:
        require_part(tx, caller.access, "task_assign", "task_create")
    agents, users = _assignees(tx, caller, params.assignee_slugs)
    new = work.NewTask(
        title=params.title,
        description=params.description,
        topic_id=params.topic_id,
        status=params.status,
        blocked_reason=params.blocked_reason,
        due_date=moment("dueDate", params.due_date),
        assigned_agent_ids=agents,
        assigned_user_ids=users,
        **_tags_and_level(params),
    )
    return task_result(tx, caller.access, work.create_task(tx, caller.access, new, caller.services.rules))


def _tags_and_level(params: UpdateTask | CreateTask) -> dict[str, Any]:
    tags = params.labels if params.tags is None else params.tags
    priority = None if params.priority is None else level(params.priority)
    return {name: value for name, value in (("tags", tags), ("priority", priority)) if value is not None}


def level(priority: int | str) -> int | str:
    """Return a priority; a number may also be written as a string."""
    return int(priority) if isinstance(priority, str) and priority.isdecimal() else priority


def moment(field: str, text: str | UnsetType | None) -> int | None:
    """Return the time in a field; None if it is empty."""
    try:
        return parse_iso(text) if text else None
    except (ValueError, OverflowError) as error:
        raise invalid(field, f"{field} must be an ISO 8601 time with its offset ({error}).") from error


def _assignees(tx: Tx, caller: Caller, slugs: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the agents and users that slugs name, but not the caller: the orchestrator coordinates the others."""
    agents, users = work.directory_of(tx, caller.access).parties(slugs, "assigneeSlugs")
    return tuple(agent for agent in agents if ("agent", agent) != caller.actor.party), users


def _assign(tx: Tx, caller: Caller, params: AssignTask) -> Result:
    agents, users = _assignees(tx, caller, params.assignee_slugs)
    if not agents and not users:
        raise invalid("assigneeSlugs", "The orchestrator coordinates and is not assigned itself; name somebody else.")
    access, rules = caller.access, caller.services.rules
    task = work.assign_task(tx, access, params.task_id, rules, agent_ids=agents, user_ids=users)
    return task_result(tx, access, task)


def _message(tx: Tx, caller: Caller, params: PostMessage) -> Result:
    posted = work.post_message(tx, caller.access, params.task_id, params.content, caller.services.rules)
    return result_of(MessageResult(message=posted.message))


def _delete(tx: Tx, caller: Caller, params: DeleteTask) -> Result:
    moved = work.move_task(tx, caller.access, params.task_id, "archived", caller.services.rules, reason=params.reason)
    return task_result(tx, caller.access, moved.task)


def _request(tx: Tx, caller: Caller, params: RequestResponses) -> Result:
    task_id = params.task_id or caller.actor.task_id
    if task_id is None:
        raise invalid("taskId", "This is not a run on a task; name the task in taskId.")
    rules = caller.services.rules
    return result_of(work.request_responses(tx, caller.access, task_id, params.recipient_slugs, params.message, rules))


def _shown_status(actor: work.Actor) -> Shown:
    """Show only statuses that the agent may set; its run's task decides whether it may finish."""
    may_finish = actor.may_finish(actor.task_id or "")
    allowed = tuple(one for one in work.AGENT_STATUSES if one != "done" or may_finish)
    return Shown(words=(("status", allowed),))


def _shown_update(actor: work.Actor) -> Shown:
    """Hide the second name of tags, and the status if the agent has task_status for it."""
    hidden = ("labels", *_hidden_parties(actor, "assignedAgentIds", "assignedUserIds"))
    if actor.task_id is not None:
        return Shown(without=(*hidden, "status", "blockedReason"))
    return Shown(without=hidden, words=_shown_status(actor).words)


def _shown_create(actor: work.Actor) -> Shown:
    hidden = ("labels", *_hidden_parties(actor, "assigneeSlugs"))
    return Shown(without=hidden, words=(("status", work.FIRST_STATUSES),))


def _hidden_parties(actor: work.Actor, *names: str) -> tuple[str, ...]:
    return () if actor.may("assign") else names


WRITING_TOOLS = (
    Tool("task_status", "move a task to another status",
         "Move a task to another status; done only from review.",
         "write", SetStatus, _status, StatusResult, lock=lock_task, right="change", shown=_shown_status),
    Tool("task_update", "change a task",
         "Change a task; what is left out stays.",
         "write", UpdateTask, _update, TaskResult, lock=lock_task, right="change", shown=_shown_update),
    Tool("task_create", "create a task",
         "Create a task.",
         "write", CreateTask, _create, TaskResult, right="create", shown=_shown_create),
    Tool("task_assign", "assign a task",
         "Assign a task; whoever gets it is notified.",
         "write", AssignTask, _assign, TaskResult, lock=lock_task, right="assign"),
    Tool("task_message", "write to the thread of a task",
         "Write a message to the thread of a task; those who follow it are notified.",
         "write", PostMessage, _message, MessageResult, lock=lock_task, right="message"),
    Tool("task_delete", "archive a task",
         "Archive a task, with a reason: it can be read, but nobody works on it any more.",
         "write", DeleteTask, _delete, TaskResult, lock=lock_task, right="archive"),
    Tool("response_request", "ask other agents for a response on a task",
         "Ask other agents for a response on a task. Says who was not asked, and why.",
         "write", RequestResponses, _request, work.ResponseRequests, lock=lock_task, right="request"),
)  # fmt: skip
