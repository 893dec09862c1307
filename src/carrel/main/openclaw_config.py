"""OpenClaw's configuration: where it is, what Carrel needs in it, and how its gateway is reached."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from carrel.main.json5 import EMPTY, Json5Fault, read, with_item, with_value, without_item, without_value

PLUGIN_ID = "carrel"
PORT = 18789
QUEUE = "~/.carrel/openclaw-queue.sqlite"
PATHS = ("plugins", "load", "paths")
ENTRY = ("plugins", "entries", PLUGIN_ID)
TOKEN = (*ENTRY, "config", "token")
BASE_URL = (*ENTRY, "config", "baseUrl")
RESPONSES = ("gateway", "http", "endpoints", "responses", "enabled")
MCP = ("mcp", "servers", PLUGIN_ID)
_INCLUDE = "$include"
_VARIABLE = re.compile(r"\$\{([A-Z_][A-Z0-9_]*)\}")

Settings = Mapping[str, Any]


class ConfigFault(Exception):
    """A configuration that cannot be read or changed; says what to do."""


class WantedConfig(NamedTuple):
    """The values in a configuration that differ between installations."""

    folder: Path
    base_url: str
    token: str
    mcp_entry: Settings


def config_path(env: Mapping[str, str], home: Path | None = None) -> Path:
    """Return the configuration that OpenClaw reads, in its folder if that is named; the environment is OpenClaw's."""
    if home is not None:
        return home.expanduser().absolute() / "openclaw.json"
    base = Path(env.get("OPENCLAW_HOME", "").strip() or Path.home()).expanduser()
    if named := env.get("OPENCLAW_CONFIG_PATH", "").strip():
        return _below(base, named)
    if state := env.get("OPENCLAW_STATE_DIR", "").strip():
        return _below(base, state) / "openclaw.json"
    profile = env.get("OPENCLAW_PROFILE", "").strip()
    suffix = f"-{profile}" if profile and profile.lower() != "default" else ""
    return base.absolute() / f".openclaw{suffix}" / "openclaw.json"


def _below(base: Path, named: str) -> Path:
    return (base / named[2:] if named.startswith("~/") else Path(named)).absolute()


def plugin_folder() -> Path:
    """Return the plugin's folder: the checkout's, or the one in the wheel."""
    package = Path(__file__).resolve().parents[1]
    checkout = package.parents[1] / "integrations" / "openclaw"
    return checkout if checkout.is_dir() else package / "openclaw_plugin"


def read_config(path: Path) -> tuple[str, Settings]:
    """Return the text of a configuration and what it says."""
    try:
        text = path.read_text(encoding="utf-8")
        value = read(text).value
    except FileNotFoundError:
        why = f"There is no {path}. Set OpenClaw up first (`openclaw onboard`), or name its folder."
        raise ConfigFault(why) from None
    except Json5Fault as fault:
        why = f"{path} is not valid JSON5: {fault}. Correct it; `openclaw config validate` helps."
        raise ConfigFault(why) from fault
    except (OSError, UnicodeError) as fault:
        raise ConfigFault(f"{path} cannot be read ({fault}).") from fault
    if not isinstance(value, dict):
        raise ConfigFault(f"{path} is not an object in braces.")
    return text, value


def at(settings: Settings, path: tuple[str, ...]) -> Any:
    """Return the value at a path; None if there is none."""
    found: Any = settings
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def with_carrel(text: str, wanted: WantedConfig) -> str:
    """Return a configuration in which OpenClaw loads the plugin, answers on /v1/responses and knows our MCP server."""
    settings = read(text).value
    _refuse_foreign(settings)
    for folder in plugin_folders(settings):
        if folder != str(wanted.folder):
            # Of two plugins with one id only one is loaded, and it may be the older one.
            text = without_item(text, PATHS, folder)
    text = with_item(text, PATHS, str(wanted.folder))
    if isinstance(at(settings, ("plugins", "allow")), list):
        text = with_item(text, ("plugins", "allow"), PLUGIN_ID)
    values: tuple[tuple[tuple[str, ...], Any], ...] = (
        ((*ENTRY, "enabled"), True),
        # Without it OpenClaw neither shows the plugin what is said nor asks it for context, and does not say so.
        ((*ENTRY, "hooks", "allowConversationAccess"), True),
        (BASE_URL, wanted.base_url),
        (TOKEN, wanted.token),
        (RESPONSES, True),
    )
    for path, value in values:
        text = with_value(text, path, value)
    return text if at(settings, MCP) == wanted.mcp_entry else with_value(text, MCP, wanted.mcp_entry)


