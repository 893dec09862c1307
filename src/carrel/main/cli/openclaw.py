"""`openclaw`: connect an OpenClaw with this server, check the pair, and disconnect them again."""

import argparse
import os
import re
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from carrel.bridge import BridgeFault, Client, Refused, is_local
from carrel.kernel import elapsed_seconds
from carrel.main import openclaw_config
from carrel.main.cli.command import YES, Exit, Failure, command, option
from carrel.main.cli.connect import running_server
from carrel.main.cli.discovery import connect, local_settings, local_settings_file
from carrel.main.cli.mcp import mcp_entry
from carrel.main.cli.openclaw_check import START, check_openclaw
from carrel.main.cli.output import Screen, report
from carrel.main.json5 import Json5Fault
from carrel.main.openclaw_config import BASE_URL, TOKEN, ConfigFault, Settings, WantedConfig, at
from carrel.main.replace_file import changed_lines, replace_file, text_of

if TYPE_CHECKING:
    from carrel.kernel.settings import GatewaySettings

USER = {"name": "OpenClaw", "slug": "openclaw"}
TOKEN_NAME = "OpenClaw plugin"  # noqa: S105  (what the list of tokens calls it)
NEW_TOKEN = "<a new token>"  # noqa: S105  (shown until there is one)
KIND = "openclaw"
KEY_FILE = "openclaw_gateway_token"
BACKUP_SUFFIX = ".before-carrel"
LOOK_SECONDS = 1.0
# A quoted value after such a name, except the placeholder for a token that is still to be created.
_SECRET = re.compile(r"((?:token|password|secret|api_?key)[\"']?\s*:\s*[\"'])[^\"'<]*([\"'])", re.IGNORECASE)


class Change(NamedTuple):
    """A file, its present content, and its future one."""

    path: Path
    before: str
    after: str
    # Whether the file is nothing but a secret.
    is_secret: bool = False

    @property
    def diff(self) -> list[str]:
        """The difference, as a person reads it; secrets are not shown."""
        if self.is_secret:
            return [f"+++ {self.path}", "+(the gateway's token)"]
        # All secrets are masked, not only ours.
        before, after = (_SECRET.sub(r"\1…\2", text) for text in (self.before, self.after))
        return changed_lines(self.path, before, after)


@contextmanager
def _told_as_failures() -> Iterator[None]:
    try:
        yield
    except (ConfigFault, Json5Fault) as fault:
        raise Failure(Exit.FAILED, f"{fault}") from fault
    except OSError as fault:
        raise Failure(Exit.FAILED, f"{fault.filename} cannot be changed ({fault.strerror}).") from fault


def setup(args: Namespace, screen: Screen) -> int:
    path = openclaw_config.config_path(os.environ, args.home)
    with _told_as_failures(), connect(args) as client:
        text, settings = openclaw_config.read_config(path)
        token = _working_token(client, settings)
        ours = Change(path, text, openclaw_config.with_carrel(text, _wanted(args, client, token or NEW_TOKEN)))
        backend = _only_changed(_backend(args, settings)) if args.backend else []
        changes = [*_only_changed([ours]), *backend]
        if not changes or not _agreed(args, changes, screen):
            return _ended(changes, screen)
        if ours in changes:
            _refuse_if_kept_elsewhere(path)
            final = openclaw_config.with_carrel(text, _wanted(args, client, token or _new_token(client)))
            _write_with_backup(ours._replace(after=final), screen)
        if backend:
            _write_backend(args, backend, screen)
        screen.note(_takes_effect(settings))
    screen.note("See that it works with `carrel openclaw check`; `carrel openclaw remove` takes it back.")
    return _ended(changes, screen, written=True)


def check(args: Namespace, screen: Screen) -> int:
    """Check everything that the pair needs; exit with 1 if something is missing."""
    deadline = elapsed_seconds() + args.wait
    with screen.waiting("looking until nothing is missing…"):
        while elapsed_seconds() < deadline:
            if all(finding.state == "ok" for finding in check_openclaw(args)):
                break
            time.sleep(LOOK_SECONDS)
    return report(check_openclaw(args), screen)


