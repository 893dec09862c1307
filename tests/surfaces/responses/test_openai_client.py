"""The official `openai` client, as it is, against a running server: plain, streaming, functions, WebSocket."""

import json
from typing import Any

import pytest
from openai import APIStatusError, NotFoundError, OpenAI
from openai.types.responses import Response

from tests.harness.process import RunningServer, Start, reaching
from tests.requirements.mark import requirement
from tests.scripted_gateway import Answer, Request, ScriptedGateway, calls, text
from tests.surfaces.responses.client import WEATHER

TOOL: Any = WEATHER | {"strict": False}


def play(request: Request) -> Answer:
    """A model that calls get_weather for two cities where it may, and says what came of it."""
    items = request.json["input"]
    asked = max(at for at, item in enumerate(items) if item.get("role") == "user")
    # What functions of earlier turns brought stays in the history.
    items = items[asked:]
    outputs = [item["output"] for item in items if item["type"] == "function_call_output"]
    offered = {tool["name"] for tool in request.json["tools"]}
    if "get_weather" in offered and not outputs:
        return calls(("get_weather", {"city": "Rome"}), ("get_weather", {"city": "Oslo"}), said="Let me look.")
    said = items[-1]["content"][-1]["text"] if not outputs else " and ".join(outputs)
    return text("heard: ", said)


@pytest.fixture(autouse=True)
def playing(gateway: ScriptedGateway) -> None:
    gateway.rule = play


def openai_client(running: RunningServer) -> OpenAI:
    return OpenAI(base_url=f"{running.url}/v1", api_key=running.token, max_retries=0, timeout=20)


def brought(response: Response) -> list[Any]:
    """What the calls of a response brought, one for each."""
    made = [item for item in response.output if item.type == "function_call"]
    return [
        {"type": "function_call_output", "call_id": call.call_id, "output": json.loads(call.arguments)["city"]}
        for call in made
    ]


def test_it_asks_and_goes_on_and_reads_again(running: RunningServer) -> None:
    client = openai_client(running)
    first = client.responses.create(model="carrel", input="one")
    assert (first.status, first.output_text) == ("completed", "heard: one")
    Response.model_validate(first.to_dict())
    second = client.responses.create(model="carrel", input="two", previous_response_id=first.id)
    assert second.output_text == "heard: two"
    assert client.responses.retrieve(second.id).to_dict() == second.to_dict()
    assert second.usage is not None
    assert second.usage.total_tokens == 18
    with pytest.raises(NotFoundError) as missing:
        client.responses.create(model="carrel", input="x", previous_response_id="resp_nothing")
    assert (missing.value.code, missing.value.param) == ("previous_response_not_found", "previous_response_id")
    with pytest.raises(APIStatusError) as unknown:
        client.responses.create(model="gpt-5", input="x")
    assert (unknown.value.status_code, unknown.value.code) == (400, "unknown_model")


@requirement("S2.x.responses.terminal")
def test_it_streams(running: RunningServer) -> None:
    client = openai_client(running)
    events = list(client.responses.create(model="carrel", input="one", stream=True))
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "heard: one"
    assert [event.type for event in events].count("response.completed") == 1
    with client.responses.stream(model="carrel", input="two") as stream:
        for _ in stream:
            pass
        assert stream.get_final_response().output_text == "heard: two"


def test_it_makes_functions_by_the_previous_response(running: RunningServer) -> None:
    client = openai_client(running)
    first = client.responses.create(model="carrel", input="weather?", tools=[TOOL])
    assert [item.type for item in first.output] == ["message", "function_call", "function_call"]
    with pytest.raises(APIStatusError) as missing:
        client.responses.create(
            model="carrel", input=brought(first)[:1], tools=[TOOL], previous_response_id=first.id
        )  # fmt: skip
    assert (missing.value.status_code, missing.value.param) == (400, "input")
    second = client.responses.create(
        model="carrel", input=brought(first), tools=[TOOL], previous_response_id=first.id
    )  # fmt: skip
    assert second.output_text == "heard: Rome and Oslo"
    assert (second.metadata or {})["runId"] == (first.metadata or {})["runId"]
    read_again = client.responses.retrieve(first.id)
    used = [response.usage.total_tokens for response in (first, second, read_again) if response.usage is not None]
    assert used == [18, 18, 18], "each pays for its own stretch"


def test_it_makes_functions_and_keeps_the_talk_itself(running: RunningServer) -> None:
    client = openai_client(running)
    talk: list[Any] = [{"role": "user", "content": "weather?"}]
    first = client.responses.create(model="carrel", input=talk, tools=[TOOL], store=False)
    talk += [item.model_dump(exclude_none=True) for item in first.output]
    talk += brought(first)
    second = client.responses.create(model="carrel", input=talk, tools=[TOOL], store=False)
    assert second.output_text == "heard: Rome and Oslo"
    with running.client() as owner:
        assert owner.get("/api/health").json()["waiting"] == {"person": 0, "program": 0}, "nothing is left behind"


