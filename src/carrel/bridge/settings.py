"""The settings of a bridge, with the names of the reference or spelled as in Python."""

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

ContextMode = Literal["auto", "cheap", "full", "patient"]
_CAPITAL = re.compile(r"(?<!^)([A-Z])")


@dataclass(frozen=True, kw_only=True)
class BridgeSettings:
    """Where entries go, where they wait, and how the context of a turn is fetched."""

    base_url: str
    token: str = ""
    enabled: bool = True
    queue_path: str = "~/.carrel/bridge-queue.sqlite"
    # Whether entries go to /api/ingest, which stores them later, and not to /api/log.
    queue: bool = False
    context_augment: bool = True
    context_mode: ContextMode = "auto"
    context_fetch_timeout_ms: int = 1_200
    context_max_chars: int = 2_200
    context_topic_limit: int = 3
    context_task_limit: int = 3
    context_log_limit: int = 6
    auto_topic_by_session: bool = False

    @property
    def file(self) -> Path:
        return Path(self.queue_path).expanduser()


def read_settings(given: dict[str, Any]) -> BridgeSettings:
    """Return the settings; TypeError or ValueError when a name or a value is wrong."""
    named = {_CAPITAL.sub(r"_\1", name).lower(): value for name, value in given.items()}
    known = {field.name: field for field in fields(BridgeSettings)}
    wrong = next((name for name in given if _CAPITAL.sub(r"_\1", name).lower() not in known), None)
    if wrong is not None:
        raise TypeError(f"{wrong} is not a setting of a bridge.")
    if not named.get("base_url"):
        raise TypeError("A bridge needs baseUrl, the URL of the server.")
    for name, value in named.items():
        kind = known[name].type
        if kind is ContextMode:
            if value not in get_args(ContextMode):
                raise ValueError(f"contextMode must be one of {', '.join(get_args(ContextMode))}.")
        elif type(value) is not kind and not (kind is str and isinstance(value, Path)):
            raise TypeError(f"{name} must be of type {getattr(kind, '__name__', kind)}.")
    settings = BridgeSettings(**named | ({"queue_path": str(named["queue_path"])} if "queue_path" in named else {}))
    if settings.context_fetch_timeout_ms <= 0:
        raise ValueError("contextFetchTimeoutMs must be more than 0.")
    return settings
