"""The context block: what a session is about, laid out in sections within a limit, with a reason for each line."""

from carrel.context.budget import AROUND_CHARS, injected, shown_to_run
from carrel.context.builder import Contexts, build_now
from carrel.context.depth import mode_named
from carrel.context.here import key_named
from carrel.context.model import MEMORY, Context, ContextLimits, Form, Line, Mode
from carrel.context.request import ContextRequest, Heard
from carrel.context.shapes import ContextShape, context_shape

__all__ = [
    "AROUND_CHARS", "MEMORY", "Context", "ContextLimits", "ContextRequest", "ContextShape", "Contexts", "Form", "Heard",
    "Line", "Mode", "build_now", "context_shape", "injected", "key_named", "mode_named", "shown_to_run",
]  # fmt: skip
