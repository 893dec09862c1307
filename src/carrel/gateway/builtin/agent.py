"""The agent that needs no model: it quotes what it can see and uses tools when told to.

Equal bodies get equal answers: there is no clock, no chance and no memory here but the request itself.
"""

import asyncio
import json
import re
from hashlib import sha256

from carrel.gateway.builtin.intents import Misspelt, Wish, examples, find_wishes
from carrel.gateway.builtin.phrases import CONNECT, FOUND, HEARD, INTRODUCTION, NOTHING, NOTICE
from carrel.gateway.builtin.recall import best_lines
from carrel.gateway.builtin.results import in_words
from carrel.gateway.builtin.view import Seen, see
from carrel.gateway.model import Call, GatewayFault, Item, OnText, Step, StepAnswer, Usage
from carrel.kernel import clip

MODEL = "builtin"
CHUNKS_MAX = 5
QUOTE_CHARS_MAX = 280

_GREETING = re.compile(
    r"(?:/?help|hello|hi|hey|good (?:morning|day|evening)|who are you|what can you do)\b.{0,30}", re.IGNORECASE
)
_QUESTION = re.compile(
    r"(?:what|who|whom|whose|when|where|why|how|which|is|are|was|were|do|does|did|can|could|will|would|should|has|have"
    r"|tell me|show|find|search|recall|list|quote|remind me|summari[sz]e)\b.*",
    re.IGNORECASE | re.DOTALL,
)


class BuiltinGateway:
    """Answers every step by itself; nothing can be down."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def take(self, step: Step, on_text: OnText) -> StepAnswer:
        """The answer that follows from the step's body alone."""
        try:
            seen = see(step.body)
        except (ValueError, RecursionError):
            raise GatewayFault(
                "invalid_request", "The built-in agent was sent something that is no request.", retryable=False
            ) from None
        text, wishes = answer(seen)
        for chunk in _chunks(text):
            on_text(chunk)
            await asyncio.sleep(0)
        return _as_answer(text, wishes, sha256(step.body).hexdigest())

    async def check(self) -> bool:
        """Always ready."""
        return True

    async def models(self) -> tuple[str, ...]:
        """None: there is no model to choose."""
        return ()

    async def close(self) -> None:
        """Nothing is held."""


def answer(seen: Seen) -> tuple[str, list[Wish]]:
    """What is said to what is seen, or which tools are wanted first; never both, and never a tool after a result."""
    if seen.results:
        return "\n\n".join(in_words(result) for result in seen.results), []
    try:
        wishes = find_wishes(seen)
    except Misspelt as misspelt:
        return str(misspelt), []
    return ("", wishes) if wishes else (_words(seen), [])


def _words(seen: Seen) -> str:
    said = seen.said
    if not said or _GREETING.fullmatch(said):
        return _help(seen)
    quotes = [f"> {clip(line.text, QUOTE_CHARS_MAX)} ({line.source})" for line in best_lines(said, seen.lines)]
    if said.endswith("?") or _QUESTION.fullmatch(said):
        return "\n".join([FOUND, *quotes]) if quotes else _noticed(NOTHING, seen)
    return "\n".join([_noticed(HEARD, seen), *([FOUND, *quotes] if quotes else [])])


def _noticed(sentence: str, seen: Seen) -> str:
    """The sentence, with the notice of what this agent is when the session has not read it yet."""
    return sentence if any(NOTICE in said for said in seen.answers) else f"{sentence} {NOTICE}"


def _help(seen: Seen) -> str:
    ways = [f"- {example}" for example in examples(seen.tools)]
    if seen.tools:
        ways.append(f'- use <tool> {{"argument": "value"}}, with one of: {", ".join(sorted(seen.tools))}')
    return "\n".join([INTRODUCTION, *(["", "You can say:", *ways] if ways else []), "", CONNECT])


def _chunks(text: str) -> list[str]:
    """The text in a few pieces cut between words, as a model would stream it."""
    words = re.findall(r"\s*\S+\s*", text)
    size = -(-len(words) // CHUNKS_MAX) or 1
    return ["".join(words[start : start + size]) for start in range(0, len(words), size)]


def _as_answer(text: str, wishes: list[Wish], seed: str) -> StepAnswer:
    calls = tuple(
        Call(
            call_id="call_" + sha256(f"{seed}:{number}".encode()).hexdigest()[:24],
            name=wish.tool,
            arguments=json.dumps(wish.arguments, ensure_ascii=False),
        )
        for number, wish in enumerate(wishes)
    )
    output: list[Item] = [
        {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
        | {"id": "fc_" + call.call_id.removeprefix("call_"), "status": "completed"}
        for call in calls
    ]
    if text:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        head = {"type": "message", "id": "msg_" + seed[:24], "role": "assistant", "status": "completed"}
        output.insert(0, {**head, "content": content})
    return StepAnswer(text=text, calls=calls, usage=Usage(cost_usd=0.0), model=MODEL, output=output)
