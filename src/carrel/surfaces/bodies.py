"""Bodies of requests: read within their bound and strictly, with the field that is wrong named."""

import re
from typing import Any

import msgspec
from starlette.requests import Request

from carrel.kernel import Code, Refusal, wrong_value
from carrel.kernel.limits import BODY_BYTES_MAX

# An even number of backslashes before it is text about backslashes, not the beginning of an escape.
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


async def read_body(request: Request, kinds: tuple[str, ...] = ("application/json",)) -> bytes:
    """The body, of one of these media types; refused as soon as it is known to be too large."""
    kind = request.headers.get("content-type", kinds[0]).partition(";")[0].strip().lower()
    if kind not in kinds:
        raise Refusal(Code.UNSUPPORTED_MEDIA_TYPE, f"Send the body as {' or '.join(kinds)}.")
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > BODY_BYTES_MAX:
        raise _too_large()
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > BODY_BYTES_MAX:
            raise _too_large()
        chunks.append(chunk)
    return b"".join(chunks)


def _too_large() -> Refusal:
    return Refusal(Code.TOO_LARGE, f"A body has at most {BODY_BYTES_MAX} bytes.")


def decode_body(raw: bytes, kind: type) -> Any:
    """The body as its type; an empty one counts as {}."""
    # The search for the six characters alone is the fast one; whether they stand for a NUL takes a closer look.
    if rb"\u0000" in raw and _NUL.search(raw):
        raise Refusal(Code.INVALID_PARAMS, "The body holds a NUL character, which no text here may contain.")
    try:
        return msgspec.json.decode(raw or b"{}", type=kind)
    except msgspec.ValidationError as error:
        raise wrong_value(error) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refusal(Code.INVALID_JSON, f"The body is no valid JSON: {error}.") from error
