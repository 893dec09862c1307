"""The operations of Open Responses for one caller, whatever way they were asked by."""

from collections.abc import Callable
from hashlib import sha256

from msgspec import Struct
from starlette.datastructures import Headers

from carrel.kernel import Access
from carrel.kernel.limits import STOP_SECONDS_MAX
from carrel.runs import cancel, run_by_id
from carrel.storage import Tx
from carrel.surfaces.http.house import House
from carrel.surfaces.responses.compaction import compacted
from carrel.surfaces.responses.create import Created, create, read
from carrel.surfaces.responses.errors import ResponsesError, no_response
from carrel.surfaces.responses.requests import Compact, CreateResponse, Json, check
from carrel.surfaces.responses.resource import render, see
from carrel.surfaces.responses.routing import own_response, wanted_by
from carrel.surfaces.responses.store import Response
from carrel.surfaces.responses.stream import Events, follow, rest_of

_BY_CALLER = "client_cancelled"


class Begun(Struct, frozen=True, kw_only=True):
    """A response that was accepted, and how to hear the rest of it."""

    response: Response
    is_new: bool
    events: Callable[[], Events]


class Responses:
    """What a caller can do with responses."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def begin(
        self, access: Access, headers: Headers, request: CreateResponse, raw: bytes, kept: set[str], key: str | None
    ) -> Begun:
        """Accept a request under its idempotency key; `kept` are not stored but may be gone on from here."""
        house = self._house
        house.refuse_when_draining()
        check(request)
        wanted = wanted_by(headers, request.model, request.user, request.previous_response_id)
        asked = read(access, wanted, request, sha256(raw).hexdigest(), key)
        created = await house.db.write(lambda tx: create(tx, asked, house.rules, kept))
        return self._begun(access, created)

    def _begun(self, access: Access, created: Created) -> Begun:
        response = created.response
        # Taken now, before the turn can have begun to speak. Whoever comes later would miss the beginning.
        words = self._house.live.gather(access.account_id, response.run_id) if created.is_new else None
        return Begun(
            response=response,
            is_new=created.is_new,
            events=lambda: follow(self._house, access, response, words),
        )

    async def rested(self, access: Access, response: Response) -> Json:
        """The response once it rests."""
        return render(await rest_of(self._house, access, response))

    async def shown(self, access: Access, response: Response) -> Json:
        """The response as it is now, whether or not it is stored."""
        return await self._house.db.read(lambda tx: render(see(tx, access, response)))

    async def read(self, access: Access, response_id: str) -> Json:
        """A response as it is now."""
        return await self._house.db.read(lambda tx: render(see(tx, access, _own(tx, access, response_id))))

    async def cancel(self, access: Access, response_id: str) -> Json:
        """Stop a response; one that is worked on is given a few seconds to stop."""

        def work(tx: Tx) -> Response:
            response = _own(tx, access, response_id)
            seen = see(tx, access, response)
            if seen.following is not None or cancel(tx, access, response.run_id, _BY_CALLER) is None:
                if seen.following is None and seen.run.state == "cancelled":
                    return response
                raise ResponsesError(409, "already_ended", "This response has already ended.")
            return response

        response = await self._house.db.write(work)
        await self._house.wait_for_run(access, response.run_id, STOP_SECONDS_MAX)
        return await self.shown(access, response)

    async def compact(self, access: Access, headers: Headers, request: Compact) -> Json:
        """What was said, as one item that stands for it."""
        wanted = wanted_by(headers, request.model, None, request.previous_response_id)
        return await self._house.db.read(lambda tx: compacted(tx, access, wanted, request))


def _own(tx: Tx, access: Access, response_id: str) -> Response:
    response = own_response(tx, access, response_id)
    if response is None or run_by_id(tx, access, response.run_id) is None:
        raise no_response()
    return response
