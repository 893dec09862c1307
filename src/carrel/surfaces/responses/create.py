"""Creating a response in one transaction: a new message is delivered, or a waiting run of the caller continues."""

import msgspec
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
    end_unanswered,
    extras_of,
    is_sender_call,
    live_runs_of_lane,
    open_calls,
)
from carrel.sessions import channel_of, lock_lane
from carrel.storage import Tx
from carrel.surfaces.http.idempotency import KEPT_MS
from carrel.surfaces.responses.errors import ResponsesError, wrong
from carrel.surfaces.responses.input_items import ReadInput, UserMessage, instructions_in, links_text, read_input
from carrel.surfaces.responses.requests import CreateResponse, functions_of, options_of, repeated
from carrel.surfaces.responses.store import Response, insert_response, newest_response, release_key, response_by_key
from carrel.surfaces.responses.targets import Target, TargetHints, find_target

_CHANNEL = "api"
# What a run may wait for that its sender can provide.
_FOR_SENDERS = ("input", "auth", "tool_output")


class PreparedRequest(Struct, frozen=True, kw_only=True):
    """A request, read: the caller, its target, its input, and what identifies a repetition."""

    access: Access
    hints: TargetHints
    request: CreateResponse
    input: ReadInput
    extras: TurnExtras
    digest: str
    idempotency_key: str | None = None

    @property
    def channel(self) -> str:
        return channel_of(self.access, _CHANNEL, self.hints.channel)


def prepare(
    access: Access, hints: TargetHints, request: CreateResponse, digest: str, key: str | None
) -> PreparedRequest:
    """Read a request as far as possible without the database."""
    given = read_input(request.input)
    extras = TurnExtras(
        instructions=request.instructions or None,
        model=hints.backing_model,
        functions=tuple(functions_of(request)),
        options=options_of(request),
        before=given.before,
        after=given.after,
        parts=given.message.links if given.message is not None else (),
    )
    if len(msgspec.json.encode((structs.asdict(extras),))) > RESPONSE_EXTRAS_BYTES_MAX:
        message = f"Everything but the newest message may have at most {RESPONSE_EXTRAS_BYTES_MAX} bytes in all."
        raise ResponsesError(413, "too_large", message, param="input")
    return PreparedRequest(
        access=access, hints=hints, request=request, input=given, extras=extras, digest=digest, idempotency_key=key
    )  # fmt: skip


def create(tx: Tx, prepared: PreparedRequest, rules: Rules, kept: set[str]) -> tuple[Response, bool]:
    """Return the response to a request, and whether it is new: under the same idempotency key, return the first one."""
    known = _repeated(tx, prepared)
    if known is not None:
        return known, False
    target = find_target(tx, prepared.access, prepared.hints, kept)
    waiting = _waiting(tx, prepared, target)
    if waiting is not None:
        return _continue(tx, prepared, target, waiting), True
    if prepared.input.message is None:
        raise wrong("input", "There is no message of the user, and no output that is waited for.")
    envelope = Envelope(
        key=target.key,
        message=_message(prepared, prepared.input.message),
        channel=prepared.channel,
        extras=None if prepared.extras == TurnExtras() else prepared.extras,
    )
    run = deliver(tx, prepared.access, envelope, rules)
    end_unanswered(tx, prepared.access, target.key, prepared.input.made)
    response = _new(tx, prepared, target, run)
    insert_response(tx, prepared.access, response)
    return response, True


def _repeated(tx: Tx, prepared: PreparedRequest) -> Response | None:
    key = prepared.idempotency_key
    known = None if key is None else response_by_key(tx, prepared.access, key)
    if known is None:
        return None
    if known.created_at < tx.now - KEPT_MS:
        release_key(tx, prepared.access, known.id)
        return None
    if known.request_sha256 != prepared.digest:
        message = "This idempotency key was used for a different request."
        raise ResponsesError(409, "idempotency_mismatch", message, param="X-Idempotency-Key")
    return known


