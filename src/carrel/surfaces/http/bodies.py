"""Request bodies: read up to a maximum size and decoded strictly; an error names the wrong field."""

from typing import Any

from starlette.requests import Request

from carrel.kernel import Code, Refusal, decode_json
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
    return decode_json(raw or b"{}", kind)
