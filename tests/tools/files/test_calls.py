"""The tools for files: what they list, how a text is read in parts, and whose files nobody else opens."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from carrel.access import Space, insert_space
from carrel.kernel import NewAttachment, Refusal, SessionKey
from carrel.kernel.limits import FILE_READ_CHARS_MAX, TOOL_RESULT_BYTES_MAX
from carrel.records import keep_file
from carrel.storage import Tx
from carrel.work import actor_of, post_message
from tests.harness.documents import pdf_of
from tests.harness.server import Server
from tests.requirements.mark import requirement
from tests.scripted_gateway import Request, ScriptedGateway, calls, text
from tests.tools.spawning import open_requester, requester_at, settings_in
from tests.tools.task_world import Json, Seat, TaskWorld, twin_of


def file(name: str, content: bytes, mime_type: str = "text/plain") -> NewAttachment:
    return NewAttachment(name=name, mime_type=mime_type, content=content)


async def attach(world: TaskWorld, task_id: str, *files: NewAttachment) -> list[str]:
    """Post files to a thread as the owner; return their ids."""

    def work(tx: Tx) -> list[str]:
        party = actor_of(tx, world.owner).party_id
        kept = [keep_file(tx, world.owner, one, party).id for one in files]
        post_message(tx, world.owner, task_id, "see here", world.engine.rules, attachment_ids=tuple(kept))
        return kept

    return await world.engine.db.write(work)


@requirement("A.files")
async def test_a_list_says_what_each_file_is_and_where_it_comes_from(world: TaskWorld) -> None:
    task, other = await world.task(), await world.task("Mow the lawn")
    (notes,) = await attach(world, task.id, file("notes.txt", b"green"))
    (lawn,) = await attach(world, other.id, file("lawn.png", b"\x89PNG\x00", "image/png"))
    seat = await world.seat("writer", task.id)
    added = await seat.call("artifact_add", text="Done: ", name="report.md", mediaType="text/markdown")
    await seat.call("artifact_add", text="all of it.", append=True, artifactId=added["artifactId"])
    thread, artifact = (await seat.call("file_list"))["files"]
    assert thread == {"id": notes, "name": "notes.txt", "mimeType": "text/plain", "sizeBytes": 5, "from": "thread"}
    named = {"name": "report.md", "mimeType": "text/markdown", "sizeBytes": 16, "from": "artifact"}
    assert artifact == {"id": artifact["id"]} | named
    assert artifact["id"].startswith(f"{seat.run.id}.")
    assert (await seat.call("file_read", id="report.md"))["text"] == "Done: all of it."
    assert [one["id"] for one in (await seat.call("file_list", taskId=other.id))["files"]] == [lawn]
    elsewhere = await seat.call("file_read", id="lawn.png", taskId=other.id)
    assert elsewhere == await seat.call("file_read", id=lawn)


@requirement("A.files")
async def test_a_long_text_is_read_in_parts_that_join_to_the_whole(world: TaskWorld) -> None:
    task, whole = await world.task(), "grün, 12 Meter\n" * 5_000
    await attach(world, task.id, file("fence.csv", whole.encode(), "text/csv"))
    seat = await world.seat("writer", task.id)
    parts = [await seat.call("file_read", id="fence.csv")]
    while "nextOffset" in parts[-1]:
        parts.append(await seat.call("file_read", id="fence.csv", offset=parts[-1]["nextOffset"]))
    assert ("".join(part["text"] for part in parts), len(parts)) == (whole, 4)
    assert parts[-1] == {
        "name": "fence.csv", "mimeType": "text/csv", "sizeBytes": len(whole.encode()), "text": whole[60_000:],
    }  # fmt: skip
    for limit, offset, shown in ((0, 0, "g"), (5, -9, "grün,"), (5, 10**9, "")):
        assert (await seat.call("file_read", id="fence.csv", limit=limit, offset=offset))["text"] == shown


async def test_a_part_fits_into_a_result_whatever_its_characters_take(world: TaskWorld) -> None:
    task, whole = await world.task(), "\U0001f43f" * 30_000
    await attach(world, task.id, file("squirrels.txt", whole.encode()))
    part = await (await world.seat("writer", task.id)).call("file_read", id="squirrels.txt")
    assert len(json.dumps(part, ensure_ascii=False).encode()) < TOOL_RESULT_BYTES_MAX
    assert part["text"] == whole[: part["nextOffset"]]


@pytest.mark.parametrize(
    ("content", "mime_type", "read"),
    [
        (b"\xff\xfeg\x00o\x00", "text/plain", "go"),
        (b"\xef\xbb\xbfgo", "text/csv", "go"),
        (b"gr\xfcn", "text/csv", "grün"),
        (b"go: 1", "application/octet-stream", "go: 1"),
        (b"gr\xfcn", "application/octet-stream", None),
        (b"go\x00", "text/plain", None),
        (b"PK", "application/zip", None),
        (pdf_of("go"), "application/pdf", "Page 1 of 1:\ngo"),
        (b"<svg/>", "image/svg+xml", "<svg/>"),
    ],
)
async def test_what_is_not_text_is_described(world: TaskWorld, content: bytes, mime_type: str, read: str) -> None:
    task = await world.task()
    await attach(world, task.id, file("a", content, mime_type))
    part = await (await world.seat("writer", task.id)).call("file_read", id="a")
    assert (part["name"], part["mimeType"], part["sizeBytes"]) == ("a", mime_type, len(content))
    assert (part.get("text"), "not text" in part.get("note", "")) == (read, read is None)


async def test_a_pdf_without_text_is_described_and_shown(world: TaskWorld) -> None:
    task = await world.task()
    await attach(
        world, task.id, file("scan", pdf_of(""), "application/pdf"), file("bad", b"%PDF-1.7", "application/pdf")
    )
    seat = await world.seat("writer", task.id)
    beside = "It is shown beside this result, where your model takes such files."
    scanned = await seat.call("file_read", id="scan")
    assert scanned["note"] == f"This PDF has no text; its pages may be pictures. {beside}"
    assert (await seat.call("file_read", id="bad"))["note"] == f"This PDF is damaged. {beside}"


@requirement("A.files")
async def test_a_long_pdf_is_read_in_parts_that_join_to_the_whole(world: TaskWorld) -> None:
    task = await world.task()
    pages = [f"Page {n} says {'word ' * 400}".strip() for n in range(30)]
    await attach(world, task.id, file("long.pdf", pdf_of(*pages), "application/pdf"))
    seat, whole = await world.seat("writer", task.id), ""
    offset: int | None = 0
    while offset is not None:
        part = await seat.call("file_read", id="long.pdf", offset=offset)
        whole, offset = whole + part["text"], part.get("nextOffset")
        assert len(part["text"]) <= FILE_READ_CHARS_MAX
    assert whole == "\n\n".join(f"Page {n} of 30:\n{page}" for n, page in enumerate(pages, 1))


async def test_a_name_that_several_files_have_is_refused_with_their_ids(world: TaskWorld) -> None:
    task = await world.task()
    ids = await attach(world, task.id, file("a", b"1"), file("a", b"2"))
    seat = await world.seat("writer", task.id)
    refused = (await seat.call("file_read", id="a"))["error"]
    assert refused["code"] == "invalid_params"
    assert all(one in refused["message"] for one in ids)
    assert [(await seat.call("file_read", id=one))["text"] for one in ids] == ["1", "2"]


async def unreadable(seat: Seat, *ids: str) -> None:
    """Assert that files are refused in the same words as ids that nobody ever had."""
    for one in (*ids, "att_nobody", "run_nobody.1", "../../etc/passwd"):
        refused = (await seat.call("file_read", id=one))["error"]
        assert refused["code"] == "not_found", refused
        assert refused["message"] == f"There is no file '{one}' that you may read; file_list lists those you may."


@requirement("A.files")
async def test_nobody_opens_files_of_another_account_or_of_a_task_that_is_hidden(world: TaskWorld) -> None:
    twin = await twin_of(world)
    task, foreign = await world.task(), await twin.task()
    theirs = await attach(twin, foreign.id, file("secret.txt", b"theirs"))
    space = Space(id="space-b", name="B", color=None, default_visible=True, created_at=0, updated_at=0)
    await world.engine.db.write(lambda tx: insert_space(tx, world.owner, space))
    hidden = await world.task("Hidden", space_id="space-b")
    kept = await attach(world, hidden.id, file("plan.txt", b"hidden"))
    seat = await world.seat("writer", task.id)
    assert (await seat.call("file_read", id=kept[0]))["text"] == "hidden"
    limited = structs.replace(seat.caller.access, space_ids=("space-default",), cause_spaces=("space-default",))
    narrow = Seat(world, seat.run, structs.replace(seat.caller, access=limited))
    await unreadable(narrow, *kept, *theirs)
    await unreadable(seat, *theirs)
    for task_id in (hidden.id, foreign.id):
        assert await narrow.refused("file_list", taskId=task_id) == "not_found"
        assert await narrow.refused("file_read", taskId=task_id, id="plan.txt") == "not_found"


async def results_of(server: Server, gateway: ScriptedGateway, key: SessionKey, **wanted: Any) -> list[Json]:
    """Let an agent call tools in a lane, each once; return the results in order."""
    gateway.script(calls(*((name.partition("-")[0], given) for name, given in wanted.items())), text("Done."))
    await server.ask("go on", str(key).partition(":")[2].partition(":")[2], agent=key.agent)
    outputs = [item for item in gateway.requests[-1].json["input"] if item["type"] == "function_call_output"]
    return [json.loads(item["output"]) for item in outputs[-len(wanted) :]]


@requirement("A.files")
async def test_files_of_a_chat_are_opened_in_that_chat_alone(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(text("Seen."))
    await server.ask("keep this", "hook:one", attachments=(file("diary.txt", b"Dear diary"),))
    one, other = SessionKey.of("main", "hook:one"), SessionKey.of("main", "hook:two")
    listed, read = await results_of(server, gateway, one, file_list={}, file_read={"id": "diary.txt"})
    assert [(found["name"], found["from"]) for found in listed["files"]] == [("diary.txt", "message")]
    assert read["text"] == "Dear diary"
    taken = {"id": listed["files"][0]["id"]}
    unlisted, by_id = await results_of(server, gateway, other, file_list={}, file_read=taken)
    assert unlisted == {"files": []}
    assert by_id["error"]["code"] == "not_found"


def replace_by_link(folder: Path, name: str) -> None:
    """Put a link to another file of the machine in the place of a file."""
    (where,) = folder.rglob(name)
    (folder / "elsewhere.txt").write_text("a secret of the machine")
    where.unlink()
    where.symlink_to(folder / "elsewhere.txt")


async def test_what_a_session_was_given_in_its_workspace_is_read_there_alone(sqlite_url: str, tmp_path: Path) -> None:
    async with open_requester(sqlite_url, settings_in(tmp_path)) as requester:
        given = [{"name": "sheep.csv", "content": "name\nDolly"}, {"name": "flock.txt", "content": "x"}]
        spawned = await requester.spawn(attachments=given)
        child = SessionKey.parse(spawned["childSessionKey"])
        seated = await requester_at(requester.server, child.agent, str(child).partition(f"{child.agent}:")[2])
        path = f"{spawned['attachments']['relDir']}/sheep.csv"
        listed = (await seated.call("file_list", {}))["files"]
        assert listed[0] == {
            "id": path, "name": "sheep.csv", "mimeType": "text/csv", "sizeBytes": 10, "from": "workspace",
        }  # fmt: skip
        for named in (path, "sheep.csv"):
            assert (await seated.call("file_read", {"id": named}))["text"] == "name\nDolly"
        with pytest.raises(Refusal, match="There is no file"):
            await requester.call("file_read", {"id": path})
        replace_by_link(tmp_path, "sheep.csv")
        with pytest.raises(Refusal, match="There is no file"):
            await seated.call("file_read", {"id": path})


def output(request: Request) -> Any:
    return request.json["input"][-1]["output"]


async def test_a_picture_that_is_opened_is_shown_with_the_result_and_is_no_further_file_of_the_chat(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(text("Seen."), calls(("file_read", {"id": "a.png"})), text("A fence."))
    await server.ask("keep this", "hook:one", attachments=(file("a.png", b"\x89PNG\x00", "image/png"),))
    await server.ask("what is on it?", "hook:one")
    said, shown = output(gateway.requests[-1])
    assert json.loads(said["text"])["note"].endswith("where your model takes such files.")
    assert shown["type"] == "input_image"
    (listed,) = await results_of(server, gateway, SessionKey.of("main", "hook:one"), file_list={})
    assert [one["name"] for one in listed["files"]] == ["a.png"]
