"""Histories of all tasks of a plan or an objective, merged by time."""

from carrel.goals import Objectives
from carrel.journal import talk_of_runs
from carrel.kernel.limits import A2A_HISTORY_MESSAGES, A2A_SCOPE_RUNS_MAX
from carrel.runs import Run
from carrel.storage import Tx
from carrel.surfaces.a2a.caller import Caller
from carrel.surfaces.a2a.errors import invalid_params
from carrel.surfaces.a2a.protobuf_json import Json
from carrel.surfaces.a2a.requests import HistoryScope
from carrel.surfaces.a2a.task_json import Detail, dated_history, task_json
from carrel.work import Task

_FIELD = "metadata.historyScope"


def require_scope(objectives: Objectives, caller: Caller, run: Run, scope: HistoryScope) -> Task | None:
    """Return the plan task of a run, if its history can reach beyond the run; refuse a wider scope for other runs."""
    if scope == "task":
        return None
    if not caller.uses_opt:
        raise invalid_params(_FIELD, "Only the extension OPT has histories of plans and objectives; activate it.")
    task = None if run.task_id is None else objectives.find_task(run.task_id)
    if task is None:
        raise invalid_params(_FIELD, "This task belongs to no plan; link it to one, or ask for its own history.")
    return task


def scoped_task(tx: Tx, caller: Caller, objectives: Objectives, run: Run, detail: Detail) -> Json:
    """Return a run as a task with the history scope that the caller asks for."""
    task = require_scope(objectives, caller, run, caller.scope)
    shown = task_json(tx, caller.access, run, detail)
    if task is None or "history" not in shown:
        return shown
    runs = objectives.runs(task, whole_goal=caller.scope == "objective", limit=A2A_SCOPE_RUNS_MAX)
    limit = A2A_HISTORY_MESSAGES if detail.history is None else detail.history
    entries = talk_of_runs(tx, caller.access, [one.id for one in runs])
    # Without the bytes of files, which together could be too many.
    brief = Detail(files=False)
    dated = [line for one in runs for line in dated_history(tx, caller.access, one, entries.get(one.id, []), brief)]
    merged = [message for _, _, message in sorted(dated, key=lambda line: line[:2])]
    return shown | {"history": merged[-limit:]}
