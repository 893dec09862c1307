"""What is missing between an OpenClaw and this server: in its configuration, in its running gateway, and in between."""

import json
import os
import shutil
import subprocess
from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from carrel.bridge import BridgeFault, Client, NotReachable, Refused, read_openclaw_queue
from carrel.kernel import SystemClock
from carrel.main import openclaw_config
from carrel.main.cli.output import Finding
from carrel.main.openclaw_config import (
    BASE_URL,
    ENTRY,
    MCP,
    PATHS,
    PLUGIN_ID,
    RESPONSES,
    TOKEN,
    ConfigFault,
    Settings,
    at,
)

SETUP = "Run `carrel openclaw setup`."
START = "Start it with `openclaw gateway`, or as a service with `openclaw gateway restart`."
ANSWER_SECONDS = 10.0
# OpenClaw's own program takes seconds to start.
CLI_SECONDS = 30.0
_HAS_BODY_FAULT = (400, 422)


def check_openclaw(args: Namespace) -> Iterator[Finding]:
    """Yield one finding for each thing that the pair needs."""
    path = openclaw_config.config_path(os.environ, args.home)
    try:
        _, settings = openclaw_config.read_config(path)
    except ConfigFault as fault:
        yield Finding("fail", "configuration", str(fault))
        return
    yield Finding("ok", "configuration", str(path))
    yield from _check_configuration(settings)
    yield _check_carrel(settings)
    yield from _check_gateway(settings)
    yield from _check_plugin(settings)


def openclaw_at_a_glance() -> Finding | None:
    """Report to `doctor` whether OpenClaw is set up; nothing if its configuration does not name our plugin."""
    path = openclaw_config.config_path(os.environ)
    try:
        _, settings = openclaw_config.read_config(path)
    except ConfigFault:
        return None
    if at(settings, ENTRY) is None:
        return None
    findings = [*_check_configuration(settings), _check_carrel(settings), *_check_plugin(settings)]
    missing = [finding for finding in findings if finding.state != "ok"]
    if not missing:
        return Finding("ok", "openclaw", f"{path} is set up, and the plugin is alive")
    first = f"{missing[0].what}: {missing[0].found}"
    return Finding("warn", "openclaw", first, "`carrel openclaw check` shows everything.")


def _check_configuration(settings: Settings) -> Iterator[Finding]:
    if (folder := next(openclaw_config.plugin_folders(settings), None)) is None:
        yield Finding("fail", "plugin", f"no folder in {'.'.join(PATHS)} holds it", SETUP)
    else:
        yield Finding("ok", "plugin", f"loaded from {folder}")
    if reason := _why_not_loaded(settings):
        yield Finding("fail", "plugin", reason, SETUP)
    if at(settings, (*ENTRY, "hooks", "allowConversationAccess")) is not True:
        unseen = f"{'.'.join(ENTRY)}.hooks.allowConversationAccess is not true, so the plugin sees no conversation"
        yield Finding("fail", "hooks", unseen, SETUP)
    else:
        yield Finding("ok", "hooks", "the plugin may see conversations and add context")
    if at(settings, RESPONSES) is not True:
        off = f"{'.'.join(RESPONSES)} is off, so Carrel cannot use OpenClaw's models"
        yield Finding("warn", "endpoint", off, SETUP)
    command = at(settings, (*MCP, "command"))
    if not command:
        yield Finding("warn", "mcp", f"{'.'.join(MCP)} is missing, so OpenClaw lacks Carrel's session tools", SETUP)
    elif shutil.which(str(command)) is None:
        yield Finding("fail", "mcp", f"{command} is not a program", SETUP)
    else:
        yield Finding("ok", "mcp", f"{command} {' '.join(at(settings, (*MCP, 'args')) or ())}")


def _why_not_loaded(settings: Settings) -> str:
    """Return which setting keeps the plugin from being loaded; empty if none does."""
    plugins: Mapping[str, Any] = at(settings, ("plugins",)) or {}
    allowed = plugins.get("allow")
    if plugins.get("enabled") is False:
        return "plugins.enabled is false, which turns all plugins off; set it to true"
    if PLUGIN_ID in (plugins.get("deny") or ()):
        return f"plugins.deny names {PLUGIN_ID}; take it out there"
    if isinstance(allowed, list) and allowed and PLUGIN_ID not in allowed:
        return f"plugins.allow does not name {PLUGIN_ID}"
    return "" if at(settings, (*ENTRY, "enabled")) is True else f"{'.'.join(ENTRY)}.enabled is not true"


