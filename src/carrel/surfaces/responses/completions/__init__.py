"""Chat Completions: the requests and answers of Open Responses in that API's words."""

from carrel.surfaces.responses.completions.answers import chunks_of, completion_of, start_completion
from carrel.surfaces.responses.completions.requests import ChatTool, CreateCompletion

__all__ = ["ChatTool", "CreateCompletion", "chunks_of", "completion_of", "start_completion"]
