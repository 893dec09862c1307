"""Programs: the only room that starts and ends the programs that the operator's settings name.

A program is started without a shell, in its own process group, with the environment variables that the settings name.
Its output is read line by line within limits. It ends with this process, however that ends.
"""

from carrel.programs.flood import FloodGuard
from carrel.programs.model import Program, ProgramFault, missing_variable, program_of
from carrel.programs.process import RunningProgram, start_program

__all__ = ["FloodGuard", "Program", "ProgramFault", "RunningProgram", "missing_variable", "program_of", "start_program"]
