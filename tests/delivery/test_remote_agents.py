"""Whole turns of an agent that is backed by a remote A2A agent: questions, files, refusals, stops, receipts."""

import json
from hashlib import sha256

import pytest
from a2a.types import Part

from carrel.kernel import NewAttachment
from carrel.kernel.settings import GatewaySettings
from carrel.records import artifacts_of
from carrel.runs import answer, cancel
from tests.bridge.tiny_server import Frames, tiny_server
from tests.harness.engine import words
from tests.harness.server import open_server
from tests.requirements.mark import requirement
from tests.scripted_gateway import Gate
from tests.sdk_agent import SdkAgent, Turn


def to(agent: SdkAgent, **changes: object) -> dict[str, GatewaySettings]:
    """The settings that put the remote agent behind every agent of the house."""
    return {"default": GatewaySettings(kind="a2a", base_url=agent.url, **changes)}  # type: ignore[arg-type]


async def test_a_session_talks_to_the_remote_in_one_context_and_its_successor_in_another(store_url: str) -> None:
    async def tell(turn: Turn) -> None:
        await turn.updater.complete(turn.words(f"{turn.context.context_id}"))

    with SdkAgent(tell) as agent:
        async with open_server(store_url, to(agent)) as server:
            first, second = await server.ask("one"), await server.ask("two")
            elsewhere = await server.ask("three", "hook:other")
    assert first.state == second.state == "completed"
    assert first.reply == second.reply
    assert elsewhere.reply not in (first.reply, None)


async def test_a_question_of_the_remote_is_put_to_the_person_and_the_answer_goes_on_in_its_task(
    sqlite_url: str,
) -> None:
    async def ask(turn: Turn) -> None:
        if turn.context.current_task is None:
            await turn.updater.requires_input(turn.words("Which colour?"))
        elif turn.text == "red":
            await turn.updater.requires_input(turn.words("Sure?"))
        else:
            await turn.updater.add_artifact([Part(text="Painted.")])
            await turn.updater.complete()

    with SdkAgent(ask) as agent:
        async with open_server(sqlite_url, to(agent)) as server:
            run = await server.ask("paint it")
            assert (run.state, run.waiting_for, run.question) == ("waiting", "input", "Which colour?")
            queued = await server.db.write(lambda tx: answer(tx, server.access, run.id, words("red")))
            run = await server.settled(queued)
            assert (run.state, run.question) == ("waiting", "Sure?")
            queued = await server.db.write(lambda tx: answer(tx, server.access, run.id, words("yes")))
            run = await server.settled(queued)
    assert (run.state, run.reply) == ("completed", "Painted.")


async def test_files_go_both_ways(sqlite_url: str) -> None:
    async def copy(turn: Turn) -> None:
        given = next(part for part in turn.parts if part.raw)
        await turn.updater.add_artifact([Part(text="Copied.")], name="answer")
        await turn.updater.add_artifact([Part(raw=given.raw[::-1], media_type="image/png", filename="b.png")])
        await turn.updater.complete()

    picture = NewAttachment(name="a.png", mime_type="image/png", content=b"\x89PNG!")
    with SdkAgent(copy) as agent:
        async with open_server(sqlite_url, to(agent)) as server:
            run = await server.ask("copy this", attachments=(picture,))
            kept = await server.read(lambda tx: artifacts_of(tx, server.access, run.id))
    assert (run.state, run.reply) == ("completed", "Copied.")
    assert [(part.filename, part.media_type, part.kind) for part in kept] == [("b.png", "image/png", "bytes")]
    assert kept[0].content == "IUdOUIk="


async def test_a_refusal_ends_the_run_as_refused_and_a_failure_as_failed(sqlite_url: str) -> None:
    async def refuse(turn: Turn) -> None:
        if turn.text == "refuse":
            await turn.updater.reject(turn.words("I will not."))
        else:
            await turn.updater.failed(turn.words("I cannot."))

    with SdkAgent(refuse) as agent:
        async with open_server(sqlite_url, to(agent)) as server:
            refused, failed = await server.ask("refuse"), await server.ask("fail")
    assert (refused.state, refused.reason, refused.error_message) == ("failed", "rejected", "I will not.")
    assert (failed.state, failed.error_code, failed.attempt) == ("failed", "remote_failed", 1)
    assert "I cannot." in (failed.error_message or "")


