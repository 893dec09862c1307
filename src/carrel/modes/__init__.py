"""Plan mode, auto runs and schedules: how a session works when nobody writes to it line by line."""

from carrel.modes.auto.duty import AutoTicks
from carrel.modes.auto.model import AutoRun, RunAttributes, RunKind
from carrel.modes.auto.registry import (
    AutoRunFields,
    AutoShape,
    NewAutoRun,
    auto_shape,
    find_auto_run,
    observe_sessions,
    prune_auto_runs,
    start_auto,
    stop_auto,
)
from carrel.modes.auto.store import auto_runs_by_id, auto_runs_of_session
from carrel.modes.plan.mode import (
    NOT_PLANNING,
    PLANNING,
    SET_PLAN,
    active_plan,
    approve_session_plan,
    cancel_session_plan,
    choose_plan,
    disable_plan_mode,
    enable_plan_mode,
    hold_open_plan,
    is_hidden_while_planning,
    is_planning,
    is_unwritten,
    plan_gauges,
    plan_state,
    resume_session_plan,
    write_plan,
)
from carrel.modes.plan.shapes import PlanStateShape, plan_state_shape
from carrel.modes.plan.store import PlanState, states_of
from carrel.modes.schedules.administration import (
    NewSchedule,
    ScheduleChange,
    ScheduleShape,
    change_schedule,
    find_schedule,
    make_schedule,
    remove_schedule,
    schedule_shape,
)
from carrel.modes.schedules.duty import fire_now, observe_runs, schedule_duty
from carrel.modes.schedules.model import UNLIMITED, Schedule, ScheduleType
from carrel.modes.schedules.store import schedules_of, schedules_seen

__all__ = [
    "NOT_PLANNING", "PLANNING", "SET_PLAN", "UNLIMITED", "AutoRun", "AutoRunFields", "AutoShape", "AutoTicks",
    "NewAutoRun", "NewSchedule", "PlanState", "PlanStateShape", "RunAttributes", "RunKind", "Schedule",
    "ScheduleChange", "ScheduleShape", "ScheduleType", "active_plan", "approve_session_plan", "auto_runs_by_id",
    "auto_runs_of_session", "auto_shape", "cancel_session_plan", "change_schedule", "choose_plan", "disable_plan_mode",
    "enable_plan_mode", "find_auto_run", "find_schedule", "fire_now", "hold_open_plan", "is_hidden_while_planning",
    "is_planning", "is_unwritten", "make_schedule", "observe_runs", "observe_sessions", "plan_gauges", "plan_state",
    "plan_state_shape", "prune_auto_runs", "remove_schedule", "resume_session_plan", "schedule_duty", "schedule_shape",
    "schedules_of", "schedules_seen", "start_auto", "states_of", "stop_auto", "write_plan",
]  # fmt: skip
