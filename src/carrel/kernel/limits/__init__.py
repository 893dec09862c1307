"""Every fixed limit, named with its unit. What an operator may change is a setting instead."""

from carrel.kernel.limits.board import *  # noqa: F403  (one table of names, in three files)
from carrel.kernel.limits.engine import *  # noqa: F403
from carrel.kernel.limits.surfaces import *  # noqa: F403
