"""Chat Completions: the requests and answers of Open Responses in that API's words.

- requests: what a client may send, and the same request in the terms of Open Responses
- messages, message_schema: its messages as input items, and what they may be
- answers: a response as a completion
- chunks: the events of a response as chunks
- calls: the operation, from request to answer
"""

from carrel.surfaces.responses.completions.calls import Completions
from carrel.surfaces.responses.completions.chunks import frames_of
from carrel.surfaces.responses.completions.requests import ChatTool, CreateCompletion

__all__ = ["ChatTool", "Completions", "CreateCompletion", "frames_of"]
