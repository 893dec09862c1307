"""Random transcripts in the form of Open Responses, and what of their facts each dialect can carry."""

import base64
import json
from typing import Any

from hypothesis import strategies as st

from tests.gateway.dialects import assistant, call, output, user
from tests.gateway.provider_view import IMAGES, Fact

Json = dict[str, Any]
GAP = "\n\n"
NOT_SHOWN = ("user", "text", "[Earlier messages are not shown.]")
PDF = "application/pdf"
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
words = st.text('abc ä\U0001f43f\n"\\', min_size=1, max_size=12).filter(str.strip)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
arguments = st.dictionaries(words, values, max_size=3).map(json.dumps)
# What models write as well: half of an object, no object, nothing.
any_arguments = arguments | st.sampled_from(['{"half', "[1]", "", "null", '"word"', '{"lone": "\\ud83d"}'])


def _embedded(mime_type: str, content: bytes) -> str:
    return f"data:{mime_type};base64,{base64.b64encode(content).decode()}"


@st.composite
def files(draw: st.DrawFn) -> Json:
    """Return an image or a file, embedded or as a link."""
    name, content = draw(st.sampled_from(["a.b", "ä ö.pdf"])), draw(st.binary(min_size=1, max_size=9))
    if draw(st.booleans()):
        kind = draw(st.sampled_from([*sorted(IMAGES), "image/tiff"]))
        link = "https://example.com/a.png"
        return {"type": "input_image", "image_url": draw(st.sampled_from([link, _embedded(kind, content)]))}
    if draw(st.booleans()):
        return {"type": "input_file", "filename": name, "file_url": "https://example.com/b.pdf"}
    kind = draw(st.sampled_from([PDF, "text/markdown", "application/json", "application/zip"]))
    return {"type": "input_file", "filename": name, "file_data": _embedded(kind, content)}


def thought(kind: str, said: str) -> Json:
    """Return what a model of this kind thought."""
    content = [{"type": "reasoning_text", "text": said}]
    if kind == "chat":
        return {"type": "reasoning", "summary": [], "content": content, "field": "reasoning_content"}
    return {"type": "reasoning", "summary": [], "content": content, "encrypted_content": "c2ln"}


def refusal(said: str) -> Json:
    """Return a message in which the model refuses."""
    content = [{"type": "refusal", "refusal": said}]
    return {"type": "message", "role": "assistant", "status": "completed", "content": content}


@st.composite
def transcripts(draw: st.DrawFn, kind: str) -> list[Json]:
    """Return a conversation: messages with files, rounds of parallel calls with their outputs, replies, refusals."""
    items = [assistant(said) for said in draw(st.lists(words, max_size=1))]
    for number in range(draw(st.integers(1, 3))):
        items += [user(said) | {"role": "developer"} for said in draw(st.lists(texts, max_size=1))]
        items.append(user(*draw(st.lists(texts | files(), max_size=3)), draw(words)))
        for made in range(draw(st.integers(0, 2))):
            ids = [draw(st.sampled_from(["call_", "functions.x:"])) + f"{number}_{made}_{at}" for at in range(3)]
            ids = ids[: draw(st.integers(1, 3))]
            items += [thought(kind, said) for said in draw(st.lists(words, max_size=1))]
            items += [assistant(said) for said in draw(st.lists(texts, max_size=1))]
            items += [refusal(said) for said in draw(st.lists(words, max_size=1))]
            items += [call(name, draw(any_arguments)) for name in ids]
            items += [output(name, draw(texts | st.lists(_shown, min_size=1, max_size=2))) for name in ids]
        items += [assistant(said) for said in draw(st.lists(texts, max_size=1))]
        items += [refusal(said) for said in draw(st.lists(words, max_size=1))]
    return [*items, user(draw(words))]


_shown = files() | words.map(lambda said: {"type": "input_text", "text": said})


def carried(facts: list[Fact], kind: str) -> list[Fact]:
    """Return what of a transcript this dialect can carry, in its order; texts in a row become one."""
    if kind == "responses":
        return facts
    found = [one for fact in facts for one in _carried(fact, kind)]
    first = next((at for at, fact in enumerate(found) if fact[0] != "context"), None)
    if first is not None and found[first][0] == "assistant":
        found.insert(first, NOT_SHOWN)
    return joined(found)


def _carried(fact: Fact, kind: str) -> list[Fact]:
    side, what, value = fact
    side = "user" if side == "context" and kind == "anthropic" else side
    # The Messages API has no refusals in a transcript: there they are what the model said.
    what = "text" if what == "refusal" and kind == "anthropic" else what
    match what:
        case "call" if kind == "anthropic":
            value = (value[0], value[1], _object(value[2]))
        case "output":
            parts = [_part("user", name, shown, kind)[1:] for name, shown in value[1]]
            if kind == "chat":
                parts = [("text", GAP.join(_in_words(*part) for part in parts))]
            value = (value[0], parts)
        case "image" | "file":
            return [_part(side, what, value, kind)]
    return [] if what in ("text", "refusal") and not value.strip() else [(side, what, value)]


def _object(written: Any) -> Any:
    """Return arguments as an object; what is none is kept as it was written, in one."""
    if isinstance(written, dict):
        return written
    try:
        written.encode()
        found = json.loads(written)
        json.dumps(found, ensure_ascii=False).encode()
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"arguments_as_written": written}


def _part(side: str, what: str, value: Any, kind: str) -> Fact:
    """Return an image or a file in the form that the dialect has for it, else that it was not sent."""
    if what == "text":
        return side, what, value
    name, address = ("", value) if what == "image" else value
    if isinstance(address, str):
        return (side, what, value) if what == "image" or kind == "anthropic" else _not_sent(side, name, "")
    mime_type, content = address
    if mime_type in IMAGES or mime_type == PDF:
        return side, what, value
    text = _text(mime_type, content)
    if text is None:
        return _not_sent(side, name or "an image", f" ({mime_type})")
    if kind == "chat":
        return side, "text", f"{name}:\n{text}"
    return side, "file", (name, ("text/plain", content))


def _not_sent(side: str, name: str, kind: str) -> Fact:
    return side, "text", f"[Not sent: {name}{kind}. This model cannot be given it.]"


def _text(mime_type: str, content: bytes) -> str | None:
    try:
        return content.decode() if mime_type in ("text/markdown", "application/json", "text/plain") else None
    except ValueError:
        return None


def _in_words(what: str, value: Any) -> str:
    """Return a part of an output in a dialect whose outputs are text."""
    if what == "text":
        return str(value)
    name, address = ("an image", value) if what == "image" else value
    return str(_not_sent("", name, "" if isinstance(address, str) else f" ({address[0]})")[2])


def joined(facts: list[Fact]) -> list[Fact]:
    """Return facts with texts in a row, from the same side or in the same output, as one."""
    found: list[Fact] = []
    for side, what, value in facts:
        if what == "output":
            parts = joined([("", *part) for part in value[1]])
            found.append((side, what, (value[0], [part[1:] for part in parts])))
        elif what in ("text", "refusal") and found and found[-1][:2] == (side, what):
            found[-1] = (side, what, found[-1][2] + GAP + value)
        else:
            found.append((side, what, value))
    return found


def numbered(facts: list[Fact]) -> list[Fact]:
    """Return facts with the numbers of calls for their ids, for dialects that do not take every id."""
    ids = [value[0] for _, what, value in facts if what == "call"]
    return [
        (side, what, (ids.index(value[0]), *value[1:])) if what in ("call", "output") else (side, what, value)
        for side, what, value in facts
    ]
