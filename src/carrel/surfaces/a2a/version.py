"""The protocol version of a request: the header or query parameter A2A-Version."""

from typing import Literal

from starlette.requests import Request

from carrel.surfaces.a2a.errors import VERSION_NOT_SUPPORTED, A2aError

Version = Literal["1.0", "0.3"]
_VERSIONS: tuple[Version, ...] = ("1.0", "0.3")


def requested_version(request: Request) -> Version | None:
    """Return the version that a request names; None when it names none."""
    return parse_version(request.headers.get("a2a-version") or request.query_params.get("A2A-Version") or "")


def parse_version(text: str) -> Version | None:
    """Return the version that a text names, without its patch number; None for an empty text."""
    named = text.strip()
    if not named:
        return None
    found = next((version for version in _VERSIONS if named == version or named.startswith(f"{version}.")), None)
    if found is None:
        raise unsupported_version(f"A2A {named[:20]} is not supported")
    return found


def unsupported_version(problem: str) -> A2aError:
    """Return the refusal of a version, with the supported ones."""
    return A2aError(VERSION_NOT_SUPPORTED, f"{problem}; this server supports A2A 1.0 and 0.3 (header A2A-Version).")
