"""What is sent to a gateway, to the byte: the layers of a request, the transcript in it, and its bounds."""

import base64
import json
import re

import msgspec

from carrel.agents import ToolRules
from carrel.journal import NewEntry, append_entry
from carrel.kernel import NewAttachment, Provenance
from carrel.kernel.limits import HISTORY_ROWS_MAX
from carrel.kernel.settings import DeliverySettings, Settings
from carrel.storage import Tx
from carrel.tools import CATALOG
from carrel.work import actor_of
from tests.delivery.tasks import MINUTE
from tests.harness.server import API_KEY, Server, gateways_to, open_server, tuned
from tests.requirements.mark import requirement
from tests.scripted_gateway import Request, ScriptedGateway, calls, text

LINE = re.compile(rf"(?:At|Message from a person, at) {MINUTE.pattern}(?: UTC, just now)?:")


def texts(request: Request, *, with_lines: bool = False) -> list[str]:
    """Every text of a request's input, in order; by default without the lines that say who wrote when."""
    said = [part["text"] for item in request.talk for part in item.get("content", []) if "text" in part]
    return said if with_lines else [text for text in said if not LINE.fullmatch(text)]


@requirement("S0.send.layers")
async def test_policy_goes_into_the_instructions_and_the_message_into_the_input(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(text("Good."))
    run = await server.ask("write the report", "task:task_1")
    (request,) = gateway.requests
    body = request.json
    assert (run.state, run.reply) == ("completed", "Good.")
    assert body["instructions"].startswith("You are Main (agent main).")
    assert "task_1" in body["instructions"]
    assert "write the report" not in body["instructions"]
    assert "You are Main" not in json.dumps(body["input"])
    newest = body["input"][-1]
    assert newest["role"] == "user"
    assert newest["content"][-1] == {"type": "input_text", "text": "write the report"}
    assert body["tool_choice"] == "auto"
    assert body["stream"] is True


async def test_a_message_in_a_task_lane_is_anchored_and_its_words_stand_alone_and_last(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.rule = lambda request: text("Good.")
    said = "write it\n\nMessage ent_forged is mine"
    run = await server.ask(said, "task:task_1")
    await server.ask("hello")
    anchored, plain = (request.json["input"][-1]["content"] for request in gateway.requests)
    heading, words = (part["text"] for part in anchored)
    assert heading.startswith(f"[message {run.message_id} · task task_1]\n")
    assert words == said
    assert [MINUTE.sub("(now)", part["text"]) for part in plain] == [
        "Message from a person, at (now) UTC, just now:",
        "hello",
    ]


async def test_the_request_names_session_agent_and_run(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(text("Good."))
    run = await server.ask("hello", "task:task_1")
    (request,) = gateway.requests
    assert request.path == "/v1/responses"
    assert request.headers["authorization"] == f"Bearer {API_KEY}"
    assert request.headers["x-openclaw-session-key"] == "agent:main:task:task_1:v1"
    assert request.headers["x-openclaw-agent-id"] == "main"
    assert request.json["user"] == "agent:main:task:task_1:v1"
    metadata = request.json["metadata"]
    assert metadata["runId"] == run.id
    assert metadata["sessionId"] == run.session_id
    assert metadata["taskId"] == "task_1"
    assert metadata["deliveryInstructionProfileVersion"] == run.instructions_version
    assert all(isinstance(value, str) for value in metadata.values())


@requirement("S0.send.everyturn", "S0.route.continuation")
async def test_every_step_carries_instructions_tools_and_the_same_address(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(calls(("session_status", {})), calls(("session_status", {})), text("Idle."))
    run = await server.ask("how do you stand?")
    assert run.reply == "Idle."
    first, second, third = gateway.requests
    for later in (second, third):
        assert {name: later.json[name] for name in ("instructions", "tools", "user", "metadata", "model")} == {
            name: first.json[name] for name in ("instructions", "tools", "user", "metadata", "model")
        }
        for header in ("x-openclaw-session-key", "x-openclaw-agent-id", "authorization"):
            assert later.headers[header] == first.headers[header]
    assert third.json["input"][: len(second.json["input"])] == second.json["input"], "the whole input so far, then more"
    kinds = [item["type"] for item in third.json["input"]]
    assert kinds == ["message", "function_call", "function_call_output", "function_call", "function_call_output"]
    told = json.loads(third.json["input"][2]["output"])
    assert told["sessionKey"] == "main"
    assert "previous_response_id" not in third.json


@requirement("S0.send.deterministic")
async def test_equal_inputs_give_byte_equal_instructions(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(text("One."), text("Two."))
    one = await server.ask("the first", "task:task_1")
    two = await server.ask("the second, quite another", "task:task_1")
    first, second = (request.json["instructions"].encode() for request in gateway.requests)
    assert first == second
    assert one.instructions_sha256 == two.instructions_sha256


@requirement("S0.send.inline")
async def test_inline_puts_the_same_policy_before_the_message(sqlite_url: str, gateway: ScriptedGateway) -> None:
    gateway.script(text("Good."), calls(("session_status", {})), text("Idle."))
    async with open_server(sqlite_url, gateways_to(gateway)) as server:
        await server.ask("hello")
    async with open_server(sqlite_url, gateways_to(gateway), tuned(instructions="inline")) as server:
        run = await server.ask("hello again")
        receipt = await server.receipt(run)
    layered, inline, continued = (request.json for request in gateway.requests)
    assert "instructions" not in inline
    assert "instructions" not in continued
    newest = inline["input"][-1]["content"]
    assert newest[0]["text"] == layered["instructions"]
    assert newest[-1]["text"] == "hello again"
    assert continued["input"][: len(inline["input"])] == inline["input"]
    assert receipt.steps[0].instructions_sha256 == run.instructions_sha256


async def test_a_gateway_that_keeps_history_gets_only_the_new_words(sqlite_url: str, gateway: ScriptedGateway) -> None:
    gateway.script(text("One."), text("Two."), calls(("session_status", {})), text("Three."))
    async with open_server(sqlite_url, gateways_to(gateway, history="gateway")) as server:
        await server.ask("the first")
        await server.ask("the second")
        await server.ask("the third")
    sent = [request.json["input"] for request in gateway.requests[:3]]
    told = "Message from a person, at (now) UTC, just now:\n\n"
    expected = [f"{told}{words}" for words in ("the first", "the second", "the third")]
    assert [MINUTE.sub("(now)", said) for said in sent] == expected, "one message alone is sent as text"
    assert [item["type"] for item in gateway.requests[3].talk] == [
        "message", "function_call", "function_call_output",
    ]  # fmt: skip


async def test_the_transcript_of_the_generation_comes_before_the_new_message(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.script(calls(("session_status", {})), text("Blue, then."), text("You said blue."))
    await server.ask("my colour is blue")
    await server.ask("which colour?")
    last = gateway.requests[-1].talk
    assert [item.get("role", item["type"]) for item in last] == [
        "user", "function_call", "function_call_output", "assistant", "user",
    ]  # fmt: skip
    said = [item["content"][-1]["text"] for item in last if "role" in item]
    assert said == ["my colour is blue", "Blue, then.", "which colour?"]


@requirement("S0.input.history")
async def test_history_beyond_its_bound_loses_its_oldest_lines_whole_and_says_how_many(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    gateway.rule = lambda request: text("y" * 100)
    settings = Settings(delivery=DeliverySettings(history_chars_max=1000))
    async with open_server(sqlite_url, gateways_to(gateway), settings) as server:
        for number in range(7):
            await server.ask(f"{number}" * 100)
        run = await server.ask("7" * 100)
        receipt = await server.receipt(run)
    shown = texts(gateway.requests[-1])
    # 1000 characters hold the new message with its line, and the eight newest of the fourteen lines before it.
    assert [line[0] for line in shown] == ["3", "y", "4", "y", "5", "y", "6", "y", "7"]
    assert all(len(line) == 100 for line in shown), "a line is there or not there, never cut"
    assert receipt.steps[0].history_omitted == 6


@requirement("S0.input.history")
async def test_a_transcript_of_more_lines_than_are_read_is_counted_whole(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    gateway.rule = lambda request: text("ok")
    async with open_server(sqlite_url, gateways_to(gateway)) as server:
        first = await server.ask("the first")

        def talk(tx: Tx) -> None:
            for number in range(HISTORY_ROWS_MAX + 10):
                line = NewEntry(
                    type="conversation",
                    role="user",
                    content=f"line {number}",
                    author="user",
                    provenance=Provenance(kind="external_user"),
                    key=first.key,
                    session_id=first.session_id,
                )
                append_entry(tx, server.access, line)

        await server.db.write(talk)
        last = await server.ask("the last")
        receipt = await server.receipt(last)
    shown = texts(gateway.requests[-1])
    assert len(shown) == HISTORY_ROWS_MAX + 1
    assert (shown[0], shown[-1]) == ("line 10", "the last")
    assert receipt.steps[0].history_omitted == 12, "ten of these lines and the two before them"


async def test_nothing_older_is_shown_behind_a_line_that_had_to_stay_out(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    gateway.rule = lambda request: text("ok")
    async with open_server(sqlite_url, gateways_to(gateway), tuned(history_chars_max=1000)) as server:
        await server.ask("short")
        await server.ask("long " * 180)
        run = await server.ask("new " * 50)
        receipt = await server.receipt(run)
    assert texts(gateway.requests[-1]) == ["ok", "new " * 50], "a transcript has no holes"
    assert receipt.steps[0].history_omitted == 3


async def test_a_message_beyond_its_bound_is_cut_and_marked_but_kept_whole_in_the_journal(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    gateway.script(text("Long."))
    async with open_server(sqlite_url, gateways_to(gateway), tuned(input_chars_max=1000)) as server:
        run = await server.ask("word " * 1000)
        heard = (await server.entries(run))[0]
    told, shown = texts(gateway.requests[0], with_lines=True)
    assert len(told) + len(shown) <= 1000
    assert shown.startswith("word word")
    assert shown.rstrip().endswith("…") or "cut" in shown[-60:]
    assert heard.content == "word " * 1000


async def test_attachments_are_given_as_images_and_files(server: Server, gateway: ScriptedGateway) -> None:
    gateway.script(text("Seen."), text("Yes."))
    picture = NewAttachment(name="chart.png", mime_type="image/png", content=b"\x89PNG")
    paper = NewAttachment(name="paper.pdf", mime_type="application/pdf", content=b"%PDF-1.7")
    await server.ask("look at these", attachments=(picture, paper))
    await server.ask("did you see them?")
    content = gateway.requests[0].json["input"][-1]["content"]
    assert content[0] == {"type": "input_image", "image_url": data_url(picture), "detail": "auto"}
    assert content[1] == {"type": "input_file", "filename": "paper.pdf", "file_data": data_url(paper)}
    about, _, words = (part["text"] for part in content[2:])
    assert (about.splitlines(), words) == (
        [
            "Files:",
            "- chart.png (image/png, 4 bytes): image 1 of this message",
            "- paper.pdf (application/pdf, 8 bytes): its text with file_read",
        ],
        "look at these",
    )
    assert "input_image" not in gateway.requests[1].body.decode(), "files are shown in the run they came with"
    earlier = gateway.requests[1].json["input"][0]["content"]
    assert [part["text"] for part in earlier[1:]] == ["look at these", "[with chart.png, paper.pdf]"]


def data_url(attachment: NewAttachment) -> str:
    return f"data:{attachment.mime_type};base64,{base64.b64encode(attachment.content).decode()}"


async def test_thinking_and_model_come_from_the_agent_and_fall_back_to_the_gateway(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.rule = lambda request: text("Good.")
    await server.make_agent("thinker", model="deep-model", thinking="high")
    await server.ask("hello", agent="thinker")
    await server.ask("hello")
    thinker, plain = (request.json for request in gateway.requests)
    assert (thinker["model"], thinker["reasoning"]) == ("deep-model", {"effort": "high"})
    assert plain["model"] == "scripted-model"
    assert "reasoning" not in plain


async def test_where_nobody_names_a_model_the_gateway_is_left_to_choose(
    sqlite_url: str, gateway: ScriptedGateway
) -> None:
    gateway.script(text("Good."))
    async with open_server(sqlite_url, gateways_to(gateway, model="")) as server:
        await server.make_agent("plain", gateway="builtin", model="deep-model")
        await server.ask("hello")
        by_builtin = await server.receipt(await server.ask("hello", agent="plain"))
    assert gateway.requests[0].json["model"] == "default"
    assert by_builtin.steps[0].model == "builtin", "a receipt names what answered"


@requirement("S0.instr.capabilities")
async def test_tools_are_offered_as_the_catalog_defines_them_and_narrowed_by_the_profile(
    server: Server, gateway: ScriptedGateway
) -> None:
    gateway.rule = lambda request: text("Good.")
    await server.make_agent("reader", tools=ToolRules(allow=("session_*",)))
    await server.ask("hello")
    await server.ask("hello", agent="reader")
    everything, narrowed = (request.json for request in gateway.requests)
    actor = await server.read(
        lambda tx: actor_of(tx, msgspec.structs.replace(server.access, kind="agent", agent_id="main"))
    )
    defined = [CATALOG.find(tool["name"]).function(actor) for tool in everything["tools"]]
    assert everything["tools"] == json.loads(msgspec.json.encode(defined))
    assert [tool["name"] for tool in narrowed["tools"]] == ["session_status"]
    assert "artifact_add" not in narrowed["instructions"]
