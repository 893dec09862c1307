"""The operation of deliveries for the OpenAPI document."""

from carrel.inbound import PATH
from carrel.kernel import Shape
from carrel.surfaces.http.openapi import Json, Operation


class DeliveryAccepted(Shape, frozen=True, kw_only=True):
    """The id of the delivery; the same delivery sent again has the same id."""

    delivery_id: str


_SIGNATURE: Json = {
    "name": "X-Carrel-Signature",
    "in": "header",
    "required": False,
    "description": "sha256= and the HMAC-SHA256 of the body in hex; GitHub, Linear and Slack have their own headers.",
    "schema": {"type": "string"},
}
_DELIVERY: Json = {
    "name": "X-Carrel-Delivery",
    "in": "header",
    "required": False,
    "description": "The program's own id of the delivery; without it, the same body is the same delivery.",
    "schema": {"type": "string"},
}
_EVENT: Json = {
    "name": "X-Carrel-Event",
    "in": "header",
    "required": False,
    "description": "What has happened, in a word; the settings may name the events that are taken up.",
    "schema": {"type": "string"},
}


def describe() -> list[Operation]:
    """Return the operation."""
    return [
        Operation(
            method="POST",
            path=f"{PATH}/{{name}}",
            name="receive_delivery",
            summary="Receive what another program posts to a webhook of the settings, signed with its secret.",
            tag="hooks",
            headers=(_SIGNATURE, _DELIVERY, _EVENT),
            body={"type": "object"},
            answers={202: DeliveryAccepted, 200: {"type": "object"}},
            errors=(400, 401, 404, 413, 415, 429, 500, 503),
            access="open",
        )
    ]
