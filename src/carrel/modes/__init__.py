"""Chat messages, slash commands and schedules: how people use a session. A command never reaches an agent."""

from carrel.modes.chat import ChannelChat, ChatMessage, Received, receive, require_usable
from carrel.modes.commands.model import CommandContext, CommandResult
from carrel.modes.commands.table import read_command, run_command
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
    "ChannelChat", "ChatMessage", "CommandContext", "CommandResult", "NewSchedule", "Received", "Schedule",
    "ScheduleChange", "ScheduleShape", "ScheduleType", "Schedules", "change_schedule", "find_schedule", "fire_now",
    "make_schedule", "observe_runs", "read_command", "receive", "remove_schedule", "require_usable", "run_command",
    "schedule_shape", "schedules_of",
]  # fmt: skip
