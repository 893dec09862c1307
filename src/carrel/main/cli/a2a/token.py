"""Which token goes to an A2A agent: what was given for it, else one of our own server for our own server alone."""

import os
from argparse import Namespace
from typing import NamedTuple
from urllib.parse import urlsplit

from carrel.main.cli.connection import configured_url, is_local, local_settings, owner_token, running_url


class TokenFound(NamedTuple):
    """A token, whether it may go to one server only, and what to say where it does not do."""

    token: str
    only_here: bool
    hint: str


def token_for(args: Namespace) -> TokenFound:
    """The token for the agent the arguments name; empty for strangers, who must not learn what opens our server."""
    if args.token:
        return TokenFound(args.token, False, "Give another token with --token.")
    url, held = args.agent_url, os.environ.get("CARREL_TOKEN", "")
    if held and (is_local(url) or _server(url) == _server(os.environ.get("CARREL_URL", ""))):
        return TokenFound(held, True, "Give a token that may with --token or CARREL_TOKEN.")
    if not held and is_local(url):
        settings = local_settings(args).settings
        ours = (running_url(settings.storage.data_dir), configured_url(settings.server.host, settings.server.port))
        if _server(url) in map(_server, ours):
            return TokenFound(owner_token(settings.storage.data_dir), True, "Give a token that may with --token.")
    kept = "CARREL_TOKEN is for your own server and was not sent." if held else "It was asked without a token."
    return TokenFound("", True, f"{kept} Give one for this agent with --token.")


def _server(url: str) -> tuple[str, str, int | None]:
    """What tells one server from another; the names of this machine are one."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return ("", url, None)
    return parts.scheme, "localhost" if is_local(url) else parts.hostname or "", port
