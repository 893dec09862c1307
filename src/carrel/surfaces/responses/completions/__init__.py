"""Chat Completions: the requests and answers of Open Responses in that API's words."""

from carrel.surfaces.responses.completions.answers import Completions, chunks_of
from carrel.surfaces.responses.completions.requests import ChatTool, CreateCompletion

__all__ = ["ChatTool", "Completions", "CreateCompletion", "chunks_of"]
