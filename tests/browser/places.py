"""Every page of the dashboard in the world of `carrel demo`: its address, and what is there when it can be used."""

from typing import NamedTuple
from urllib.parse import quote

import httpx

TASK = "demo-300-2"
DESK = "agent:support:web:the-help-desk"
_DESK = quote(DESK, safe="")


class Place(NamedTuple):
    """The address of a page, and a selector of what it is opened for; `{run}` stands for a run of TASK."""

    path: str
    content: str


# Settings for what the demo has nothing of; this server is never started.
SETTINGS = '[mcp.files]\ncommand = "files-server"\nargs = ["/srv/reports"]\n'

# By the names of their routes; those of one thing show one that has something in every part.
PLACES = {
    "home": Place("/", "#main [data-row]"),
    "board": Place("/board", "#main [data-task]"),
    "board as a list": Place("/board?view=list", "#main tbody [data-row]"),
    "board as a tree": Place("/board?view=tree", "#main tbody [data-row]"),
    "peek": Place(f"/board?peek={TASK}", "aside [role=log]"),
    "task": Place(f"/tasks/{TASK}", "#main [role=log]"),
    "goals": Place("/goals", "#main li"),
    "chat": Place(f"/chat/{_DESK}", "#main [role=log] article"),
    "sessions": Place("/sessions", "#main tbody [data-row]"),
    "session": Place(f"/sessions/{_DESK}", "#main [role=log] [data-index]"),
    "runs": Place("/runs", "#main [data-row]"),
    "run": Place("/runs/{run}", "#main h2"),
    "context": Place("/runs/{run}/context", "#main h2"),
    "isolation": Place("/isolation", "#main tbody tr"),
    "isolation of a session": Place(f"/isolation/{_DESK}", "#main h2"),
    "memory": Place("/memory", "#main [data-row]"),
    "search": Place("/search?q=paper", "#main li"),
    "agents": Place("/agents", "#main [data-row]"),
    "models": Place("/models", "#main [data-row]"),
    "MCP servers": Place("/mcp-servers?peek=files", "#main [data-row]"),
    "schedules": Place("/schedules", "#main [data-row]"),
    "webhooks": Place("/webhooks", "#main pre"),
    "spaces": Place("/spaces", "#main [role=switch]"),
    "tokens": Place("/tokens", "#main tbody tr"),
    "usage": Place("/usage", "#main table"),
    "health": Place("/health", "#main h2"),
    "settings": Place("/settings", "#main tbody tr, #main dl"),
}

# Whether a page can be used: it has its heading and its content, and no part of it is still loading.
USABLE = """(content) => {
  const main = document.querySelector('#main');
  return main !== null && main.querySelector('h1') !== null && document.querySelector(content) !== null
    && main.querySelector('[role=status][aria-label^="Loading"]') === null && !main.textContent.includes('Loading…');
}"""


def places(http: httpx.Client) -> dict[str, Place]:
    """Return every page with its address in the world behind a client."""
    run = http.get("/api/runs", params={"taskId": TASK, "state": "completed"}).json()["runs"][0]["id"]
    return {name: place._replace(path=place.path.replace("{run}", run)) for name, place in PLACES.items()}
