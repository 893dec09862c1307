"""The world of `carrel demo`, small enough for a test, and texts in it that try to run something."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

from carrel.kernel import SystemClock
from carrel.main.demo.build import build_demo
from carrel.main.demo.world import Size
from carrel.main.settings import load
from tests.browser import places
from tests.browser.talking import Client, ScriptedModel
from tests.scripted_gateway import calls, http_error, text

SMALL = Size(tasks=60, lines=120)
DAYS = 8
SETTINGS = f'[classifier]\nmode = "off"\n\n{places.SETTINGS}'

# Everything hostile begins with this word, so that a test can tell that it is shown.
MARK = "Grue"
_RUN = "window.taken=1"
NAME = f"{MARK} <img src=x onerror={_RUN}>'\"><script>{_RUN}</script>"
FILE = f"{MARK} <svg onload={_RUN}>.html"
MARKDOWN = "\n\n".join(
    [
        f"{MARK} **speaks**",
        f"[run](javascript:{_RUN}) [run](JaVaScRiPt:{_RUN}) [run](&#106;avascript:{_RUN}) [run](java\tscript:{_RUN})",
        f"[data](data:text/html,<script>{_RUN}</script>) [blob](blob:x) [file](file:///etc/passwd)",
        f"![pixel](https://foreign.test/a.png) ![x](javascript:{_RUN}) <img src=https://foreign.test/p onerror={_RUN}>",
        f"<script>{_RUN}</script><script src=//foreign.test/x.js></script><svg onload={_RUN}></svg>",
        f"<iframe srcdoc='<script>parent.{_RUN}</script>'></iframe><iframe src=https://foreign.test></iframe>",
        "<style>* { background: url(https://foreign.test/s) }</style><link rel=stylesheet href=//foreign.test/s.css>",
        f"<form action=https://foreign.test><button autofocus onfocus={_RUN}>x</button></form>",
        f"<math><mi xlink:href='javascript:{_RUN}'>x</mi></math><details open ontoggle={_RUN}>x</details>",
        f"[reference]: javascript:{_RUN}\n\n[reference]\n\n```html\n<img src=x onerror={_RUN}>\n```",
        f"| a |\n|---|\n| <img src=x onerror={_RUN}> |\n\n<!-- --!> <img src=x onerror={_RUN}> -->",
    ]
)


def build_world(folder: Path) -> None:
    """Build the small world in a folder; in a thread, because a test's thread may belong to the browser's loop.

    It ends now: a server removes what is too old.
    """
    (folder / "carrel.toml").write_text(SETTINGS)

    def read() -> Any:
        return load(folder / "carrel.toml", {}, {"storage.data_dir": str(folder)})

    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(build_demo(read, SystemClock().now_ms(), days=DAYS, size=SMALL))).result()


def add_hostile(client: Client, model: ScriptedModel) -> dict[str, str]:
    """Put hostile texts wherever one can be put; return the addresses that show them."""
    person = client.post("/api/users", {"name": NAME, "slug": "grue"})["user"]["id"]
    client.post("/api/tokens", {"kind": "user", "name": NAME, "userId": person})
    client.post("/api/agents", {"id": "grue", "name": NAME, "description": MARKDOWN, "instructionsExtra": MARKDOWN})
    client.post("/api/spaces", {"name": NAME, "id": "space-grue"})
    client.post("/api/topics", {"name": NAME, "id": "topic-grue", "spaceId": "space-grue"})
    key, [run, _, asked] = _chat(client, model)
    fact = {"scope": f"session:{key.split(':', 2)[2]}", "type": "fact", "title": NAME, "content": MARKDOWN}
    kept = client.post("/api/memory", fact | {"agentId": "grue"})["item"]["id"]
    fact_id = client.post(f"/api/memory/{kept}/promote", {"reason": NAME})["item"]["id"]
    client.post("/api/schedules", {"type": "message", "cron": "0 9 * * *", "message": MARKDOWN, "sessionId": key})
    client.post("/api/goals", {"sessionId": key, "name": NAME, "description": MARKDOWN})
    task = _task(client)
    lane = quote(key, safe="")
    return {
        "home": f"/?peek={asked}", "board": f"/board?peek={task}", "list": "/board?view=list", "task": f"/tasks/{task}",
        "task's work": f"/tasks/{task}?tab=activity", "chat": f"/chat/{lane}", "sessions": "/sessions",
        "session": f"/sessions/{lane}", "runs": f"/runs?peek={run}", "run": f"/runs/{run}",
        "context": f"/runs/{run}/context", "isolation": "/isolation", "session's isolation": f"/isolation/{lane}",
        "memory": f"/memory?peek={fact_id}", "search": f"/search?q={MARK}", "agents": "/agents?peek=grue",
        "schedules": "/schedules",
        "goals": f"/goals?session={lane}", "spaces": "/spaces?peek=space-grue", "tokens": "/tokens", "usage": "/usage",
    }  # fmt: skip


def _chat(client: Client, model: ScriptedModel) -> tuple[str, list[str]]:
    """Return a chat with a hostile reply, tool result, fault and question, and its runs."""
    body = {"channelType": "web", "agentId": "grue", "displayName": NAME}
    key = str(client.post("/api/sessions", body)["sessionKey"])
    model.on("Add", calls(("artifact_add", {"name": FILE, "text": MARKDOWN}), ("no_tool", {"x": NAME})), text(MARKDOWN))
    model.on("Fail", http_error(400, NAME))
    model.on("Ask", calls(("request_input", {"question": MARKDOWN})))
    runs = [client.say(key, f"{MARKDOWN}\n\n{line}") for line in ("Add", "Fail", "Ask")]
    client.ended(runs[-1])
    return key, runs


def _task(client: Client) -> str:
    task = client.post(
        "/api/tasks",
        {"title": NAME, "description": MARKDOWN, "tags": [NAME[:40]], "topicId": "topic-grue", "spaceId": "space-grue"}
        | {"assignedUserIds": ["grue"], "status": "blocked", "blockedReason": NAME},
    )["task"]["id"]
    files = {"file": (FILE, f"<script>{_RUN}</script>".encode(), "text/html")}
    sent = client.http.post("/api/attachments", files=files)
    sent.raise_for_status()
    attached = sent.json()["attachment"]["id"]
    client.post(f"/api/tasks/{task}/messages", {"content": MARKDOWN, "attachmentIds": [attached]})
    client.post("/api/tasks", {"title": NAME, "parentId": task, "dependencies": []})
    return str(task)
