"""`status` and `doctor`: the server at a glance; what can go wrong, and how to fix it."""

import os
import socket
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import convert

from carrel.bridge import BridgeFault, Client, NotReachable, Refused, Run, running_url
from carrel.kernel import Code, Refusal
from carrel.main.cli.command import Failure, command
from carrel.main.cli.connect import probe_server
from carrel.main.cli.discovery import connect, local_settings, uses_owner_token
from carrel.main.cli.humanize import age
from carrel.main.cli.openclaw_check import openclaw_at_a_glance
from carrel.main.cli.output import Finding, Screen, first_line, report
from carrel.main.cli.request import Item, request
from carrel.main.cli.run_results import question_of, why_ended
from carrel.main.login_page import RENEW

if TYPE_CHECKING:
    from carrel.kernel.settings import GatewaySettings, Settings
    from carrel.main.settings import LoadedSettings


CONNECT = "Connect one with `carrel connect`."


def without_model(kinds: Mapping[str, str]) -> str:
    """Say that the built-in agent answers in place of a model, given the kinds of all gateways; empty if none does."""
    if kinds.get("default", "builtin") != "builtin":
        return ""
    if all(kind in ("builtin", "") for kind in kinds.values()):
        return "No model is connected; the built-in agent answers."
    return "There is no gateway.default; the built-in agent answers for agents that name no gateway."


