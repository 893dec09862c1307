"""From a remote run that rests to the answer of a step: its text, or the calls of our tools that say the same. Pure.

Files, links and structured results become artifacts of our run, a question becomes a question of ours, a refusal a
refusal. Only text ends a step, so what is to be kept beside it goes first, and the text is read again afterwards.
"""

import json
from collections.abc import Iterator
from hashlib import sha256

from carrel.a2a import RemoteRun
from carrel.gateway.a2a.faults import RemoteFaults
from carrel.gateway.a2a.message import DECLINE, FILE, MESSAGE, QUESTION, Saying, call_id_of
from carrel.gateway.answers import build_answer
from carrel.gateway.model import Item, StepAnswer
from carrel.kernel import clip
from carrel.kernel.limits import NAME_CHARS_MAX, QUESTION_CHARS_MAX, TOOL_CALLS_PER_ROUND_MAX

_KINDS = {"input-required": "input", "auth-required": "auth"}
_NO_QUESTION = {
    "input": "The remote agent needs to be told more before it can go on.",
    "auth": "The remote agent needs an authorization before it can go on.",
}
_MESSAGE_TEXT = "0"


def answer_of(run: RemoteRun, saying: Saying, model: str, faults: RemoteFaults) -> StepAnswer:
    """The answer that a remote run gives by resting; GatewayFault when it came to no good end."""
    match run.state:
        case "completed" if run.message is not None:
            items = _message_items(run)
        case "completed":
            items = _file_items(run, saying)[:TOOL_CALLS_PER_ROUND_MAX] or spoken(run.text)
        case "input-required" | "auth-required":
            items = _asking_items(run, saying)
        case "rejected" if saying.last_kind != DECLINE:
            reason = clip(_clean(run.said) or "The remote agent refused without a reason.", QUESTION_CHARS_MAX)
            items = [_call(call_id_of(DECLINE, "", run.id), "decline", {"reason": reason})]
        case _:
            raise faults.of_end(run.state, run.said)
    return finished(items, saying, model, faults)


def finished(items: list[Item], saying: Saying, model: str, faults: RemoteFaults) -> StepAnswer:
    """The items as an answer."""
    return build_answer(items, {"model": model}, seed=saying.seed, faults=faults)


def spoken(text: str) -> list[Item]:
    """A text as what an agent says; nothing at all is said by no item."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return [{"type": "message", "role": "assistant", "status": "completed", "content": content}] if text else []


def kept_message(saying: Saying) -> str:
    """The text of a message whose other parts have been kept: it stands in the first of the calls that kept them."""
    item = saying.calls.get(call_id_of(MESSAGE, _MESSAGE_TEXT, ""), {})
    try:
        arguments = json.loads(item.get("arguments", ""))
    except ValueError:
        return ""
    text = arguments.get("text") if isinstance(arguments, dict) else None
    return text if isinstance(text, str) else ""


def _asking_items(run: RemoteRun, saying: Saying) -> list[Item]:
    kind = _KINDS[run.state]
    question = clip(_clean(run.said) or _NO_QUESTION[kind], QUESTION_CHARS_MAX)
    if saying.is_going_on and saying.last_kind == QUESTION:
        # This agent may not ask: then its question is its answer.
        return spoken(question)
    # Numbered by those asked before, so that it has the same name however often the step is taken.
    asked = call_id_of(QUESTION, str(saying.questions), run.id)
    asking = _call(asked, "request_input", {"question": question, "kind": kind})
    return [*_file_items(run, saying)[: TOOL_CALLS_PER_ROUND_MAX - 1], asking]


def _file_items(run: RemoteRun, saying: Saying) -> list[Item]:
    """The calls that keep what is not text, without those that were made already."""
    made: list[Item] = []
    for artifact in run.artifacts:
        for place, arguments in _kept_parts(artifact):
            # By artifact and place in it, so that what comes later changes no earlier name.
            mark = sha256(f"{artifact.get('artifactId')}\n{place}".encode()).hexdigest()[:8]
            call_id = call_id_of(FILE, mark, run.id)
            if call_id not in saying.calls:
                made.append(_call(call_id, "artifact_add", arguments))
    return made


def _message_items(run: RemoteRun) -> list[Item]:
    """A message with files has no task to read its text from again, so the text is kept beside them."""
    files = list(_kept_parts(run.message or {}))
    text = _clean(run.said)
    if not files:
        return spoken(run.said)
    calls = [_call(call_id_of(MESSAGE, f"{place + 1:x}", ""), "artifact_add", arguments) for place, arguments in files]
    kept = [_call(call_id_of(MESSAGE, _MESSAGE_TEXT, ""), "artifact_add", {"text": text, "name": "message"})]
    return [*(kept if text else []), *calls][:TOOL_CALLS_PER_ROUND_MAX]


def _kept_parts(whole: Item) -> Iterator[tuple[int, Item]]:
    for place, part in enumerate(whole["parts"]):
        match part:
            case {"raw": str() as raw}:
                arguments: Item = {"dataBase64": _plain_base64(raw)}
            case {"url": str() as url}:
                arguments = {"url": url}
            case {"data": structured}:
                arguments = {"data": structured}
            case _:
                continue
        named = {"filename": part.get("filename"), "mediaType": part.get("mediaType")}
        named["name"] = whole.get("name") or part.get("filename")
        yield (
            place,
            arguments
            | {name: clip(value, NAME_CHARS_MAX) for name, value in named.items() if isinstance(value, str) and value},
        )


def _plain_base64(raw: str) -> str:
    """Base64 in its common alphabet and padded: senders may use the other one and leave the padding out."""
    plain = raw.replace("-", "+").replace("_", "/").rstrip("=")
    return plain + "=" * (-len(plain) % 4)


def _call(call_id: str, name: str, arguments: Item) -> Item:
    written = json.dumps(arguments, ensure_ascii=False)
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": written, "status": "completed"}


def _clean(text: str) -> str:
    """Text without the character that no tool takes."""
    return text.replace("\x00", "").strip()
