"""What a message says about objectives in its metadata: which task it answers, belongs to, or begins."""

from typing import Any

from a2a.types import Message as WireMessage
from a2a.types import SendMessageRequest
from msgspec import Struct

from carrel.goals import Objectives
from carrel.kernel.limits import A2A_ID_CHARS_MAX, OBJECTIVE_HINT_CHARS
from carrel.storage import Tx
from carrel.surfaces.a2a.caller import Caller, lane_of_context
from carrel.surfaces.a2a.errors import UNSUPPORTED_OPERATION, A2aError, invalid_params
from carrel.surfaces.a2a.opt.errors import OBJECTIVE_NOT_FOUND, PLAN_NOT_FOUND, PLAN_TASK_NOT_FOUND, found
from carrel.surfaces.a2a.protobuf_json import to_json
from carrel.surfaces.a2a.requests import HistoryScope, read_scope
from carrel.surfaces.a2a.task_json import context_of_goal
from carrel.work import Task


class Hints(Struct, frozen=True, kw_only=True):
    """What the metadata of a message says; everything but `scope` only while OPT is active."""

    scope: HistoryScope = "task"
    prefers_objective: bool = False
    name: str = ""
    # The task that the message answers.
    task_id: str = ""
    # The objective, plan and index of the plan task that the message belongs to.
    place: tuple[str, str, int] | None = None

    @property
    def begins_plan(self) -> bool:
        """Whether the message begins an objective of its own, with a plan that is worked on at once."""
        return self.prefers_objective and self.place is None

    def answers(self, objectives: Objectives) -> str:
        """Return the id of the A2A task that the message answers; for a plan task, its newest run."""
        task = objectives.find_task(self.task_id)
        if task is None:
            # It may be the A2A task itself; if not, the lookup of the run refuses it.
            return self.task_id
        run_id = objectives.newest_runs([task.id]).get(task.id)
        if run_id is None:
            raise A2aError(UNSUPPORTED_OPERATION, "No run of this plan task is waiting for input.")
        return run_id

    def planned(self, tx: Tx, caller: Caller, objectives: Objectives, message: WireMessage) -> Task | None:
        """Return the plan task that the message's run is for, if any; the message gets its context."""
        if self.place is not None:
            return self._named(objectives, message)
        if not self.begins_plan:
            return None
        goal_id = tx.new_id("goal")
        message.context_id = message.context_id or goal_id
        text = "\n\n".join(part.text for part in message.parts if part.WhichOneof("content") == "text").strip()
        name = self.name or text[:OBJECTIVE_HINT_CHARS].strip() or "Objective"
        return objectives.begin(lane_of_context(caller, message.context_id), goal_id=goal_id, name=name)

    def _named(self, objectives: Objectives, message: WireMessage) -> Task:
        assert self.place is not None
        goal_id, plan_id, index = self.place
        goal, plan = objectives.find(goal_id), objectives.find_plan(plan_id, hold=True)
        goal = found(goal, OBJECTIVE_NOT_FOUND)
        plan = found(plan if plan is not None and plan.goal_id == goal.id else None, PLAN_NOT_FOUND)
        task = found(objectives.task_at(plan, index), PLAN_TASK_NOT_FOUND)
        message.context_id = message.context_id or context_of_goal(goal)
        return task


def read_hints(caller: Caller, request: SendMessageRequest) -> Hints:
    """Return the hints of a message: from its own metadata, else from the request's."""
    given = to_json(request.metadata) | to_json(request.message.metadata)
    scope = read_scope(given)
    if not caller.uses_opt:
        return Hints(scope=scope)
    return Hints(
        scope=scope,
        prefers_objective=given.get("opt/v1/preferObjective") is True,
        name=_text(given, "opt/v1/suggestedName").strip(),
        task_id=_text(given, "opt/v1/taskId"),
        place=_place(given),
    )


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name) or ""
    if not isinstance(value, str) or "\x00" in value or len(value) > A2A_ID_CHARS_MAX:
        raise invalid_params(f"metadata.{name}", f"{name} must be a string of at most {A2A_ID_CHARS_MAX} characters.")
    return value


def _place(given: dict[str, Any]) -> tuple[str, str, int] | None:
    """Return the plan task that the metadata names: it does so only if both ids are strings."""
    ids, index = ("opt/v1/objectiveId", "opt/v1/planId"), given.get("opt/v1/taskIndex", 0)
    if not all(isinstance(given.get(name), str) for name in ids):
        return None
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        raise invalid_params("metadata.opt/v1/taskIndex", "opt/v1/taskIndex must be 0 or a positive integer.")
    goal_id, plan_id = (_text(given, name) for name in ids)
    return goal_id, plan_id, index
