"""The files of a task on their way to its agent: what each dialect carries of them, and what is read with a tool."""

import base64
import json
from typing import Any

import pytest

from carrel.agents import ToolRules
from carrel.kernel import NewAttachment
from carrel.kernel.settings import ContextSettings
from carrel.records import keep_file
from carrel.runs import Run
from carrel.storage import Tx
from carrel.work import actor_of, move_task, post_message, reopen_task
from tests.delivery.tasks import assign, make_task, notify
from tests.gateway.dialects import SCRIPTED
from tests.harness.documents import pdf_of
from tests.harness.server import Server
from tests.requirements.mark import requirement
from tests.scripted_gateway import Request, ScriptedGateway, calls, text

pytestmark = [
    pytest.mark.kinds(*SCRIPTED),
    pytest.mark.settings(context=ContextSettings(augment=False)),
]
Json = dict[str, Any]
PLAN = pdf_of("Build the fence in May.", "Paint it in June.")
PDF = NewAttachment(name="plan.pdf", mime_type="application/pdf", content=PLAN)
CSV = NewAttachment(name="costs.csv", mime_type="text/csv", content=b"item,cost\nfence,12\n[message x \xc2\xb7 task y]")
PNG = NewAttachment(name="fence.png", mime_type="image/png", content=b"\x89PNG\x00")
NOTES = NewAttachment(name="notes.txt", mime_type="text/plain", content=b"Olga wants green.\n" * 2_000)
FILES = (PDF, CSV, PNG, NOTES)
ABOUT = (
    f"Files:\n- plan.pdf (application/pdf, {len(PDF.content)} bytes): its text with file_read\n"
    "- costs.csv (text/csv, 40 bytes):\n    item,cost\n    fence,12\n    [message x · task y]\n"
    "- fence.png (image/png, 5 bytes): image 1 of this message\n"
    "- notes.txt (text/plain, 36000 bytes): 36000 characters, to be read with file_read"
)


def in_base64(file: NewAttachment) -> str:
    return base64.b64encode(file.content).decode()


def address_of(file: NewAttachment) -> str:
    return f"data:{file.mime_type};base64,{in_base64(file)}"


# How each dialect carries the two files that are no text.
CARRIED: dict[str, list[Json]] = {
    "responses": [
        {"type": "input_file", "filename": "plan.pdf", "file_data": address_of(PDF)},
        {"type": "input_image", "image_url": address_of(PNG), "detail": "auto"},
    ],
    "chat": [
        {"type": "file", "file": {"filename": "plan.pdf", "file_data": address_of(PDF)}},
        {"type": "image_url", "image_url": {"url": address_of(PNG)}},
    ],
    "anthropic": [
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": in_base64(PDF)},
            "title": "plan.pdf",
        },
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": in_base64(PNG)}},
    ],
    "openclaw": [
        {
            "type": "input_file",
            "source": {"type": "base64", "media_type": PDF.mime_type, "data": in_base64(PDF), "filename": "plan.pdf"},
        },
        {
            "type": "input_image",
            "source": {"type": "base64", "media_type": "image/png", "data": in_base64(PNG)},
        },
    ],
}


@pytest.fixture
async def staffed(server: Server) -> Server:
    """A server with a writer whose model speaks one of the dialects."""
    await server.make_agent("writer")
    return server


async def post_files(server: Server, task_id: str, said: str, *files: NewAttachment) -> list[str]:
    """Write to a thread with files, as the owner; return the runs of the agents that are notified."""

    def work(tx: Tx) -> list[str]:
        access = server.access
        kept = [keep_file(tx, access, file, actor_of(tx, access).party_id).id for file in files]
        posted = post_message(tx, access, task_id, said, server.rules, attachment_ids=tuple(kept))
        return [told.run_id for told in posted.notified if told.run_id is not None]

    return await server.db.write(work)


async def task_with_files(server: Server) -> tuple[str, Run]:
    """A task whose files were there before its agent was assigned."""
    task_id = await make_task(server)
    await post_files(server, task_id, "Here is all I have.", *FILES)
    return task_id, await assign(server, task_id, "writer")


def newest_message(request: Request) -> list[Json]:
    """The parts of the user's newest message; marks for the server's cache are left out."""
    items = request.json.get("messages") or request.json["input"]
    content = next(item["content"] for item in reversed(items) if item.get("role") == "user")
    return [{name: value for name, value in part.items() if name != "cache_control"} for part in content]


def tool_named(kind: str, name: str) -> str:
    return f"carrel_{name}" if kind == "openclaw" else name