def without_carrel(text: str) -> str:
    """Return a configuration without the plugin and our MCP server; the endpoint may be used by others, and stays."""
    settings = read(text).value
    for folder in plugin_folders(settings):
        text = without_item(text, PATHS, folder)
    text = without_item(text, ("plugins", "allow"), PLUGIN_ID)
    text = without_value(without_value(text, ENTRY), MCP)
    return text if read(text).value else EMPTY


def _refuse_foreign(settings: Settings) -> None:
    """Refuse what is decided elsewhere: on another machine, or in another file."""
    if at(settings, ("gateway", "mode")) == "remote":
        raise ConfigFault("This OpenClaw uses a gateway on another machine (gateway.mode); run this there.")
    for path in (PATHS, ENTRY, RESPONSES, MCP):
        for depth in range(len(path)):
            if isinstance(held := at(settings, path[:depth]), Mapping) and _INCLUDE in held:
                name = ".".join(path[:depth]) or "the configuration"
                raise ConfigFault(f"{name} is read from another file ({_INCLUDE}), so it is not changed here.")


def plugin_folders(settings: Settings) -> Iterator[str]:
    """Yield the folders from which OpenClaw would load our plugin."""
    for listed in at(settings, PATHS) or ():
        manifest = Path(str(listed)).expanduser() / "openclaw.plugin.json"
        try:
            is_ours = json.loads(manifest.read_text(encoding="utf-8")).get("id") == PLUGIN_ID
        except (OSError, ValueError, AttributeError):
            continue
        if is_ours:
            yield listed


def gateway_url(settings: Settings, env: Mapping[str, str]) -> str:
    """Return the address of the gateway on this machine."""
    gateway = at(settings, ("gateway",)) or {}
    port = env.get("OPENCLAW_GATEWAY_PORT", "").strip().rpartition(":")[2] or gateway.get("port") or PORT
    host = gateway.get("customBindHost") if gateway.get("bind") == "custom" else None
    scheme = "https" if at(gateway, ("tls", "enabled")) is True else "http"
    return f"{scheme}://{host or '127.0.0.1'}:{port}"


def gateway_secret(settings: Settings, env: Mapping[str, str]) -> str:
    """Return what the gateway asks callers for; empty if it asks for nothing. `ConfigFault` if it is kept elsewhere."""
    auth = at(settings, ("gateway", "auth")) or {}
    mode = auth.get("mode") or ("password" if auth.get("password") and not auth.get("token") else "token")
    if mode == "none":
        return ""
    name = "password" if mode in ("password", "trusted-proxy") else "token"
    variable = f"OPENCLAW_GATEWAY_{name.upper()}"
    given = auth.get(name)
    written = _VARIABLE.sub(lambda found: env.get(found[1], ""), given) if isinstance(given, str) else ""
    if secret := written or env.get(variable, ""):
        return secret
    raise ConfigFault(f"gateway.auth.{name} is not in the configuration; set {variable} to its value.")


def queue_path(settings: Settings) -> Path:
    """Return the file in which the plugin keeps what it has not sent yet."""
    return Path(str(at(settings, (*ENTRY, "config", "queuePath")) or QUEUE)).expanduser()


def is_immutable(env: Mapping[str, str]) -> bool:
    """Return whether OpenClaw was told that something else manages its configuration."""
    return env.get("OPENCLAW_CONFIG_READONLY") == "1" or env.get("OPENCLAW_NIX_MODE") == "1"
