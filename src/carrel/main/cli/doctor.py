"""`doctor`: look at everything that can be wrong and say what to do about it."""

import os
import socket
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from carrel.bridge import BridgeFault, Client, NotReachable, Refused
from carrel.kernel import Code, Refusal
from carrel.main.cli.command import Command, Exit, Failure
from carrel.main.cli.connection import local_settings, reach, running_url
from carrel.main.cli.output import Screen

if TYPE_CHECKING:
    from carrel.kernel.settings import Settings


class Finding(NamedTuple):
    """One thing that was looked at: how it is, and what to do when it is not well."""

    state: Literal["ok", "warn", "fail"]
    what: str
    found: str
    advice: str = ""


def doctor(args: Namespace, screen: Screen) -> int:
    """Check the machine, the settings, the store and the server; ends with 1 when something must be mended."""
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
            yield Finding("fail", "settings", problem, "Mend the name or value it says.")
        return
    yield Finding("ok", "settings", f"{sum(row.source != 'default' for row in loaded.rows)} differ from the default")
    for notice in loaded.notices:
        yield Finding("warn", "settings", notice)
    yield from _check_directory(loaded.settings.storage.data_dir)
    yield _check_store(loaded.settings.storage.url)
    yield from _check_server(args, loaded.settings)


def _check_directory(data_dir: Path) -> Iterator[Finding]:
    if not data_dir.exists():
        yield Finding("warn", "data directory", f"{data_dir} is not there", "The first `carrel up` makes it.")
        return
    if not os.access(data_dir, os.R_OK | os.W_OK | os.X_OK):
        yield Finding("fail", "data directory", f"{data_dir} cannot be written", f"Try: chown $USER {data_dir}")
        return
    yield Finding("ok", "data directory", str(data_dir))
    token = data_dir / "owner_token"
    if token.exists() and token.stat().st_mode & 0o077:
        yield Finding("fail", "owner token", "others on this machine can read it", f"chmod 600 {token}")
    elif not token.exists():
        yield Finding("warn", "owner token", "there is none yet", "The first `carrel up` writes it.")


def _check_store(url: str) -> Finding:
    """Look at the store itself; it works beside a running server too."""
    from carrel.storage import examine

    try:
        found = examine(url)
    except Refusal as refusal:
        if refusal.code is Code.NOT_FOUND:
            return Finding("warn", "store", refusal.message, "The first `carrel up` makes it.")
        return Finding("fail", "store", refusal.message, "Make it readable, or move it away and restore a backup.")
    if not found.sound:
        return Finding("fail", "store", "the database is damaged", "Move it away and restore a backup.")
    if found.applied > found.known:
        newer = f"schema {found.applied} is newer than {found.known}"
        return Finding("fail", "store", newer, "Start the newer version of Carrel.")
    if found.applied < found.known:
        older = f"schema {found.applied} of {found.known}"
        return Finding("warn", "store", older, "`carrel migrate`, or the next start, brings it up.")
    return Finding("ok", "store", f"sound, schema {found.applied}")


def _check_server(args: Namespace, settings: "Settings") -> Iterator[Finding]:
    with reach(args) as client:
        try:
            version = client.get("/healthz")["version"]
        except (BridgeFault, KeyError, TypeError) as fault:
            yield from _not_there(fault, client, settings)
            return
        yield Finding("ok", "server", f"{client.url}, version {version}")
        yield _check_token(client)
        yield from _check_readiness(client)


def _not_there(fault: Exception, client: Client, settings: "Settings") -> Iterator[Finding]:
    if isinstance(fault, NotReachable):
        yield Finding("warn", "server", f"none answers at {client.url}", "Start one with `carrel up`.")
    else:
        yield Finding("fail", "server", f"{client.url} does not answer like Carrel", "Take another port or --url.")
    if settings.server.port and not running_url(settings.storage.data_dir):
        yield _check_port(settings.server.host, settings.server.port)


def _check_port(host: str, port: int) -> Finding:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as fault:
            return Finding("fail", "port", f"{host}:{port}: {fault.strerror}", "Set server.port to a free one.")
    return Finding("ok", "port", f"{port} is free")


def _check_token(client: Client) -> Finding:
    try:
        me = client.get("/api/auth/me")
    except Refused as fault:
        return Finding("fail", "token", str(fault), "Give one with --token or CARREL_TOKEN.")
    except BridgeFault as fault:
        return Finding("warn", "token", str(fault))
    return Finding("ok", "token", f"{me['actor']['kind']} of account {me['account']['slug']}")


def _check_readiness(client: Client) -> Iterator[Finding]:
    try:
        ready = client.get("/readyz")
    except Refused as fault:
        # A server that is not ready says so by its status, and in its answer why.
        ready = fault.answer
    except BridgeFault as fault:
        yield Finding("warn", "readiness", str(fault), "The server's log says more.")
        return
    checks = ready.get("checks") if isinstance(ready, dict) else None
    advice = {"gateway": "Look at gateway.* in the settings and whether that server runs."}
    for name, state in (checks or {}).items():
        word: Literal["ok", "warn", "fail"] = "ok" if state == "ok" else "warn" if state == "degraded" else "fail"
        yield Finding(word, name, str(state), "" if word == "ok" else advice.get(name, "The server's log says more."))


COMMANDS = (Command("doctor", "check everything and say what to do", doctor),)
