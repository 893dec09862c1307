"""A completion from its request to its answer: a response, found again by the calls that it left open."""

from starlette.datastructures import Headers

from carrel.kernel import Access
from carrel.runs import live_runs_of_lane, run_that_made
from carrel.storage import Tx
from carrel.surfaces.http.house import House
from carrel.surfaces.responses.completions.answers import completion_of
from carrel.surfaces.responses.completions.messages import Conversation, read_messages
from carrel.surfaces.responses.completions.requests import CreateCompletion, as_response
from carrel.surfaces.responses.errors import ResponsesError
from carrel.surfaces.responses.operations import Responses, StartedResponse
from carrel.surfaces.responses.requests import Json
from carrel.surfaces.responses.store import newest_response
from carrel.surfaces.responses.targets import TargetHints, find_target, read_hints


class Completions:
    """What a caller can do with completions."""

    def __init__(self, house: House, responses: Responses) -> None:
        self._house = house
        self._responses = responses

    async def start(
        self, access: Access, headers: Headers, request: CreateCompletion, raw: bytes, key: str | None
    ) -> StartedResponse:
        """Accept a request under its idempotency key."""
        whole = read_messages(request.messages)
        hints = read_hints(headers, request.model, request.user, None)
        said = whole.newest() if hints.names_session else whole
        try:
            previous_id = await self._house.db.read(lambda tx: _continued(tx, access, hints, said))
            asked = as_response(request, said, previous_id)
            kept = set() if previous_id is None else {previous_id}
            return await self._responses.start(access, headers, asked, raw, kept, key)
        except ResponsesError as error:
            raise said.in_its_words(error) from error

    async def finished(self, access: Access, started: StartedResponse) -> Json:
        """Return the completion once its run has ended or is waiting."""
        return completion_of(await self._responses.finished(access, started.response))


def _continued(tx: Tx, access: Access, hints: TargetHints, said: Conversation) -> str | None:
    """Return the id of the response that a request continues: one that waits for its outputs or for its answer."""
    target = find_target(tx, access, hints, set())
    if said.is_answering:
        made = run_that_made(tx, access, target.key.agent, said.calls)
        run = made if made is not None and (made.key == str(target.key) or not hints.names_session) else None
    elif hints.names_session:
        live = live_runs_of_lane(tx, access, str(target.key))
        own = [run for run in live if run.state == "waiting" and run.actor_id == access.actor_id]
        run = next((run for run in own if run.waiting_for in ("input", "auth")), None)
    else:
        return None
    newest = None if run is None else newest_response(tx, access, run.id)
    return None if newest is None else newest.id