def _check_carrel(settings: Settings) -> Finding:
    """Check that the server accepts the plugin's token, at the address that the plugin uses."""
    url, token = at(settings, BASE_URL), at(settings, TOKEN)
    if not url or not token:
        return Finding("fail", "carrel", "the plugin has no address or no token", SETUP)
    try:
        with Client(str(url), str(token), timeout_seconds=ANSWER_SECONDS) as client:
            actor = client.get("/api/auth/me")["actor"]
    except NotReachable:
        return Finding("fail", "carrel", f"no server answers at {url}", "Start it with `carrel up`; nothing is lost.")
    except (BridgeFault, KeyError, TypeError, ValueError) as fault:
        return Finding("fail", "carrel", f"{url} does not take the plugin's token ({fault})", SETUP)
    if actor["kind"] != "user":
        return Finding("warn", "carrel", f"the plugin has a token of kind {actor['kind']}; a user's is enough", SETUP)
    return Finding("ok", "carrel", f"{url} takes the plugin's token, as {actor['name']}")


def _check_gateway(settings: Settings) -> Iterator[Finding]:
    url = openclaw_config.gateway_url(settings, os.environ)
    try:
        secret = openclaw_config.gateway_secret(settings, os.environ)
    except ConfigFault as fault:
        yield Finding("warn", "gateway token", str(fault))
        secret = ""
    with Client(url, secret, timeout_seconds=ANSWER_SECONDS) as client:
        try:
            client.get("/health")
        except BridgeFault:
            yield Finding("fail", "gateway", f"no gateway answers at {url}", START)
            return
        yield Finding("ok", "gateway", f"{url} answers")
        if secret and at(settings, RESPONSES) is True:
            yield _check_responses(client)


def _check_responses(client: Client) -> Finding:
    """Send the endpoint an empty request: its answer shows whether it is on and accepts the token."""
    try:
        client.post("/v1/responses", {})
        status = 200
    except Refused as refused:
        status = refused.status
    except BridgeFault as fault:
        return Finding("warn", "endpoint", str(fault))
    if status in _HAS_BODY_FAULT:
        return Finding("ok", "endpoint", "/v1/responses is on and takes the gateway's token")
    if status == 404:
        return Finding("fail", "endpoint", "/v1/responses is off in the running gateway", f"Restart it. {START}")
    why = "the gateway refuses its token" if status in (401, 403) else f"/v1/responses responds with {status}"
    return Finding("fail", "endpoint", why, "Restart the gateway: it may have been started with another token.")


def _check_plugin(settings: Settings) -> Iterator[Finding]:
    """Check by the queue whether the plugin is alive and whether what it recorded arrives."""
    path = openclaw_config.queue_path(settings)
    try:
        queue = read_openclaw_queue(path)
    except BridgeFault as fault:
        yield Finding("fail", "plugin in the gateway", str(fault), f"Remove {path} while the gateway is stopped.")
        return
    if queue is None or queue.lease_until_ms < SystemClock().now_ms():
        yield Finding("fail", "plugin in the gateway", _why_not_alive(settings), f"Restart the gateway. {START}")
    else:
        yield Finding("ok", "plugin in the gateway", "alive")
    if queue is None:
        return
    taken = f"Carrel has taken {queue.taken} entries of it"
    if queue.waiting:
        late = f"{queue.waiting} entries wait in {path}; {taken}"
        yield Finding("warn", "outbox", late, "They are sent once the server takes them; look again in a minute.")
    elif queue.refused:
        yield Finding("warn", "outbox", f"the server has refused {queue.refused} entries ({queue.last_refusal})")
    else:
        hint = "" if queue.taken else "Say something in a channel of OpenClaw."
        yield Finding("ok", "outbox", f"nothing waits; {taken}", hint)


def _why_not_alive(settings: Settings) -> str:
    """Return why the plugin gives no sign of life; OpenClaw's program, if installed, knows more."""
    silent = "it gives no sign of life"
    program = shutil.which("openclaw")
    if program is None:
        return silent
    command = [program, "gateway", "call", "plugins.list", "--params", "{}", "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=CLI_SECONDS, check=True)
        listed = json.loads(done.stdout)["plugins"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        return silent
    ours = next((plugin for plugin in listed if plugin.get("id") == PLUGIN_ID), None)
    if ours is None:
        return f"{silent}, and OpenClaw does not list it"
    return f"{silent}; OpenClaw says it is {ours.get('state')}, in the gateway {at(ours, ('runtime', 'state'))}"
