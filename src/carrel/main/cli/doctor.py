"""`doctor`: check what can go wrong and say how to fix it."""

import os
import socket
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from carrel.bridge import BridgeFault, Client, NotReachable, Refused, running_url
from carrel.kernel import Code, Refusal
from carrel.main.cli.command import Command, Exit, Failure
from carrel.main.cli.discovery import connect, local_settings
from carrel.main.cli.model_probe import probe_server
from carrel.main.cli.output import Screen
from carrel.main.cli.wording import age

if TYPE_CHECKING:
    from carrel.kernel.settings import GatewaySettings, Settings


class Finding(NamedTuple):
    """One check: its state, what was found, and how to fix it."""

    state: Literal["ok", "warn", "fail"]
    what: str
    found: str
    advice: str = ""


def doctor(args: Namespace, screen: Screen) -> int:
    """Check the machine, the settings, the store and the server; exit with 1 if anything must be fixed."""
    findings: list[Finding] = []
    for finding in _findings(args):
        findings.append(finding)
        if not screen.as_json:
            _show(finding, screen)
    if screen.as_json:
        screen.json({"findings": [finding._asdict() for finding in findings]})
    return Exit.FAILED if any(finding.state == "fail" for finding in findings) else Exit.OK


def _show(finding: Finding, screen: Screen) -> None:
    screen.out.write(screen.state(finding.state.ljust(4)) + "  ")
    screen.line(f"{finding.what}: {finding.found}")
    if finding.advice:
        screen.line(f"      → {finding.advice}")
    screen.out.flush()


def _findings(args: Namespace) -> Iterator[Finding]:
    version = ".".join(str(part) for part in sys.version_info[:3])
    old = sys.version_info < (3, 11)
    yield Finding("fail" if old else "ok", "python", version, "Carrel needs 3.11 or newer." if old else "")
    try:
        loaded = local_settings(args)
    except Failure as fault:
        for problem in str(fault).splitlines():
            yield Finding("fail", "settings", problem, "Correct the name or value it mentions.")
        return
    yield Finding("ok", "settings", f"{sum(row.source != 'default' for row in loaded.rows)} changed from the default")
    for notice in loaded.notices:
        yield Finding("warn", "settings", notice)
    yield from _check_directory(loaded.settings.storage.data_dir)
    yield _check_store(loaded.settings.storage.url)
    for name, gateway in loaded.settings.gateway.items():
        if gateway.kind in ("responses", "chat", "anthropic"):
            yield _check_model(name, gateway)
    yield from _check_server(args, loaded.settings)


def _check_model(name: str, settings: "GatewaySettings") -> Finding:
    """Check that the server of a gateway answers, takes the key and speaks the dialect of the settings."""
    from carrel.gateway import gateway_key

    what, kind = f"gateway.{name}", settings.kind
    try:
        found = probe_server(settings.base_url, gateway_key(name, settings))
    except ValueError as error:
        return Finding("fail", what, str(error))
    if found.trouble:
        return Finding("fail", what, found.trouble, f"Start the server, or correct gateway.{name}.base_url.")
    if kind not in found.kinds:
        line = f'Write kind = "{found.kinds[0]}" in [gateway.{name}].'
        return Finding("fail", what, f"{settings.base_url} speaks {', '.join(found.kinds)}, not {kind}", line)
    if found.needs_key:
        return Finding("fail", what, "the server refuses the key, or needs one", f"Set gateway.{name}.api_key_env.")
    if settings.model and found.models and settings.model not in found.models:
        listed = ", ".join(found.models[:10])
        return Finding("warn", what, f"the server does not list the model {settings.model}", f"It lists {listed}.")
    return Finding("ok", what, f"{settings.base_url} speaks {kind}")


def _check_directory(data_dir: Path) -> Iterator[Finding]:
    if not data_dir.exists():
        yield Finding("warn", "data directory", f"{data_dir} does not exist", "The first `carrel up` creates it.")
        return
    if not os.access(data_dir, os.R_OK | os.W_OK | os.X_OK):
        yield Finding("fail", "data directory", f"{data_dir} is not writable", f"Try: chown $USER {data_dir}")
        return
    yield Finding("ok", "data directory", str(data_dir))
    token = data_dir / "owner_token"
    if token.exists() and token.stat().st_mode & 0o077:
        yield Finding("fail", "owner token", "other users on this machine can read it", f"Run: chmod 600 {token}")
    elif not token.exists():
        yield Finding("warn", "owner token", "none yet", "The first `carrel up` creates it.")


