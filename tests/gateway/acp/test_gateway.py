"""The gateway to coding agents by itself: how many programs it keeps, and what happens when its settings change."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from carrel.gateway import AcpGateway, Gateway, GatewayFault, Step, read_stored_request
from carrel.main.gateways import Gateways
from carrel.workspaces import Workspace
from tests.gateway.acp.agents import coder, open_ear, until_ended
from tests.requirements.mark import requirement


def step(tmp_path: Path, text: str, session: str = "one", *, parts: tuple[dict[str, str], ...] = ()) -> Step:
    """A step with a message, in a session."""
    content = [*parts, {"type": "input_text", "text": text}]
    body = {"input": [{"role": "user", "content": content}], "metadata": {"sessionId": session}}
    workspace = Workspace(base=tmp_path, root=tmp_path / "acc" / session, attachments="files")
    return Step(body=json.dumps(body).encode(), address=session, workspace=workspace, account="default")


@asynccontextmanager
async def limited(programs_max: int) -> AsyncIterator[Gateway]:
    """A gateway that keeps at most so many programs."""
    async with asyncio.TaskGroup() as group:
        lives = set[asyncio.Task[None]]()
        gateway = AcpGateway(
            "default", coder(), lambda life: lives.add(group.create_task(life)), programs_max=programs_max
        )
        try:
            yield gateway
        finally:
            await gateway.close()


async def reply(gateway: Gateway, asked: Step) -> str:
    """What the agent says."""
    return (await gateway.take(asked, lambda _text: None)).text


@requirement("P.acp.limits")
async def test_the_program_that_was_idle_for_longest_makes_room_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_ear(monkeypatch) as ear, limited(2) as gateway:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(reply(gateway, step(tmp_path, "hold; say One", "one")))
            await ear.until("holds")
            await reply(gateway, step(tmp_path, "say Two", "two"))
            idle = list(ear.pids)
            assert await reply(gateway, step(tmp_path, "say Three", "three")) == "Three"
            await asyncio.to_thread(until_ended, idle)
            ear.let_go_of("holds")
        assert first.result() == "One"


@requirement("P.acp.limits")
async def test_where_all_programs_are_at_work_a_step_waits_for_another_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_ear(monkeypatch) as ear, limited(1) as gateway:
        async with asyncio.TaskGroup() as group:
            group.create_task(reply(gateway, step(tmp_path, "hold", "one")))
            await ear.until("holds")
            with pytest.raises(GatewayFault) as caught:
                await reply(gateway, step(tmp_path, "say Two", "two"))
            ear.let_go_of("holds")
        assert (caught.value.code, caught.value.retryable) == ("gateway_unavailable", True)


@requirement("P.acp.end")
async def test_other_settings_end_a_program_after_its_turn_and_the_same_ones_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_ear(monkeypatch) as ear, Gateways({"same": coder(), "other": coder()}) as gateways:
        same, other = (gateways.connections[name].gateway for name in ("same", "other"))
        await reply(same, step(tmp_path, "say One", "one"))
        kept = list(ear.pids)
        async with asyncio.TaskGroup() as group:
            working = group.create_task(reply(other, step(tmp_path, "hold; say Two", "two")))
            await ear.until("holds")
            ending = list(ear.pids)
            gateways.replace({"same": coder(), "other": coder(timeout_seconds=900)})
            assert gateways.connections["same"].gateway is same
            ear.let_go_of("holds")
        assert working.result() == "Two"
        await asyncio.to_thread(until_ended, ending)
        assert await reply(same, step(tmp_path, "say Three", "one")) == "Three"
        assert ear.pids == kept
    await asyncio.to_thread(until_ended, kept)


@requirement("P.acp.turn")
async def test_files_are_sent_as_the_agent_takes_them_and_the_receipt_shows_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[bytes] = []

    async def keep(body: bytes) -> None:
        sent.append(body)

    parts = (
        {"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,aGVsbG8="},
        {"type": "input_image", "filename": "b.png", "image_url": "data:image/png;base64,aGVsbG8="},
        {"type": "input_file", "filename": "c.pdf", "file_url": "https://files.example/c.pdf"},
    )
    async with open_ear(monkeypatch) as ear, Gateways({"default": coder()}) as gateways:
        gateway = gateways.connections["default"].gateway
        answer = await gateway.take(step(tmp_path, "say Seen", parts=parts), lambda _text: None, keep)
        assert (answer.text, answer.model, answer.left_out) == ("Seen", "scripted 1", ("b.png (image/png)",))
        text, image, link, message = ear.said("prompt")[0]
        resource = {"uri": "attachment:///a.txt", "text": "hello", "mimeType": "text/plain"}
        assert json.loads(text) == {"type": "resource", "resource": resource}
        assert image == "[Not sent: b.png (image/png). This model cannot be given it.]"
        assert json.loads(link) == {"type": "resource_link", "uri": "https://files.example/c.pdf", "name": "c.pdf"}
        assert message == "say Seen"
    shown = read_stored_request("acp", sent[0].decode())
    assert [part["type"] for part in shown.input[0]["content"]] == [
        "input_text",
        "input_text",
        "input_file",
        "input_text",
    ]
    assert shown.left_out == ("instructions", "tools")
