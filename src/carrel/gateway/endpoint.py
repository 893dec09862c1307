"""The addresses of a model server, from the base URL as people write it."""

import re

_VERSION = re.compile(r"/v\d+(?:alpha|beta)?\d*$")


def endpoint(base_url: str, path: str, target: str | None = None) -> str:
    """Return the URL of `target`, or of `path`, on the server.

    `base_url` may end in a slash, in a version such as `/v1`, or in the whole `path`; without either, `/v1` is added.
    """
    given = base_url.strip().rstrip("/")
    root = given.removesuffix(path).rstrip("/")
    version = "" if root != given or _VERSION.search(root) else "/v1"
    return f"{root}{version}{target or path}"
