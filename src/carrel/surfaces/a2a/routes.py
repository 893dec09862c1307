"""Every address of A2A: the cards, JSON-RPC, and HTTP+JSON."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from carrel.kernel import Access, Code, Refusal
from carrel.surfaces.a2a.binding import answered
from carrel.surfaces.a2a.caller import agent_in_reach, anybody, asked_version
from carrel.surfaces.a2a.cards import card_of, card_response
from carrel.surfaces.a2a.jsonrpc import JsonRpc
from carrel.surfaces.a2a.operations import Operations
from carrel.surfaces.a2a.rest import Rest, refused
from carrel.surfaces.http.house import House
from carrel.surfaces.http.identity import WrongTokens, identify, refuse_token_in_query

_CARDS = (
    "/.well-known/agent-card.json",
    "/.well-known/agent.json",
    "/a2a/{agent}/.well-known/agent-card.json",
    "/a2a/{agent}/.well-known/agent.json",
)
_RPC = ("/a2a", "/a2a/", "/a2a/{agent}", "/a2a/{agent}/")


def routes(house: House, wrong: WrongTokens) -> list[BaseRoute]:
    """The routes of A2A, none where it is switched off."""
    if not house.settings.a2a.enabled:
        return []
    operations = Operations(house)
    rpc = JsonRpc(house, wrong, operations)
    cards = [Route(path, _card_at(path, house, wrong), methods=["GET"], name=path) for path in _CARDS]
    calls = [Route(path, rpc.serve, methods=["POST"], name=path) for path in _RPC]
    return [*cards, *Rest(house, wrong, operations).routes(), *calls]


def _card_at(path: str, house: House, wrong: WrongTokens) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        return await answered(
            request, path, lambda: _card(request, house, wrong), lambda error: refused(request, error)
        )  # fmt: skip

    return serve


async def _card(request: Request, house: House, wrong: WrongTokens) -> Response:
    access = await _reader(request, house, wrong)
    agent = await house.db.read(lambda tx: agent_in_reach(tx, access, request.path_params.get("agent")))
    version = asked_version(request) or "1.0"
    return card_response(request, agent, card_of(house, agent, house.base_url(request.base_url)), version)


async def _reader(request: Request, house: House, wrong: WrongTokens) -> Access:
    refuse_token_in_query(request)
    access = await identify(request, house, wrong)
    if access is not None:
        return access
    if not house.settings.a2a.public_card:
        raise Refusal(Code.UNAUTHENTICATED, "Cards are shown to those with a token: Authorization: Bearer <token>.")
    return await house.db.read(anybody)
