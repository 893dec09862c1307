"""Request bodies: read up to a maximum size and decoded strictly; an error names the wrong field."""

from typing import Any

from starlette.requests import Request

from carrel.kernel import Code, Refusal, decode_json
from carrel.kernel.limits import BODIES_BYTES_MAX, BODY_BYTES_MAX, BUSY_RETRY_SECONDS, SMALL_BODY_BYTES_MAX


class BodyBudget:
    """How many bytes of large bodies are being received at this moment, from all clients together.

    Small bodies do not count, so that a few slow senders of large ones cannot shut everybody out.
    """

    def __init__(self, bytes_max: int = BODIES_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0

    async def read(self, request: Request, bytes_max: int) -> bytes:
        """Return the body; Refusal once it is larger than `bytes_max`, or too much is being received at once."""
        chunks, size, counted = [], 0, 0
        try:
            async for chunk in request.stream():
                size += len(chunk)
                if size > bytes_max:
                    raise _too_large(bytes_max)
                grown = max(0, size - SMALL_BODY_BYTES_MAX) - counted
                if self._bytes + grown > self._bytes_max:
                    raise _busy()
                self._bytes += grown
                counted += grown
                chunks.append(chunk)
        finally:
            self._bytes -= counted
        return b"".join(chunks)


async def read_body(
    request: Request, kinds: tuple[str, ...] = ("application/json",), *, bytes_max: int = BODY_BYTES_MAX
) -> bytes:
    """Return the body if it has one of these media types; refuse it as soon as it is known to be too large."""
    kind = request.headers.get("content-type", kinds[0]).partition(";")[0].strip().lower()
    if kind not in kinds:
        raise Refusal(Code.UNSUPPORTED_MEDIA_TYPE, f"Send the body as {' or '.join(kinds)}.")
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > bytes_max:
        raise _too_large(bytes_max)
    budget: BodyBudget = request.app.state.body_budget
    return await budget.read(request, bytes_max)


def _too_large(bytes_max: int) -> Refusal:
    return Refusal(Code.TOO_LARGE, f"The body may be at most {bytes_max} bytes.")


def _busy() -> Refusal:
    return Refusal(
        Code.BUSY,
        "The server is receiving too many large requests at once; try again in a moment.",
        retry_after_seconds=BUSY_RETRY_SECONDS,
    )


def decode_body(raw: bytes, kind: type) -> Any:
    """Decode a body as its type; an empty body counts as {}."""
    return decode_json(raw or b"{}", kind)
