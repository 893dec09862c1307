"""The end of a caller's rights: no open connection outlives the token that opened it.

Every server is notified of changed rights, so an open connection costs nothing while they stay the same.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import ExitStack
from functools import partial

from msgspec import structs
from starlette.requests import HTTPConnection

from carrel.kernel import MS_PER_SECOND, Access, Code, Refusal
from carrel.kernel.limits import STREAM_PING_SECONDS
from carrel.storage import Bell
from carrel.surfaces.http.identity import WrongTokens, identify, require_known
from carrel.surfaces.http.services import Services
from carrel.surfaces.http.streaming import FrameStream, first_to_end


async def until_revoked(services: Services, access: Access, look: Callable[[], Awaitable[Access]]) -> Refusal:
    """Wait until the caller of an open connection is refused or has other rights than when it was opened.

    Return the refusal. `look` identifies the caller again.
    """
    with ExitStack() as stack:
        bells = [services.db.bell(access.revocation_bell)]
        if access.run_id is not None:
            # The token of a run ends with it.
            bells.append(stack.enter_context(services.watch.bell(access.account_id, access.run_id)))
        while True:
            versions, seconds_left = [bell.version for bell in bells], float(STREAM_PING_SECONDS)
            try:
                if _rights(await look()) != _rights(access):
                    return Refusal(Code.UNAUTHENTICATED, "What this token may do has changed; connect again.")
                if access.expires_at is not None:
                    # Nothing notifies us when a token expires.
                    now = await services.db.read(lambda tx: tx.now)
                    seconds_left = min(max(0, access.expires_at - now) / MS_PER_SECOND, seconds_left)
            except Refusal as refusal:
                # Without the store nobody can be identified, but nothing can be read from it either.
                if refusal.code is not Code.STORAGE_UNAVAILABLE:
                    return refusal
            await any_rung(bells, versions, seconds_left)


def streamed(
    request: HTTPConnection, services: Services, wrong: WrongTokens, frames: AsyncIterator[bytes],
    headers: Mapping[str, str],
) -> FrameStream:  # fmt: skip
    """Return the response that streams to the caller of an identified request until its rights end."""

    async def look() -> Access:
        return require_known(await identify(request, services, wrong))

    revoked = partial(until_revoked, services, request.state.access, look)
    return FrameStream(frames, closing=services.closing, until_revoked=revoked, headers=headers)


def _rights(access: Access) -> Access:
    return structs.replace(access, name="", view=None)


async def any_rung(bells: list[Bell], versions: list[int], seconds_max: float) -> None:
    """Wait until one of the bells has rung since it had its version, or the time is up."""
    await first_to_end(*(bell.wait(seen, seconds_max) for bell, seen in zip(bells, versions, strict=True)))
