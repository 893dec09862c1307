"""What is inconsistent in the settings under names that users choose: gateways, budgets, MCP servers and webhooks."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping

from carrel.kernel import Grammar, template_problem
from carrel.kernel.limits import MCP_SERVER_NAME_CHARS_MAX, WEBHOOK_NAME_CHARS_MAX, WEBHOOK_TEMPLATE_CHARS_MAX
from carrel.kernel.settings import CHOSEN_NAME

Fields = Mapping[str, object]

_AGENT_PAIR = re.compile(rf"{Grammar.AGENT_ID}={Grammar.AGENT_ID}")
# The name of an environment variable, and of a header.
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[A-Za-z0-9-]+")
# The address under which deliveries are listed.
_RESERVED = "deliveries"
# What a name that users choose must match, and what to say of others.
_NAMES = {
    "gateway": (CHOSEN_NAME, "a gateway's name may have only lower-case letters, digits, - and _."),
    "budgets": (CHOSEN_NAME, "a budget's name may have only lower-case letters, digits, - and _."),
    # Names of tools begin with it, and some model servers accept no digit there.
    "mcp": (
        rf"(?=.{{1,{MCP_SERVER_NAME_CHARS_MAX}}}$)[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*",
        (
            f"an MCP server's name must have 1 to {MCP_SERVER_NAME_CHARS_MAX} lower-case letters and digits, "
            "begin with a letter, and have single - or _ between them."
        ),
    ),
    # It is part of its address.
    "webhooks": (
        rf"(?=.{{1,{WEBHOOK_NAME_CHARS_MAX}}}$)[a-z0-9]+(?:[_-][a-z0-9]+)*",
        (
            f"a webhook's name must have 1 to {WEBHOOK_NAME_CHARS_MAX} lower-case letters and digits, "
            "with single - or _ between them."
        ),
    ),
}


def name_problem(section: str, name: str) -> str | None:
    """Return what is wrong with a name that users have chosen; None for a good one."""
    if section == "webhooks" and name == _RESERVED:
        return f"a webhook cannot be called {_RESERVED}; choose another name."
    if section not in _NAMES or re.fullmatch(_NAMES[section][0], name):
        return None
    return _NAMES[section][1]


def ambiguous_names(names: Collection[str]) -> Iterator[str]:
    """Yield which MCP servers clash: the tool `b_c` of one would have the same name as `c` of another."""
    for name in sorted(names):
        for other in sorted(names):
            if name.startswith(f"{other}_"):
                better = name.replace("_", "-")
                yield (
                    f"mcp.{name}: names of tools begin with the name of their server and _, so those of mcp.{other} "
                    f"could be meant; use another name, such as {better}."
                )


def problems_of(section: str, name: str, given: Fields) -> Iterator[str]:
    """Yield what is inconsistent under a name, one sentence for each."""
    at = f"{section}.{name}"
    for fields, is_used, why in _USED.get(section, ()):
        if not is_used(given):
            yield from (f"{at}.{field}: {why.format_map(given)}" for field in fields if given.get(field))
    if not all(map(_VARIABLE.fullmatch, _listed(given, "env"))):
        yield f"{at}.env: must have names of environment variables, and no values."
    if section in _CHECKS:
        yield from _CHECKS[section](at, given)


def _is(field: str, *values: str, default: str = "") -> Callable[[Fields], bool]:
    return lambda given: given.get(field, default) in values


# Fields that are used only where something holds of the others, and what to say where it does not, with their values.
_USED: dict[str, tuple[tuple[tuple[str, ...], Callable[[Fields], bool], str], ...]] = {
    "gateway": (
        (("run_tokens",), _is("kind", "responses"), "only a gateway of kind responses can receive run tokens."),
        (("max_output_tokens",), _is("kind", "chat", "anthropic"),
         "only a gateway of kind chat or anthropic can be told of it."),
        (("agents", "session_tools"), _is("kind", "openclaw"), "only a gateway of kind openclaw uses it."),
        (("command", "args", "env", "accounts", "start_seconds"), _is("kind", "acp"),
         "only a gateway of kind acp uses it."),
        (("base_url", "api_key", "api_key_env", "api_key_file", "model", "models"),
         lambda given: given.get("kind") != "acp", "a gateway of kind acp starts its agent and does not use it."),
    ),
    "mcp": (
        (("args", "env", "cwd"), lambda given: bool(given.get("command")), "only a server with a command uses it."),
        (("headers",), lambda given: bool(given.get("url")), "only a server with a url uses them."),
    ),
    "webhooks": (
        (("space", "topic", "assignee", "status"), _is("action", "task"),
         'only a webhook with action = "task" uses it.'),
        (("agent", "session"), _is("action", "message", default="message"),
         'only a webhook with action = "message" uses it.'),
        (("signature_header", "delivery_header", "event_header"), _is("kind", "json", default="json"),
         'only a webhook of kind = "json" uses it; {kind} has its own headers.'),
    ),
}  # fmt: skip


def _listed(given: Fields, field: str) -> list[str]:
    value = given.get(field)
    return [str(one) for one in value] if isinstance(value, list | tuple) else []


def _check_gateway(at: str, given: Fields) -> Iterator[str]:
    kind = given.get("kind", "builtin")
    needed = "command" if kind == "acp" else "base_url"
    if kind != "builtin" and not given.get(needed):
        yield f"{at}.{needed}: is required when {at}.kind is {kind}."
    for pair in _listed(given, "agents"):
        if _AGENT_PAIR.fullmatch(pair) is None:
            yield f'{at}.agents: "{pair}" must be one of your agents and one of OpenClaw, as "writer=main".'
    keys = [word for word in ("api_key", "api_key_env", "api_key_file") if given.get(word)]
    if len(keys) > 1:
        yield f"{at}.{keys[1]}: {at}.{keys[0]} is set as well; keep one of them."


def _check_budget(at: str, given: Fields) -> Iterator[str]:
    if not any(given.get(word) for word in ("tokens", "usd", "runs")):
        yield f"{at}: set {at}.tokens, .usd or .runs."


def _check_mcp_server(at: str, given: Fields) -> Iterator[str]:
    if bool(given.get("command")) == bool(given.get("url")):
        yield f"{at}: set either {at}.command or {at}.url."
    headers = given.get("headers")
    for header, variable in headers.items() if isinstance(headers, dict) else ():
        if not _HEADER.fullmatch(header) or not _VARIABLE.fullmatch(variable):
            yield (
                f"{at}.headers: must be headers with the names of the variables that have their values, as "
                '{"X-Key" = "MY_KEY"}.'
            )


def _check_webhook(at: str, given: Fields) -> Iterator[str]:
    if bool(given.get("secret_env")) == bool(given.get("secret_file")):
        yield f"{at}: set either {at}.secret_env or {at}.secret_file; without a secret anybody could post."
    if given.get("secret_env") and not _VARIABLE.fullmatch(str(given["secret_env"])):
        yield f"{at}.secret_env: must have the name of an environment variable, and not the secret itself."
    if given.get("agent") and given.get("session"):
        yield f"{at}.session: {at}.agent is set as well; keep one of them."
    for word in ("signature_header", "delivery_header", "event_header"):
        if given.get(word) and not _HEADER.fullmatch(str(given[word])):
            yield f"{at}.{word}: must have the name of a header."
    for word in ("title", "text", "thread"):
        text = str(given.get(word) or "")
        if len(text) > WEBHOOK_TEMPLATE_CHARS_MAX:
            yield f"{at}.{word}: may have at most {WEBHOOK_TEMPLATE_CHARS_MAX} characters."
        elif problem := template_problem(text):
            yield f"{at}.{word}: {problem}."


_CHECKS: dict[str, Callable[[str, Fields], Iterator[str]]] = {
    "gateway": _check_gateway,
    "budgets": _check_budget,
    "mcp": _check_mcp_server,
    "webhooks": _check_webhook,
}
