"""What must hold with a foreign model. Each check gives one line for the report, or fails.

The model is small: what it says proves nothing. What it was asked, to the byte, and what became of its answers does.
"""

import re
import threading
from typing import Any

import msgspec

from tests.foreign_model.bench import Bench, Chat, Heard
from tests.foreign_model.foreign_server import ANSWER_TOKENS_MAX, MODEL
from tests.foreign_model.recording_proxy import Passed
from tests.gateway.dialects import KINDS
from tests.scripted_gateway import calls

LINES = ("My name is Ada. Say hello to me.", "What is my name?", "Tell me a story about the sea.")
# Enough for some of the text to have come, and far from all of it.
SOME_PIECES = 12
HOLD_SECONDS = 60.0
# What every response has, by the protocol.
REQUIRED = (
    "id", "object", "created_at", "completed_at", "status", "incomplete_details", "model", "previous_response_id",
    "instructions", "output", "error", "tools", "tool_choice", "truncation", "parallel_tool_calls", "text", "top_p",
    "presence_penalty", "frequency_penalty", "top_logprobs", "temperature", "reasoning", "usage", "max_output_tokens",
    "max_tool_calls", "store", "background", "service_tier", "safety_identifier", "prompt_cache_key",
)  # fmt: skip


def talking(bench: Bench) -> str:
    """Several turns: text comes while the model still speaks, and each turn is shown the ones before it."""
    runs: list[dict[str, Any]] = []
    counts: list[str] = []
    with bench.chat("talk-00000001") as chat, bench.sent(run_ids := list[str]()) as steps:
        for line in LINES:
            heard = _heard_live(bench, chat, line)
            run_ids.append(heard.run_id)
            runs.append(bench.run(heard.run_id))
            counts.append(str(len(heard.pieces)))
            assert (runs[-1]["state"], runs[-1]["reply"]) == ("completed", heard.whole)
    assert [text_of(step) for step in steps] == [run["reply"] for run in runs], "the replies are not what was said"
    for n in range(1, len(LINES)):
        items = [item for item in msgspec.json.decode(steps[n].body)["input"] if item["role"] != "developer"]
        shown = [part["text"] for item in items for part in item["content"]]
        assert shown[-3:] == [LINES[n - 1], runs[n - 1]["reply"], LINES[n]], "a turn was not shown the one before it"
        before, now = runs[n - 1]["usage"], runs[n]["usage"]
        # The server has read it, by its own count.
        assert now["inputTokens"] >= before["inputTokens"] + before["outputTokens"]
    return f"{len(LINES)} turns in {', '.join(counts)} live pieces; receipts equal; {oddities(steps[-1])}"


def _heard_live(bench: Bench, chat: Chat, line: str) -> Heard:
    """The reply to a line, the rest of which was held back until the chat had heard some of it."""
    has_heard, was_live = threading.Event(), list[bool]()
    bench.proxy.after_pieces = SOME_PIECES, lambda: was_live.append(has_heard.wait(HOLD_SECONDS))
    heard = chat.say(line, has_heard.set)
    assert was_live == [True], "no text came before the answer was whole"
    assert "".join(heard.pieces) == heard.whole, "the pieces are not the reply"
    return heard


def cut_short(bench: Bench) -> str:
    """An answer that was cut at the server's bound, which the server calls completed all the same."""
    with bench.sent(run_ids := list[str]()) as steps:
        run = bench.say("hook:cut", "Write a long story about a ship, a storm and an island. Tell every detail.")
        run_ids.append(run["id"])
    told = steps[0].events[-1]
    assert run["usage"]["outputTokens"] == ANSWER_TOKENS_MAX, "the answer was not cut, so this shows nothing"
    assert (run["state"], run["reply"]) == ("completed", text_of(steps[0]))
    return f"cut at {ANSWER_TOKENS_MAX} tokens: the server says {told['response']['status']}, the run {run['state']}"


def too_long(bench: Bench) -> str:
    """A message that the model cannot hold fails its run at once, in the server's words, and holds up nothing."""
    with bench.sent(run_ids := list[str]()) as steps:
        run = bench.say("hook:long", "all work and no play " * 500)
        run_ids.append(run["id"])
    assert [step.status for step in steps] == [400], "it was tried again, or taken"
    assert (run["state"], run["error"]["code"]) == ("failed", "gateway_prompt_too_long")
    assert bench.say("hook:other", "Say hello.")["state"] == "completed"
    return f"too long: {run['error']['message']}"


def killed(bench: Bench) -> str:
    """A server that dies in the middle of an answer and comes back: the run is told anew, and answered once."""

    def kill() -> None:
        bench.foreign.kill()
        bench.proxy.upstream = bench.foreign.start()

    with bench.sent(run_ids := list[str]()) as steps:
        bench.proxy.after_pieces = SOME_PIECES, kill
        run = bench.say("hook:killed", "Tell me about the sea.")
        run_ids.append(run["id"])
    assert [step.is_whole for step in steps] == [False, True]
    assert steps[0].body == steps[1].body, "the second attempt asked something else"
    assert (run["state"], run["reply"]) == ("completed", text_of(steps[1]))
    said = bench.client.get("/api/sessions/agent:main:hook:killed/history").json()["messages"]
    assert [line["role"] for line in said] == ["user", "assistant"]
    return f"killed after {len(steps[0].pieces)} pieces: answered once, at the second attempt"


