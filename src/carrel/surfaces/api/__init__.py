"""The API: REST and the stream of events. It decides nothing: who may, and what follows, is said by the rooms below."""

from carrel.surfaces.api.app import build_app
from carrel.surfaces.api.metrics import Recorder
from carrel.surfaces.api.openapi import openapi_document

__all__ = ["Recorder", "build_app", "openapi_document"]
