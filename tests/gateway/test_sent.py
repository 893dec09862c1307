"""Translation there and back: for any transcript and any answer, nothing is lost that a dialect can carry."""

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrel.gateway import Step, StepAnswer, read_stored_request
from carrel.gateway.anthropic.dialect import AnthropicDialect
from carrel.gateway.chat.dialect import ChatDialect
from carrel.gateway.dialect import Dialect, ResponsesDialect
from carrel.gateway.faults import Faults
from carrel.kernel import EventReader
from carrel.kernel.settings import GatewaySettings
from carrel.wire import Wire
from tests.gateway.dialects import KINDS, SERVERS, opened, step, take, user
from tests.gateway.provider_view import read_items, read_request
from tests.gateway.transcripts import arguments, carried, joined, numbered, transcripts, words
from tests.scripted_dialects import thought_item
from tests.scripted_gateway import Answer, call_item, message_item, text

DIALECTS: dict[str, Dialect] = {
    "chat": ChatDialect(GatewaySettings(kind="chat")),
    "anthropic": AnthropicDialect(GatewaySettings(kind="anthropic")),
}
EVERY_DIALECT: dict[str, Dialect] = DIALECTS | {"responses": ResponsesDialect(GatewaySettings())}
FAULTS = Faults("default", "")


@pytest.mark.parametrize("kind", DIALECTS)
@settings(max_examples=60)
@given(st.data())
def test_a_provider_reads_everything_that_its_dialect_can_carry(kind: str, data: st.DataObject) -> None:
    items = data.draw(transcripts(kind))
    body = DIALECTS[kind].write(step(items, message_at=len(items) - 1))
    wanted = numbered(carried(read_items(items), kind))
    assert numbered(joined(read_request(kind, body))) == wanted
    sent = read_stored_request(kind, body.decode())
    assert numbered(carried(read_items(sent.input), kind)) == wanted, "the receipt shows something else"
    assert (sent.model, sent.instructions, [tool["name"] for tool in sent.tools]) == ("m", "Be brief.", ["task_list"])
    assert len(sent.left_out) == body.count(b"[Not sent: ")


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    """Return any answer of a model: what it thought, what it said in pieces, and what it calls."""
    thoughts = [thought_item(said) for said in draw(st.lists(words, max_size=1))]
    chunks = draw(st.lists(words, max_size=3))
    said = [message_item("".join(chunks))] if chunks else []
    made = [call_item(f"tool_{at}", draw(arguments), at) for at in range(draw(st.integers(0, 3)))]
    return Answer(output=[*thoughts, *said, *made], chunks=chunks)


def framed(body: bytes) -> bytes:
    """Return a stream as some servers frame it: characters not escaped, CRLF for line ends, comments between events."""
    lines = [
        f"data: {json.dumps(json.loads(line[6:]), ensure_ascii=False)}" if line.startswith("data: {") else line
        for line in body.decode().split("\n")
    ]
    return (": still at work\r\n\r\n" + "\r\n".join(lines).replace("\r\n\r\n", "\r\n\r\n:\r\n\r\n")).encode()


def read(kind: str, answer: Answer, heard: list[str], *, form: str, cut: int) -> StepAnswer:
    """Read the bytes of an answer, which arrive in pieces of `cut` bytes."""
    _, pieces = KINDS[kind].render(answer, form != "whole")
    body = b"".join(piece for piece in pieces if isinstance(piece, bytes))
    reader = EVERY_DIALECT[kind].reader(seed="seed", faults=FAULTS, on_text=heard.append)
    if form == "whole":
        return reader.read_whole(body)
    body, events = framed(body) if form == "framed" else body, EventReader(1 << 20)
    for at in range(0, len(body), cut):
        for event in events.feed(body[at : at + cut]):
            reader.feed(event)
    return reader.end()


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(answers(), st.sampled_from(["whole", "streamed", "framed"]), st.integers(1, 200))
def test_an_answer_is_read_whole_however_it_arrives(kind: str, answer: Answer, form: str, cut: int) -> None:
    heard: list[str] = []
    found = read(kind, answer, heard, form=form, cut=cut)
    said = "".join(chunk for chunk in answer.chunks if isinstance(chunk, str))
    assert (found.text, "".join(heard)) == (said, said)
    wanted = [item for item in answer.output if item["type"] == "function_call"]
    assert [(one.call_id, one.name, json.loads(one.arguments)) for one in found.calls] == [
        (item["call_id"], item["name"], json.loads(item["arguments"])) for item in wanted
    ]
    thoughts = [item["content"][0]["text"] for item in found.output if item["type"] == "reasoning"]
    assert thoughts == [item["text"] for item in answer.output if item["type"] == "reasoning"]
    assert found.usage.total_tokens == 18


@pytest.mark.parametrize("kind", DIALECTS)
@settings(max_examples=20)
@given(st.data())
def test_the_server_receives_the_bytes_that_were_announced(kind: str, data: st.DataObject) -> None:
    steps = data.draw(st.lists(transcripts(kind).map(step), min_size=1, max_size=3))

    async def send_all() -> list[bytes]:
        wire = Wire()
        try:
            gateway = opened(kind, server, wire)
            return [body for one in steps for body in (await take(gateway, one)).sent]
        finally:
            await wire.close()

    with SERVERS[kind]() as server:
        server.rule = lambda request: text("Yes.")
        announced = asyncio.run(send_all())
        assert announced == [request.body for request in server.requests]
        assert len(announced) == len(steps)


@pytest.mark.parametrize("kind", DIALECTS)
def test_a_step_without_anything_sent_tells_nothing(kind: str) -> None:
    assert read_stored_request(kind, "").input == []


@pytest.mark.parametrize("kind", DIALECTS)
def test_files_are_read_back_and_those_that_were_left_out_are_named(kind: str) -> None:
    parts = [
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
    ]
    left_out = {"type": "input_file", "filename": "a.zip", "file_data": "data:application/zip;base64,UEs="}
    sent = read_stored_request(kind, DIALECTS[kind].write(step([user(*parts, left_out, "What?")])).decode())
    (item,) = sent.input
    assert item["content"][:2] == parts
    assert item["content"][-1] == {"type": "input_text", "text": "What?"}
    assert sent.left_out == ("a.zip (application/zip)",)
    quoting = Step(body=step([user('Why "[Not sent: a.zip. This model cannot be given it.]"?')]).body, address="a")
    assert read_stored_request(kind, DIALECTS[kind].write(quoting).decode()).left_out == ()
