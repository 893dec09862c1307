"""The extensions of A2A that this server knows: the required ones, and OPT."""

from typing import Any

from carrel.kernel.settings import A2aSettings

OPT_URI = "https://github.com/zeroasterisk/a2a-opt/v1"
_OPT_TEXT = "Objectives, plans and plan tasks over JSON-RPC; they are the goals, plans and tasks of this server."


def known_uris(settings: A2aSettings) -> tuple[str, ...]:
    """Return the URIs that a caller may declare."""
    return tuple(dict.fromkeys((*settings.required_extensions, *((OPT_URI,) if settings.opt.enabled else ()))))


def declared_extensions(settings: A2aSettings) -> list[dict[str, Any]]:
    """Return what the card says about extensions."""
    return [_declared(settings, uri) for uri in known_uris(settings)]


def _declared(settings: A2aSettings, uri: str) -> dict[str, Any]:
    extension: dict[str, Any] = {"uri": uri, "required": uri in settings.required_extensions}
    if uri != OPT_URI or not settings.opt.enabled:
        return extension
    params = {
        "maxPlansPerObjective": settings.opt.max_plans_per_objective,
        "maxTasksPerPlan": settings.opt.max_tasks_per_plan,
        "persistenceEnabled": True,
    }
    return extension | {"description": _OPT_TEXT, "params": params}
