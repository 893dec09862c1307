"""Receipts: exactly what an agent was shown in a turn, to read and to compare."""

import difflib
from difflib import Match
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType, structs

from carrel.agents import agent_by_id
from carrel.context import MEMORY
from carrel.delivery.context import ShownContext, shown_context
from carrel.delivery.context_store import context_of
from carrel.delivery.heading import recorded_heading
from carrel.delivery.store import StepRow, steps_of
from carrel.gateway import comparable, read_stored_request
from carrel.goals import goal_of_task, plan_of_task
from carrel.journal import entries_of_run
from carrel.kernel import Access, Code, Refusal, SessionKey, iso, not_found
from carrel.kernel.limits import DIFF_COMPARISONS_MAX
from carrel.runs import Run
from carrel.storage import LongTx, Tx
from carrel.visibility import private_to


class ReceiptStep(Struct, frozen=True, kw_only=True, rename="camel"):
    """One step: what was sent, and what came back. `left_out` names what this kind of gateway cannot be sent."""

    n: int
    attempt: int
    sent_at: str | None
    model: str
    instructions_version: str
    instructions_sha256: str
    instructions: str | None
    input: Any
    tools: list[str]
    left_out: list[str]
    history_omitted: int
    body_sha256: str
    context: ShownContext
    output: Any
    body: str | UnsetType = UNSET