def _check_store(url: str) -> Finding:
    """Check the store itself; this is safe while a server is running."""
    from carrel.storage import examine

    try:
        found = examine(url)
    except Refusal as refusal:
        if refusal.code is Code.NOT_FOUND:
            return Finding("warn", "store", refusal.message, "The first `carrel up` creates it.")
        return Finding("fail", "store", refusal.message, "Make it readable, or move it aside and restore a backup.")
    if not found.sound:
        return Finding("fail", "store", "the database is damaged", "Move it aside and restore a backup.")
    if found.applied > found.known:
        newer = f"schema {found.applied} is newer than this version's ({found.known})"
        return Finding("fail", "store", newer, "Use the newer version of Carrel.")
    if found.applied < found.known:
        older = f"schema {found.applied}, needs {found.known}"
        return Finding("warn", "store", older, "`carrel migrate` or the next start upgrades it.")
    return Finding("ok", "store", f"intact, schema {found.applied}")


def _check_server(args: Namespace, settings: "Settings") -> Iterator[Finding]:
    with connect(args) as client:
        try:
            version = client.get("/healthz")["version"]
        except (BridgeFault, KeyError, TypeError) as fault:
            yield from _not_running(fault, client, settings)
            return
        yield Finding("ok", "server", f"{client.url}, version {version}")
        yield _check_token(client)
        yield from _check_readiness(client)
        yield from _check_gateways(client)


def _not_running(fault: Exception, client: Client, settings: "Settings") -> Iterator[Finding]:
    if isinstance(fault, NotReachable):
        yield Finding("warn", "server", f"no server answers at {client.url}", "Start one with `carrel up`.")
    else:
        yield Finding("fail", "server", f"{client.url} is not a Carrel server", "Use another port or --url.")
    if settings.server.port and not running_url(settings.storage.data_dir):
        yield _check_port(settings.server.host, settings.server.port)


def _check_port(host: str, port: int) -> Finding:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as fault:
            return Finding("fail", "port", f"{host}:{port}: {fault.strerror}", "Set server.port to a free port.")
    return Finding("ok", "port", f"{port} is free")


def _check_token(client: Client) -> Finding:
    try:
        me = client.get("/api/auth/me")
    except Refused as fault:
        return Finding("fail", "token", str(fault), "Pass a valid one with --token or CARREL_TOKEN.")
    except BridgeFault as fault:
        return Finding("warn", "token", str(fault))
    return Finding("ok", "token", f"{me['actor']['kind']} of account {me['account']['slug']}")


def _check_readiness(client: Client) -> Iterator[Finding]:
    try:
        ready = client.get("/readyz")
    except Refused as fault:
        # A server that is not ready answers with an error status and gives the reasons in the body.
        ready = fault.answer
    except BridgeFault as fault:
        yield Finding("warn", "readiness", str(fault), "See the server's log.")
        return
    checks = ready.get("checks") if isinstance(ready, dict) else None
    advice = {"gateway": "Check gateway.* in the settings, and that the model server is running."}
    for name, state in (checks or {}).items():
        word: Literal["ok", "warn", "fail"] = "ok" if state == "ok" else "warn" if state == "degraded" else "fail"
        yield Finding(word, name, str(state), "" if word == "ok" else advice.get(name, "See the server's log."))


def _check_gateways(client: Client) -> Iterator[Finding]:
    try:
        gateways = client.get("/api/health").get("gateways") or []
    except BridgeFault:
        # What is wrong with the server or the token was told above.
        return
    for one in gateways:
        if one["status"] != "ok":
            yield Finding("warn", f"gateway.{one['name']}", f"down for {age(one['since'])}: {one['lastError']}")


COMMANDS = (Command("doctor", "find problems and say how to fix them", doctor),)
