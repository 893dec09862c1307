"""How a session is steered: slash commands so far. A command acts on one session and never reaches an agent."""

from carrel.modes.commands import read_command, run_command
from carrel.modes.model import Done, Scene, Typed

__all__ = ["Done", "Scene", "Typed", "read_command", "run_command"]
