"""Serves the dashboard and its files with a strict content security policy.

There are no templates and no values of an account here: every client gets the same bytes. The files are built from the
folder dashboard/ of the repository.
"""

import gzip
import hashlib
import re
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

STATIC = Path(__file__).parent / "static"
PAGE = "index.html"
# The files in it have a hash of their content in their names.
HASHED = "assets/"
# Which files each page needs beyond those named in the HTML; written by the build.
PRELOADS = "preloads.json"
# Every path of the page; its script reads the ids and keys in them.
_PLACES = (
    "board", "sessions", "runs", "memory", "isolation", "search", "agents", "goals", "schedules", "spaces", "tokens",
    "models", "usage", "settings", "health", "mcp-servers", "webhooks",
)  # fmt: skip
_WITH_IDS = ("chat", "sessions", "runs", "isolation", "tasks")
PAGE_PATHS = ("/", "/chat", *(f"/{place}" for place in _PLACES), *(f"/{place}/{{id:path}}" for place in _WITH_IDS))
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
ALLOWED_SOURCES = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    # The sign-in form is only sent by script: if the script fails, the token must not end up in a URL.
    "form-action": "'none'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}
HEADERS = {
    "Content-Security-Policy": "; ".join(f"{kind} {sources}" for kind, sources in ALLOWED_SOURCES.items()),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class StaticFile(Struct, frozen=True, kw_only=True):
    """One file of the dashboard as it is sent."""

    content: bytes
    media_type: str
    etag: str
    immutable: bool


@cache
def read_files() -> dict[str, StaticFile]:
    """Read every file of the dashboard, by its path within the folder."""
    files = {}
    for path in sorted(STATIC.rglob("*")):
        media_type = MEDIA_TYPES.get(path.suffix)
        if path.is_file() and media_type is not None:
            content = path.read_bytes()
            name = path.relative_to(STATIC).as_posix()
            files[name] = StaticFile(
                content=content,
                media_type=media_type,
                etag=f'"{hashlib.sha256(content).hexdigest()[:32]}"',
                immutable=name.startswith(HASHED),
            )
    return files


class Preloads:
    """The Link header of every page, so that a browser asks for the page's files before it has run a script."""

    def __init__(self, needed: dict[str, list[str]]) -> None:
        # In the mode of the page's own scripts; a browser does not use a file preloaded in another mode.
        link = "</static/{}>; rel=modulepreload; crossorigin".format
        self._links = [(_address(path), ", ".join(map(link, files))) for path, files in needed.items()]

    def of(self, path: str) -> dict[str, str]:
        """Return the header for the page at a path; empty if it needs no more files, or if there is no page."""
        link = next((link for address, link in self._links if address.fullmatch(path)), "")
        return {"Link": link} if link else {}


def _address(path: str) -> re.Pattern[str]:
    # The router's `$id` is one part of a path, its `$` is the rest.
    parts = (".+" if part == "$" else "[^/]+" if part.startswith("$") else re.escape(part) for part in path.split("/"))
    return re.compile("/".join(parts))


def routes() -> list[BaseRoute]:
    """Return the routes of the page and its files, which are read once and not per request."""
    files = read_files()
    preloads = Preloads(msgspec.json.decode((STATIC / PRELOADS).read_bytes(), type=dict[str, list[str]]))

    async def page(request: Request) -> Response:
        return respond(request, files[PAGE], preloads.of(request.url.path))

    async def static_file(request: Request) -> Response:
        found = files.get(request.path_params["path"])
        return Response(status_code=404) if found is None else respond(request, found)

    return [
        *(Route(path, page, methods=["GET"]) for path in PAGE_PATHS),
        Route("/static/{path:path}", static_file, methods=["GET"]),
    ]


def missing_page(request: Request) -> Response | None:
    """Return the dashboard, which says that there is nothing at this address; None for a program."""
    if request.method not in ("GET", "HEAD") or "text/html" not in request.headers.get("accept", ""):
        return None
    return Response(read_files()[PAGE].content, 404, {**HEADERS, "Cache-Control": "no-cache"}, MEDIA_TYPES[".html"])


def respond(request: Request, file: StaticFile, more: dict[str, str] | None = None) -> Response:
    """Return the file, compressed if the client accepts that, or 304 if the client already has it."""
    caching = "public, max-age=31536000, immutable" if file.immutable else "no-cache"
    headers = {**HEADERS, **(more or {}), "Cache-Control": caching, "ETag": file.etag, "Vary": "Accept-Encoding"}
    # Named without being refused.
    is_gzip = r"(^|,)\s*gzip\s*(,|$|;\s*q=(1|0\.0*[1-9]))"
    compress = re.search(is_gzip, request.headers.get("accept-encoding", ""), re.IGNORECASE) is not None
    if compress:
        # A strong tag identifies one coding of the content.
        headers["ETag"] = f'{file.etag[:-1]}-gzip"'
    # Proxies may have marked a tag weak.
    held = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    if held & {headers["ETag"], "*"}:
        return Response(status_code=304, headers=headers)
    if compress:
        headers["Content-Encoding"] = "gzip"
    return Response(_compressed(file) if compress else file.content, media_type=file.media_type, headers=headers)


@cache
def _compressed(file: StaticFile) -> bytes:
    return gzip.compress(file.content, mtime=0)
