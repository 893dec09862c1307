"""Files for a sub-agent: checked strictly, written privately, and removed if the spawn fails."""

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

from carrel.agents import Profile, SubagentRules, change_agent, make_agent
from carrel.kernel import REDACTED, Refusal
from carrel.kernel.settings import AgentsSettings, SpawnAttachmentsSettings, ToolsSettings, ToolsSpawnSettings
from carrel.tools import CATALOG, Cleanup, ToolServices, workspace_of
from tests.harness.server import Server
from tests.requirements.mark import requirement
from tests.tools.spawning import Requester, open_requester, requester_at, settings_in


@pytest.fixture
async def requester(sqlite_url: str, tmp_path: Path) -> AsyncIterator[Requester]:
    async with open_requester(sqlite_url, settings_in(tmp_path)) as opened:
        yield opened


def bounds(folder: Path, **changes: Any) -> Any:
    """Return settings with other limits for attachments."""
    changed = ToolsSpawnSettings(attachments=SpawnAttachmentsSettings(**changes))
    return settings_in(folder, tools=ToolsSettings(sessions_spawn=changed))


def root_of(requester: Requester) -> Path:
    """Return the workspace of the requester's agent."""
    caller = requester.caller
    return workspace_of(caller.services.settings, caller.access, caller.agent).root


def in_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def file(name: str = "a.txt", content: str = "sheep", **more: Any) -> dict[str, Any]:
    return {"name": name, "content": content, **more}


def everything_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@requirement("S2.spawn.attachments.entry", "S2.spawn.attachments.written", "S2.spawn.attachments.receipt")
@requirement("S2.spawn.attachas")
async def test_receipt_manifest_and_disk_agree(requester: Requester) -> None:
    contents = {"notes.md": "zwölf Schafe".encode(), "photo.png": bytes(range(256)), "empty": b"", "名前 1.txt": b"x"}
    files = [
        file("notes.md", "zwölf Schafe", mimeType="text/markdown"),
        file("photo.png", in_base64(contents["photo.png"]), encoding="base64"),
        file("empty", "", encoding="base64"),
        file("名前 1.txt", "x", encoding="utf8"),
    ]
    answer = await requester.spawn(attachments=files, attachAs={"mountPath": "/somewhere/else"})
    receipt = answer["attachments"]
    folder = root_of(requester) / receipt["relDir"]
    name = answer["childSessionKey"].rpartition(":")[2]
    assert receipt["relDir"] == f".openclaw/attachments/{name}"
    assert receipt["files"] == [
        {"name": name, "bytes": len(content), "sha256": sha256(content).hexdigest()}
        for name, content in contents.items()
    ]
    assert (receipt["count"], receipt["totalBytes"]) == (4, sum(map(len, contents.values())))
    assert json.loads((folder / "manifest.json").read_text()) == receipt
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "manifest.json"} == contents
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert {at.stat().st_mode & 0o777 for at in (folder, folder.parent, folder.parent.parent)} == {0o700}
    lane = await requester.lane(answer["childSessionKey"])
    kept = json.loads(lane.files or "")
    assert (kept["root"], kept["folder"], kept["receipt"]) == (str(root_of(requester)), name, receipt)


@requirement("S2.spawn.attachments.written")
async def test_files_are_in_the_workspace_of_the_spawned_agent(requester: Requester, tmp_path: Path) -> None:
    server = requester.server
    await server.make_agent("painter", workspace="studio/painter")
    king = await king_of(server)
    answer = await king.spawn(agentId="painter", attachments=[file()])
    studio = root_of(requester).parent / "studio" / "painter"
    assert (studio / answer["attachments"]["relDir"] / "a.txt").read_text() == "sheep"


async def king_of(server: Server) -> Requester:
    """Return a requester that may spawn any agent."""
    await server.make_agent("king", subagents=SubagentRules(allow_agents=("*",)))
    return await requester_at(server, "king")


OUTSIDE = ["/etc", "~/elsewhere", "../other", "a/../../other", "~root"]


@pytest.mark.parametrize("workspace", OUTSIDE)
async def test_a_workspace_outside_the_account_is_refused_when_an_agent_is_changed(
    requester: Requester, workspace: str
) -> None:
    server = requester.server
    with pytest.raises(Refusal, match=r"agents\.workspaces_dir"):
        await server.make_agent("painter", workspace=workspace)
    painter = await server.db.write(lambda tx: make_agent(tx, server.access, "painter", "P", Profile()))
    wanted = structs.replace(painter, profile=Profile(workspace=workspace))
    with pytest.raises(Refusal, match=r"agents\.workspaces_dir"):
        await server.db.write(lambda tx: change_agent(tx, server.access, wanted))


