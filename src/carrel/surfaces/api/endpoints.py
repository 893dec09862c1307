"""The whole table of endpoints: importing a module adds its endpoints, and this imports them all."""

from carrel.surfaces.api import (  # noqa: F401
    active_sessions,
    administration,
    agents,
    artifacts,
    attachments,
    auth,
    auto,
    budgets,
    changes,
    chat,
    classifier,
    context,
    goals,
    health,
    hooks,
    log,
    mcp_servers,
    memory,
    metrics,
    models,
    notifications,
    openapi,
    plans,
    runs,
    schedules,
    search,
    spaces,
    stream,
    topics,
    usage,
    webhooks,
    websocket,
)
from carrel.surfaces.api.endpoint import ENDPOINTS
from carrel.surfaces.api.sessions import changes as session_changes  # noqa: F401
from carrel.surfaces.api.sessions import reads  # noqa: F401
from carrel.surfaces.api.tasks import changes as task_changes  # noqa: F401
from carrel.surfaces.api.tasks import reads as task_reads  # noqa: F401

__all__ = ["ENDPOINTS"]
