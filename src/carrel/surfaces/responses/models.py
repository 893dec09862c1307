"""GET /v1/models: the agents that a caller may call, as models."""

from carrel.agents import Agent, callable_agents
from carrel.kernel import MS_PER_SECOND, Access
from carrel.storage import Tx
from carrel.surfaces.responses.errors import ResponsesError
from carrel.surfaces.responses.requests import Json
from carrel.surfaces.responses.targets import agent_of_model, caller_default_agent


def list_models(tx: Tx, access: Access) -> Json:
    """Return every model."""
    return {"object": "list", "data": [_model(agent) for agent in callable_agents(tx, access)]}


def find_model(tx: Tx, access: Access, name: str) -> Json:
    """Return one model, by any name that a request may use for it."""
    try:
        agent = agent_of_model(tx, access, name) or caller_default_agent(tx, access)
    except ResponsesError as unknown:
        raise _no_model(name) from unknown
    if not agent.enabled:
        raise _no_model(name)
    return _model(agent)


def _model(agent: Agent) -> Json:
    created = agent.created_at // MS_PER_SECOND
    return {"id": f"carrel/{agent.id}", "object": "model", "created": created, "owned_by": "carrel"}


def _no_model(name: str) -> ResponsesError:
    message = f"There is no model '{name[:80]}', or you may not use it; GET /v1/models lists those you may."
    return ResponsesError(404, "model_not_found", message, param="model")
