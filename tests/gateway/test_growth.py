"""Reading what others send takes time in proportion to its length, however it is cut, numbered and named.

Each reader is fed input of one shape, once and ten times as much.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from carrel.a2a import A2aCodec, RemoteTask, choose_interface
from carrel.a2a.card import A2aInterface
from carrel.gateway import GatewayFault, Step
from carrel.gateway.a2a.answers import answer_of
from carrel.gateway.a2a.connection import RemoteFaults
from carrel.gateway.a2a.message import call_id_of, read_step
from carrel.gateway.anthropic.answers import MessagesReader
from carrel.gateway.anthropic.dialect import AnthropicDialect
from carrel.gateway.builtin.agent import answer
from carrel.gateway.builtin.view import read_view
from carrel.gateway.chat.answers import ChatReader
from carrel.gateway.chat.dialect import ChatDialect
from carrel.gateway.event_stream import AnswerReader
from carrel.gateway.faults import Faults
from carrel.gateway.model_gateway import SecretFilter
from carrel.kernel import EventReader, ServerEvent
from carrel.kernel.limits import ANSWER_PARTS_MAX
from carrel.kernel.settings import GatewaySettings
from tests.growth import BLOCK, Work, shown_to_be_linear

FAULTS = Faults("default", "sk-secret-key")
REMOTE_FAULTS = RemoteFaults("remote", "sk-secret-key")
Event = dict[str, Any]


def stream(events: Iterable[Event]) -> Work:
    """Read a stream of these events, which ends with all it needs."""
    texts = [ServerEvent("", json.dumps(event)) for event in events]
    end = ServerEvent("", json.dumps({"type": "response.completed", "response": {"status": "completed"}}))

    def work() -> None:
        reader = AnswerReader(seed="seed", faults=FAULTS, on_text=lambda text: None)
        for event in (*texts, end):
            reader.feed(event)
        reader.end()

    return work


def event(kind: str, **fields: Any) -> Event:
    return {"type": f"response.{kind}", **fields}


def message(**fields: Any) -> Event:
    return {"type": "message", "role": "assistant", "content": [], **fields}


def call(**fields: Any) -> Event:
    return {"type": "function_call", "name": "look", "arguments": "{}", **fields}


STREAMS: dict[str, tuple[int, Callable[[int], list[Event]]]] = {
    "argument deltas": (
        300,
        lambda n: [
            event("output_item.added", item=call()),
            *[event("function_call_arguments.delta", delta=BLOCK)] * n,
        ],
    ),
    "refusal deltas": (
        300, lambda n: [event("output_text.delta", delta="a"), *[event("refusal.delta", delta=BLOCK)] * n],
    ),
    "text deltas": (300, lambda n: [event("output_text.delta", delta=BLOCK)] * n),
    "parts without a number": (600, lambda n: [event("output_text.done", text="a")] * n),
    "parts with numbers": (600, lambda n: [event("output_text.done", text="a", content_index=at) for at in range(n)]),
    "items without an id": (600, lambda n: [event("output_item.added", item=message())] * n),
    "items without an id, done": (1_500, lambda n: [event("output_item.done", item=message(content="a"))] * n),
    "items with ids and numbers": (
        600,
        lambda n: [
            event(kind, item=message(id=f"m{at}"), output_index=at)
            for at in range(n)
            for kind in ("output_item.added", "output_item.done")
        ],
    ),
    "deltas that find no open item": (
        600,
        lambda n: [
            *[event("output_item.done", item=message(content="a", id=f"m{at}"), output_index=at) for at in range(n)],
            *[event("output_text.delta", delta="a", item_id="other", output_index=-1)] * n,
        ],
    ),
    "deltas beside many items of another kind": (
        600,
        lambda n: [
            *[event("output_item.added", item=call())] * n,
            *[event("output_text.delta", delta="a")] * n,
        ],
    ),
    "the same item done again and again": (
        300,
        lambda n: [
            *[event("output_text.delta", delta=BLOCK, item_id="m")] * n,
            *[event("output_item.done", item=message(), item_id="m")] * n,
        ],
    ),
    "an item with many fields, done again and again": (
        300,
        lambda n: [
            event("output_item.added", item=message(id="m") | {f"f{at}": at for at in range(n)}),
            *[event("output_item.done", item=message(id="m"))] * n,
        ],
    ),
    "a call that stays without a name": (
        300,
        lambda n: [
            event("output_item.added", item=call(id="c") | {f"f{at}": at for at in range(n)} | {"call_id": ""}),
            *[event("function_call_arguments.done", arguments="{}", item_id="c", call_id="")] * n,
        ],
    ),
    "items named only at the end": (
        600,
        lambda n: [
            *[event("output_item.added", item=message())] * n,
            event("completed", response={"output": [message(content="a")] * n}),
        ],
    ),
    "items that the end names in reverse": (
        600,
        lambda n: [
            *[event("output_item.added", item=message(id=f"m{at}")) for at in range(n)],
            event("completed", response={"output": [message(content="a", id=f"m{at}") for at in reversed(range(n))]}),
        ],
    ),
    "items that only the end has": (
        600, lambda n: [event("completed", response={"output": [message(content="a")] * n})],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STREAMS)
def test_an_event_stream_is_read_in_linear_time(name: str) -> None:
    n, events = STREAMS[name]
    shown_to_be_linear(lambda size: stream(events(size)), n)


def delta(part: Event) -> Event:
    return {"choices": [{"delta": part}]}


def piece(number: int | None = None, **fields: Any) -> Event:
    return delta({"tool_calls": [({} if number is None else {"index": number}) | fields]})


CHATS: dict[str, tuple[int, Callable[[int], list[Event]]]] = {
    "text": (300, lambda n: [delta({"content": BLOCK})] * n),
    "text in parts": (300, lambda n: [delta({"content": [{"type": "text", "text": BLOCK}]})] * n),
    "refusals": (300, lambda n: [delta({"content": "a", "refusal": BLOCK})] * n),
    "thoughts": (300, lambda n: [delta({"reasoning": BLOCK, "reasoning_content": BLOCK})] * n),
    "arguments": (300, lambda n: [piece(0, function={"name": "a", "arguments": BLOCK})] * n),
    "calls": (600, lambda n: [piece(at, id=f"c{at}", function={"name": "a"}) for at in range(n)]),
    "calls without a number": (600, lambda n: [piece(id=f"c{at}", function={"name": "a"}) for at in range(n)]),
    "calls without id and number": (600, lambda n: [piece(function={"name": "a", "arguments": "{}"})] * n),
    "calls of one number": (600, lambda n: [piece(0, id=f"c{at}", function={"name": "a"}) for at in range(n)]),
}


@pytest.mark.parametrize("name", CHATS)
def test_a_stream_of_chat_completions_is_read_in_linear_time(name: str) -> None:
    n, events = CHATS[name]
    shown_to_be_linear(lambda size: chat_stream(events(size)), n)


def chat_stream(events: Iterable[Event]) -> Work:
    texts = [ServerEvent("", json.dumps(event)) for event in events]
    end = ServerEvent("", json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}]}))

    def work() -> None:
        reader = ChatReader(seed="seed", faults=FAULTS, on_text=lambda text: None)
        for event in (*texts, end):
            reader.feed(event)
        reader.end()

    return work


def block(number: int, kind: str, **fields: Any) -> Event:
    return {"type": "content_block_start", "index": number, "content_block": {"type": kind} | fields}


def more(kind: str, **fields: Any) -> Event:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": kind} | fields}


MESSAGE_STREAMS: dict[str, tuple[int, Callable[[int], list[Event]]]] = {
    "text": (300, lambda n: [block(0, "text"), *[more("text_delta", text=BLOCK)] * n]),
    "texts": (600, lambda n: [block(at, "text", text="a") for at in range(n)]),
    "texts of one number": (600, lambda n: [block(0, "text", text="a")] * n),
    "thoughts": (300, lambda n: [block(0, "thinking"), *[more("thinking_delta", thinking=BLOCK)] * n]),
    "signatures": (300, lambda n: [block(0, "thinking"), *[more("signature_delta", signature=BLOCK)] * n]),
    "arguments": (300, lambda n: [block(0, "tool_use", name="a"), *[more("input_json_delta", partial_json=BLOCK)] * n]),
    "calls": (600, lambda n: [block(at, "tool_use", name="a", id="same") for at in range(n)]),
    "usage": (600, lambda n: [{"type": "message_delta", "usage": {f"f{at}": at}} for at in range(n)]),
}


@pytest.mark.parametrize("name", MESSAGE_STREAMS)
def test_a_stream_of_the_messages_api_is_read_in_linear_time(name: str) -> None:
    n, events = MESSAGE_STREAMS[name]
    shown_to_be_linear(lambda size: message_stream(events(size)), n)


def message_stream(events: Iterable[Event]) -> Work:
    texts = [ServerEvent("", json.dumps(event)) for event in events]
    end = ServerEvent("", json.dumps({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}))

    def work() -> None:
        reader = MessagesReader(seed="seed", faults=FAULTS, on_text=lambda text: None)
        for event in (*texts, end):
            reader.feed(event)
        reader.end()

    return work


@pytest.mark.parametrize(
    "flood",
    [chat_stream([piece(function={"name": "a"})] * (ANSWER_PARTS_MAX + 1)),
     message_stream([block(0, "text", text="a")] * (ANSWER_PARTS_MAX + 1))],
    ids=["chat", "anthropic"],
)  # fmt: skip
def test_an_answer_of_too_many_calls_or_blocks_is_refused(flood: Work) -> None:
    with pytest.raises(GatewayFault) as caught:
        flood()
    assert (caught.value.code, caught.value.retryable) == ("gateway_unreadable", True)


@pytest.mark.parametrize(
    "item",
    [message(role="user", content=[{"type": "input_text", "text": "a"}]), message(content="a"), call(call_id="a"),
     {"type": "function_call_output", "call_id": "a", "output": "b"},
     message(role="user", content=[{"type": "input_file", "filename": "a", "file_data": "data:;base64,"}])],
    ids=["messages", "answers", "calls", "outputs", "files"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["chat", "anthropic"])
def test_a_step_is_translated_in_linear_time(kind: str, item: Event) -> None:
    dialect = ChatDialect(GatewaySettings()) if kind == "chat" else AnthropicDialect(GatewaySettings())

    def shape(n: int) -> Work:
        body = json.dumps({"model": "m", "input": [item] * n}).encode()
        return lambda: dialect.write(Step(body=body, address="a"))

    shown_to_be_linear(shape, 1_000)


@pytest.mark.parametrize(
    "flood",
    [
        event("output_item.added", item=message()),
        event("output_item.done", item=message(content="a")),
        event("output_text.done", text="a"),
    ],
)
def test_an_answer_of_too_many_items_or_parts_is_refused(flood: Event) -> None:
    with pytest.raises(GatewayFault) as caught:
        stream([flood] * (ANSWER_PARTS_MAX + 1))()
    assert (caught.value.code, caught.value.retryable) == ("gateway_unreadable", True)


@pytest.mark.parametrize(
    "item",
    [message(content="a"), call(), call(call_id="same"), message(content=[{"type": "refusal", "refusal": "no"}])],
    ids=["messages", "calls without ids", "calls of the same id", "refusals"],
)
def test_a_plain_body_is_read_in_linear_time(item: Event) -> None:
    def shape(n: int) -> Work:
        body = json.dumps({"output": [message(content="a"), *[item] * n]}).encode()
        return lambda: AnswerReader(seed="seed", faults=FAULTS, on_text=lambda text: None).read_whole(body)

    shown_to_be_linear(shape, 1_000)


@pytest.mark.parametrize(
    "piece", [b"data: a\n\n", b"data: a\n", b"x" * 500, b"\r\n", b"\r", b": ping\n", b"event: a\ndata:\r\n\r\n"]
)
def test_server_sent_events_are_read_in_linear_time(piece: bytes) -> None:
    def shape(n: int) -> Work:
        def work() -> None:
            reader = EventReader(1 << 30)
            for _ in range(n):
                reader.feed(piece)
            reader.close()

        return work

    shown_to_be_linear(shape, 1_000)
    shown_to_be_linear(lambda n: lambda: EventReader(1 << 30).feed(piece * n), 1_000)


@pytest.mark.parametrize("piece", ["crl_run_", "crl_run_a", "c", BLOCK])
def test_the_run_token_is_removed_in_linear_time(piece: str) -> None:
    def shape(n: int) -> Work:
        def work() -> None:
            passed = SecretFilter("crl_run_" * 8, lambda text: None)
            for _ in range(n):
                passed.feed(piece)
            passed.end()

        return work

    shown_to_be_linear(shape, 500)


def chunk(part: Event) -> Event:
    return {"artifactUpdate": {"append": True, "artifact": {"artifactId": "a", "parts": [part]}}}


WORKING = {"state": "TASK_STATE_WORKING"}
REMOTE_EVENTS: dict[str, Event] = {
    "chunks of one artifact": chunk({"text": "a"}),
    "long chunks": chunk({"text": BLOCK}),
    "artifacts without an id": {"artifactUpdate": {"artifact": {"parts": [{"text": "a"}]}}},
    "files": chunk({"raw": "QQ=="}),
    "states": {"statusUpdate": {"status": WORKING}},
    "tasks": {"task": {"id": "t", "status": WORKING, "artifacts": [{"parts": [{"text": "a"}]}]}},
}  # fmt: skip


@pytest.mark.parametrize("update", REMOTE_EVENTS.values(), ids=REMOTE_EVENTS)
def test_a_remote_task_is_read_in_linear_time(update: Event) -> None:
    codec = A2aCodec(A2aInterface(url="https://agent.example", binding="HTTP+JSON", version="1.0"))
    text = json.dumps(update)
    sent = read_step(Step(body=b'{"input": "hello"}', address="agent:main:main:v1"))

    def shape(n: int) -> Work:
        def work() -> None:
            task = RemoteTask()
            for _ in range(n):
                task.apply(codec.read_event_text(text))
            task.apply({"statusUpdate": {"status": {"state": "TASK_STATE_COMPLETED"}}})
            assert task.is_settled
            answer_of(task, sent, "remote", REMOTE_FAULTS)

        return work

    shown_to_be_linear(shape, 500)


def test_a_card_of_many_interfaces_is_read_in_linear_time() -> None:
    def shape(n: int) -> Work:
        offered = [{"url": f"https://agent.example/{at}", "protocolVersion": "9"} for at in range(n)]
        usable = {"url": "/a2a", "protocolVersion": "1.0"}
        return lambda: choose_interface({"supportedInterfaces": [*offered, usable]}, "https://agent.example/card.json")

    shown_to_be_linear(shape, 500)


@pytest.mark.parametrize("error", ["a ", "-----BEGIN A", "bearer  ", "crl_a_", "sk-", "<<<a>>>\n", "[[a]]\r\n"])
def test_the_error_of_a_server_is_quoted_in_linear_time(error: str) -> None:
    def shape(n: int) -> Work:
        body = json.dumps({"error": {"message": error * n}}).encode()
        return lambda: FAULTS.of_status(400, {}, body)

    shown_to_be_linear(shape, 2_000)


MESSAGES = {
    "requests": 'use look {"a": 1}\n', "lines": "the colour is blue\n", "one line": "colour ", "empty lines": "\n \n",
    "spaces": " \t", "quotes": "> a\n", "headings": "# a\n", "labels": "a: ",
}  # fmt: skip


@pytest.mark.parametrize("piece", MESSAGES.values(), ids=MESSAGES)
def test_the_built_in_agent_reads_a_message_in_linear_time(piece: str) -> None:
    def shape(n: int) -> Work:
        said = [{"role": "user", "content": piece * n}, {"role": "user", "content": f"{piece * n}what is the colour?"}]
        tools = [{"type": "function", "name": "look"}]
        body = json.dumps({"input": said, "tools": tools}).encode()
        return lambda: answer(read_view(Step(body=body, address="agent:main:main:v1", is_request=True)))

    shown_to_be_linear(shape, 1_000)


def test_the_calls_of_a_remote_agent_are_found_in_linear_time() -> None:
    def shape(n: int) -> Work:
        calls = [call(call_id=call_id_of("f", f"{at:x}", "t1")) for at in range(n)]
        body = json.dumps({"input": [{"role": "user", "content": "hello"}, *calls]}).encode()
        return lambda: read_step(Step(body=body, address="agent:main:main:v1")).message_id()

    shown_to_be_linear(shape, 500)
