"""Agent cards: what an agent is and where to reach it, in the form of A2A 1.0 and 0.3."""

from email.utils import formatdate
from hashlib import sha256
from urllib.parse import urlsplit

import msgspec
from a2a.types import GetExtendedAgentCardRequest
from starlette.requests import Request
from starlette.responses import Response

from carrel.agents import Agent
from carrel.kernel.limits import A2A_CARD_SECONDS
from carrel.kernel.settings import A2aSettings
from carrel.surfaces.a2a.caller import OPT_URI, Caller, Version, known_uris
from carrel.surfaces.a2a.errors import NO_EXTENDED_CARD, A2aError
from carrel.surfaces.a2a.legacy import conversions
from carrel.surfaces.a2a.messages import FILE_TYPES
from carrel.surfaces.a2a.protobuf_json import Json
from carrel.surfaces.http.services import Services
from carrel.tools import CATALOG, Permitted

_OPT_TEXT = "Objectives, plans and plan tasks over JSON-RPC; they are the goals, plans and tasks of this server."


def agent_card(services: Services, agent: Agent, base_url: str, *, extended: bool = False) -> Json:
    """Return the agent's card in 1.0; the extended one lists every tool the agent may use as a skill."""
    settings = services.settings.a2a
    about = agent.profile.description or f"{agent.name}, an agent on a Carrel server."
    talk: Json = {
        "id": "talk",
        "name": "Talk and work",
        "description": about,
        "tags": ["chat", "work"],
        "examples": ["What do you know about this?"],
    }
    tools = Permitted(CATALOG, agent.profile.tools).offered() if extended else ()
    extensions = [_extension(settings, uri) for uri in known_uris(settings)]
    return {
        "name": agent.name,
        "description": about,
        "version": services.version,
        "supportedInterfaces": _interfaces(settings, agent, base_url),
        "capabilities": {
            "streaming": settings.streaming,
            "pushNotifications": settings.push.enabled,
            "extendedAgentCard": settings.extended_card,
            **({"extensions": extensions} if extensions else {}),
        },
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "bearer"}}},
        "securityRequirements": [{"schemes": {"bearer": {}}}],
        "defaultInputModes": ["text/plain", "application/json", *FILE_TYPES],
        "defaultOutputModes": ["text/plain", "application/json"],
        "skills": [
            talk,
            *(
                {"id": tool.name, "name": tool.name, "description": tool.description, "tags": ["tool", tool.effect]}
                for tool in tools
            ),
        ],
    }


async def extended_card(services: Services, caller: Caller, _request: GetExtendedAgentCardRequest) -> Json:
    """GetExtendedAgentCard."""
    if not services.settings.a2a.extended_card:
        raise A2aError(NO_EXTENDED_CARD, "This agent has no extended card.")
    return agent_card(services, caller.agent, caller.base_url, extended=True)


def card_response(request: Request, agent: Agent, card: Json, version: Version) -> Response:
    """Return a card as a response that clients may cache and revalidate."""
    body = msgspec.json.encode(conversions().write_card(card) if version == "0.3" else card)
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    headers = {
        "ETag": tag,
        "Cache-Control": f"max-age={A2A_CARD_SECONDS}",
        "Last-Modified": formatdate(agent.updated_at / 1000, usegmt=True),
        "Vary": "A2A-Version, Authorization",
    }
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")


def _interfaces(settings: A2aSettings, agent: Agent, base_url: str) -> list[Json]:
    url = f"{base_url}/a2a/{agent.id}"
    interfaces: list[Json] = [
        {"url": url, "protocolBinding": binding, "protocolVersion": version}
        for version in ("1.0", "0.3")
        for binding in ("JSONRPC", "HTTP+JSON")
    ]
    if settings.grpc_port:
        host = urlsplit(base_url).hostname or ""
        address = f"{f'[{host}]' if ':' in host else host}:{settings.grpc_port}"
        interfaces.insert(2, {"url": address, "protocolBinding": "GRPC", "protocolVersion": "1.0", "tenant": agent.id})
    return interfaces


def _extension(settings: A2aSettings, uri: str) -> Json:
    extension: Json = {"uri": uri, "required": uri in settings.required_extensions}
    if uri != OPT_URI or not settings.opt.enabled:
        return extension
    params = {
        "maxPlansPerObjective": settings.opt.max_plans_per_objective,
        "maxTasksPerPlan": settings.opt.max_tasks_per_plan,
        "persistenceEnabled": True,
    }
    return extension | {"description": _OPT_TEXT, "params": params}
