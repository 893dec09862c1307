"""Carrel gives every AI agent a desk of its own for every piece of work.

The package is a house of rooms; each room's `__init__` is its front door. Nothing is exported here.
"""

__version__ = "0.1.0"
