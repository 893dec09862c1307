"""Which token to send to an A2A agent: the one given for it, or this server's own token for this server only."""

import os
from argparse import Namespace
from typing import NamedTuple
from urllib.parse import urlsplit

from carrel.bridge import configured_url, is_local, owner_token, running_url
from carrel.main.cli.discovery import local_settings


class TokenFound(NamedTuple):
    """A token, and the hint to show when it is refused."""

    token: str
    hint: str


def token_for(args: Namespace) -> TokenFound:
    """Return the token for the agent that the arguments name; empty for strangers, who must not get our own token."""
    if args.token:
        return TokenFound(args.token, "Use another token with --token.")
    url, held = args.agent_url, os.environ.get("CARREL_TOKEN", "")
    if held and (is_local(url) or _server(url) == _server(os.environ.get("CARREL_URL", ""))):
        return TokenFound(held, "Use another token: pass it with --token or set CARREL_TOKEN.")
    if not held and is_local(url):
        settings = local_settings(args).settings
        ours = (running_url(settings.storage.data_dir), configured_url(settings.server.host, settings.server.port))
        if _server(url) in map(_server, ours):
            return TokenFound(owner_token(settings.storage.data_dir), "Use another token with --token.")
    kept = "CARREL_TOKEN is for your own server and was not sent." if held else "The request had no token."
    return TokenFound("", f"{kept} Pass one for this agent with --token.")


def _server(url: str) -> tuple[str, str, int | None]:
    """Return what identifies a server; all names of this machine count as one."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return ("", url, None)
    return parts.scheme, "localhost" if is_local(url) else parts.hostname or "", port
