"""All HTTP routes of A2A: agent cards, JSON-RPC and HTTP+JSON."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from carrel.access import account_by_slug
from carrel.kernel import DEFAULT_ACCOUNT_SLUG, Access, Code, Refusal, not_found, system_access
from carrel.storage import Tx
from carrel.surfaces.a2a.agent_card import agent_card, card_response
from carrel.surfaces.a2a.caller import reachable_agent, requested_version
from carrel.surfaces.a2a.http_binding import respond
from carrel.surfaces.a2a.jsonrpc import JsonRpc
from carrel.surfaces.a2a.operations import operations_of
from carrel.surfaces.a2a.rest import Rest, error_response
from carrel.surfaces.http.identity import WrongTokens, identify, refuse_token_in_query
from carrel.surfaces.http.services import Services

_CARDS = (
    "/.well-known/agent-card.json",
    "/.well-known/agent.json",
    "/a2a/{agent}/.well-known/agent-card.json",
    "/a2a/{agent}/.well-known/agent.json",
)
_RPC = ("/a2a", "/a2a/", "/a2a/{agent}", "/a2a/{agent}/")


def routes(services: Services, wrong_tokens: WrongTokens) -> list[BaseRoute]:
    """Return the routes of A2A; none if it is disabled."""
    if not services.settings.a2a.enabled:
        return []
    operations = operations_of(services)
    rpc = JsonRpc(services, wrong_tokens, operations)
    cards = [_card_route(path, services, wrong_tokens) for path in _CARDS]
    calls = [Route(path, rpc.serve, methods=["POST"], name=path) for path in _RPC]
    return [*cards, *Rest(services, wrong_tokens, operations).routes(), *calls]


def _card_route(path: str, services: Services, wrong_tokens: WrongTokens) -> Route:
    async def serve(request: Request) -> Response:
        return await respond(
            request, path, lambda: _card(request, services, wrong_tokens), partial(error_response, request)
        )

    return Route(path, serve, methods=["GET"], name=path)


async def _card(request: Request, services: Services, wrong_tokens: WrongTokens) -> Response:
    access = await _card_access(request, services, wrong_tokens)
    agent = await services.db.read(lambda tx: reachable_agent(tx, access, request.path_params.get("agent")))
    version = requested_version(request) or "1.0"
    return card_response(request, agent, agent_card(services, agent, services.base_url(request.base_url)), version)


async def _card_access(request: Request, services: Services, wrong_tokens: WrongTokens) -> Access:
    refuse_token_in_query(request)
    access = await identify(request, services, wrong_tokens)
    if access is not None:
        return access
    if not services.settings.a2a.public_card:
        raise Refusal(Code.UNAUTHENTICATED, "Reading a card needs a token: Authorization: Bearer <token>.")
    return await services.db.read(_public_access)


def _public_access(tx: Tx) -> Access:
    """Return the access that reads a card for a client without a token: the system's, to the default account."""
    account = account_by_slug(tx, DEFAULT_ACCOUNT_SLUG)
    if account is None:
        raise not_found("account")
    return system_access(account.id, account.slug)
