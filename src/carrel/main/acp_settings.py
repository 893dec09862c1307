"""What is inconsistent in the settings of a gateway to a coding agent."""

import re
from collections.abc import Iterator, Mapping

_OWN = ("command", "args", "env", "accounts", "start_seconds")
_NOT_ITS = ("base_url", "api_key", "api_key_env", "api_key_file", "model", "models")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def acp_problems(name: str, given: Mapping[str, object]) -> Iterator[str]:
    """Yield what is inconsistent, one sentence for each."""
    if given.get("kind") != "acp":
        yield from (f"gateway.{name}.{word}: only a gateway of kind acp uses it." for word in _OWN if given.get(word))
        return
    if not given.get("command"):
        yield f"gateway.{name}.command: is required when gateway.{name}.kind is acp."
    for word in filter(given.get, _NOT_ITS):
        yield f"gateway.{name}.{word}: a gateway of kind acp starts its agent and does not use it."
    names = given.get("env")
    for one in names if isinstance(names, list | tuple) else ():
        if not _VARIABLE.fullmatch(str(one)):
            yield f"gateway.{name}.env: must have names of environment variables, and no values."
