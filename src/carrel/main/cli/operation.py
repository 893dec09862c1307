"""`settings`, `models`, `webhooks` and `notifications`: what a server is set to, and what it hears and reports."""

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

from carrel.bridge import Client
from carrel.main.cli.command import LIMIT, Exit, Failure, option
from carrel.main.cli.humanize import in_words
from carrel.main.cli.output import Screen, first_line
from carrel.main.cli.request import Item, Table, request
from carrel.main.cli.resource import Resource, as_it_is

SETTINGS = Resource(
    "settings", "see what this server is set to", "/api/settings", "setting",
    {"SETTING": "name", "FROM": "source", "VALUE": lambda row: first_line(in_words(row["value"]))},
    id="name", listed_only=True,
)  # fmt: skip
WEBHOOKS = Resource(
    "webhooks", "see what other programs post to this server, and repeat it", "/api/hooks/in", "webhook",
    {"WEBHOOK": "name", "KIND": "kind", "BECOMES": "target", "DONE": "done", "IGNORED": "ignored", "FAILED": "failed",
     "REFUSED": "refused", "LAST": "lastReceivedAt", "ADDRESS": "address"},
    empty="No webhooks in the settings. docs/guides/webhooks-in.md shows the few lines that make one.", id="name",
)  # fmt: skip
DELIVERIES = Resource(
    "webhooks", "", "/api/hooks/in/deliveries", "delivery",
    {"DELIVERY": "id", "WEBHOOK": "webhook", "EVENT": "event", "OUTCOME": "outcome", "AGE": "receivedAt",
     "TASK OR RUN": lambda one: one["taskId"] or one["runId"],
     "TITLE OR REASON": lambda one: first_line(one["title"] if one["reason"] is None else one["reason"])},
    many="deliveries", prefix="whd_", query={"limit": 200}, order="newest first",
    empty="No deliveries yet.", below=("payload",),
)  # fmt: skip
NOTIFICATIONS = Resource(
    "notifications", "read notifications about failed runs and undelivered results", "/api/notifications",
    "notification",
    {"NOTIFICATION": "id", "MARK": lambda one: "read" if one["readAt"] else "new", "AGE": "createdAt",
     "TASK OR RUN": lambda one: one["taskId"] or one["runId"], "TITLE": "title"},
    prefix="ntf_", query={"limit": 200}, order="newest first", listed_only=True, empty="No notifications yet.",
    hidden=("title", "body"),
)  # fmt: skip


def _show_reloaded(answer: Item, *_: object) -> str:
    restart = f"\nThese need a restart: {', '.join(answer['needRestart'])}." if answer["needRestart"] else ""
    return f"Changed: {', '.join(answer['changed']) or 'nothing'}.{restart}"


def _models(client: Client, _: Namespace) -> Any:
    """Return the connections to models, with the agents that use each and the models that they ask for."""
    agents = client.get("/api/agents")["agents"]
    connected = client.get("/api/health").get("gateways") or []
    using: dict[str, list[Item]] = {"builtin": [], **{row["name"]: [] for row in connected}}
    for agent in agents:
        # Where there is no such connection, the built-in agent answers.
        using.get(agent["gateway"] or "default", using["builtin"]).append(agent)
    for row in connected:
        found = using[row["name"]]
        row |= {
            "agents": [agent["id"] for agent in found],
            "models": sorted({agent["model"] for agent in found} - {""}),
        }
    return {"models": connected}


def _redelivered(answer: Item, *_: object) -> str:
    delivery = answer["delivery"]
    return f"{delivery['outcome'].capitalize()}: {delivery['reason'] or delivery['taskId'] or delivery['runId']}"


def _payload(args: Namespace) -> Item:
    """Return the payload that a file holds, as a field of the request; nothing if no file is named."""
    if args.file is None:
        return {}
    path = Path(args.file)
    try:
        return {"payload": json.loads(path.read_text(encoding="utf-8"))}
    except OSError as error:
        raise Failure(Exit.USAGE, f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise Failure(Exit.USAGE, f"{path} is not JSON: {error}.") from error


def _show_notification(answer: Item, args: Namespace, screen: Screen) -> None:
    screen.piece(answer["notification"]["title"], "bold")
    screen.line(f"\n{answer['notification']['body']}\n")
    NOTIFICATIONS.show(answer, args, screen)


_MODELS = Table(
    "models",
    {"CONNECTION": "name", "KIND": "kind", "STATUS": "status", "MODELS": "models", "AGENTS": "agents",
     "TROUBLE": "lastError"},
    "No model is connected; the built-in agent answers. `carrel connect` connects one.",
)  # fmt: skip
# What `webhooks test` shows.
_PREVIEW = WEBHOOKS._replace(one="preview", below=("text",))
_SERVERS = Table("servers", {"SERVER": "name", "ADDRESS": "baseUrl", "KEY": "keyEnv", "TO START IT": "start"})
RESOURCES = (NOTIFICATIONS, SETTINGS, WEBHOOKS, DELIVERIES)
COMMANDS = (
    NOTIFICATIONS.lists("", option("--unread", "", "only unread ones", action="store_const", const="1"), LIMIT),
    NOTIFICATIONS.shows(show=_show_notification),
    NOTIFICATIONS.does("read", "show a notification and mark it as read", "POST read", _show_notification),
    request("notifications read-all", "mark every notification as read", "POST /api/notifications/read-all",
            "{read} marked as read."),
    SETTINGS.lists("list the settings, and where each comes from"),
    SETTINGS.shows(),
    request("settings reload", "let the server read its settings again", "POST /api/settings/reload", _show_reloaded),
    request("models list", "list the connected models, and the agents that use them", _models, _MODELS.show),
    request("models servers", "list the model servers that `carrel connect` knows", "GET /api/models/servers",
            _SERVERS.show),
    WEBHOOKS.lists("list the webhooks in the settings, with their state"),
    request(
        "webhooks deliveries", "list what was delivered, the newest first", "GET /api/hooks/in/deliveries",
        DELIVERIES.table.show,
        option("--webhook", "NAME", "only of this webhook"),
        option("--outcome", "", "only those with this outcome", choices=("done", "ignored", "failed")),
        LIMIT,
        examples=("--outcome failed",),
    ),
    DELIVERIES.shows("show a delivery with its body"),
    DELIVERIES.does("redeliver", "repeat a delivery that failed or was ignored", "POST redeliver", _redelivered),
    request(
        "webhooks test", "show what a delivery would become, and do nothing", "POST /api/hooks/in/{}/test",
        _PREVIEW.show,
        option("name", "NAME", "name of the webhook", of=as_it_is),
        option("--event", "EVENT", "the event, such as issues.opened (default: a usual one)"),
        option("--file", "FILE", "a file with a body in JSON (default: a usual one)", field=""),
        sends=_payload, examples=("github --event issues.opened --file issue.json",),
    ),
)  # fmt: skip
