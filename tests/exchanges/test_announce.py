"""Sub-agents from spawn to announce: the result is delivered once, and nothing is left behind."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from carrel.access import make_user
from carrel.agents import SubagentRules
from carrel.exchanges import Exchange, exchange_after
from carrel.journal import Entry, entries_of_session
from carrel.kernel import Access, SessionKey
from carrel.kernel.settings import (
    AgentDefaultsSettings,
    AgentsSettings,
    Settings,
    SpawnAttachmentsSettings,
    SubagentDefaultsSettings,
    ToolsSettings,
    ToolsSpawnSettings,
)
from carrel.notifications import OWNERS, newest_notifications
from carrel.notifications.model import Notification
from carrel.runs import Run, remove_lane, retry, stop_lane
from carrel.runs.pruner import prune
from carrel.sessions import Lane, close_generation, lane_of, open_session_of
from carrel.tools import CATALOG, Cleanup
from tests.exchanges.plays import Play, spawn
from tests.harness.engine import until_found
from tests.harness.server import Server, gateways_to, open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import Gate, ScriptedGateway, calls, http_error, text
from tests.tools.spawning import requester_at, settings_in

SECONDS_MAX = 20.0
MAIN = SessionKey.of("main", "main")


class Spawner:
    """A server whose agents spawn, with the model that plays them."""

    def __init__(self, server: Server, play: Play) -> None:
        self.server = server
        self.play = play

    async def spawn(
        self, rest: str = "main", agent: str = "main", asked_by: Access | None = None, **params: Any
    ) -> dict[str, Any]:
        """Let an agent spawn a child; return the result of the call once the turn has ended."""
        asking = spawn({"task": "count the sheep", **params})
        run = await self.server.ask(asking, rest, agent=agent, access=asked_by)
        results = [entry.content for entry in await self.server.entries(run) if entry.role == "toolResult"]
        answer: dict[str, Any] = json.loads(results[0])
        return answer

    async def until_ended(self, run_id: str) -> Exchange | None:
        """Return the exchange of a spawn once it is no longer open; None when it was deleted with its child."""
        access = self.server.access
        return await until_found(
            lambda: self.server.read(lambda tx: exchange_after(tx, access, run_id)),
            lambda exchange: exchange is None or exchange.state != "open",
        )

    async def announced(self, run_id: str) -> str:
        """Return the announcement of a delivered spawn."""
        exchange = await self.until_ended(run_id)
        assert exchange is not None
        assert exchange.state == "delivered", exchange
        assert exchange.announcement is not None
        return exchange.announcement

    async def told(self, recipient: str = OWNERS) -> list[Notification]:
        """Return the notifications of a person, newest first."""
        return await self.server.read(lambda tx: newest_notifications(tx, self.server.access, recipient, limit=50))

    async def runs_in(self, key: SessionKey) -> list[Run]:
        """Return the runs of a lane, oldest first, once all have settled."""
        return await until_found(
            lambda: self.server.runs(key),
            lambda runs: all(run.state not in ("queued", "running") for run in runs),
        )

    async def lane(self, key: str) -> Lane | None:
        return await self.server.read(lambda tx: lane_of(tx, self.server.access, SessionKey.parse(key)))

    async def timeline(self, key: SessionKey) -> list[Entry]:
        """Return the transcript of the open generation of a lane."""
        session = await self.server.read(lambda tx: open_session_of(tx, self.server.access, str(key)))
        assert session is not None
        return await self.server.read(lambda tx: entries_of_session(tx, self.server.access, session.id, limit=100))


def root_in(spawner: Spawner, folder: Path) -> Path:
    """Return the workspace of agent main."""
    return folder / "workspaces" / spawner.server.access.account_id / "main"


@pytest.fixture
async def spawner(store_url: str, gateway: ScriptedGateway, tmp_path: Path) -> AsyncIterator[Spawner]:
    async with open_server(store_url, gateways_to(gateway), settings_in(tmp_path)) as server:
        yield Spawner(server, Play(gateway))


@requirement("S2.subannounce.posts", "S2.subannounce.form", "S2.subannounce.stats", "S2.x.result.nochannel")
async def test_a_result_is_announced_with_status_result_notes_and_stats_and_wakes_the_requester(
    spawner: Spawner,
) -> None:
    answer = await spawner.spawn(label="sheep")
    told = await spawner.announced(answer["runId"])
    child = await spawner.server.run((await spawner.runs_in(SessionKey.parse(answer["childSessionKey"])))[0])
    status, result, notes, stats = told.splitlines()
    assert (status, result, notes) == ("Status: completed", "Result: twelve sheep", "Notes: one was a goat")
    for part in (
        f"runtime {((child.ended_at or 0) - (child.started_at or 0)) // 1_000}s",
        "18 tokens (11 in, 7 out)",
        f"sessionKey {answer['childSessionKey']}",
        f"sessionId {child.session_id}",
        f"transcript /api/sessions/{child.session_id}/history",
        "label sheep",
    ):
        assert part in stats
    first, woken = await spawner.runs_in(MAIN)
    assert woken.text == told
    assert (woken.source().kind, woken.source().source_session_key) == ("announce", answer["childSessionKey"])
    assert woken.reply == "heard Status: completed"
    assert woken.seq > first.seq
    assert child.text == "count the sheep"
    lane = await spawner.server.read(lambda tx: lane_of(tx, spawner.server.access, MAIN))
    assert lane is not None
    assert (lane.last_to, [entry.content for entry in await spawner.timeline(MAIN)].count(told)) == (None, 1)


@requirement("S2.subannounce.posts")
async def test_the_result_of_a_persons_spawn_is_appended_without_a_run(
    spawner: Spawner, gateway: ScriptedGateway
) -> None:
    await spawner.server.ask("hello")
    person = await requester_at(spawner.server, kind="owner")
    answer = await person.spawn()
    told = await spawner.announced(answer["runId"])
    newest = (await spawner.timeline(MAIN))[-1]
    assert (newest.content, newest.role, newest.run_id) == (told, "user", None)
    assert newest.provenance.kind == "announce"
    assert len(await spawner.runs_in(MAIN)) == 1
    await spawner.server.ask("and now?")
    shown = [item["content"][-1]["text"] for item in gateway.requests[-1].talk]
    assert shown[-2:] == [told, "and now?"], "the next turn knows of it"


@requirement("S2.subannounce.form")
async def test_the_status_comes_from_the_engine_not_from_the_model(spawner: Spawner) -> None:
    spawner.play.child = "Status: failed. Everything went wrong."
    answer = await spawner.spawn()
    assert (await spawner.announced(answer["runId"])).startswith("Status: completed\nResult: Status: failed. Everyth")


@requirement("S2.subannounce.posts", "S2.subannounce.form", "S2.x.result.kept")
async def test_a_failed_child_is_announced_with_its_notes(spawner: Spawner) -> None:
    spawner.play.child = http_error(400, "no sheep here")
    answer = await spawner.spawn()
    told = await spawner.announced(answer["runId"])
    assert told.startswith("Status: failed: ")
    assert "no sheep here" in told.splitlines()[0]
    assert "Result: none\nNotes: one was a goat" in told
    _, step = await spawner.runs_in(SessionKey.parse(answer["childSessionKey"]))
    assert "no sheep here" in step.text, "its transcript does not tell how it ended"
    assert "\nResult: none\n" in step.text


@requirement("S2.subannounce.form", "S2.subannounce.empty")
async def test_a_failed_child_that_did_something_announces_it(spawner: Spawner) -> None:
    wanted = [calls(("artifact_add", {"text": "sheep", "artifactId": "list"})), http_error(400, "no more sheep")]
    spawner.play.child = lambda _request: wanted.pop(0)
    spawner.play.notes = http_error(400, "not a word")
    answer = await spawner.spawn()
    told = (await spawner.announced(answer["runId"])).splitlines()
    assert "no more sheep" in told[0]
    assert told[1:3] == ['Result: {"artifactId":"list"}', "Notes: none"]


@requirement("S2.subannounce.posts", "S2.x.result.kept")
async def test_a_retried_child_announces_its_new_result(spawner: Spawner) -> None:
    spawner.play.child = http_error(400, "no sheep here")
    answer = await spawner.spawn()
    assert (await spawner.announced(answer["runId"])).startswith("Status: failed: ")
    spawner.play.child = "twelve sheep after all"
    failed = await spawner.server.run((await spawner.runs_in(SessionKey.parse(answer["childSessionKey"])))[0])
    again = await spawner.server.db.write(lambda tx: retry(tx, spawner.server.access, failed, spawner.server.rules))
    told = await spawner.announced(again.id)
    assert told.startswith("Status: completed\nResult: twelve sheep after all\nNotes: one was a goat\n")
    assert [run.text.splitlines()[0] for run in await spawner.runs_in(MAIN)][-1] == "Status: completed"


@requirement("S2.spawn.timeout", "S2.subannounce.form")
async def test_a_child_that_times_out_is_announced_as_such(spawner: Spawner) -> None:
    gate = Gate()
    spawner.play.child = text("too late", before=gate)
    answer = await spawner.spawn(runTimeoutSeconds=1)
    told = await spawner.announced(answer["runId"])
    assert told.startswith("Status: timed out\nResult: none\nNotes: one was a goat\n")
    gate.open()


@requirement("S2.subannounce.form")
async def test_a_cancelled_child_is_announced_as_such(spawner: Spawner) -> None:
    gate = Gate()
    spawner.play.child = text("never", before=gate)
    answer = await spawner.spawn()
    await gate.reached()
    await (await requester_at(spawner.server)).server.cancel(answer["runId"])
    assert (await spawner.announced(answer["runId"])).startswith("Status: cancelled\nResult: none\nNotes: none\n")
    assert len(await spawner.runs_in(SessionKey.parse(answer["childSessionKey"]))) == 1, "it is asked nothing more"
    gate.open()


@requirement("S2.subannounce.empty")
async def test_an_empty_reply_is_replaced_by_the_newest_tool_result(spawner: Spawner) -> None:
    wanted = [calls(("artifact_add", {"text": "sheep", "artifactId": "list"})), text("")]
    spawner.play.child = lambda _request: wanted.pop(0)
    answer = await spawner.spawn()
    told = await spawner.announced(answer["runId"])
    assert 'Result: {"artifactId":"list"}' in told


@requirement("S2.subannounce.empty", "S2.x.noreply.stops")
async def test_a_no_reply_token_is_not_a_result(spawner: Spawner) -> None:
    spawner.play.child = "NO_REPLY"
    answer = await spawner.spawn()
    assert "\nResult: none\n" in await spawner.announced(answer["runId"])


@requirement("S2.subannounce.skip")
async def test_a_child_can_skip_its_announce(spawner: Spawner) -> None:
    spawner.play.notes = "  ANNOUNCE_SKIP\n"
    answer = await spawner.spawn()
    exchange = await spawner.until_ended(answer["runId"])
    assert exchange is not None
    assert exchange.state == "skipped"
    assert len(await spawner.runs_in(MAIN)) == 1


async def test_failing_notes_do_not_delay_the_result(spawner: Spawner) -> None:
    spawner.play.notes = http_error(400, "no more words")
    answer = await spawner.spawn()
    assert "Result: twelve sheep\nNotes: none" in await spawner.announced(answer["runId"])


@requirement("S2.spawn.cleanup")
async def test_a_child_is_deleted_after_its_announce_only_if_asked_for(spawner: Spawner) -> None:
    kept = await spawner.spawn(cleanup="keep")
    await spawner.announced(kept["runId"])
    gone = await spawner.spawn(cleanup="delete")
    assert await spawner.until_ended(gone["runId"]) is None
    assert await spawner.lane(gone["childSessionKey"]) is None
    assert await spawner.lane(kept["childSessionKey"]) is not None
    announced = [run for run in await spawner.runs_in(MAIN) if run.provenance_kind == "announce"]
    assert [run.source().source_session_key for run in announced] == [kept["childSessionKey"], gone["childSessionKey"]]
    assert ["transcript deleted" in run.text for run in announced] == [False, True]
    assert ["/history" in run.text for run in announced] == [True, False], "no address that leads nowhere"


@requirement("S2.subannounce.posts")
async def test_a_requester_is_told_whether_its_result_is_posted_or_left_to_it(spawner: Spawner) -> None:
    for rest, wanted, unwanted in (
        ("telegram:group:42", "It is posted on this session's channel (telegram) as it stands", "in your own words"),
        ("main", "tell the result in your own words", "It is posted"),
    ):
        await spawner.announced((await spawner.spawn(rest=rest))["runId"])
        _, woken = await spawner.runs_in(SessionKey.of("main", rest))
        (step,) = (await spawner.server.receipt(woken)).steps
        assert wanted in str(step.instructions)
        assert unwanted not in str(step.instructions)
        assert ("NO_REPLY" in str(step.instructions)) == (rest != "main"), "silence would lose what nobody else tells"


async def test_a_requester_may_wait_in_silence_for_the_results_of_others(spawner: Spawner) -> None:
    gate = Gate()
    spawner.play.child = text("seven", before=gate)
    first = await spawner.spawn(label="slow")
    await gate.reached()
    spawner.play.child = "eight"
    await spawner.announced((await spawner.spawn(label="quick"))["runId"])
    await spawner.runs_in(MAIN)
    gate.open()
    await spawner.announced(first["runId"])
    woken = (await spawner.runs_in(MAIN))[-2:]
    offered = [
        "if you need their results first, answer exactly NO_REPLY" in str(step.instructions)
        for run in woken
        for step in (await spawner.server.receipt(run)).steps
    ]
    assert offered == [True, False]


@requirement("S2.spawn.attachments.redacted")
async def test_the_content_of_files_is_neither_stored_nor_sent_again(spawner: Spawner) -> None:
    files = [{"name": "sheep.txt", "content": "TOP SECRET SHEEP", "mimeType": "text/plain"}]
    run = await spawner.server.ask(spawn({"task": "count", "attachments": files}))
    answer = json.loads(next(e.content for e in await spawner.server.entries(run) if e.role == "toolResult"))
    assert answer["status"] == "accepted"
    (call,) = [entry for entry in await spawner.server.entries(run) if entry.role == "toolCall"]
    told = json.loads((call.details or {})["arguments"])["attachments"]
    assert told == [{"name": "sheep.txt", "mimeType": "text/plain", "content": "[redacted]"}]
    rows = await spawner.server.read(
        lambda tx: [
            *tx.all("SELECT details FROM entries WHERE role = 'toolCall'"),
            *tx.all("SELECT output FROM steps"),
            *tx.all("SELECT result FROM calls"),
            *tx.all("SELECT content FROM attachments"),
        ]
    )
    assert "TOP SECRET" not in str(rows)
    receipt = await spawner.server.receipt(run, with_body=True)
    calls_sent = [item for item in json.loads(receipt.steps[1].body or "")["input"] if item["type"] == "function_call"]
    assert json.loads(calls_sent[0]["arguments"])["attachments"] == told
    assert "TOP SECRET" not in str(calls_sent)


@requirement("S2.spawn.attachments.cleanup")
@pytest.mark.parametrize(
    ("cleanup", "retain", "stays"), [("keep", False, False), ("keep", True, True), ("delete", True, False)]
)
async def test_files_are_removed_with_the_child_unless_they_are_retained(
    store_url: str, gateway: ScriptedGateway, tmp_path: Path, cleanup: str, retain: bool, stays: bool
) -> None:
    retaining = ToolsSpawnSettings(attachments=SpawnAttachmentsSettings(retain_on_session_keep=retain))
    settings = settings_in(tmp_path, tools=ToolsSettings(sessions_spawn=retaining))
    async with open_server(store_url, gateways_to(gateway), settings) as server:
        spawner = Spawner(server, Play(gateway))
        gate = Gate()
        spawner.play.child = text("done", before=gate)
        outside = tmp_path / "treasure"
        outside.write_text("gold")
        answer = await spawner.spawn(cleanup=cleanup, attachments=[{"name": "a.txt", "content": "sheep"}])
        folder = root_in(spawner, tmp_path) / answer["attachments"]["relDir"]
        await gate.reached()
        (folder / "link").symlink_to(outside)
        assert (folder / "a.txt").read_text() == "sheep"
        assert "sheep.txt" not in str(spawner.play.heard)
        gate.open()
        await spawner.until_ended(answer["runId"])
        await server.kill()
        while await Cleanup(server.db, server.settings).round() == 0:
            pass
        assert folder.exists() == stays
        assert outside.read_text() == "gold"


@requirement("S2.spawn.attachments.atomic")
async def test_files_without_a_child_are_removed_later(spawner: Spawner, tmp_path: Path) -> None:
    answer = await spawner.spawn(attachments=[{"name": "a.txt", "content": "sheep"}])
    await spawner.until_ended(answer["runId"])
    await spawner.server.kill()
    attachments = root_in(spawner, tmp_path) / ".openclaw/attachments"
    sitting = await requester_at(spawner.server)
    owned = (await sitting.spawn(attachments=[{"name": "a.txt", "content": "sheep"}]))["attachments"]["relDir"]
    name = answer["childSessionKey"].rpartition(":")[2]
    foreign = "0b5ff0c6-6c9c-4f0e-9d4b-3d6a3a2d9e11"
    for folder in (name, foreign, "notes"):
        (attachments / folder).mkdir(exist_ok=True)
    for path in attachments.iterdir():
        os.utime(path, (0, 0))
    fresh = attachments / "fresh"
    fresh.mkdir()
    await Cleanup(spawner.server.db, spawner.server.settings).sweep_strays()
    left = {path.name for path in attachments.iterdir()}
    assert left == {owned.rpartition("/")[2], foreign, "notes", "fresh"}, "only what this account made and lost goes"


@requirement("S2.x.result.gone", "S2.x.result.kept")
async def test_a_result_for_an_ended_session_goes_to_the_next_generation_and_notifies_the_owners(
    spawner: Spawner,
) -> None:
    await spawner.announced((await spawner.spawn())["runId"])
    assert await spawner.told() == [], "nobody is told of what arrives where it was asked for"
    gate = Gate()
    spawner.play.child = text("late sheep", before=gate)
    ada = await spawner.server.db.write(
        lambda tx: make_user(tx, spawner.server.access, name="Ada", slug="ada", email=None, role="member")
    )
    answer = await spawner.spawn(asked_by=structs.replace(spawner.server.access, kind="user", actor_id=ada.id))
    before = await spawner.server.read(lambda tx: open_session_of(tx, spawner.server.access, str(MAIN)))
    await spawner.server.db.write(lambda tx: close_generation(tx, spawner.server.access, MAIN, "reset"))
    gate.open()
    told = await spawner.announced(answer["runId"])
    woken = (await spawner.runs_in(MAIN))[-1]
    assert before is not None
    assert (woken.text, woken.generation) == (told, before.generation + 1)
    (notice,) = await spawner.told()
    assert (notice.type, notice.run_id, notice.key) == ("run_undelivered", answer["runId"], str(MAIN))
    assert notice.title == "Main finished after the session had ended: count the sheep"
    assert str(MAIN) in notice.body
    assert [each.title for each in await spawner.told(ada.id)] == [notice.title], "and to who had asked for it"


@requirement("S2.x.result.kept")
async def test_a_result_for_a_deleted_requester_is_kept_as_undelivered(spawner: Spawner) -> None:
    gate = Gate()
    spawner.play.child = text("orphaned sheep", before=gate)
    answer = await spawner.spawn(rest="task:task_9", cleanup="delete")
    access = spawner.server.access
    key = SessionKey.of("main", "task:task_9")
    await spawner.runs_in(key)
    # The lane goes, the child does not: as if it had been spawned a moment after the stop.
    await spawner.server.db.write(lambda tx: tx.run("UPDATE lanes SET spawned_by = NULL WHERE kind = 'subagent'"))
    lane = await spawner.server.read(lambda tx: lane_of(tx, access, key))
    assert lane is not None
    assert await spawner.server.db.write(lambda tx: remove_lane(tx, access, lane)) is None
    gate.open()
    exchange = await spawner.until_ended(answer["runId"])
    assert exchange is not None
    assert exchange.state == "undelivered"
    assert "Result: orphaned sheep" in (exchange.announcement or "")
    assert await spawner.lane(answer["childSessionKey"]) is not None, "what was not delivered is not deleted"


@requirement("S2.x.stop.cutoff")
async def test_after_a_stop_no_result_wakes_the_requester(spawner: Spawner) -> None:
    gate = Gate()
    spawner.play.child = text("never", before=gate)
    answer = await spawner.spawn()
    await gate.reached()
    access = spawner.server.access
    stopped = await spawner.server.db.write(lambda tx: stop_lane(tx, access, str(MAIN), "stopped"))
    assert stopped == [answer["runId"]]
    assert (await spawner.announced(answer["runId"])).startswith("Status: cancelled")
    assert len(await spawner.runs_in(MAIN)) == 1
    assert (await spawner.timeline(MAIN))[-1].content.startswith("Status: cancelled")
    gate.open()


@requirement("S2.spawn.archive")
async def test_idle_children_are_archived_and_keep_their_transcript(
    store_url: str, gateway: ScriptedGateway, tmp_path: Path
) -> None:
    async with open_server(store_url, gateways_to(gateway), settings_in(tmp_path)) as server:
        spawner = Spawner(server, Play(gateway))
        await server.make_agent("never", subagents=SubagentRules(archive_after_minutes=0))
        first = await spawner.spawn()
        second = await spawner.spawn(agent="never")
        for answer in (first, second):
            await spawner.until_ended(answer["runId"])
        child = SessionKey.parse(first["childSessionKey"])
        session = await server.read(lambda tx: open_session_of(tx, server.access, str(child)))
        assert session is not None
        await server.kill()
        await server.db.write(lambda tx: prune(tx, server.settings))
        assert (await spawner.lane(first["childSessionKey"])).archived_at is None, "its time has not come"  # type: ignore[union-attr]
        long_ago = "UPDATE lanes SET updated_at = updated_at - 3700000 WHERE kind = 'subagent'"
        await server.db.write(lambda tx: tx.run(long_ago))
        await server.db.write(lambda tx: prune(tx, server.settings))
        assert (await spawner.lane(first["childSessionKey"])).archived_at is None, "its last run ended a moment ago"  # type: ignore[union-attr]
        await server.db.write(lambda tx: tx.run("UPDATE runs SET ended_at = ended_at - 3700000"))
        await server.db.write(lambda tx: prune(tx, server.settings))
        assert (await spawner.lane(first["childSessionKey"])).archived_at is not None  # type: ignore[union-attr]
        assert (await spawner.lane(second["childSessionKey"])).archived_at is None, "0 is never"  # type: ignore[union-attr]
        said = await server.read(lambda tx: entries_of_session(tx, server.access, session.id, limit=100))
        assert said[0].content == "count the sheep"
        assert await server.read(lambda tx: open_session_of(tx, server.access, str(child))) is None


@requirement("S2.spawn.notools", "S2.spawn.nonest")
async def test_a_child_that_tries_to_spawn_is_refused_and_continues(spawner: Spawner) -> None:
    tried = [calls(("sessions_spawn", {"task": "one more"})), text("I could not.")]
    spawner.play.child = lambda _request: tried.pop(0)
    answer = await spawner.spawn()
    assert "Result: I could not." in await spawner.announced(answer["runId"])
    child = (await spawner.runs_in(SessionKey.parse(answer["childSessionKey"])))[0]
    (result,) = [entry for entry in await spawner.server.entries(child) if entry.role == "toolResult"]
    assert json.loads(result.content)["error"]["code"] == "tool_not_allowed"


async def test_a_child_is_briefed_on_its_requester_and_its_files(spawner: Spawner, gateway: ScriptedGateway) -> None:
    answer = await spawner.spawn(attachments=[{"name": "a.txt", "content": "sheep"}])
    await spawner.until_ended(answer["runId"])
    await spawner.runs_in(MAIN)
    told = {
        words.rpartition(":")[0].rpartition(":")[0]: request.json["instructions"]
        for request in gateway.requests
        if (words := request.headers["x-openclaw-session-key"])
    }
    child = next(text for key, text in told.items() if "subagent" in key)
    assert "agent:main:main" in child
    asked = [r.json["instructions"] for r in gateway.requests if ":subagent:" in r.headers["x-openclaw-session-key"]]
    assert answer["attachments"]["relDir"] in asked[0]
    assert "a.txt" in asked[0]
    assert "ANNOUNCE_SKIP" in asked[1]
    assert "tell the result in your own words" in gateway.requests[-1].json["instructions"]


async def test_the_catalog_describes_the_parameters_of_spawning() -> None:
    schema = CATALOG.find("sessions_spawn").schema()
    assert set(schema["properties"]) == {
        "task", "label", "agentId", "model", "thinking", "runTimeoutSeconds", "thread", "mode", "cleanup", "sandbox",
        "attachments", "attachAs",
    }  # fmt: skip
    assert schema["required"] == ["task"]
    assert schema["additionalProperties"] is False


def test_the_settings_of_spawning_have_the_documented_defaults() -> None:
    spawner, defaults = SpawnAttachmentsSettings(), SubagentDefaultsSettings()
    assert (spawner.max_files, spawner.max_file_bytes, spawner.max_total_bytes) == (50, 1_048_576, 5_242_880)
    assert (spawner.enabled, spawner.retain_on_session_keep, spawner.dir) == (True, False, ".openclaw/attachments")
    assert (defaults.run_timeout_seconds, defaults.archive_after_minutes, defaults.max_children) == (0, 60, 5)
    assert Settings().agents == AgentsSettings(defaults=AgentDefaultsSettings(subagents=defaults))
