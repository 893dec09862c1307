"""Serves the dashboard and its files with a strict content security policy.

There are no templates and no values of an account here: every client gets the same bytes. The files are built from the
folder dashboard/ of the repository.
"""

import hashlib
from functools import cache
from pathlib import Path

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

STATIC = Path(__file__).parent / "static"

PAGE = "index.html"

# The files in it have a hash of their content in their names.
HASHED = "assets/"

# Every path of the page, which itself reads the ids and keys in it.
_PLACES = (
    "board", "sessions", "runs", "memory", "isolation", "search", "agents", "goals", "schedules", "spaces", "tokens",
    "models", "usage", "settings", "health", "webhooks",
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

CONTENT_POLICY = "; ".join(f"{kind} {sources}" for kind, sources in ALLOWED_SOURCES.items())

HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
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


def read_files(folder: Path = STATIC) -> dict[str, StaticFile]:
    """Read every file of the dashboard, by its path within the folder."""
    files = {}
    for path in sorted(folder.rglob("*")):
        media_type = MEDIA_TYPES.get(path.suffix)
        if path.is_file() and media_type is not None:
            content = path.read_bytes()
            etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            name = path.relative_to(folder).as_posix()
            immutable = name.startswith(HASHED)
            files[name] = StaticFile(content=content, media_type=media_type, etag=etag, immutable=immutable)
    return files


def routes() -> list[BaseRoute]:
    """Return the routes of the page and its files, which are read once and not per request."""
    files = _files()

    async def page(request: Request) -> Response:
        return respond(request, files[PAGE])

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
    return Response(_files()[PAGE].content, 404, {**HEADERS, "Cache-Control": "no-cache"}, MEDIA_TYPES[".html"])


@cache
def _files() -> dict[str, StaticFile]:
    return read_files()


def respond(request: Request, file: StaticFile) -> Response:
    """Return the file, or 304 when the client already has it."""
    caching = "public, max-age=31536000, immutable" if file.immutable else "no-cache"
    headers = {**HEADERS, "Cache-Control": caching, "ETag": file.etag}
    if has_current(request.headers.get("if-none-match", ""), file.etag):
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.media_type, headers=headers)


def has_current(if_none_match: str, etag: str) -> bool:
    """Return whether If-None-Match names this ETag; proxies may have marked it weak."""
    named = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
    return etag in named or "*" in named
