"""Carrel gives every AI agent a desk of its own for every piece of work.

The package consists of rooms; each room's `__init__` lists what other rooms may use. Nothing is exported here.
"""

__version__ = "0.1.0"
