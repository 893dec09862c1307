"""The tools that end or feed a turn: ask for input, decline, add an artifact."""

import base64
import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from carrel.kernel import Code, Refusal, invalid, limits
from carrel.kernel.fields import Name
from carrel.records import REPLY_ARTIFACT
from carrel.runs import Failed, NeedsInput
from carrel.storage import Tx
from carrel.tools.artifacts import add_part, known_artifacts
from carrel.tools.model import Caller, Params, Result, Shown, Tool
from carrel.tools.sessions.shapes import Added

Text = Annotated[str, Meta(min_length=1, max_length=limits.QUESTION_CHARS_MAX)]


class RequestInput(Params, frozen=True, kw_only=True):
    """The question for a person."""

    question: Annotated[Text, Meta(description="what you need to know")]
    kind: Annotated[Literal["input", "auth"], Meta(description="auth if you need a login")] = "input"


class Decline(Params, frozen=True, kw_only=True):
    """Why the agent declines."""

    reason: Annotated[Text, Meta(description="why")]


# Other schemes, such as javascript: or file:, act where the link is opened.
_LINK = re.compile(r"https?://[^/?#\s\\]", re.IGNORECASE)


class ArtifactAdd(Params, frozen=True, kw_only=True):
    """One part of a result: exactly one of text, dataBase64, url and data."""

    text: Annotated[str, Meta(description="a text")] | None = None
    base64_text: Annotated[str, Meta(description="a file")] | None = msgspec.field(name="dataBase64", default=None)
    url: Annotated[str, Meta(max_length=4000, description="an http or https address")] | None = None
    structured: Annotated[Any, Meta(description="any JSON")] = msgspec.field(name="data", default=msgspec.UNSET)
    filename: Annotated[Name, Meta(description="name of the file")] | None = None
    name: Annotated[Name, Meta(description="name of the result")] | None = None
    media_type: Annotated[Name, Meta(description="for example text/csv")] | None = None
    append: Annotated[bool, Meta(description="add to artifactId")] = False
    artifact_id: Annotated[Name, Meta(description="id of the result")] | None = None


def _request_input(_tx: Tx, _caller: Caller, params: RequestInput) -> Result:
    ends = NeedsInput(question=params.question, waiting_for=params.kind)
    return Result(value={"ok": True, "waitingFor": params.kind}, ends=ends)


def _decline(_tx: Tx, _caller: Caller, params: Decline) -> Result:
    ends = Failed(code="rejected", message=params.reason, reason="rejected")
    return Result(value={"ok": True, "declined": True}, ends=ends)


def _artifact_add(tx: Tx, caller: Caller, params: ArtifactAdd) -> Result:
    kind, content = _part(params)
    # A file counts with the size of the base64 it is stored as.
    known = known_artifacts(tx, caller, len(content.encode()))
    if params.artifact_id == REPLY_ARTIFACT:
        raise invalid("artifactId", f"'{REPLY_ARTIFACT}' is reserved for the reply; choose another id.")
    if params.append and params.artifact_id not in known:
        raise invalid("artifactId", "append needs the artifactId of an existing artifact of this run.")
    if params.artifact_id in known and not params.append:
        raise invalid("artifactId", "This artifact already exists; set append to add to it.")
    artifact_id = params.artifact_id or tx.new_id("art")
    add_part(
        tx, caller, artifact_id, kind=kind, content=content, name=params.name, media_type=params.media_type,
        filename=params.filename, append=params.append,
    )  # fmt: skip
    return Result(value={"artifactId": artifact_id})


def _part(params: ArtifactAdd) -> tuple[str, str]:
    """Return the kind and content of the part, within its size limit."""
    given = {
        "text": params.text,
        "bytes": params.base64_text,
        "url": params.url,
        "data": None if params.structured is msgspec.UNSET else msgspec.json.encode(params.structured).decode(),
    }
    named = [(kind, content) for kind, content in given.items() if content is not None]
    if len(named) != 1:
        raise Refusal(Code.INVALID_PARAMS, "Give exactly one of text, dataBase64, url and data.")
    kind, content = named[0]
    if kind == "url" and not _LINK.match(content):
        raise invalid("url", "url must begin with http:// or https:// and name a host.")
    whole = _decoded(content) if kind == "bytes" else content.encode()
    if len(whole) > limits.ARTIFACT_BYTES_MAX:
        field = "dataBase64" if kind == "bytes" else kind
        message = f"One part of an artifact has at most {limits.ARTIFACT_BYTES_MAX} bytes."
        raise Refusal(Code.TOO_LARGE, message, field=field)
    return kind, content


def _decoded(content: str) -> bytes:
    try:
        return base64.b64decode(content, validate=True)
    except ValueError as error:
        raise invalid("dataBase64", f"This is not valid base64 ({error}).") from error


TURN_TOOLS = (
    Tool("request_input", "ask you a question",
         "Ask the person for what you need. Ends this turn; the answer continues it.",
         "write", RequestInput, _request_input, only_in_run=True),
    Tool("decline", "refuse the request for good",
         "Refuse this request for good, with a reason. Ends this turn.",
         "write", Decline, _decline, only_in_run=True),
    Tool("artifact_add", "add a result to its run",
         "Add a result to this run: exactly one of text, dataBase64, url and data.",
         "write", ArtifactAdd, _artifact_add, Added, only_in_run=True,
         shown=Shown(without=("append", "artifactId", "mediaType"))),
)  # fmt: skip