def test_it_lists_models_reads_its_input_and_deletes_responses(running: RunningServer) -> None:
    client = openai_client(running)
    assert [gateway.id for gateway in client.models.list()] == ["carrel/main"]
    assert client.models.retrieve("carrel/main").object == "model"
    talk: Any = [{"role": "user", "content": f"n{number}"} for number in range(5)]
    response = client.responses.create(model="carrel/main", input=talk)
    items: list[Any] = list(client.responses.input_items.list(response.id, limit=2, order="asc"))
    assert [item.content[0].text for item in items] == ["n0", "n1", "n2", "n3", "n4"], "page by page"
    client.responses.delete(response.id)
    with pytest.raises(NotFoundError):
        client.responses.retrieve(response.id)
    with pytest.raises(NotFoundError):
        client.models.retrieve("gpt-5")


def test_it_makes_functions_while_streaming(running: RunningServer) -> None:
    client = openai_client(running)
    with client.responses.stream(model="carrel", input="weather?", tools=[TOOL]) as stream:
        kinds = [event.type for event in stream]
        first = stream.get_final_response()
    assert kinds.count("response.function_call_arguments.done") == 2
    with client.responses.stream(
        model="carrel", input=brought(first), tools=[TOOL], previous_response_id=first.id
    ) as stream:
        for _ in stream:
            pass
        assert stream.get_final_response().output_text == "heard: Rome and Oslo"


def test_it_compacts_cancels_and_speaks_by_websocket(running: RunningServer) -> None:
    client = openai_client(running)
    compacted = client.responses.compact(model="carrel", input=[{"role": "user", "content": "We launch on Tuesday."}])
    assert compacted.output[-1].type == "compaction"
    waiting = client.responses.create(model="carrel", input="weather?", tools=[TOOL])
    assert client.responses.cancel(waiting.id).status == "cancelled"
    with client.responses.connect() as connection:
        connection.response.create(model="carrel", input="hello")
        for event in connection:
            if event.type == "response.completed":
                assert event.response.output_text == "heard: hello"
                break


@requirement("S2.x.responses.continue")
def test_a_loop_over_functions_survives_a_power_cut(gateway: ScriptedGateway, start: Start) -> None:
    before = start(**reaching(gateway))
    first = openai_client(before).responses.create(model="carrel", input="weather?", tools=[TOOL])
    before.kill()
    after = start(**reaching(gateway))
    client = openai_client(after)
    assert client.responses.retrieve(first.id).to_dict() == first.to_dict()
    second = client.responses.create(
        model="carrel", input=brought(first), tools=[TOOL], previous_response_id=first.id
    )  # fmt: skip
    assert second.output_text == "heard: Rome and Oslo"
    assert (second.metadata or {})["runId"] == (first.metadata or {})["runId"]
    after.kill()
    last = openai_client(start(**reaching(gateway)))
    third = last.responses.create(model="carrel", input="and now?", previous_response_id=second.id)
    assert third.output_text == "heard: and now?"


def test_the_built_in_agent_makes_functions_when_it_is_told_to(start: Start) -> None:
    client = openai_client(start())
    first = client.responses.create(model="carrel", input='use get_weather {"city": "Rome"}', tools=[TOOL])
    (call,) = [item for item in first.output if item.type == "function_call"]
    assert json.loads(call.arguments) == {"city": "Rome"}
    second = client.responses.create(
        model="carrel", input=brought(first), tools=[TOOL], previous_response_id=first.id
    )  # fmt: skip
    assert "Rome" in second.output_text


def chat_tool() -> Any:
    """The same tool in the words of Chat Completions."""
    return {"type": "function", "function": {name: value for name, value in TOOL.items() if name != "type"}}


def test_it_completes_chats_and_streams_them(running: RunningServer) -> None:
    client = openai_client(running)
    talk: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "one"}]
    completion = client.chat.completions.create(model="carrel", messages=talk)
    assert completion.choices[0].message.content == "heard: one"
    assert completion.usage is not None
    assert completion.usage.total_tokens == 18
    with client.chat.completions.stream(
        model="carrel", messages=talk, stream_options={"include_usage": True}
    ) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    assert final.choices[0].message.content == "heard: one"
    assert final.usage is not None
    assert final.usage.total_tokens == 18


def test_it_runs_functions_in_a_chat(running: RunningServer) -> None:
    client = openai_client(running)
    talk: list[Any] = [{"role": "user", "content": "weather?"}]
    first = client.chat.completions.create(model="carrel", messages=talk, tools=[chat_tool()])
    message = first.choices[0].message
    assert (first.choices[0].finish_reason, message.content) == ("tool_calls", "Let me look.")
    talk.append(message.model_dump(exclude_none=True))
    for call in message.tool_calls or []:
        assert call.type == "function"
        city = json.loads(call.function.arguments)["city"]
        talk.append({"role": "tool", "tool_call_id": call.id, "content": city})
    second = client.chat.completions.create(model="carrel", messages=talk, tools=[chat_tool()])
    assert (second.choices[0].message.content, second.id) == ("heard: Rome and Oslo", first.id)
