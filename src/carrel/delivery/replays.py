"""Replays: a stored step is asked once more, of another model or the same, and the two answers are compared.

Nothing takes effect: the calls of the answer are shown and not made, no token of the run goes along, the gateway is
given an address of its own, and nothing is written but what the answer has cost.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from carrel.agents import agent_by_id
from carrel.delivery.receipts import Difference, difference, require_readable
from carrel.delivery.request import ANY_MODEL
from carrel.delivery.snapshot import BUILTIN, Connection
from carrel.delivery.store import StepRow, steps_of
from carrel.gateway import MODEL_KINDS, GatewayFault, Step, StepAnswer, repeated_request
from carrel.kernel import MS_PER_SECOND, Access, Code, Refusal, clip, elapsed_seconds, invalid, not_found, redact
from carrel.kernel.limits import ERROR_CHARS_MAX, REPLAY_SECONDS_MAX, REPLAYS_AT_A_TIME
from carrel.runs import Run
from carrel.storage import Database, Tx
from carrel.usage import count_step


class ProposedCall(Struct, frozen=True, kw_only=True):
    """A tool call that a model asked for."""

    name: str
    arguments: str


class ModelAnswer(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a model answered: its text and the tool calls that it asked for."""

    gateway: str
    model: str
    text: str
    calls: list[ProposedCall]
    milliseconds: int


class ReplayUsage(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the new answer has cost, as far as its gateway reports it."""

    input_tokens: int
    output_tokens: int
    cost_usd: float | None


class Replay(Struct, frozen=True, kw_only=True, rename="camel"):
    """Two answers to the same request: the one that the run got, and a new one whose calls were not made."""

    run_id: str
    step: int
    original: ModelAnswer
    replayed: ModelAnswer
    usage: ReplayUsage
    left_out: list[str]
    difference: Difference


class Replays:
    """Asks stored steps once more, a few at a time."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._under_way = 0

    async def replay(
        self, access: Access, run: Run, connections: Mapping[str, Connection], *, gateway: str | None = None,
        model: str | None = None, step: int | None = None,
    ) -> Replay:  # fmt: skip
        """Ask a step of a run once more, the last one by default; Refusal for whoever may not read its receipt."""
        row, agent = await self._db.read(
            lambda tx: (_step(tx, access, run, step), agent_by_id(tx, access, run.agent_id))
        )
        assert agent is not None, "an agent is never deleted"
        connection = _connection(connections, gateway or agent.gateway_among(connections))
        request = _request(row, connection, model, run)
        answer, milliseconds = await self._ask(connection, request)
        await self._db.write(lambda tx: count_step(tx, run, answer.model, answer.usage, milliseconds))
        return _compared(run, row, connection, answer, milliseconds)

    async def _ask(self, connection: Connection, request: Step) -> tuple[StepAnswer, int]:
        if self._under_way >= REPLAYS_AT_A_TIME:
            message = f"{REPLAYS_AT_A_TIME} replays are under way; try again when one has ended."
            raise Refusal(Code.BUSY, message)
        self._under_way += 1
        begun = elapsed_seconds()
        try:
            async with asyncio.timeout(REPLAY_SECONDS_MAX):
                answer = await connection.gateway.take(request, _hear_nothing)
        except TimeoutError:
            message = f"The model did not answer within {REPLAY_SECONDS_MAX} s."
            raise Refusal(Code.CONFLICT, message) from None
        except GatewayFault as fault:
            raise Refusal(Code.CONFLICT, clip(redact(fault.args[0]), ERROR_CHARS_MAX)) from fault
        finally:
            self._under_way -= 1
        return answer, int((elapsed_seconds() - begun) * MS_PER_SECOND)


def _hear_nothing(_text: str) -> None:
    """Pass no text on: the whole answer is compared."""


def _step(tx: Tx, access: Access, run: Run, n: int | None) -> StepRow:
    require_readable(tx, access, run)
    rows = [row for row in steps_of(tx, access, run.id) if n in (None, row.n)]
    if not rows:
        raise not_found("step")
    row = rows[-1]
    if row.gateway not in MODEL_KINDS:
        text = f"This step went to an agent of kind {row.gateway}, which has its own history and tools."
        raise Refusal(Code.CONFLICT, f"{text} Only what a model was sent can be replayed.")
    if not row.body or row.output is None:
        raise Refusal(Code.CONFLICT, "This step has no answer to compare with; replay one that was answered.")
    return row


def _connection(connections: Mapping[str, Connection], gateway: str) -> Connection:
    kinds = {name: one.settings.kind for name, one in connections.items()}
    connection = connections.get(gateway)
    if connection is None or kinds[gateway] not in MODEL_KINDS:
        known = ", ".join(name for name, kind in kinds.items() if kind in MODEL_KINDS)
        raise invalid("gateway", f"gateway must name a connection to a model: {known}.")
    return connection


def _request(row: StepRow, connection: Connection, model: str | None, run: Run) -> Step:
    settings, address = connection.settings, f"replay:{run.id}:{row.n}"
    request = repeated_request(row.gateway, row.body)
    if settings.kind == "builtin":
        model = BUILTIN
    elif model is None:
        model = request["model"] if settings.kind == row.gateway else settings.model or ANY_MODEL
    # An address of its own: where a gateway keeps history, nothing is added to the session's.
    request |= {"model": model, "stream": settings.stream, "user": address}
    return Step(body=msgspec.json.encode(request), address=address)


def _compared(run: Run, row: StepRow, connection: Connection, answer: StepAnswer, milliseconds: int) -> Replay:
    before, after = _original(row), _replayed(connection, answer, milliseconds)
    return Replay(
        run_id=run.id,
        step=row.n,
        original=before,
        replayed=after,
        usage=ReplayUsage(
            input_tokens=answer.usage.input_tokens,
            output_tokens=answer.usage.output_tokens,
            cost_usd=answer.usage.cost_usd,
        ),
        left_out=list(answer.left_out),
        difference=difference(_shown(before), _shown(after)),
    )


def _original(row: StepRow) -> ModelAnswer:
    items: list[dict[str, Any]] = msgspec.json.decode(row.output or "[]")
    parts = [part for item in items if item.get("type") == "message" for part in item.get("content", ())]
    calls = [item for item in items if item.get("type") == "function_call"]
    return ModelAnswer(
        gateway=row.gateway,
        model=row.model,
        text="".join(part.get("text", "") for part in parts),
        calls=[ProposedCall(name=str(call["name"]), arguments=str(call.get("arguments", ""))) for call in calls],
        milliseconds=(row.answered_at or row.sent_at) - row.sent_at,
    )


def _replayed(connection: Connection, answer: StepAnswer, milliseconds: int) -> ModelAnswer:
    return ModelAnswer(
        gateway=connection.gateway.name,
        model=answer.model,
        text=answer.text,
        calls=[ProposedCall(name=call.name, arguments=call.arguments) for call in answer.calls],
        milliseconds=milliseconds,
    )


def _shown(answer: ModelAnswer) -> str:
    return "\n".join([answer.text, *(f"{call.name}({call.arguments})" for call in answer.calls)])