def stopped(bench: Bench) -> str:
    """A person stops an answer: the server is hung up on, and the next line is answered."""
    with bench.chat("stop-00000001") as chat:
        bench.proxy.after_pieces = SOME_PIECES, lambda: chat.send("stop")
        heard = chat.say("Tell me a very long story.")
        run = bench.run(heard.run_id)
        broken = bench.proxy.steps[-1]
        after = bench.run(chat.say("Say hello.").run_id)
    assert (run["state"], broken.is_whole) == ("cancelled", False)
    assert after["state"] == "completed"
    return f"stopped after {len(heard.pieces)} pieces: cancelled, hung up, and the next line was answered"


def plain(bench: Bench) -> str:
    """Without streaming the same server answers in one piece of JSON."""
    with (
        bench.another("plain", STREAM="false") as (_, client),
        bench.sent(run_ids := list[str](), client) as steps,
    ):
        run = bench.say("hook:plain", "Say hello.", client)
        run_ids.append(run["id"])
    assert steps[0].answer.startswith(b"{"), "it was streamed after all"
    assert run["state"] == "completed"
    assert run["reply"]
    return f"plain JSON: completed, {run['usage']['outputTokens']} tokens"


def in_open_responses(bench: Bench) -> str:
    """A conversation of three turns with a call over Open Responses."""
    return _conversation(bench, "responses")


def in_chat_completions(bench: Bench) -> str:
    """The same conversation over Chat Completions."""
    return _conversation(bench, "chat")


def in_the_messages_api(bench: Bench) -> str:
    """The same conversation over the Anthropic Messages API."""
    return _conversation(bench, "anthropic")


def _conversation(bench: Bench, kind: str) -> str:
    """Three turns, streamed, the second of them with a call and its result.

    This model calls nothing, so the call comes from a script; what is made of it goes to the model.
    """
    # A request of the Messages API names a limit, which replaces that of the server.
    limit = {"MAX_OUTPUT_TOKENS": str(ANSWER_TOKENS_MAX)} if kind == "anthropic" else {}
    with (
        bench.another(kind, KIND=kind, **limit) as (_, client),
        KINDS[kind]() as scripted,
        bench.sent(run_ids := list[str](), client) as steps,
    ):
        scripted.script(calls(("session_status", {})))
        runs = []
        for number, line in enumerate(LINES):
            bench.proxy.detours += [scripted.base_url] if number == 1 else []
            runs.append(bench.say("hook:dialect", line, client))
            run_ids.append(runs[-1]["id"])
    assert [run["state"] for run in runs] == ["completed"] * 3, [run["error"] for run in runs]
    assert [step.status for step in steps] == [200] * 4, [step.answer[:300] for step in steps]
    assert runs[1]["toolsCalled"] == ["session_status"], "the call was not made"
    assert b"sessionKey" in steps[2].body, "the result did not go back"
    shown = steps[3].body.decode()
    for said in (LINES[0], runs[0]["reply"], LINES[1], runs[1]["reply"], LINES[2]):
        assert msgspec.json.encode(said).decode()[1:-1] in shown, "a turn was not shown the ones before it"
    used = [(run["usage"]["inputTokens"], run["usage"]["outputTokens"]) for run in runs]
    assert all(read and said for read, said in used), f"tokens are missing: {used}"
    assert not any(step.answer.startswith(b"{") for step in steps), "it was not streamed"
    return f"{kind}: three turns with a call; receipts equal; {runs[2]['usage']['inputTokens']} tokens read at last"


def connected(bench: Bench) -> str:
    """One command leads from an empty home to the first answer, and to any of the dialects."""
    told: list[str] = []
    for kind in ("", *KINDS):
        done, written = bench.connect("connected", *(["--kind", kind] if kind else []))
        assert done.code == 0, done.err
        assert done.out.strip(), "it did not answer"
        assert (written.kind, written.model) == (kind or "responses", MODEL)
        assert "speaks responses, chat, anthropic; it lists 1 model" in done.err
        told.append(f"{written.kind} in {re.findall(r'answered in ([0-9.]+ s)', done.err)[0]}")
    return f"connect: {', then '.join(told)}"


CHECKS = (
    connected, talking, cut_short, too_long, killed, stopped, plain, in_open_responses, in_chat_completions,
    in_the_messages_api,
)  # fmt: skip


def text_of(step: Passed) -> str:
    """What a streamed answer said, put together from its pieces."""
    return "".join(event["delta"] for event in step.events if event["type"] == "response.output_text.delta")


def oddities(step: Passed) -> str:
    """What a streamed answer leaves out of what the protocol asks for."""
    events = step.events
    absent = [name for name in ("sequence_number", "output_index") if not any(name in event for event in events)]
    absent += ["[DONE]"] if b"[DONE]" not in step.answer else []
    lacking = [name for name in REQUIRED if name not in events[-1]["response"]]
    return f"the server leaves out {', '.join([*absent, f'{len(lacking)} fields of a response'])}"
