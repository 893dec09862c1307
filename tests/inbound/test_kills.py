"""A server that is killed while programs post to it carries everything out once, when they send it again."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from tests.harness.process import RunningServer, Start
from tests.inbound.senders import SECRET, Post, from_github
from tests.requirements.mark import requirement

SETTINGS = """
[webhooks.github]
kind = "github"
secret_env = "GITHUB_WEBHOOK_SECRET"
action = "task"
events = ["push"]
"""
PUSHES = [
    from_github({"ref": f"refs/heads/{n}", "repository": {"full_name": "octo-org/doors"}}, "push", f"delivery-{n}")
    for n in range(40)
]


def accepted(server: RunningServer, posts: Iterable[Post]) -> dict[str, str]:
    """Post from several threads until the server is gone; return the ids of deliveries by the sender's own."""

    def send(what: Post) -> tuple[str, str] | None:
        headers = {"Content-Type": "application/json", **what.headers}
        try:
            answer = httpx.post(f"{server.url}/api/hooks/in/github", content=what.body, headers=headers)
        except httpx.HTTPError:
            return None
        if answer.status_code != 202:
            return None
        if what is PUSHES[12]:
            server.kill()
        return what.headers["X-GitHub-Delivery"], answer.json()["deliveryId"]

    with ThreadPoolExecutor(4) as threads:
        return dict(filter(None, threads.map(send, posts)))


@requirement("P.webhook.once")
def test_what_was_accepted_before_a_kill_is_not_done_again(tmp_path: Path, start: Start) -> None:
    (tmp_path / "carrel.toml").write_text(SETTINGS)
    options = ("--config", str(tmp_path / "carrel.toml"))
    before = accepted(start(*options, GITHUB_WEBHOOK_SECRET=SECRET), PUSHES)
    assert 1 <= len(before) < len(PUSHES)
    server = start(*options, GITHUB_WEBHOOK_SECRET=SECRET)
    after = accepted(server, [one for one in PUSHES if one is not PUSHES[12]])
    assert len(after) == len(PUSHES) - 1
    assert before.items() <= after.items() | {("delivery-12", before["delivery-12"])}
    with server.client() as owner:
        tasks = owner.get("/api/tasks", params={"limit": 200}).json()["tasks"]
        shown = owner.get("/api/hooks/in").json()["webhooks"][0]
    assert (len(tasks), shown["done"]) == (len(PUSHES), len(PUSHES))
    assert SECRET not in server.log_file.read_text()
