"""How a session is steered: slash commands, and schedules that speak in it. A command never reaches an agent."""

from carrel.modes.commands import read_command, run_command
from carrel.modes.firing import Schedules, fire_now
from carrel.modes.model import Done, Scene, Typed
from carrel.modes.schedule_store import schedules_of
from carrel.modes.scheduling import (
    NewSchedule,
    ScheduleChange,
    ScheduleShape,
    change_schedule,
    find_schedule,
    make_schedule,
    remove_schedule,
    shape_of,
)
from carrel.modes.windows import Schedule, ScheduleType

__all__ = [
    "Done",
    "NewSchedule",
    "Scene",
    "Schedule",
    "ScheduleChange",
    "ScheduleShape",
    "ScheduleType",
    "Schedules",
    "Typed",
    "change_schedule",
    "find_schedule",
    "fire_now",
    "make_schedule",
    "read_command",
    "remove_schedule",
    "run_command",
    "schedules_of",
    "shape_of",
]
