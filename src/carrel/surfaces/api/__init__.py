"""The API of Carrel: REST, the stream of events and the WebSocket of chats."""

from carrel.surfaces.api.app import build_app
from carrel.surfaces.api.metrics import Recorder
from carrel.surfaces.api.openapi import openapi_document

__all__ = ["Recorder", "build_app", "openapi_document"]
