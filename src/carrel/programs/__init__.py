"""Programs that this server runs: started without a shell, and ended with it, whatever becomes of either.

Each is started by a watcher, a small process of its own, which ends the program and everything that it has started when
the connection to this process breaks. What a program says, and to whom, is not known here.
"""

from carrel.programs.program import CannotStart, Command, Program, running

__all__ = ["CannotStart", "Command", "Program", "running"]
