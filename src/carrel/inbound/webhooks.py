"""The webhooks of the settings: how each signs and reads, and what was refused."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct, structs

from carrel.inbound.kinds import KINDS
from carrel.inbound.model import Arrival
from carrel.kernel import METRICS, Clock, Code, Refusal, SystemClock, Template, clip, new_secret, one_line, secret_from
from carrel.kernel.limits import (
    NAME_CHARS_MAX,
    WEBHOOK_EVENT_CHARS_MAX,
    WEBHOOK_ID_CHARS_MAX,
    WEBHOOK_TEXT_CHARS_MAX,
    WEBHOOK_TITLE_CHARS_MAX,
)
from carrel.kernel.settings import WebhookSettings

# Where programs post to, before the name of the webhook.
PATH = "/api/hooks/in"
_REFUSAL = "There is no such webhook, or the delivery is not signed with its secret."


class Rendered(Struct, frozen=True, kw_only=True):
    """The filled-in templates of a webhook. `thread` is empty for a delivery that stands alone."""

    title: str
    text: str
    thread: str


class Refused(Struct, frozen=True, kw_only=True):
    """How many deliveries were not authentic since the server started, and what was wrong with the last one."""

    count: int = 0
    reason: str | None = None
    at: int | None = None


class Webhook:
    """One webhook of the settings."""

    def __init__(self, name: str, settings: WebhookSettings) -> None:
        self.name = name
        self.settings = settings
        self.kind = KINDS[settings.kind](settings)
        self.events = settings.events or self.kind.events
        self._title = Template(settings.title or self.kind.title)
        self._text = Template(settings.text or self.kind.text)
        self._thread = Template(settings.thread or self.kind.thread)

    @property
    def path(self) -> str:
        """Where programs post to, below the address of the server."""
        return f"{PATH}/{self.name}"

    @property
    def actor_id(self) -> str:
        """The actor in whose name this webhook acts."""
        return f"webhook:{self.name}"

    def read(self, headers: Mapping[str, str], raw: bytes, payload: Mapping[str, Any]) -> Arrival:
        """Return the parts of an authentic delivery; names that are too long to store are cut."""
        arrival = self.kind.arrival(headers, raw, payload)
        return structs.replace(
            arrival,
            event=clip(one_line(arrival.event), WEBHOOK_EVENT_CHARS_MAX),
            sender_id=clip(one_line(arrival.sender_id), WEBHOOK_ID_CHARS_MAX),
            author=clip(one_line(arrival.author), NAME_CHARS_MAX),
        )

    def ignores(self, arrival: Arrival) -> str | None:
        """Return why a delivery is ignored; None if it is not."""
        if (nothing := self.kind.nothing_to_do(arrival.event)) is not None:
            return nothing
        event = arrival.event.lower()
        if not any(fnmatchcase(event, known) for each in self.events for known in (each.lower(), f"{each.lower()}.*")):
            return f"webhooks.{self.name}.events does not name {arrival.event}."
        if arrival.by_bot and not self.settings.bots:
            return f"A bot caused it; to accept events of bots, set webhooks.{self.name}.bots to true."
        return None

    def render(self, arrival: Arrival) -> Rendered:
        """Fill in the templates."""
        own = {"@event": arrival.event, "@author": arrival.author, "@webhook": self.name, "@payload": arrival.payload}
        values = {**arrival.payload, **own}
        title = one_line(self._title.fill(values)).strip(" :#") or arrival.event or self.name
        return Rendered(
            title=clip(title, WEBHOOK_TITLE_CHARS_MAX),
            text=clip(self._text.fill(values), WEBHOOK_TEXT_CHARS_MAX),
            thread=self._thread.fill_whole(values),
        )


Known = Mapping[str, tuple[Webhook, bytes]]


class Webhooks:
    """Every webhook of this server."""

    def __init__(self, settings: Mapping[str, WebhookSettings], clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._refused: dict[str, Refused] = {}
        # Deliveries for a missing webhook are compared with this, so that they take as long.
        self._nobody = Webhook("", WebhookSettings()), new_secret().encode()
        self._known = self.opened(settings)

    @staticmethod
    def opened(settings: Mapping[str, WebhookSettings]) -> Known:
        """Return webhooks with their secrets; Refusal naming the setting if one cannot be read."""
        try:
            return {name: (Webhook(name, one), _secret(name, one)) for name, one in settings.items()}
        except ValueError as error:
            raise Refusal(Code.INVALID_PARAMS, f"{error}.") from error

    def use(self, known: Known) -> None:
        """Use these webhooks."""
        self._known = known

    def of_account(self, slug: str) -> list[Webhook]:
        """Return the webhooks of an account, by name."""
        return [webhook for _, (webhook, _) in sorted(self._known.items()) if webhook.settings.account == slug]

    def named(self, name: str, account_slug: str) -> Webhook | None:
        """Return a webhook of an account, or None."""
        return next((one for one in self.of_account(account_slug) if one.name == name), None)

    def refused(self, name: str) -> Refused:
        """Return how many deliveries to a webhook were refused."""
        return self._refused.get(name, Refused())

    def authenticate(self, name: str, headers: Mapping[str, str], raw: bytes) -> Webhook:
        """Return the webhook of a delivery if its secret signed it; otherwise count and refuse it.

        The refusal is the same for a name that does not exist.
        """
        webhook, secret = self._known.get(name, self._nobody)
        now = self._clock.now_ms()
        fault = webhook.kind.fault(secret, headers, raw, now)
        if fault is None:
            return webhook
        METRICS.count("webhooks.refused.count", "")
        if webhook.name:
            self._refused[name] = Refused(count=self.refused(name).count + 1, reason=fault, at=now)
        raise Refusal(Code.UNAUTHENTICATED, _REFUSAL)


def _secret(name: str, settings: WebhookSettings) -> bytes:
    return secret_from(f"webhooks.{name}.secret", settings.secret_env, settings.secret_file).encode()