@pytest.mark.parametrize("workspace", OUTSIDE)
async def test_a_stored_workspace_outside_the_account_is_refused_when_it_is_used(
    requester: Requester, workspace: str, tmp_path: Path
) -> None:
    server = requester.server
    king = await king_of(server)
    await server.make_agent("painter")
    await store_workspace(server, "painter", workspace)
    before = everything_below(tmp_path)
    answer = await king.spawn(agentId="painter", attachments=[file()])
    assert answer["status"] == "error"
    assert "agents.workspaces_dir" in answer["error"]
    assert [path for path in everything_below(tmp_path) if path not in before and "carrel.db" not in path] == []
    assert await Cleanup(server.db, server.settings).sweep_strays() == 0


async def test_a_stored_absolute_workspace_in_the_accounts_folder_is_used(requester: Requester) -> None:
    server = requester.server
    king, studio = await king_of(server), root_of(requester).parent / "studio"
    await server.make_agent("painter")
    await store_workspace(server, "painter", str(studio))
    answer = await king.spawn(agentId="painter", attachments=[file()])
    assert (studio / answer["attachments"]["relDir"] / "a.txt").read_text() == "sheep"


async def store_workspace(server: Server, agent_id: str, workspace: str) -> None:
    """Give an agent the workspace of a store that was written before such a path was refused."""
    profile = msgspec.json.encode(Profile(workspace=workspace)).decode()
    sql = "UPDATE agents SET profile = :profile WHERE account_id = :account AND id = :id"
    await server.db.write(lambda tx: tx.run(sql, server.access, profile=profile, id=agent_id))


async def test_the_operator_can_move_the_folder_of_all_workspaces(sqlite_url: str, tmp_path: Path) -> None:
    settings = settings_in(tmp_path, agents=AgentsSettings(workspaces_dir=str(tmp_path / "desks")))
    async with open_requester(sqlite_url, settings) as requester:
        answer = await requester.spawn(attachments=[file()])
        own = tmp_path / "desks" / requester.server.access.account_id / "main"
    assert (own / answer["attachments"]["relDir"] / "a.txt").read_text() == "sheep"


async def test_a_link_in_place_of_a_workspace_does_not_lead_to_another_account(
    requester: Requester, tmp_path: Path
) -> None:
    theirs = root_of(requester).parent.parent / "acc_other" / "main"
    theirs.mkdir(parents=True)
    root_of(requester).parent.mkdir()
    root_of(requester).symlink_to(theirs)
    answer = await requester.spawn(attachments=[file()])
    assert answer["status"] == "error"
    assert everything_below(theirs) == []


async def test_agents_that_share_a_workspace_do_not_sweep_each_others_files(requester: Requester) -> None:
    server = requester.server
    king = await king_of(server)
    for agent in ("painter", "writer"):
        await server.make_agent(agent, workspace="studio")
        await king.spawn(agentId=agent, attachments=[file()])
    held = root_of(requester).parent / "studio" / ".openclaw" / "attachments"
    for folder in held.iterdir():
        os.utime(folder, (0, 0))
    assert await Cleanup(server.db, server.settings).sweep_strays() == 0
    assert len(list(held.iterdir())) == 2


@requirement("S2.spawn.attachments.names")
@pytest.mark.parametrize(
    "name",
    ["", " ", "a/b", "a\\b", ".", "..", "../up", "manifest.json", "a\nb", "a\x7fb", "a\x85b", "a\u2028b", "x" * 256],
)
async def test_an_invalid_file_name_is_refused(requester: Requester, name: str) -> None:
    await assert_declined(requester, "attachments_invalid_name", file("good"), file(name))


@requirement("S2.spawn.attachments.names")
async def test_a_duplicate_file_name_is_refused(requester: Requester) -> None:
    await assert_declined(requester, "attachments_duplicate_name", file("a"), file("b"), file("a"))


@requirement("S2.spawn.attachments.base64")
@pytest.mark.parametrize(
    "content", ["abc", "ab=c", "ab==cd==", "a b=", "YQ", "YQ=", "YQ===", "YR==", "Y-_=", "Ÿÿ==", "YQ==\n", "="]
)
async def test_base64_is_strict(requester: Requester, content: str) -> None:
    wrong = file("a.bin", content, encoding="base64")
    await assert_declined(requester, "attachments_invalid_base64_or_too_large", file("good"), wrong)


async def assert_declined(requester: Requester, code: str, *files: dict[str, Any]) -> None:
    """Assert that a spawn with those files is an error of that code, and leaves neither lane nor file."""
    answer = await requester.spawn(attachments=list(files))
    assert (answer["status"], answer["code"]) == ("error", code)
    assert await requester.lanes() == []
    assert everything_below(root_of(requester)) == []


@requirement("S2.spawn.attachments.limits", "S2.spawn.attachments.base64")
async def test_count_size_and_sum_are_bounded(sqlite_url: str, tmp_path: Path) -> None:
    settings = bounds(tmp_path, max_files=3, max_file_bytes=10, max_total_bytes=25)
    async with open_requester(sqlite_url, settings) as requester:
        ten = [file(str(number), "x" * 10) for number in range(3)]
        await assert_declined(requester, "attachments_file_count_exceeded", *ten, file())
        await assert_declined(requester, "attachments_total_bytes_exceeded", *ten)
        await assert_declined(requester, "attachments_file_bytes_exceeded", file(content="x" * 11))
        await assert_declined(requester, "attachments_file_bytes_exceeded", file(content="ö" * 6))
        large = file(content=in_base64(b"x" * 11), encoding="base64")
        await assert_declined(requester, "attachments_invalid_base64_or_too_large", large)
        fits = [*ten[:2], file("c", in_base64(b"x" * 5), encoding="base64")]
        assert (await requester.spawn(attachments=fits))["attachments"]["totalBytes"] == 25