async def test_cancelling_a_run_cancels_the_remotes_task(sqlite_url: str) -> None:
    gate = Gate()

    async def dawdle(turn: Turn) -> None:
        await turn.updater.start_work()
        await gate.passed()

    with SdkAgent(dawdle) as agent:
        async with open_server(sqlite_url, to(agent)) as server:
            run = await server.send("slowly")
            await gate.reached()
            await server.db.write(lambda tx: cancel(tx, server.access, run.id, "user_cancelled"))
            rested = await server.settled(run)
            assert rested.state == "cancelled"
            agent.wait_for("CancelTask")
        gate.open()


@requirement("P.receipt.true")
@pytest.mark.parametrize("dialect", [("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3")], ids=" ".join)
@pytest.mark.parametrize("streaming", [True, False])
async def test_the_receipt_holds_the_very_bytes_that_the_remote_received_and_says_what_it_was_not_told(
    store_url: str, dialect: tuple[str, str], streaming: bool
) -> None:
    async def ask(turn: Turn) -> None:
        if turn.context.current_task is None:
            await turn.updater.requires_input(turn.words("Which colour?"))
        else:
            await turn.updater.complete(turn.words("Painted."))

    picture = NewAttachment(name="a.png", mime_type="image/png", content=b"\x89PNG!")
    with SdkAgent(ask, interfaces=[dialect], streaming=streaming) as agent:
        async with open_server(store_url, to(agent)) as server:
            run = await server.ask("paint it \U0001f43f", "task:task_1", attachments=(picture,))
            queued = await server.db.write(lambda tx: answer(tx, server.access, run.id, words("red")))
            run = await server.settled(queued)
            receipt = await server.receipt(run, with_body=True)
        received = [call.raw for call in agent.calls if call.body and b"essageId" in call.raw]
    assert run.reply == "Painted."
    assert [str(step.body).encode() for step in receipt.steps] == received
    assert [step.body_sha256 for step in receipt.steps] == [sha256(body).hexdigest() for body in received]
    first, second = receipt.steps
    assert first.left_out == ["instructions", "tools", "transcript"]
    assert (first.instructions, first.instructions_version, first.tools, first.model) == (None, "", [], "")
    image = {"type": "input_file", "file_data": "data:image/png;base64,iVBORyE="}
    content = [image, {"type": "input_text", "text": "paint it \U0001f43f"}]
    assert first.input == [{"type": "message", "role": "user", "content": content}]
    assert second.input[0]["content"] == [{"type": "input_text", "text": "red"}]


def state(name: str) -> dict[str, object]:
    return {"id": "t1", "contextId": "c1", "status": {"state": f"TASK_STATE_{name}"}}


def streamed(task: dict[str, object]) -> Frames:
    return Frames(iter([f"data: {json.dumps({'jsonrpc': '2.0', 'result': {'task': task}})}\n\n".encode()]))


@requirement("P.receipt.true")
async def test_a_message_that_is_sent_again_under_another_id_is_a_step_of_its_own(sqlite_url: str) -> None:
    done = state("COMPLETED") | {"artifacts": [{"artifactId": "a", "parts": [{"text": "Done."}]}]}
    replies = iter([streamed(state("CANCELED")), streamed(done)])
    with tiny_server() as remote:
        interface = {"url": remote.url + "/rpc", "protocolVersion": "1.0"}
        card = {"supportedInterfaces": [interface], "capabilities": {"streaming": True}}
        remote.answers("GET", "/.well-known/agent-card.json", card)
        remote.does("POST", "/rpc", lambda asked: (200, next(replies)))
        async with open_server(sqlite_url, {"default": GatewaySettings(kind="a2a", base_url=remote.url)}) as server:
            run = await server.ask("hello")
            receipt = await server.receipt(run, with_body=True)
    assert run.reply == "Done."
    sent = [asked.body for asked in remote.asked if asked.path == "/rpc"]
    assert [json.loads(str(step.body)) for step in receipt.steps] == sent
    assert [step.output is None for step in receipt.steps] == [True, False]


async def test_where_nothing_could_be_sent_the_receipt_says_so(sqlite_url: str) -> None:
    with tiny_server() as remote:
        async with open_server(sqlite_url, {"default": GatewaySettings(kind="a2a", base_url=remote.url)}) as server:
            run = await server.ask("hello")
            (step,) = (await server.receipt(run, with_body=True)).steps
    assert (run.state, run.error_code) == ("failed", "gateway_not_found")
    assert (step.body, step.sent_at, step.input, step.output) == ("", None, [], None)
