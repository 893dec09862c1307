"""Serve the one page and its files, each with a fingerprint, under a strict content policy.

Not here: templates, sign-in, or any value of an account. Every reader gets the same bytes.
"""

import hashlib
from pathlib import Path

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

STATIC = Path(__file__).parent / "static"

PAGE = "index.html"

# Every address of the page; what comes after /chat/ is a session key and is read by the page itself.
PAGE_PATHS = ("/", "/chat", "/chat/{key:path}")

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
    # The sign-in form is sent by script alone: if the script fails, a token must not land in an address.
    "form-action": "'none'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}

CONTENT_POLICY = "; ".join(f"{kind} {sources}" for kind, sources in ALLOWED_SOURCES.items())

HEADERS = {
    # The names of the files never change, so a browser has to ask whether its copy still holds.
    "Cache-Control": "no-cache",
    "Content-Security-Policy": CONTENT_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class StaticFile(Struct, frozen=True, kw_only=True):
    """One file of the dashboard as it goes over the wire."""

    content: bytes
    media_type: str
    etag: str


def read_files(folder: Path = STATIC) -> dict[str, StaticFile]:
    """Read every file of the dashboard once, by its path below the folder."""
    files = {}
    for path in sorted(folder.rglob("*")):
        media_type = MEDIA_TYPES.get(path.suffix)
        if path.is_file() and media_type is not None:
            content = path.read_bytes()
            etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            files[path.relative_to(folder).as_posix()] = StaticFile(content=content, media_type=media_type, etag=etag)
    return files


def routes() -> list[BaseRoute]:
    """Give the routes of the page and of its files; the files are read now, not per request."""
    files = read_files()

    async def page(request: Request) -> Response:
        return answer(request, files[PAGE])

    async def static_file(request: Request) -> Response:
        found = files.get(request.path_params["path"])
        return Response(status_code=404) if found is None else answer(request, found)

    return [
        *(Route(path, page, methods=["GET"]) for path in PAGE_PATHS),
        Route("/static/{path:path}", static_file, methods=["GET"]),
    ]


def answer(request: Request, file: StaticFile) -> Response:
    """Answer with the file, or with 304 when the reader already holds these bytes."""
    headers = {**HEADERS, "ETag": file.etag}
    if holds(request.headers.get("if-none-match", ""), file.etag):
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.media_type, headers=headers)


def holds(if_none_match: str, etag: str) -> bool:
    """Say whether the reader's list of fingerprints names this one; proxies may have marked it weak."""
    named = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
    return etag in named or "*" in named
