"""Chat messages, slash commands, plan mode and schedules: how people use a session.

A command never reaches an agent.
"""

from carrel.modes.auto.administration import NewAutoRun, auto_runs_of_session, find_auto_run, start_auto, stop_auto
from carrel.modes.auto.duty import AutoTicks
from carrel.modes.auto.model import AutoRun, RunAttributes, RunKind
from carrel.modes.auto.registry import AutoShape, auto_shape, observe_sessions, prune_auto_runs
from carrel.modes.auto.store import auto_runs_by_id
from carrel.modes.chat import ChannelChat, ChatMessage, Received, receive, require_usable
from carrel.modes.commands.model import CommandContext, CommandResult
from carrel.modes.commands.table import read_command, run_command
from carrel.modes.plan.mode import (
    active_plan,
    approve,
    cancel,
    disable_plan_mode,
    enable_plan_mode,
    hold_open_plan,
    is_planning,
    plan_gauges,
    plan_state,
    resume,
    write_plan,
)
from carrel.modes.plan.model import PlanState
from carrel.modes.plan.shapes import PlanStateShape, plan_state_shape
from carrel.modes.plan.store import states_of
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
from carrel.modes.schedules.duty import Schedules, fire_now, observe_runs
from carrel.modes.schedules.model import Schedule, ScheduleType
from carrel.modes.schedules.store import schedules_of

__all__ = [
    "AutoRun", "AutoShape", "AutoTicks", "ChannelChat", "ChatMessage", "CommandContext", "CommandResult",
    "NewAutoRun", "NewSchedule", "PlanState", "PlanStateShape", "Received", "RunAttributes", "RunKind", "Schedule",
    "ScheduleChange", "ScheduleShape", "ScheduleType", "Schedules", "active_plan", "approve", "auto_runs_by_id",
    "auto_runs_of_session", "auto_shape", "cancel", "change_schedule", "disable_plan_mode", "enable_plan_mode",
    "find_auto_run", "find_schedule", "fire_now", "hold_open_plan", "is_planning", "make_schedule", "observe_runs",
    "observe_sessions", "plan_gauges", "plan_state", "plan_state_shape", "prune_auto_runs", "read_command",
    "receive", "remove_schedule", "require_usable", "resume", "run_command", "schedule_shape", "schedules_of",
    "start_auto", "states_of", "stop_auto", "write_plan",
]  # fmt: skip
