"""A delivery: what another program posted to a webhook, and its outcome."""

from collections.abc import Mapping
from typing import Any, Generic, Literal

from msgspec import Struct

from carrel.kernel import Shape, When

Outcome = Literal["done", "ignored", "failed"]


class Arrival(Struct, frozen=True, kw_only=True):
    """The parts of a delivery: its event, author, and body.

    `sender_id` is the sender's own id for it. `digest` is that of its body, set if the sender never sends the same body
    twice: an unsigned id could be changed by anyone who got hold of a signed body.
    """

    event: str
    sender_id: str
    author: str
    by_bot: bool
    payload: Mapping[str, Any]
    digest: str | None = None


class _DeliveryFields(Shape, Generic[When], frozen=True, kw_only=True):
    id: str
    webhook: str
    event: str
    author: str
    title: str
    outcome: Outcome
    reason: str | None
    task_id: str | None
    run_id: str | None
    attempts: int
    received_at: When
    attempted_at: When


class Delivery(_DeliveryFields[int], frozen=True, kw_only=True):
    """A stored delivery; its fields are the columns of its table, except its body."""

    sender_id: str
    digest: str | None
    by_bot: bool
    key: str | None = None
    has_body: bool = True

    @property
    def can_repeat(self) -> bool:
        """Whether it can be carried out again: never if it succeeded, so that nothing is done twice."""
        return self.outcome != "done" and self.has_body


class Effect(Struct, frozen=True, kw_only=True):
    """The effect of a delivery: the task it created or added to, or the run of its message."""

    task_id: str | None = None
    run_id: str | None = None
    key: str | None = None


class DeliveryShape(_DeliveryFields[str], frozen=True, kw_only=True):
    """A delivery: its event, outcome, and the reason if nothing was done.

    A failed or ignored one can be carried out again while its body is kept.
    """

    session_key: str | None
    can_repeat: bool

    @classmethod
    def of_delivery(cls, delivery: Delivery) -> "DeliveryShape":
        """Return a delivery as callers see it."""
        return cls.of(delivery, session_key=delivery.key)
