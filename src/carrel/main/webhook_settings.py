"""What is inconsistent in the settings of a webhook."""

import re
from collections.abc import Iterator, Mapping

from carrel.kernel import template_problem
from carrel.kernel.limits import WEBHOOK_NAME_CHARS_MAX, WEBHOOK_TEMPLATE_CHARS_MAX
from carrel.main.mcp_settings import HEADER, VARIABLE

_NAME = re.compile(r"[a-z0-9]+(?:[_-][a-z0-9]+)*")
# The address under which deliveries are listed.
_RESERVED = "deliveries"
_OF_MESSAGES = ("agent", "session")
_OF_TASKS = ("space", "topic", "assignee", "status")
_OF_JSON = ("signature_header", "delivery_header", "event_header")
_TEMPLATES = ("title", "text", "thread")


def webhook_name_problem(name: str) -> str | None:
    """Return what is wrong with the name of a webhook, which is part of its address; None for a good one."""
    if name == _RESERVED:
        return f"a webhook cannot be called {_RESERVED}; choose another name."
    if _NAME.fullmatch(name) and len(name) <= WEBHOOK_NAME_CHARS_MAX:
        return None
    return (
        f"a webhook's name must have 1 to {WEBHOOK_NAME_CHARS_MAX} lower-case letters and digits, with single - or _ "
        "between them."
    )


def webhook_problems(name: str, given: Mapping[str, object]) -> Iterator[str]:
    """Yield what is inconsistent, one sentence for each."""
    at = f"webhooks.{name}"
    if bool(given.get("secret_env")) == bool(given.get("secret_file")):
        yield f"{at}: set either {at}.secret_env or {at}.secret_file; without a secret anybody could post."
    if given.get("secret_env") and not VARIABLE.fullmatch(str(given["secret_env"])):
        yield f"{at}.secret_env: must have the name of an environment variable, and not the secret itself."
    action, kind = given.get("action", "message"), given.get("kind", "json")
    for word in _OF_TASKS if action == "message" else _OF_MESSAGES:
        if given.get(word):
            yield f'{at}.{word}: only a webhook with action = "{"task" if action == "message" else "message"}" uses it.'
    if given.get("agent") and given.get("session"):
        yield f"{at}.session: {at}.agent is set as well; keep one of them."
    for word in _OF_JSON:
        if given.get(word) and kind != "json":
            yield f'{at}.{word}: only a webhook of kind = "json" uses it; {kind} has its own headers.'
        elif given.get(word) and not HEADER.fullmatch(str(given[word])):
            yield f"{at}.{word}: must have the name of a header."
    for word in _TEMPLATES:
        text = str(given.get(word) or "")
        if len(text) > WEBHOOK_TEMPLATE_CHARS_MAX:
            yield f"{at}.{word}: may have at most {WEBHOOK_TEMPLATE_CHARS_MAX} characters."
        elif problem := template_problem(text):
            yield f"{at}.{word}: {problem}."
