"""The context block: what a session is about, laid out in sections within a limit, with a reason for each line."""

from carrel.context.budget import AROUND_CHARS, injected, shown_to_run
from carrel.context.builder import Contexts, build_now
from carrel.context.depth import depth_named
from carrel.context.model import MEMORY, Context, ContextLimits, Explained, Form, Line
from carrel.context.request import ContextRequest, SeenEntries
from carrel.context.session_position import key_named
from carrel.context.shapes import ContextShape, context_shape

__all__ = [
    "AROUND_CHARS", "MEMORY", "Context", "ContextLimits", "ContextRequest", "ContextShape", "Contexts", "Explained",
    "Form", "Line", "SeenEntries", "build_now", "context_shape", "depth_named", "injected", "key_named", "shown_to_run",
]  # fmt: skip