def _waiting(tx: Tx, prepared: PreparedRequest, target: Target) -> Run | None:
    """Return the run that the request continues: the one waiting for its outputs, or for its answer."""
    given = prepared.input
    if target.run is not None and target.previous is not None:
        lock_lane(tx, prepared.access, str(target.key))
        newest = newest_response(tx, prepared.access, target.run.id)
        is_last = newest is not None and newest.id == target.previous.id
        run = _live_waiting(tx, prepared, target).get(target.run.id) if is_last else None
        if run is not None and (given.outputs or (run.waiting_for in ("input", "auth") and given.message is not None)):
            return run
    elif given.outputs:
        lock_lane(tx, prepared.access, str(target.key))
        call_ids = {output.call_id for output in given.outputs}
        for run in _live_waiting(tx, prepared, target).values():
            if call_ids & set(_pending(tx, prepared.access, run)):
                return run
    stray = next((output for output in given.outputs if output.call_id not in given.made), None)
    if stray is not None:
        raise wrong(stray.param, f"No call {stray.call_id[:80]} is waiting for an output here.")
    return None


def _live_waiting(tx: Tx, prepared: PreparedRequest, target: Target) -> dict[str, Run]:
    live = live_runs_of_lane(tx, prepared.access, str(target.key))
    own = [run for run in live if run.state == "waiting" and run.actor_id == prepared.access.actor_id]
    return {run.id: run for run in own if run.waiting_for in _FOR_SENDERS}


def _pending(tx: Tx, access: Access, run: Run) -> dict[str, Entry]:
    calls = open_calls(entries_of_run(tx, access, run.id))
    return {(call.details or {})["callId"]: call for call in calls if is_sender_call(call)}


def _continue(tx: Tx, prepared: PreparedRequest, target: Target, run: Run) -> Response:
    given, pending = prepared.input, _pending(tx, prepared.access, run)
    outputs = {}
    for output in given.outputs:
        if output.call_id in pending:
            call = pending[output.call_id]
            outputs[output.call_id] = CallOutput(call=call, text=output.text, parts=output.parts)
        elif output.call_id not in given.made:
            raise wrong(output.param, f"No call {output.call_id[:80]} is waiting for an output here.")
    missing = pending.keys() - outputs.keys()
    if missing and (outputs or given.message is None):
        raise wrong("input", f"The output of {', '.join(sorted(missing))[:400]} is missing.")
    spent, rested_at = run.usage, run.updated_at
    continued, after = continue_run(
        tx,
        prepared.access,
        run.id,
        outputs=list(outputs.values()),
        message=_added_message(prepared),
        extras=_added_extras(prepared, extras_of(tx, prepared.access, run.id)),
    )
    newest = newest_response(tx, prepared.access, run.id)
    response = structs.replace(
        _new(tx, prepared, target, continued),
        stretch=0 if newest is None else newest.stretch + 1,
        after_seq=after,
        spent=spent,
        rested_at=rested_at,
    )
    insert_response(tx, prepared.access, response)
    return response


def _added_message(prepared: PreparedRequest) -> Message | None:
    """Return the message sent with outputs or as an answer, if any; files given by URL are listed in its text."""
    sent = prepared.input.message
    # A message before calls that the input repeats was already delivered with them.
    if sent is None or any(item.get("type") == "function_call" for item in prepared.input.after):
        return None
    text = "\n\n".join(word for word in (sent.text, links_text(sent.links)) if word)
    return _message(prepared, structs.replace(sent, text=text))


def _added_extras(prepared: PreparedRequest, first: TurnExtras) -> TurnExtras:
    """Return the extras of the request around the first message; its system messages join its instructions."""
    added = instructions_in((*prepared.input.before, *prepared.input.after))
    return structs.replace(
        prepared.extras,
        instructions="\n\n".join(filter(None, (prepared.extras.instructions, added))) or None,
        before=first.before,
        after=first.after,
        parts=first.parts,
    )


def _message(prepared: PreparedRequest, sent: UserMessage) -> Message:
    provenance = Provenance.of_person(prepared.access, prepared.channel)
    return Message(text=sent.text, provenance=provenance, attachments=sent.files)


def _new(tx: Tx, prepared: PreparedRequest, target: Target, run: Run) -> Response:
    request = prepared.request
    return Response(
        id=tx.new_id("resp"),
        run_id=run.id,
        stretch=0,
        actor_id=prepared.access.actor_id,
        request=json_text(repeated(request, run.agent_id)),
        request_sha256=prepared.digest,
        created_at=tx.now,
        stored=int(request.store is not False),
        previous_id=None if target.previous is None else target.previous.id,
        idempotency_key=prepared.idempotency_key,
    )