@requirement("S2.spawn.attachments.limits")
async def test_the_limits_are_the_documented_ones(requester: Requester) -> None:
    whole = file(content="x" * 1_048_576)
    answer = await requester.spawn(attachments=[whole | {"name": str(number)} for number in range(5)])
    assert answer["attachments"]["totalBytes"] == 5_242_880
    fifty = [file(str(number)) for number in range(50)]
    assert (await requester.spawn(attachments=fifty))["attachments"]["count"] == 50
    assert (await requester.spawn(attachments=[*fifty, file()]))["code"] == "attachments_file_count_exceeded"


@requirement("S2.spawn.attachments.switch")
async def test_files_are_forbidden_if_attachments_are_turned_off(sqlite_url: str, tmp_path: Path) -> None:
    async with open_requester(sqlite_url, bounds(tmp_path, enabled=False)) as requester:
        assert (await requester.spawn(attachments=[file()]))["status"] == "forbidden"
        assert await requester.lanes() == []
        assert (await requester.spawn())["status"] == "accepted"


@requirement("S2.spawn.attachments.acp")
async def test_a_child_with_the_acp_runtime_accepts_no_files(requester: Requester) -> None:
    await requester.server.make_agent("outside", runtime="acp")
    outside = await requester_at(requester.server, "outside")
    answer = await outside.spawn(attachments=[file()])
    assert (answer["status"], answer["code"]) == ("error", "attachments_unsupported_runtime")
    assert await requester.lanes() == []


@requirement("S2.spawn.attachments.atomic")
async def test_files_of_a_declined_spawn_are_removed(sqlite_url: str, tmp_path: Path) -> None:
    # All are allowed when they are prepared; when they act, five exist already.
    async with open_requester(sqlite_url, settings_in(tmp_path)) as requester:
        answers = await asyncio.gather(*(requester.spawn(attachments=[file()]) for _ in range(9)))
        accepted = [answer for answer in answers if answer["status"] == "accepted"]
        assert len(accepted) == 5
        placed = sorted(path.name for path in (root_of(requester) / ".openclaw/attachments").iterdir())
        assert placed == sorted(answer["childSessionKey"].rpartition(":")[2] for answer in accepted)


@requirement("S2.spawn.attachments.atomic")
async def test_files_of_a_failed_spawn_are_removed(requester: Requester) -> None:
    caller = requester.caller
    settings, gateways = caller.services.settings, caller.services.gateways
    broken = Requester(
        requester.server,
        type(caller)(
            **{name: getattr(caller, name) for name in caller.__struct_fields__}
            | {
                # Without rules the transaction itself fails.
                "services": ToolServices(settings=settings, rules=None, gateways=gateways),  # type: ignore[arg-type]
            }
        ),
    )
    with pytest.raises(AttributeError):
        await broken.spawn(attachments=[file()])
    assert await requester.lanes() == []
    assert list((root_of(requester) / ".openclaw/attachments").iterdir()) == []


async def test_files_that_cannot_be_written_are_an_error_and_leave_nothing(
    requester: Requester, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root = root_of(requester)
    root.mkdir(parents=True)
    (root / ".openclaw").symlink_to(outside)
    answer = await requester.spawn(attachments=[file()])
    assert answer["status"] == "error"
    assert await requester.lanes() == []
    assert list(outside.iterdir()) == [], "a link in the workspace leads nowhere"


@requirement("S2.spawn.attachments.redacted")
@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ('{"task":"x"}', '{"task":"x"}'),
        (
            '{"task":"x","attachments":[{"name":"a","content":"SECRET","encoding":"utf8","mimeType":"text/plain"}]}',
            '{"task":"x","attachments":[{"name":"a","encoding":"utf8","mimeType":"text/plain","content":"[redacted]"}]}',
        ),
        ('{"attachments":[{"name":"a","data":"SECRET"},"SECRET"]}', '{"attachments":[{"name":"a"},"[redacted]"]}'),
        ('{"attachments":"SECRET"}', '{"attachments":"[redacted]"}'),
        ('{"files":["SECRET"],"task":"x"}', '{"files":"[redacted]","task":"x"}'),
        ('{"attachments":[{"name":"a","content":"SECRET', '{"unreadable":"[redacted]"}'),
        ('["SECRET"]', '{"unreadable":"[redacted]"}'),
    ],
)
def test_a_stored_call_keeps_the_names_of_files_and_not_their_content(written: str, kept: str) -> None:
    assert CATALOG.storable_arguments("sessions_spawn", written) == kept
    assert REDACTED in kept or kept == written
