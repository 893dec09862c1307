"""Replays: a run in a lane of its own sends a stored step again, to the same model or another.

Nothing takes effect: calls in the answer are shown in the reply but not made, no run token is sent, and the gateway
gets an address of its own. The receipts of the two runs are compared like any others.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import structs

from carrel.agents import agent_by_id
from carrel.chats import fresh_key
from carrel.delivery.prompt import Instructions
from carrel.delivery.receipts import require_readable
from carrel.delivery.request import Request, model_of
from carrel.delivery.snapshot import Connection, Snapshot
from carrel.delivery.store import StepRow, steps_of
from carrel.gateway import MODEL_KINDS, StepAnswer, repeated_request
from carrel.kernel import Access, Code, Envelope, Provenance, Refusal, StoredStep, TurnExtras, clip, invalid, not_found
from carrel.kernel.limits import CHAT_TITLE_CHARS_MAX
from carrel.monitoring import titles_of_runs
from carrel.runs import Failed, Rules, Run, deliver
from carrel.sessions import LaneChange, change_lane, make_lane
from carrel.storage import Tx

REPLAY = "replay"
GONE = Failed(code="not_found", message="The step to replay was deleted meanwhile.")


def replay(
    tx: Tx, access: Access, run: Run, connections: Mapping[str, Connection], rules: Rules, *,
    gateway: str | None = None, model: str | None = None, step: int | None = None,
) -> Run:  # fmt: skip
    """Queue a run that sends a step of another one again, by default the last; Refusal if its receipt is hidden."""
    row, agent = _step(tx, access, run, step), agent_by_id(tx, access, run.agent_id)
    assert agent is not None, "an agent is never deleted"
    name = gateway or agent.gateway_among(connections)
    _require_model(connections, name)
    key = fresh_key(tx, access, "web", agent.slug)
    make_lane(tx, access, key)
    title = clip(f"Replay of {titles_of_runs(tx, access, [run])[run.id].title}", CHAT_TITLE_CHARS_MAX)
    change_lane(tx, access, key, LaneChange(display_name=title))
    by = Provenance(kind="internal_system", type=REPLAY, actor=access.actor_id, source_session_key=run.key)
    extras = TurnExtras(model=model, replays=StoredStep(run_id=run.id, n=row.n, gateway=name))
    return deliver(tx, access, Envelope.internal(key, run.text or title, by, extras=extras), rules)


def _step(tx: Tx, access: Access, run: Run, n: int | None) -> StepRow:
    require_readable(tx, access, run)
    rows = [row for row in steps_of(tx, access, run.id) if n in (None, row.n)]
    if not rows:
        raise not_found("step")
    row = rows[-1]
    if row.gateway not in MODEL_KINDS:
        text = f"This step went to an agent of kind {row.gateway}, which has its own history and tools."
        raise Refusal(Code.CONFLICT, f"{text} Only what a model was sent can be replayed.")
    if not row.body:
        raise Refusal(Code.CONFLICT, "Nothing was sent in this step; replay another one.")
    return row


def _require_model(connections: Mapping[str, Connection], gateway: str) -> None:
    models = [name for name, one in connections.items() if one.settings.kind in MODEL_KINDS]
    if gateway not in models:
        raise invalid("gateway", f"gateway must name a connection to a model: {', '.join(models)}.")


def repeated(snapshot: Snapshot, row: StepRow) -> Request:
    """Return the request of a stored step, as it is sent for the run that replays it."""
    request, settings = repeated_request(row.gateway, row.body), snapshot.connection.settings
    is_same_kind = settings.kind == row.gateway and not snapshot.extras.model
    model = request["model"] if is_same_kind else model_of(snapshot)
    run = {"runId": snapshot.run.id, "sessionId": snapshot.session.id}
    metadata: dict[str, Any] = request.get("metadata") or {}
    request |= {"model": model, "stream": settings.stream, "user": snapshot.address, "metadata": metadata | run}
    return Request(
        body=msgspec.json.encode(request),
        message_at=None,
        is_request=False,
        model=model,
        instructions=Instructions(row.instructions_version, request.get("instructions", ""), row.instructions_sha256),
        history_chars_max=0,
        shown_chars=0,
        history_shown=0,
        history_omitted=row.history_omitted,
        only_talk=False,
        context=snapshot.context,
    )


def as_reply(answer: StepAnswer) -> StepAnswer:
    """Return an answer with its calls as text, so that none is made."""
    calls = [f"{call.name}({call.arguments})" for call in answer.calls]
    shown = ["Called, but not made in a replay:", *calls] if calls else []
    return structs.replace(answer, text="\n".join(filter(None, [answer.text, *shown])), calls=())
