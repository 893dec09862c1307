"""Request bodies: read up to a maximum size and decoded strictly; an error names the wrong field."""

import asyncio
from typing import Any

from starlette.requests import Request

from carrel.kernel import Code, Refusal, decode_json
from carrel.kernel.limits import BODY_BYTES_MAX, BODY_VALUES_MAX, SMALL_BODY_BYTES_MAX
from carrel.surfaces.http.byte_budgets import ByteBudget
from carrel.surfaces.http.multipart import MULTIPART


async def receive_body(request: Request, bytes_max: int) -> bytes:
    """Return the body; Refusal once it is larger than `bytes_max`, or too much is being received at once."""
    budget: ByteBudget = request.app.state.request_budget
    chunks, size = [], 0
    with budget.share_of(request.scope) as share:
        async for chunk in request.stream():
            size += len(chunk)
            if size > bytes_max:
                raise _too_large(bytes_max)
            share.grow(size)
            chunks.append(chunk)
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
    raw = await receive_body(request, bytes_max)
    if MULTIPART not in kinds:
        await refuse_too_many_values(raw)
    return raw


async def refuse_too_many_values(raw: bytes) -> None:
    """Refuse JSON with so many values that decoding would block everybody, even in a thread."""
    if len(raw) <= SMALL_BODY_BYTES_MAX or await asyncio.to_thread(_has_few_values, raw):
        return
    message = f"The body may have at most {BODY_VALUES_MAX} values, items and fields together; send fewer at a time."
    raise Refusal(Code.TOO_LARGE, message)


def _has_few_values(raw: bytes) -> bool:
    """Count the beginnings of values outside strings, piece by piece so that other threads get a turn."""
    values, inside, escape = 0, False, b""
    for first in range(0, len(raw), SMALL_BODY_BYTES_MAX):
        piece = (escape + raw[first : first + SMALL_BODY_BYTES_MAX]).replace(b"\\\\", b"").replace(b'\\"', b"")
        # A backslash at the end escapes the first character of the next piece.
        escape = piece[-1:] if piece.endswith(b"\\") else b""
        texts = piece.split(b'"')
        values += sum(b"".join(texts[inside::2]).count(mark) for mark in (b",", b"[", b"{"))
        inside ^= len(texts) % 2 == 0
        if values > BODY_VALUES_MAX:
            return False
    return True


def _too_large(bytes_max: int) -> Refusal:
    return Refusal(Code.TOO_LARGE, f"The body may be at most {bytes_max} bytes.")


def decode_body(raw: bytes, kind: type) -> Any:
    """Decode a body as its type; an empty body counts as {}."""
    return decode_json(raw or b"{}", kind)
