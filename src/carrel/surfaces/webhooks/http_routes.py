"""The address that programs post deliveries to. It needs no token: their signature shows who they are."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from carrel.inbound import PATH, read_payload, receive
from carrel.kernel import Code, Refusal
from carrel.kernel.limits import WEBHOOK_BODY_BYTES_MAX
from carrel.surfaces.http.bodies import read_body
from carrel.surfaces.http.identity import WrongTokens, peer_of
from carrel.surfaces.http.responder import answer_request
from carrel.surfaces.http.services import Services
from carrel.surfaces.webhooks.openapi import DeliveryAccepted

_ROUTE = PATH + "/{name}"


def routes(services: Services, wrong: WrongTokens) -> list[BaseRoute]:
    """Return the route of deliveries."""

    async def serve(request: Request) -> Response:
        return await answer_request(request, _ROUTE, lambda: _receive(request, services, wrong))

    return [Route(_ROUTE, serve, methods=["POST"])]


async def _receive(request: Request, services: Services, wrong: WrongTokens) -> Response:
    raw = await read_body(request, bytes_max=WEBHOOK_BODY_BYTES_MAX)
    try:
        webhook = services.webhooks.authenticate(request.path_params["name"], request.headers, raw)
    except Refusal as refusal:
        if refusal.code is Code.UNAUTHENTICATED:
            wrong.add(peer_of(request))
        raise
    payload = read_payload(raw)
    answer = webhook.kind.handshake(payload)
    if answer is not None:
        return _json(answer, 200)
    services.refuse_when_draining()
    arrival = webhook.read(request.headers, raw, payload)
    delivery_id = await services.db.write(lambda tx: receive(tx, webhook, arrival, raw, services.rules))
    return _json(DeliveryAccepted(delivery_id=delivery_id), webhook.kind.accepted)


def _json(body: object, status: int) -> Response:
    return Response(msgspec.json.encode(body), status, media_type="application/json")
