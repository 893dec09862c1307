"""`webhooks`: what other programs post to this server, with what result, and how to repeat it."""

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

from carrel.bridge import Client, segment
from carrel.main.cli.command import Exit, Failure, option
from carrel.main.cli.names import LIMIT, WEBHOOK_DELIVERIES
from carrel.main.cli.output import Screen
from carrel.main.cli.request import Item, Request, Table, ago, start_of

_DELIVERY = option(
    "delivery_id", "DELIVERY", "id of the delivery, a unique beginning of it, or `last`", of=WEBHOOK_DELIVERIES.of
)
_OUTCOMES = ("done", "ignored", "failed")
_WEBHOOKS = Table(
    "webhooks",
    {
        "WEBHOOK": "name",
        "KIND": "kind",
        "BECOMES": "target",
        "DONE": "done",
        "IGNORED": "ignored",
        "FAILED": "failed",
        "REFUSED": "refused",
        "LAST": ago("lastReceivedAt"),
        "ADDRESS": "address",
    },
    "No webhooks in the settings. docs/guides/webhooks-in.md shows the few lines that make one.",
)
_DELIVERIES = Table(
    "deliveries",
    {
        "DELIVERY": "id",
        "WEBHOOK": "webhook",
        "EVENT": "event",
        "OUTCOME": "outcome",
        "AGE": ago("receivedAt"),
        "TASK OR RUN": lambda one: one["taskId"] or one["runId"],
        "TITLE OR REASON": lambda one: start_of("title" if one["reason"] is None else "reason")(one),
    },
    "No deliveries yet.",
)


def _show(answer: Item, _: Namespace, screen: Screen) -> None:
    delivery = dict(answer["delivery"])
    payload = delivery.pop("payload")
    screen.facts(delivery.items())
    if payload is not None:
        screen.line()
        screen.line(json.dumps(payload, indent=2, ensure_ascii=False))


def _redelivered(answer: Item, _: Namespace, screen: Screen) -> None:
    delivery = answer["delivery"]
    made = delivery["taskId"] or delivery["runId"]
    screen.line(f"{delivery['outcome'].capitalize()}: {delivery['reason'] or made}")


def _try(client: Client, args: Namespace) -> Any:
    body: dict[str, object] = {} if args.event is None else {"event": args.event}
    if args.file is not None:
        body["payload"] = _payload(Path(args.file))
    return client.post(f"/api/hooks/in/{segment(args.name)}/test", body)


def _payload(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(Exit.USAGE, f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise Failure(Exit.USAGE, f"{path} is not JSON: {error}.") from error


def _tried(answer: Item, _: Namespace, screen: Screen) -> None:
    preview = dict(answer["preview"])
    text = preview.pop("text")
    screen.facts(preview.items())
    screen.line()
    screen.line(text)


COMMANDS = (
    Request("webhooks list", "list the webhooks in the settings, with their state", "GET /api/hooks/in", _WEBHOOKS),
    Request(
        "webhooks deliveries", "list what was delivered, the newest first", "GET /api/hooks/in/deliveries", _DELIVERIES
    ).takes(
        option("--webhook", "NAME", "only of this webhook"),
        option("--outcome", choices=_OUTCOMES, help="only those with this outcome"),
        LIMIT,
    ),
    Request("webhooks show", "show a delivery with its body", "GET /api/hooks/in/deliveries/{}", _show).takes(
        _DELIVERY
    ),
    Request(
        "webhooks redeliver",
        "repeat a delivery that failed or was ignored",
        "POST /api/hooks/in/deliveries/{}/redeliver",
        _redelivered,
    ).takes(_DELIVERY),
    Request("webhooks test", "show what a delivery would become, and do nothing", _try, _tried).takes(
        option("name", "NAME", "name of the webhook"),
        option("--event", "EVENT", "the event, such as issues.opened (default: a usual one)"),
        option("--file", "FILE", "a file with a body in JSON (default: a usual one)"),
    ),
)
