"""Chat messages, slash commands, plan mode and schedules: how people use a session.

A command never reaches an agent.
"""

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
    "ChannelChat", "ChatMessage", "CommandContext", "CommandResult", "NewSchedule", "PlanState", "PlanStateShape",
    "Received", "Schedule", "ScheduleChange", "ScheduleShape", "ScheduleType", "Schedules", "active_plan",
    "approve", "cancel", "change_schedule", "disable_plan_mode", "enable_plan_mode", "find_schedule", "fire_now",
    "hold_open_plan", "is_planning", "make_schedule", "observe_runs", "plan_gauges", "plan_state",
    "plan_state_shape", "read_command", "receive", "remove_schedule", "require_usable", "resume", "run_command",
    "schedule_shape", "schedules_of", "states_of", "write_plan",
]  # fmt: skip
