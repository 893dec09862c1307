"""Creating a response, in one transaction: something new is said, or a waiting run of the caller's goes on."""

from msgspec import Struct, structs

from carrel.journal import Entry, entries_of_run, json_text
from carrel.kernel import Access, Envelope, Message, Provenance, TurnExtras
from carrel.kernel.limits import RESPONSE_EXTRAS_BYTES_MAX
from carrel.runs import (
    CallOutput,
    Rules,
    Run,
    continue_run,
    deliver,
    extras_of,
    is_senders,
    live_runs_of_lane,
    open_calls,
)
from carrel.sessions import lock_lane
from carrel.storage import Tx
from carrel.surfaces.http.idempotency import KEPT_MS
from carrel.surfaces.responses.errors import ResponsesError, wrong
from carrel.surfaces.responses.input_items import Given, Said, links_text, read_input, size_of, words_of
from carrel.surfaces.responses.requests import CreateResponse, functions_of, options_of, repeated
from carrel.surfaces.responses.routing import Wanted, Way, find_way
from carrel.surfaces.responses.store import Response, insert_response, newest_response, release_key, response_by_key

# What a run may wait for that its sender can give.
_FOR_SENDERS = ("input", "auth", "tool_output")


class Asked(Struct, frozen=True, kw_only=True):
    """A request as it came, read: who asks, where it belongs, what it says; and how a repetition is known."""

    access: Access
    wanted: Wanted
    request: CreateResponse
    given: Given
    extras: TurnExtras
    digest: str
    idempotency_key: str | None = None

    @property
    def provenance(self) -> Provenance:
        """By whose doing it is said."""
        return Provenance(kind="external_user", source_channel=self.wanted.channel, actor=self.access.actor_id)


class Created(Struct, frozen=True):
    """The response; `is_new` unless it was made before under the same idempotency key."""

    response: Response
    is_new: bool


def read(access: Access, wanted: Wanted, request: CreateResponse, digest: str, key: str | None) -> Asked:
    """The request, read as far as it can be without looking into the store."""
    given = read_input(request.input)
    links = given.said.links if given.said is not None else ()
    extras = TurnExtras(
        instructions=request.instructions or None,
        model=wanted.backing_model,
        functions=tuple(functions_of(request)),
        options=options_of(request),
        before=given.before,
        after=given.after,
        parts=links,
    )
    if size_of((structs.asdict(extras),)) > RESPONSE_EXTRAS_BYTES_MAX:
        message = f"What stands around the newest message has at most {RESPONSE_EXTRAS_BYTES_MAX} bytes."
        raise ResponsesError(413, "too_large", message, param="input")
    return Asked(
        access=access, wanted=wanted, request=request, given=given, extras=extras, digest=digest, idempotency_key=key
    )  # fmt: skip


def create(tx: Tx, asked: Asked, rules: Rules, kept: set[str]) -> Created:
    """The response to a request; a repetition under the same idempotency key finds the first one."""
    known = _repeated(tx, asked)
    if known is not None:
        return Created(known, is_new=False)
    way = find_way(tx, asked.access, asked.wanted, kept)
    waiting = _waiting(tx, asked, way)
    if waiting is not None:
        return Created(_continue(tx, asked, way, waiting), is_new=True)
    if asked.given.said is None:
        raise wrong("input", "An input needs a message of the user, or an output that a response waits for.")
    envelope = Envelope(
        key=way.key,
        message=_message(asked, asked.given.said),
        channel=asked.wanted.channel,
        extras=None if asked.extras == TurnExtras() else asked.extras,
    )
    run = deliver(tx, asked.access, envelope, rules)
    response = _new(tx, asked, way, run)
    insert_response(tx, asked.access, response)
    return Created(response, is_new=True)


def _repeated(tx: Tx, asked: Asked) -> Response | None:
    key = asked.idempotency_key
    known = None if key is None else response_by_key(tx, asked.access, key)
    if known is None:
        return None
    if known.created_at < tx.now - KEPT_MS:
        release_key(tx, asked.access, known.id)
        return None
    if known.request_sha256 != asked.digest:
        message = "This idempotency key was used for a different request."
        raise ResponsesError(409, "idempotency_mismatch", message, param="X-Idempotency-Key")
    return known


