"""The address that programs post deliveries to. It needs no token: their signature shows who they are."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from carrel.inbound import PATH, read_payload, receive
from carrel.kernel import Code, Refusal, Shape
from carrel.kernel.limits import WEBHOOK_BODY_BYTES_MAX
from carrel.surfaces.http.bodies import read_body
from carrel.surfaces.http.identity import WrongTokens, peer_of
from carrel.surfaces.http.openapi import Json, Operation
from carrel.surfaces.http.responder import answer_request
from carrel.surfaces.http.services import Services

_ROUTE = PATH + "/{name}"
_HEADERS = {
    "X-Carrel-Signature": "sha256= and the HMAC-SHA256 of the body in hex; "
    "GitHub, Linear and Slack have their own headers.",
    "X-Carrel-Delivery": "The program's own id of the delivery; without it, the same body is the same delivery.",
    "X-Carrel-Event": "What has happened, in a word; the settings may name the events that are taken up.",
}


class DeliveryAccepted(Shape, frozen=True, kw_only=True):
    """The id of the delivery; the same delivery sent again has the same id."""

    delivery_id: str


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


def describe() -> list[Operation]:
    """Return the operation of deliveries for the OpenAPI document."""
    headers: list[Json] = [
        {"name": name, "in": "header", "required": False, "description": description, "schema": {"type": "string"}}
        for name, description in _HEADERS.items()
    ]
    return [
        Operation(
            method="POST",
            path=f"{PATH}/{{name}}",
            name="receive_delivery",
            summary="Receive what another program posts to a webhook of the settings, signed with its secret.",
            tag="hooks",
            headers=tuple(headers),
            body={"type": "object"},
            answers={202: DeliveryAccepted, 200: {"type": "object"}},
            errors=(400, 401, 404, 413, 415, 429, 500, 503),
            access="open",
        )
    ]
