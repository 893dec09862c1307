"""Request bodies: read up to a maximum size and decoded strictly; an error names the wrong field."""

from typing import Any

import msgspec
from starlette.requests import Request

from carrel.kernel import Code, Refusal, refuse_nul, wrong_value
from carrel.kernel.limits import BODY_BYTES_MAX


async def read_body(request: Request, kinds: tuple[str, ...] = ("application/json",)) -> bytes:
    """Return the body if it has one of these media types; refuse it as soon as it is known to be too large."""
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
    return Refusal(Code.TOO_LARGE, f"The body may be at most {BODY_BYTES_MAX} bytes.")


def decode_body(raw: bytes, kind: type) -> Any:
    """Decode a body as its type; an empty body counts as {}."""
    refuse_nul(raw)
    try:
        return msgspec.json.decode(raw or b"{}", type=kind)
    except msgspec.ValidationError as error:
        raise wrong_value(error) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refusal(Code.INVALID_JSON, f"The body is not valid JSON: {error}.") from error