def _waiting(tx: Tx, asked: Asked, way: Way) -> Run | None:
    """The run that the request goes on with: the one that waits for its outputs, or for its answer."""
    given = asked.given
    if way.run is not None and way.previous is not None:
        lock_lane(tx, asked.access, str(way.key))
        newest = newest_response(tx, asked.access, way.run.id)
        is_last = newest is not None and newest.id == way.previous.id
        waits = _live_waiting(tx, asked, way) if is_last else {}
        run = waits.get(way.run.id)
        if run is not None and (given.outputs or (run.waiting_for in ("input", "auth") and given.said is not None)):
            return run
    elif given.outputs:
        lock_lane(tx, asked.access, str(way.key))
        wanted = {output.call_id for output in given.outputs}
        for run in _live_waiting(tx, asked, way).values():
            if wanted & set(_pending(tx, asked.access, run)):
                return run
    stray = next((output for output in given.outputs if output.call_id not in given.replayed), None)
    if stray is not None:
        raise wrong(stray.param, f"No call {stray.call_id[:80]} is pending here.")
    return None


def _live_waiting(tx: Tx, asked: Asked, way: Way) -> dict[str, Run]:
    live = live_runs_of_lane(tx, asked.access, str(way.key))
    own = [run for run in live if run.state == "waiting" and run.actor_id == asked.access.actor_id]
    return {run.id: run for run in own if run.waiting_for in _FOR_SENDERS}


def _pending(tx: Tx, access: Access, run: Run) -> dict[str, Entry]:
    calls = open_calls(entries_of_run(tx, access, run.id))
    return {(call.details or {})["callId"]: call for call in calls if is_senders(call)}


def _continue(tx: Tx, asked: Asked, way: Way, run: Run) -> Response:
    given, pending = asked.given, _pending(tx, asked.access, run)
    outputs = {}
    for output in given.outputs:
        if output.call_id in pending:
            outputs[output.call_id] = CallOutput(
                call=pending[output.call_id], text=output.text, parts=output.parts
            )  # fmt: skip
        elif output.call_id not in given.replayed:
            raise wrong(output.param, f"No call {output.call_id[:80]} is pending here.")
    missing = pending.keys() - outputs.keys()
    if missing and (outputs or given.said is None):
        raise wrong("input", f"The output of {', '.join(sorted(missing))[:400]} is missing.")
    message = _beside(asked) if given.said is not None and not _is_replayed(given) else None
    spent, rested_at = run.usage, run.updated_at
    gone_on, after = continue_run(
        tx,
        asked.access,
        run.id,
        outputs=list(outputs.values()),
        message=message,
        extras=_extras_of_more(asked, extras_of(tx, asked.access, run.id)),
    )
    newest = newest_response(tx, asked.access, run.id)
    response = structs.replace(
        _new(tx, asked, way, gone_on),
        stretch=0 if newest is None else newest.stretch + 1,
        after_seq=after,
        spent=spent,
        rested_at=rested_at,
    )
    insert_response(tx, asked.access, response)
    return response


def _is_replayed(given: Given) -> bool:
    """True when the message stands before calls that the input repeats: it was heard with them."""
    return any(item.get("type") == "function_call" for item in given.after)


def _beside(asked: Asked) -> Message:
    """What is said beside outputs, or as an answer; files with only an address are named in the text."""
    said = asked.given.said
    assert said is not None, "asked for only when something is said"
    text = "\n\n".join(word for word in (said.text, links_text(said.links)) if word)
    return _message(asked, structs.replace(said, text=text))


def _extras_of_more(asked: Asked, first: TurnExtras) -> TurnExtras:
    """What the request adds, around the message as it was first heard; what it tells beside joins its instructions."""
    told = [asked.extras.instructions or "", words_of((*asked.given.before, *asked.given.after))]
    return structs.replace(
        asked.extras,
        instructions="\n\n".join(word for word in told if word) or None,
        before=first.before,
        after=first.after,
        parts=first.parts,
    )


def _message(asked: Asked, said: Said) -> Message:
    return Message(text=said.text, provenance=asked.provenance, attachments=said.files)


def _new(tx: Tx, asked: Asked, way: Way, run: Run) -> Response:
    request = asked.request
    return Response(
        id=tx.new_id("resp"),
        run_id=run.id,
        stretch=0,
        actor_id=asked.access.actor_id,
        request=json_text(repeated(request, run.agent_id)),
        request_sha256=asked.digest,
        created_at=tx.now,
        stored=int(request.store is not False),
        previous_id=None if way.previous is None else way.previous.id,
        idempotency_key=asked.idempotency_key,
    )