class Receipt(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a run was shown, step by step."""

    run_id: str
    session_key: str
    generation: int | None
    delivery_session_key: str | None
    steps: list[ReceiptStep]


class Difference(Struct, frozen=True, kw_only=True):
    """Whether two texts are the same, and where they are not."""

    same: bool
    diff: str


class Comparison(Struct, frozen=True, kw_only=True):
    """Two receipts side by side, by their last steps."""

    same: bool
    instructions: Difference
    input: Difference
    context: dict[str, list[str]]
    tools: dict[str, list[str]]


def receipt_of(tx: Tx, access: Access, run: Run, *, with_body: bool = False) -> Receipt:
    """Return the receipt of a run; Refusal for a caller who may not see all that the run saw."""
    context = _readable_context(tx, access, run)
    return Receipt(
        run_id=run.id,
        session_key=run.key,
        generation=run.generation,
        delivery_session_key=f"{run.key}:v{run.generation}" if run.generation else None,
        steps=[_step(row, context, with_body) for row in steps_of(tx, access, run.id)],
    )


def compare_receipts(tx: LongTx, access: Access, one: Run, other: Run) -> Comparison:
    """Return how the receipts of two runs differ, ignoring the different forms of different gateways."""
    rows = [(run, row) for run in (one, other) for row in steps_of(tx, access, run.id)[-1:]]
    if len(rows) < 2:
        raise not_found("receipt")
    before, after = (_step(row, _readable_context(tx, access, run), False) for run, row in rows)
    inputs = [before.input, after.input]
    if len({row.gateway for _, row in rows}) > 1:
        inputs = [comparable(asked) for asked in inputs]
    instructions = difference(before.instructions or "", after.instructions or "")
    asked = difference(*map(_readable, inputs))
    tools = {
        "added": [name for name in after.tools if name not in before.tools],
        "removed": [name for name in before.tools if name not in after.tools],
    }
    return Comparison(
        same=instructions.same and asked.same and before.tools == after.tools,
        instructions=instructions,
        input=asked,
        context=_lines_compared(before.context, after.context),
        tools=tools,
    )


def require_readable(tx: Tx, access: Access, run: Run) -> None:
    """Refuse a caller who may not see all that a run saw."""
    _readable_context(tx, access, run)


def _readable_context(tx: Tx, access: Access, run: Run) -> ShownContext:
    """Return what a run was shown, for a reader who may see all of its spaces and the session of its goal."""
    context, agent = context_of(tx, access, run.id), agent_by_id(tx, access, run.agent_id)
    seen = structs.replace(access, space_ids=run.spaces).narrowed(None if agent is None else agent.profile.space_ids)
    made_in = _session_of_goal(tx, access, run)
    owner = None if made_in is None else private_to(tx, access, str(made_in))
    # What a person said in a private session may be remembered for the tasks of a goal set there.
    remembers = any(line.kind == MEMORY and line.scope.startswith(("goal:", "session:")) for line in context.lines)
    remembers = remembers or _is_told_of_plan(tx, access, run)
    reader = access.speaks_for
    is_private = reader is not None and owner not in (None, reader) and remembers
    # An agent is also told about its own work beyond its spaces.
    told = (line.scope for line in context.lines if line.kind in ("topic", "task"))
    is_beyond = not (set(seen) <= set(access.space_ids) and all(access.covers([space]) for space in told))
    if is_private or ("*" not in access.space_ids and is_beyond):
        message = "This run was shown things that you may not see, so you can neither read its receipt nor replay it."
        raise Refusal(Code.FORBIDDEN, message)
    return shown_context(context)


def _session_of_goal(tx: Tx, access: Access, run: Run) -> SessionKey | None:
    """Return the session in which the goal, or else the plan, of a run's task was made."""
    if run.task_id is None:
        return None
    made = goal_of_task(tx, access, run.task_id) or plan_of_task(tx, access, run.task_id)
    return None if made is None else made.session_key


def _is_told_of_plan(tx: Tx, access: Access, run: Run) -> bool:
    told = recorded_heading(run, entries_of_run(tx, access, run.id))
    return told is not None and told.tells_plan


def _lines_compared(before: ShownContext, after: ShownContext) -> dict[str, list[str]]:
    """Return the ids of the lines that only the other run, only this run, and both were shown."""
    one, other = ([item.id for item in shown.items] for shown in (before, after))
    return {
        "added": [name for name in other if name not in one],
        "removed": [name for name in one if name not in other],
        "kept": [name for name in other if name in one],
    }


def _step(row: StepRow, context: ShownContext, with_body: bool) -> ReceiptStep:
    sent = read_stored_request(row.gateway, row.body)
    has_instructions = "instructions" not in sent.left_out
    return ReceiptStep(
        n=row.n,
        attempt=row.attempt,
        sent_at=iso(row.sent_at) if row.body else None,
        model=sent.model,
        instructions_version=row.instructions_version if has_instructions else "",
        instructions_sha256=row.instructions_sha256 if has_instructions else "",
        instructions=sent.instructions,
        input=sent.input,
        tools=[tool["name"] for tool in sent.tools],
        left_out=list(sent.left_out),
        history_omitted=row.history_omitted,
        body_sha256=row.body_sha256,
        context=context,
        output=None if row.output is None else msgspec.json.decode(row.output),
        body=row.body if with_body else UNSET,
    )


def _readable(asked: object) -> str:
    return asked if isinstance(asked, str) else msgspec.json.format(msgspec.json.encode(asked), indent=2).decode()


def difference(before: str, after: str) -> Difference:
    """Compare two texts line by line."""
    one, other = before.splitlines(), after.splitlines()
    try:
        _LimitedMatcher(one, other).get_matching_blocks()
    except _TooDifferent:
        return Difference(same=False, diff="The two are too different to be compared line by line.")
    lines = difflib.unified_diff(one, other, "one", "other", lineterm="", n=2)
    return Difference(same=before == after, diff="\n".join(lines))


class _TooDifferent(Exception):
    """Finding the lines that two texts share would take too long."""


class _LimitedMatcher(difflib.SequenceMatcher[str]):
    """Matches lines for a comparison, and gives up where that could take minutes."""

    # An attribute of difflib without a type hint: where each line is in the second text.
    b2j: dict[str, list[int]]

    def __init__(self, one: list[str], other: list[str]) -> None:
        super().__init__(None, one, other)
        self._lines = len(one)
        # How often a line of the first text occurs in the second, on average.
        self._often = 1 + sum(len(self.b2j.get(line, ())) for line in one) / max(1, len(one))
        self._comparisons = 0.0

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        """Find the longest sequence of lines that these parts of both texts share."""
        self._comparisons += ((self._lines if ahi is None else ahi) - alo) * self._often
        if self._comparisons > DIFF_COMPARISONS_MAX:
            raise _TooDifferent
        return super().find_longest_match(alo, ahi, blo, bhi)
