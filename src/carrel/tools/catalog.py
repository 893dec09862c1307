"""CATALOG: every tool there is."""

from carrel.tools.board import BOARD_TOOLS
from carrel.tools.files.calls import FILE_TOOLS
from carrel.tools.goals import GOAL_TOOLS
from carrel.tools.memory.calls import MEMORY_TOOLS
from carrel.tools.plans import PLAN_TOOLS
from carrel.tools.sessions.lookup import SESSION_TOOLS
from carrel.tools.sessions.send import SEND_TOOLS
from carrel.tools.sessions.spawn import SPAWN_TOOLS
from carrel.tools.tasks.changes import WRITING_TOOLS
from carrel.tools.tasks.reads import READING_TOOLS
from carrel.tools.toolset import Catalog
from carrel.tools.turns import TURN_TOOLS

CATALOG = Catalog((
    *BOARD_TOOLS, *FILE_TOOLS, *GOAL_TOOLS, *MEMORY_TOOLS, *PLAN_TOOLS, *SEND_TOOLS, *SESSION_TOOLS, *SPAWN_TOOLS,
    *READING_TOOLS, *WRITING_TOOLS, *TURN_TOOLS,
))  # fmt: skip