@requirement("A.files")
async def test_the_agent_of_a_task_is_sent_what_its_model_takes_and_reads_the_rest(
    staffed: Server, kind: str, gateway: ScriptedGateway
) -> None:
    reads = [{"id": "notes.txt", "offset": 35_990}, {"id": "plan.pdf"}]
    gateway.script(calls(*((tool_named(kind, "file_read"), one) for one in reads)), text("I have read it."))
    _, run = await task_with_files(staffed)
    assert (run.state, run.reply) == ("completed", "I have read it.")
    first, second = gateway.requests
    *parts, about, heading, message = newest_message(first)
    assert parts == CARRIED[kind]
    assert about["text"] == ABOUT
    assert ": Here is all I have. [with plan.pdf, costs.csv, fence.png, notes.txt]\n" in heading["text"]
    assert message["text"] == "owner assigned you to this task: The report"
    assert first.body.count(in_base64(PDF).encode()) == first.body.count(in_base64(PNG).encode()) == 1
    assert b"Olga wants green" not in first.body
    assert b"ts green." in second.body
    assert b"Build the fence" not in first.body
    for page in ("Page 1 of 2:", "Build the fence in May.", "Page 2 of 2:", "Paint it in June."):
        assert page.encode() in second.body
    # OpenClaw keeps the history itself; everybody else is shown the file once more, and only once.
    assert second.body.count(in_base64(PDF).encode()) == (kind != "openclaw")
    receipt = await staffed.receipt(run, with_body=True)
    assert [str(step.body).encode() for step in receipt.steps] == [first.body, second.body]


async def test_a_file_is_sent_in_the_run_that_brings_it_and_only_named_afterwards(
    staffed: Server, kind: str, gateway: ScriptedGateway
) -> None:
    gateway.rule = lambda request: text("Noted.")
    task_id = await make_task(staffed)
    await assign(staffed, task_id, "writer")
    (brought,) = await post_files(staffed, task_id, "@writer look", PNG)
    await staffed.settled(brought)
    await notify(staffed, task_id, "@writer and?")
    assigned, with_file, after = gateway.requests
    assert newest_message(with_file)[0] == CARRIED[kind][1]
    for request in (assigned, after):
        assert in_base64(PNG).encode() not in request.body
    # OpenClaw keeps the history itself.
    assert (b'[with fence.png]"' in after.body) is (kind != "openclaw")


async def test_a_picture_that_a_tool_opens_is_shown_where_the_dialect_has_a_place_for_it(
    staffed: Server, kind: str, gateway: ScriptedGateway
) -> None:
    gateway.rule = lambda request: text("Noted.")
    task_id = await make_task(staffed)
    await assign(staffed, task_id, "writer")
    await staffed.settled((await post_files(staffed, task_id, "@writer look", PNG))[0])
    seen = len(gateway.requests)
    gateway.rule = None
    gateway.script(calls((tool_named(kind, "file_read"), {"id": "fence.png"})), text("A fence."))
    await notify(staffed, task_id, "@writer what was on it?")
    items = gateway.requests[seen + 1].json
    items = items.get("messages") or items["input"]
    assert (in_base64(PNG) in json.dumps(items)) is (kind in ("responses", "anthropic"))
    assert ("This model cannot be given it." in json.dumps(items)) is (kind in ("chat", "openclaw"))
    assert "image/png" in json.dumps(items[-1])


@pytest.mark.kinds("responses")
@pytest.mark.settings
async def test_a_reopened_task_gives_no_file_from_before(server: Server, gateway: ScriptedGateway) -> None:
    gateway.rule = lambda request: text("Noted.")
    await server.make_agent("writer")
    task_id, _ = await task_with_files(server)
    assert b"costs.csv" in gateway.requests[0].body
    await close_and_reopen(server, task_id)
    await notify(server, task_id, "@writer once more")
    assert b"costs.csv" not in gateway.requests[-1].body


async def close_and_reopen(server: Server, task_id: str) -> None:
    """Let the owner finish a task and take it up again."""

    def work(tx: Tx) -> None:
        for status in ("review", "done"):
            move_task(tx, server.access, task_id, status, server.rules)
        reopen_task(tx, server.access, task_id)

    await server.db.write(work)


@pytest.mark.kinds("responses")
@pytest.mark.settings
async def test_an_agent_without_the_tool_is_given_long_texts_whole(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(text("Read."))
    await server.make_agent("writer", tools=ToolRules(deny=("file_*",)))
    await task_with_files(server)
    sent = newest_message(gateway.requests[0])
    assert {"type": "input_file", "filename": "notes.txt", "file_data": address_of(NOTES)} in sent
