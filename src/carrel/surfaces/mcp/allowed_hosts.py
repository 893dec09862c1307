"""Which host names this server answers to, against DNS rebinding by other sites."""

from urllib.parse import urlsplit

from starlette.datastructures import Headers

from carrel.kernel import Code, Refusal, is_address, is_loopback
from carrel.kernel.settings import ServerSettings


def require_known_host(headers: Headers, server: ServerSettings) -> None:
    """Refuse a request for another host, or from a page of another site."""
    known = {"localhost", server.host, urlsplit(server.public_url).hostname}
    host = _hostname(f"//{headers.get('host', '')}")
    # Only names can be made to resolve to another address; IP addresses cannot.
    if host not in known and not is_address(host):
        raise Refusal(
            Code.FORBIDDEN, f"This server does not answer to '{host[:80]}'; set server.public_url to its name."
        )
    origin = headers.get("origin")
    if origin is None:
        return
    page = _hostname(origin)
    if page not in known and page != host and not is_loopback(page):
        raise Refusal(Code.FORBIDDEN, f"Pages of '{origin[:80]}' may not call tools here.")


def _hostname(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""