def gateway_faults(gateways: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield each gateway of a health report that cannot be used, and why."""
    for one in gateways:
        if one["status"] != "ok":
            # One without a kind is named by agents and is not in the settings; it was never up.
            since = f"down for {age(one['since'])}: " if one.get("kind") else ""
            waiting = f" Runs that wait for it: {one['waitingRuns']}." if one.get("waitingRuns") else ""
            yield one["name"], f"{since}{one.get('lastError') or 'not configured'}{waiting}"


_SHOWN = 10


def _status(client: Client, _: Namespace) -> Any:
    file = None
    # Not everyone may know the settings.
    with suppress(Refused):
        file = client.get("/api/settings").get("file")
    return {
        "url": client.url,
        "version": client.get("/healthz")["version"],
        "health": client.get("/api/health"),
        "settingsFile": file,
        "waiting": client.runs.list(waiting_for="person", limit=_SHOWN).raw["runs"],
        "failed": client.runs.list(state="failed", limit=_SHOWN).raw["runs"],
    }


def _show_status(found: Item, _: Namespace, screen: Screen) -> None:
    health = found["health"]
    lanes, waiting = health.get("lanes") or {}, health.get("waiting") or {}
    screen.facts([
        ("server", found["url"]),
        ("version", found["version"]),
        ("settings", found["settingsFile"]),
        ("status", health.get("status")),
        ("unhealthy", [name for name, state in (health.get("checks") or {}).items() if state != "ok"]),
        ("cannot write", health.get("storageError")),
        ("lanes busy", lanes.get("busy")),
        ("runs queued", lanes.get("queued")),
        ("lanes stuck", lanes.get("stuck")),
        ("waiting for you", waiting.get("person")),
        ("waiting for a program", waiting.get("program")),
        ("recent failures", len(found["failed"])),
    ])  # fmt: skip
    gateways = health.get("gateways") or []
    for _name, why in gateway_faults(gateways):
        screen.note(why[:1].upper() + why[1:])
    if gateways and (lacking := without_model({one["name"]: one.get("kind", "") for one in gateways})):
        screen.note(f"{lacking} {CONNECT}")
    _show_runs("Waiting for you", found["waiting"], question_of, screen)
    _show_runs("Failed", found["failed"], why_ended, screen)


def _show_runs(title: str, runs: list[Item], words: Callable[[Run], str], screen: Screen) -> None:
    if runs and screen.is_terminal:
        rows = [
            (run.id, run.session_key, age(run.ended_at or run.created_at), first_line(words(run), 120))
            for run in convert(runs, list[Run])
        ]
        screen.line()
        screen.out.write(screen.paint("bold", title) + "\n")
        screen.table(("RUN", "SESSION", "AGE", "DETAILS"), rows)


def doctor(args: Namespace, screen: Screen) -> int:
    """Check the machine, the settings, the store, the server and OpenClaw; exit with 1 if anything must be fixed."""
    return report(_findings(args), screen)


def _findings(args: Namespace) -> Iterator[Finding]:
    yield Finding("ok", "python", ".".join(str(part) for part in sys.version_info[:3]))
    try:
        loaded = local_settings(args)
    except Failure as fault:
        for problem in str(fault).splitlines():
            yield Finding("fail", "settings", problem, "Correct the name or value it mentions.")
        return
    yield from _check_settings_file(loaded)
    for notice in loaded.notices:
        yield Finding("warn", "settings", notice)
    yield from _check_directory(loaded.settings.storage.data_dir)
    yield _check_store(loaded.settings.storage.url)
    for name, gateway in loaded.settings.gateway.items():
        if gateway.kind in ("openclaw", "responses", "chat", "anthropic"):
            yield _check_model(name, gateway)
        if gateway.kind == "acp":
            yield _check_coding_agent(name, gateway)
    yield from _check_server(args, loaded)
    if (finding := openclaw_at_a_glance()) is not None:
        yield finding


def _check_settings_file(loaded: "LoadedSettings") -> Iterator[Finding]:
    """Report the settings file that applies here, and the data directory's if it is not read."""
    from carrel.main.settings_file import unread_file

    path = loaded.file.path.expanduser().absolute()
    changed = f"{sum(row.source != 'default' for row in loaded.rows)} changed from the default"
    yield Finding("ok", "settings", f"{path}{'' if path.exists() else ', which is not there yet'}; {changed}")
    if unread := unread_file(loaded.file, loaded.settings.storage.data_dir):
        advice = f"Move what is still needed into {unread}, and remove {path}."
        yield Finding("warn", "settings", f"{unread} is not read; {path} is", advice)


def _check_model(name: str, settings: "GatewaySettings") -> Finding:
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
    if "openclaw" in found.kinds and kind != "openclaw":
        line = f'Write kind = "openclaw" in [gateway.{name}]: it refuses what other kinds send.'
        return Finding("fail", what, f"{settings.base_url} is an OpenClaw gateway", line)
    if found.needs_key:
        return Finding("fail", what, "the server refuses the key, or needs one", f"Set gateway.{name}.api_key_env.")
    if settings.model and found.models and settings.model not in found.models and kind != "openclaw":
        listed = ", ".join(found.models[:10])
        return Finding("warn", what, f"the server does not list the model {settings.model}", f"It lists {listed}.")
    return Finding("ok", what, f"{settings.base_url} speaks {kind}")


def _check_coding_agent(name: str, settings: "GatewaySettings") -> Finding:
    """Start the coding agent of a gateway as the server would, ask who it is, and end it."""
    import asyncio

    from carrel.gateway import AcpGateway, GatewayFault

    what, gateway = f"gateway.{name}", AcpGateway(name, settings, lambda life: life.close())
    try:
        agent = asyncio.run(gateway.introduce())
    except GatewayFault as fault:
        return Finding("fail", what, fault.message, f"Correct [gateway.{name}], or set up the agent it starts.")
    return Finding("ok", what, f"{settings.command} speaks the Agent Client Protocol" + (f": {agent}" if agent else ""))


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


def _check_server(args: Namespace, loaded: "LoadedSettings") -> Iterator[Finding]:
    with connect(args) as client:
        try:
            version = client.get("/healthz")["version"]
        except (BridgeFault, KeyError, TypeError) as fault:
            yield from _not_running(fault, client, loaded.settings)
            yield from _check_connected({name: one.kind for name, one in loaded.settings.gateway.items()})
            return
        yield Finding("ok", "server", f"{client.url}, version {version}")
        yield _check_token(client, args)
        # Why these may get no answer is reported by the others.
        with suppress(BridgeFault):
            yield from _check_file_in_use(client, loaded)
        yield from _check_readiness(client)
        with suppress(BridgeFault):
            yield from _check_gateways(client)


def _check_file_in_use(client: Client, loaded: "LoadedSettings") -> Iterator[Finding]:
    """Warn if the server of this data directory reads another settings file than the one that applies here."""
    from carrel.main.settings_file import is_same

    if client.url != running_url(loaded.settings.storage.data_dir):
        return
    file = client.get("/api/settings")["file"]
    here = loaded.file.path.absolute()
    if not is_same(Path(file), here):
        advice = f"Restart it in this directory to use {here}."
        yield Finding("warn", "settings", f"the running server reads {file}", advice)


def _check_connected(kinds: Mapping[str, str]) -> Iterator[Finding]:
    if lacking := without_model(kinds):
        yield Finding("warn", "model", lacking, CONNECT)


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


def _check_token(client: Client, args: Namespace) -> Finding:
    try:
        me = client.get("/api/auth/me")
    except Refused as fault:
        advice = RENEW if uses_owner_token(args) else "Pass a valid one with --token or CARREL_TOKEN."
        return Finding("fail", "token", str(fault), advice)
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
    advice = {
        "gateway": "Check gateway.* in the settings, and that the model server is running.",
        "storage": "See `carrel status` and the server's log; is the disk full?",
    }
    for name, state in (checks or {}).items():
        word: Literal["ok", "warn", "fail"] = "ok" if state == "ok" else "warn" if state == "degraded" else "fail"
        yield Finding(word, name, str(state), "" if word == "ok" else advice.get(name, "See the server's log."))


def _check_gateways(client: Client) -> Iterator[Finding]:
    gateways = client.get("/api/health").get("gateways") or []
    for name, why in gateway_faults(gateways):
        yield Finding("warn", f"gateway.{name}", why)
    if gateways:
        yield from _check_connected({one["name"]: one.get("kind", "") for one in gateways})


COMMANDS = (
    request("status", "show the state of the server", _status, _show_status),
    command("doctor", "find problems and say how to fix them", doctor),
)
