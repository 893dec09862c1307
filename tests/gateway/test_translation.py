"""Translation there and back: for any transcript and any answer, nothing is lost that a dialect can carry."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrel.gateway import Step, StepAnswer, read_sent
from carrel.gateway.anthropic.dialect import AnthropicDialect
from carrel.gateway.chat.dialect import ChatDialect
from carrel.gateway.faults import Faults
from carrel.gateway.model_gateway import Dialect
from carrel.kernel.settings import GatewaySettings
from carrel.wire import EventReader, Wire
from tests.gateway.dialects import SERVERS, assistant, call, opened, output, step, take, user
from tests.scripted_dialects import thought_item
from tests.scripted_gateway import Answer, call_item, message_item, text

Json = dict[str, Any]
GAP = "\n\n"
DIALECTS: dict[str, Dialect] = {
    "chat": ChatDialect(GatewaySettings(kind="chat")),
    "anthropic": AnthropicDialect(GatewaySettings(kind="anthropic")),
}
FAULTS = Faults("default", "")
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
words = st.text('abc ä\U0001f43f\n"\\', min_size=1, max_size=12).filter(str.strip)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
arguments = st.dictionaries(words, values, max_size=3).map(json.dumps)


def thought(kind: str, said: str) -> Json:
    content = [{"type": "reasoning_text", "text": said}]
    if kind == "chat":
        return {"type": "reasoning", "summary": [], "content": content, "field": "reasoning_content"}
    return {"type": "reasoning", "summary": [], "content": content, "encrypted_content": "c2ln"}


def refusal(said: str) -> Json:
    content = [{"type": "refusal", "refusal": said}]
    return {"type": "message", "role": "assistant", "status": "completed", "content": content}


@st.composite
def transcripts(draw: st.DrawFn, kind: str) -> list[Json]:
    """Return a conversation: messages, rounds of parallel calls with their outputs, replies and refusals."""
    items: list[Json] = []
    for number in range(draw(st.integers(1, 3))):
        items += [user(said) | {"role": "developer"} for said in draw(st.lists(texts, max_size=1))]
        items.append(user(*draw(st.lists(texts, max_size=2)), draw(words)))
        for made in range(draw(st.integers(0, 2))):
            ids = [f"call_{number}_{made}_{at}" for at in range(draw(st.integers(1, 3)))]
            items += [thought(kind, said) for said in draw(st.lists(words, max_size=1))]
            items += [assistant(said) for said in draw(st.lists(texts, max_size=1))]
            items += [call(name, draw(arguments)) for name in ids]
            items += [output(name, draw(texts)) for name in ids]
        items += [assistant(said) for said in draw(st.lists(texts, max_size=1))]
        items += [refusal(said) for said in draw(st.lists(words, max_size=1))]
    return items


def told(items: Sequence[Json], kind: str) -> list[Any]:
    """Return what a transcript tells, turn by turn, as far as the dialect can: texts of one side in a row are one."""
    turns: list[Any] = []
    for item in items:
        role, facts = _facts(item, kind)
        if facts and (not turns or turns[-1][0] != role):
            turns.append((role, {"text": [], "refusal": [], "calls": [], "outputs": [], "thought": []}))
        for name, value in facts:
            turns[-1][1][name].append(value)
    return [
        (role, {name: GAP.join(found) if name in ("text", "refusal") else found for name, found in facts.items()})
        for role, facts in turns
    ]


def _facts(item: Json, kind: str) -> tuple[str, list[tuple[str, Any]]]:
    match item["type"]:
        case "function_call":
            made = json.loads(item["arguments"]) if kind == "anthropic" else item["arguments"]
            return "assistant", [("calls", (item["call_id"], item["name"], made))]
        case "function_call_output":
            return "user", [("outputs", (item["call_id"], item["output"]))]
        case "reasoning":
            return "assistant", [("thought", item["content"][0]["text"])]
    # The Messages API has no refusals in a transcript: there they are what the model said.
    found = [("refusal" if "refusal" in part and kind == "chat" else "text", part) for part in item["content"]]
    facts = [(name, part.get("refusal") or part["text"]) for name, part in found]
    role = "user" if item["role"] == "developer" and kind == "anthropic" else item["role"]
    return role, [(name, said) for name, said in facts if said.strip()]


@pytest.mark.parametrize("kind", DIALECTS)
@given(st.data())
def test_a_transcript_survives_the_translation_there_and_back(kind: str, data: st.DataObject) -> None:
    items = data.draw(transcripts(kind))
    sent = read_sent(kind, DIALECTS[kind].write(step(items)).decode())
    assert told(sent.input, kind) == told(items, kind)
    assert (sent.model, sent.instructions, sent.tools, sent.left_out) == ("m", "Be brief.", ("task_list",), ())


@pytest.mark.parametrize("kind", DIALECTS)
@given(st.data())
def test_what_was_read_back_is_sent_as_the_same_bytes(kind: str, data: st.DataObject) -> None:
    items = data.draw(transcripts(kind))
    body = DIALECTS[kind].write(step(items))
    again = DIALECTS[kind].write(step(read_sent(kind, body.decode()).input))
    assert again == body


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    """Return any answer of a model: what it thought, what it said in pieces, and what it calls."""
    thoughts = [thought_item(said) for said in draw(st.lists(words, max_size=1))]
    chunks = draw(st.lists(words, max_size=3))
    said = [message_item("".join(chunks))] if chunks else []
    made = [call_item(f"tool_{at}", draw(arguments), at) for at in range(draw(st.integers(0, 3)))]
    return Answer(output=[*thoughts, *said, *made], chunks=chunks)


def read(kind: str, answer: Answer, heard: list[str], *, streamed: bool, cut: int) -> StepAnswer:
    """Read the bytes of an answer, which arrive in pieces of `cut` bytes."""
    _, pieces = SERVERS[kind].render(answer, streamed)
    body = b"".join(piece for piece in pieces if isinstance(piece, bytes))
    if not streamed:
        return DIALECTS[kind].read_whole(body, seed="seed", faults=FAULTS, on_text=heard.append)
    reader, events = DIALECTS[kind].reader(seed="seed", faults=FAULTS, on_text=heard.append), EventReader(1 << 20)
    for at in range(0, len(body), cut):
        for event in events.feed(body[at : at + cut]):
            reader.feed(event)
    return reader.end()


@pytest.mark.parametrize("kind", DIALECTS)
@given(answers(), st.booleans(), st.integers(1, 200))
def test_an_answer_is_read_whole_however_it_arrives(kind: str, answer: Answer, streamed: bool, cut: int) -> None:
    heard: list[str] = []
    found = read(kind, answer, heard, streamed=streamed, cut=cut)
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
    assert read_sent(kind, "").input == []


@pytest.mark.parametrize("kind", DIALECTS)
def test_files_are_read_back_and_those_that_were_left_out_are_named(kind: str) -> None:
    parts = [
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
    ]
    left_out = {"type": "input_file", "filename": "a.zip", "file_data": "data:application/zip;base64,UEs="}
    sent = read_sent(kind, DIALECTS[kind].write(step([user(*parts, left_out, "What?")])).decode())
    (item,) = sent.input
    assert item["content"][:2] == parts
    assert item["content"][-1] == {"type": "input_text", "text": "What?"}
    assert sent.left_out == ("a.zip (application/zip)",)
    quoting = Step(body=step([user('Why "[Not sent: a.zip. This model cannot be given it.]"?')]).body, address="a")
    assert read_sent(kind, DIALECTS[kind].write(quoting).decode()).left_out == ()
