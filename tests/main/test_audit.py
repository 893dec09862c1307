"""The audit log: who changed what, in files that only their owner can read, and no more of them than wanted."""

import json
import stat

from tests.harness.process import RunningServer, Start
from tests.requirements.mark import requirement


def lines_of(server: RunningServer, name: str = "audit.log") -> list[dict[str, object]]:
    return [json.loads(line) for line in (server.folder / name).read_text().splitlines()]


@requirement("S4.audit")
def test_without_the_setting_nothing_is_noted(start: Start) -> None:
    server = start()
    with server.client() as client:
        client.post("/api/topics", json={"name": "Launch"}).raise_for_status()
    assert list(server.folder.glob("audit*")) == []


@requirement("S4.audit")
def test_every_change_is_noted_with_who_asked_for_it_and_what_became_of_it(start: Start) -> None:
    server = start(CARREL_AUDIT__ENABLED="true")
    with server.client() as client, server.client("crl_owner_1_wrong") as stranger:
        client.get("/api/topics").raise_for_status()
        client.post("/api/topics", json={"name": "A name that nobody else should read"}).raise_for_status()
        stranger.delete("/api/topics/x")
    made, refused = lines_of(server)
    asked = {name: made[name] for name in ("method", "path", "status", "kind")}
    assert asked == {"method": "POST", "path": "/api/topics", "status": 201, "kind": "owner"}
    assert (refused["method"], refused["status"], "actor" in refused) == ("DELETE", 401, False)
    text = (server.folder / "audit.log").read_text()
    assert server.token not in text
    assert "nobody else" not in text
    assert stat.S_IMODE((server.folder / "audit.log").stat().st_mode) == 0o600


@requirement("S4.audit")
def test_files_that_are_full_are_replaced_and_only_so_many_are_kept(start: Start) -> None:
    server = start(CARREL_AUDIT__ENABLED="true", CARREL_AUDIT__MAX_BYTES="1000", CARREL_AUDIT__KEEP="2")
    with server.client() as client:
        for _ in range(30):
            client.post("/api/topics", json={"name": "Launch"}).raise_for_status()
    names = sorted(path.name for path in server.folder.glob("audit*"))
    assert names == ["audit.log", "audit.log.1", "audit.log.2"]
    for name in names:
        assert (server.folder / name).stat().st_size <= 1000
        assert stat.S_IMODE((server.folder / name).stat().st_mode) == 0o600
        assert all(line["path"] == "/api/topics" for line in lines_of(server, name))