def remove(args: Namespace, screen: Screen) -> int:
    path = openclaw_config.config_path(os.environ, args.home)
    with _told_as_failures():
        text, settings = openclaw_config.read_config(path)
        changes = _only_changed([Change(path, text, openclaw_config.without_carrel(text))])
        if not changes or not _agreed(args, changes, screen):
            return _ended(changes, screen)
        _refuse_if_kept_elsewhere(path)
        _write_with_backup(changes[0], screen)
        _revoke(args, settings, screen)
        screen.note(_takes_effect(settings))
    return _ended(changes, screen, written=True)


def _only_changed(changes: list[Change]) -> list[Change]:
    return [change for change in changes if change.before != change.after]


def _wanted(args: Namespace, client: Client, token: str) -> WantedConfig:
    return WantedConfig(openclaw_config.plugin_folder(), client.url, token, mcp_entry(args))


def _working_token(client: Client, settings: Settings) -> str:
    """Return the plugin's token if the server accepts it; empty if the plugin needs a new one."""
    token = at(settings, TOKEN)
    if not isinstance(token, str) or not token or at(settings, BASE_URL) != client.url:
        return ""
    with suppress(Refused, ValueError), Client(client.url, token) as as_plugin:
        if as_plugin.get("/api/auth/me")["actor"]["kind"] == "user":
            return token
    return ""


def _new_token(client: Client) -> str:
    """Create a token of a user that stands for OpenClaw: an agent could only add notes, an owner could do anything."""
    users = client.get("/api/users")["users"]
    known = next((user for user in users if user["slug"] == USER["slug"]), None)
    user = known or client.post("/api/users", USER)["user"]
    body = {"kind": "user", "userId": user["id"], "name": TOKEN_NAME}
    return str(client.post("/api/tokens", body)["secret"])


def _agreed(args: Namespace, changes: list[Change], screen: Screen) -> bool:
    """Show the changes and ask; without anybody to ask, only --yes is a yes."""
    if not screen.as_json:
        for line in (line for change in changes for line in change.diff):
            screen.line(line)
    if args.dry_run or args.yes:
        return not args.dry_run
    if not sys.stdin.isatty():
        raise Failure(Exit.USAGE, "Nothing was changed; pass --yes to write this, or --dry-run to only see it.")
    if not screen.agrees("Write this?"):
        raise Failure(Exit.FAILED, "Nothing was changed.")
    return True


def _ended(changes: list[Change], screen: Screen, *, written: bool = False) -> int:
    if screen.as_json:
        listed = [{"file": str(change.path), "diff": "\n".join(change.diff)} for change in changes]
        return screen.json({"written": written, "changes": listed})
    if not written:
        screen.note("Nothing was written." if changes else "Nothing to do: everything is as it should be.")
    return Exit.OK


def _refuse_if_kept_elsewhere(path: Path) -> None:
    if openclaw_config.is_immutable(os.environ):
        why = f"OpenClaw is told that {path} is managed elsewhere (OPENCLAW_CONFIG_READONLY); change it there."
        raise ConfigFault(why)
    if path.exists() and not path.stat().st_mode & 0o222:
        raise ConfigFault(f"{path} is read-only. Run `chmod u+w {path}` if you want it changed, and try again.")


def _write_with_backup(change: Change, screen: Screen) -> None:
    # It contains a token from now on, so only its owner may read it; OpenClaw itself keeps it so.
    backup = change.path.with_name(change.path.name + BACKUP_SUFFIX)
    replace_file(backup, change.before, mode=0o600)
    replace_file(change.path, change.after, mode=0o600)
    screen.note(f"Wrote {change.path}; what it was before is in {backup.name} beside it.")


