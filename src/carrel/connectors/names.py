"""Names of servers and their tools. Pure.

A tool is offered as `<server>_<tool>`. The settings reject servers whose tools could get the same name; a tool with the
name of one of ours is left out.
"""

import re
from collections.abc import Iterable
from hashlib import sha256

from carrel.kernel.limits import MCP_TOOL_NAME_CHARS_MAX

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_HASH_CHARS = 8


def offered_names(server: str, names: Iterable[str]) -> dict[str, str]:
    """Return the tools of a server by the names under which they are offered; names are unique.

    A name that is too long or has other characters ends with a hash of the whole.
    """
    start = f"{server}_"
    room = MCP_TOOL_NAME_CHARS_MAX - len(start)
    offered: dict[str, str] = {}
    for name in dict.fromkeys(names):
        plain = _NOT_IN_NAMES.sub("_", name)
        if plain != name or len(plain) > room or not plain:
            digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
            plain = f"{plain[: room - _HASH_CHARS - 1]}_{digest}"
        offered.setdefault(start + plain, name)
    return offered
