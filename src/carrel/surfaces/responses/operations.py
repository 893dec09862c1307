"""The operations of Open Responses, over HTTP or a WebSocket."""

from collections.abc import Callable
from hashlib import sha256

from msgspec import Struct
from starlette.datastructures import Headers

from carrel.kernel import Access
from carrel.kernel.limits import STOP_SECONDS_MAX
from carrel.runs import cancel, run_by_id
from carrel.storage import Tx
from carrel.surfaces.http.services import Services
from carrel.surfaces.responses.create import create, prepare
from carrel.surfaces.responses.errors import ResponsesError, no_response
from carrel.surfaces.responses.requests import CreateResponse, Json, check
from carrel.surfaces.responses.resource import Page, list_input, render, state_of
from carrel.surfaces.responses.store import Response, forget_response
from carrel.surfaces.responses.stream import Events, follow, wait_for_rest
from carrel.surfaces.responses.targets import own_response, read_hints

_BY_CALLER = "client_cancelled"


class StartedResponse(Struct, frozen=True, kw_only=True):
    """A response that was accepted, and its events."""

    response: Response
    is_new: bool
    events: Callable[[], Events]


class Responses:
    def __init__(self, services: Services) -> None:
        self.services = services

    async def start(
        self, access: Access, headers: Headers, request: CreateResponse, raw: bytes, kept: set[str], key: str | None
    ) -> StartedResponse:
        """Accept a request under its idempotency key; responses in `kept` are not stored but can be continued here."""
        services = self.services
        services.refuse_when_draining()
        check(request)
        hints = read_hints(headers, request.model, request.user, request.previous_response_id)
        prepared = prepare(access, hints, request, sha256(raw).hexdigest(), key)
        response, is_new = await services.db.write(lambda tx: create(tx, prepared, services.rules, kept))
        # Gathered from now on, before the turn can produce text; later, its beginning would be missing.
        words = services.live.gather(access.account_id, response.run_id) if is_new else None
        return StartedResponse(
            response=response, is_new=is_new, events=lambda: follow(services, access, response, words)
        )

    async def finished(self, access: Access, response: Response) -> Json:
        return render(await wait_for_rest(self.services, access, response))

    async def shown(self, access: Access, response: Response) -> Json:
        """Return the response as it is now, whether or not it is stored."""
        return await self.services.db.read(lambda tx: render(state_of(tx, access, response)))

    async def read(self, access: Access, response_id: str) -> Json:
        """Return a stored response as it is now."""
        return await self.services.db.read(lambda tx: render(state_of(tx, access, _own(tx, access, response_id))))

    async def cancel(self, access: Access, response_id: str) -> Json:
        """Cancel a response; a running one gets a few seconds to stop."""

        def work(tx: Tx) -> Response:
            response = _own(tx, access, response_id)
            state = state_of(tx, access, response)
            was_cancelled = state.run.state == "cancelled"
            if state.following is None and (cancel(tx, access, response.run_id, _BY_CALLER) or was_cancelled):
                return response
            raise ResponsesError(409, "already_ended", "This response has already ended.")

        response = await self.services.db.write(work)
        await self.services.wait_for_run(access, response.run_id, STOP_SECONDS_MAX)
        return await self.shown(access, response)

    async def delete(self, access: Access, response_id: str) -> Json:
        """Forget a response; its run and its session stay."""
        await self.services.db.write(lambda tx: forget_response(tx, access, _own(tx, access, response_id).id))
        return {"id": response_id, "object": "response", "deleted": True}

    async def input_items(self, access: Access, response_id: str, page: Page) -> Json:
        return await self.services.db.read(lambda tx: list_input(tx, access, _own(tx, access, response_id), page))


def _own(tx: Tx, access: Access, response_id: str) -> Response:
    response = own_response(tx, access, response_id)
    if response is None or run_by_id(tx, access, response.run_id) is None:
        raise no_response()
    return response