def _takes_effect(settings: Settings) -> str:
    """Say whether the gateway must be restarted: it watches its configuration unless set not to."""
    url = openclaw_config.gateway_url(settings, os.environ)
    try:
        with Client(url, timeout_seconds=5.0) as client:
            client.get("/health")
    except BridgeFault:
        return f"No gateway is running at {url}. {START}"
    if at(settings, ("gateway", "reload", "mode")) == "off":
        how = "`openclaw gateway restart`"
        return f"The running gateway does not reload its configuration (gateway.reload.mode): {how}."
    return f"The gateway at {url} takes this up by itself within seconds; it needs no restart."


def _backend(args: Namespace, settings: Settings) -> list[Change]:
    """Return the changes that make OpenClaw's gateway one of Carrel's: its token in a file, and the settings."""
    from carrel.kernel import Refusal
    from carrel.main.settings_edit import with_gateway

    if args.url and not is_local(args.url):
        raise Failure(Exit.USAGE, "--backend changes the settings of a server on this machine; run it there.")
    loaded = local_settings(args).settings
    fields = {"kind": KIND, "base_url": openclaw_config.gateway_url(settings, os.environ), "model": "openclaw"}
    key_file = loaded.storage.data_dir.expanduser().absolute() / KEY_FILE
    secret = openclaw_config.gateway_secret(settings, os.environ)
    fields |= {"api_key_file": str(key_file)} if secret else {}
    path = local_settings_file(args).path
    before = text_of(path)
    try:
        after = with_gateway(before, _gateway_name(loaded.gateway), fields)
    except Refusal as refusal:
        raise Failure(Exit.FAILED, f"{path}: {refusal}") from refusal
    key = Change(key_file, text_of(key_file), f"{secret}\n", is_secret=True)
    return [*([key] if secret else []), Change(path, before, after)]


def _gateway_name(gateways: Mapping[str, "GatewaySettings"]) -> str:
    """Return the name for OpenClaw's gateway: its present one, else `default` if no other model has that."""
    ours = next((name for name, one in gateways.items() if one.kind == KIND), "")
    has_default = "default" in gateways and gateways["default"].kind != "builtin"
    return ours or ("openclaw" if has_default else "default")


def _write_backend(args: Namespace, changes: list[Change], screen: Screen) -> None:
    server = running_server(args, local_settings_file(args).path)
    for change in changes:
        replace_file(change.path, change.after, mode=0o600 if change.is_secret else None)
        screen.note(f"Wrote {change.path.absolute()}.")
    if server is not None:
        server.post("/api/settings/reload")


def _revoke(args: Namespace, settings: Settings, screen: Screen) -> None:
    token = str(at(settings, TOKEN) or "")
    parts = token.split("_")
    if len(parts) != 4:
        return
    try:
        with connect(args) as client:
            client.delete(f"/api/tokens/tok_{parts[2]}")
    except BridgeFault as fault:
        screen.note(f"The plugin's token was not revoked: {fault} `carrel token revoke` does it later.")


_HOME = option("--home", "DIR", "OpenClaw's folder (default: where OpenClaw looks, ~/.openclaw)", type=Path)
_DRY_RUN = option("--dry-run", "", "show the changes, and write nothing", action="store_true")
COMMANDS = (
    command(
        "openclaw setup", "connect an OpenClaw: show what its configuration needs, and write it", setup, _HOME,
        _DRY_RUN, YES,
        option("--backend", "", "also let Carrel's agents run on OpenClaw's gateway",
               action=argparse.BooleanOptionalAction, default=False),
        examples=("--dry-run", "--backend"),
    ),
    command(
        "openclaw check", "say what is missing between OpenClaw and this server", check, _HOME,
        option("--wait", "SECONDS", "check until nothing is missing, at most this long", type=float, default=0.0),
        examples=("", "--wait 60"),
    ),
    command("openclaw remove", "take the plugin and its token out of OpenClaw again", remove, _HOME, _DRY_RUN, YES,
            examples=("",)),
)  # fmt: skip
