"""Isolation of accounts: no store function reads or changes a row of another account, whatever it is called with.

Two accounts have the same keys, slugs and ids. Every function of every store is called with the access of one of them
and what its rows contain. It must return what it returns without the other account, and leave the other's rows alone.
"""

import importlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from msgspec import Struct, structs

from carrel.board import LogFilter
from carrel.journal import DEFAULT_SPACE
from carrel.kernel import Access, SessionKey, system_access
from carrel.monitoring import CallerRunFilter, RunFilter
from carrel.sessions import LaneFilter
from carrel.storage import Tx
from carrel.topics import TopicFilter
from carrel.work import TaskFilter
from tests.harness.engine import Engine, lane_key, open_engine
from tests.harness.twins import Values, copy_rows, every_row, remove_rows, rows_of, tables
from tests.house.exceptions import STORE_SIGNATURES
from tests.house.source import house_sources

Function = Callable[..., object]
STORES = [importlib.import_module(source.module) for source in house_sources() if source.is_store]
FUNCTIONS: dict[str, Function] = {
    f"{store.__name__}.{name}": function
    for store in STORES
    for name, function in inspect.getmembers(store, inspect.isfunction)
    if function.__module__ == store.__name__ and not name.startswith("_")
    if f"{store.__name__}.{name}" not in STORE_SIGNATURES
}
NOBODY = system_access("acc_nobody")
# What the reads look for in a row, where that is not just any text.
COLUMNS: Values = {
    "state": "open", "kind": "spawn", "step": "primary", "last_status": "queued", "effect": "write",
    "call_id": "outside:1", "body": '{"model":"m"}', "role": "user", "actor_id": "system", "details": None,
    "attachment_ids": '["att"]', "provenance": '{"kind":"external_user"}',
    "metadata": "{}", "dependencies": "[]", "tags": "[]", "status": "active", "classification": "pending",
    "author_kind": "user", "source": "{}", "log": '{"type":"note","content":"x"}',
    "caller": '{"account_id":"acc_1","account_slug":"a","kind":"owner","actor_id":"usr_1"}',
}  # fmt: skip
UNSET = (
    "read_at",
    "revoked_at",
    "archived_at",
    "ended_at",
    "closed_at",
    "given_up",
    "lease_until",
    "delivered_at",
    "superseded_by",
)
CONDITION = tuple[str, dict[str, object]]
ARGUMENTS: Values = {
    "after": 0, "since": 0, "before": 1 << 60, "moment": 1 << 60, "at": 0, "upto": 1 << 60, "soon": 1 << 60,
    "limit": 1_000, "but": "~",
    "keep": 0, "a2a": True, "head": True, "attempt": 2,
    "subject": "entry", "subjects": None,
}  # fmt: skip
# Parameters that are lists of what a row has under another name.
LISTS = {
    "ids": "id", "session_ids": "id", "run_ids": "id", "entry_ids": "id", "memory_ids": "id", "note_ids": "id",
    "task_ids": "task_id", "topic_ids": "topic_id", "others": "task_id", "keys": "key", "numbers": "number",
}  # fmt: skip
FILTERS = {
    RunFilter: RunFilter(), LaneFilter: LaneFilter(), CallerRunFilter: CallerRunFilter(agent_id="main"),
    TaskFilter: TaskFilter(), TopicFilter: TopicFilter(), LogFilter: LogFilter(),
}  # fmt: skip


class Undo(Exception):
    """Rolls back what was tried."""


async def filled_account(engine: Engine) -> Access:
    """An account with at least one row in every table."""
    theirs = await engine.another_account("theirs")
    for name in ("ended", "running", "queued"):
        sent = {"sender_id": f"sender-{name}", "kind": "a2a", "task_id": "their_task"}
        await engine.say(lane_key(name), name, access=theirs, **sent)
    for held in await engine.take(2):
        await engine.start_turn(held)
        if held.session_key == lane_key("ended"):
            await engine.end(held)
    await engine.db.write(lambda tx: fill(tx, theirs))
    return theirs


def fill(tx: Tx, access: Access) -> None:
    run = next(run for run in rows_of(tx, access, "runs") if run["session_id"])
    known = {name: run[name] for name in ("account_id", "key", "session_id", "agent_id")}
    known["task_id"] = known["depends_on"] = rows_of(tx, access, "tasks")[0]["id"]
    known["token_id"] = rows_of(tx, access, "tokens")[0]["id"]
    known |= dict.fromkeys(
        (
            "attachment_id",
            "memory_id",
            "goal_id",
            "plan_id",
            "active_plan_id",
            "auto_run_id",
            "topic_id",
            "entry_id",
            "item_id",
        ),
        value_of("id", "TEXT", run),
    )
    known |= {"space_id": DEFAULT_SPACE, "target_id": DEFAULT_SPACE, "parent_id": None}
    for table, columns in tables().items():
        if not rows_of(tx, access, table):
            made = {column: value_of(column, kind, run) for column, kind in columns.items()}
            # The status of a stored answer is a number.
            wanted = COLUMNS | known | ({"status": 200} if columns.get("status") == "INTEGER" else {})
            values = made | {column: value for column, value in wanted.items() if column in columns}
            names = ", ".join(f":{column}" for column in columns)
            tx.run(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({names})", **values)


def value_of(column: str, kind: str, run: Values) -> object:
    if column in UNSET:
        return None
    if column.endswith(("run_id", "_key")) and kind == "TEXT" and column != "idempotency_key":
        return run["id"] if column.endswith("run_id") else run["key"]
    return {"TEXT": f"their {column}", "INTEGER": 1, "REAL": 1.0, "BLOB": b"their content"}[kind]


def arguments_from(function: Function, row: Values) -> Values:
    """What somebody who knows a row would call a function with."""
    return {
        parameter.name: argument_from(parameter, row)
        for parameter in list(inspect.signature(function).parameters.values())[2:]
    }


def is_word(kind: object) -> bool:
    """Whether only certain words are accepted."""
    return get_origin(kind) is Literal


def argument_from(parameter: inspect.Parameter, row: Values) -> object:
    name, kind = parameter.name, parameter.annotation
    if kind in FILTERS:
        return FILTERS[kind]
    if kind is SessionKey:
        return SessionKey.stored(row["key"])
    if inspect.isclass(kind) and issubclass(kind, Struct):
        fields = {field.name: row.get(field.name, "~") for field in structs.fields(kind)}
        keys = {field.name: SessionKey.stored(row["key"]) for field in structs.fields(kind) if field.type is SessionKey}
        words = {field.name: get_args(field.type)[0] for field in structs.fields(kind) if is_word(field.type)}
        return kind(**fields | keys | words)
    if is_word(kind):
        return get_args(kind)[0]
    if name in ("before", "after") and kind is not int:
        bound = {"before": (1 << 60, "~"), "after": (-(1 << 60), "")}[name]
        return bound if "tuple" in str(kind) else bound[1]
    if name in LISTS:
        return [row[LISTS[name]]]
    if name == "seen":
        return "TRUE", {}
    if name == "names":
        return [(row["kind"], row["id"])]
    if name == "value":
        # Of a transcript, which is named by the key of its lane first.
        return row["key"]
    if name == "which":
        return "TRUE"
    if name == "spaces":
        return (DEFAULT_SPACE,)
    if name == "topic_ids":
        return [row["topic_id"]]
    if kind is bool and parameter.default is not inspect.Parameter.empty:
        return parameter.default
    found = row.get(name, row["id"] if kind is str else 1)
    return ARGUMENTS.get(name, found)


def outcome(tx: Tx, function: Function, access: Access, asked: Values) -> str:
    """What a call returns or raises, as text; what it wrote before it raised stays."""
    try:
        return repr(function(tx, access, **asked))
    except Exception as error:
        return type(error).__name__


def attempts(rows: list[Values]) -> Iterator[tuple[str, Function, list[Values]]]:
    told = [{column: value for column, value in row.items() if value is not None} for row in rows]
    known: Values = {column: value for row in told for column, value in row.items()}
    for name, function in FUNCTIONS.items():
        yield name, function, [arguments_from(function, known | row) for row in told]


class Tried(Struct):
    """What every function returned for each set of arguments, and the functions that changed the account's rows."""

    outcomes: dict[str, list[str]]
    writers: set[str]


async def tried(engine: Engine, access: Access, rows: list[Values], watched: Access) -> Tried:
    """Call every function with that access and undo it all; `watched` is the account whose rows may change."""
    found = Tried({}, set())

    def work(tx: Tx) -> None:
        before = every_row(tx, watched)
        for name, function, asked in attempts(rows):
            tx.run("SAVEPOINT attempt")
            found.outcomes[name] = [outcome(tx, function, access, values) for values in asked]
            if every_row(tx, watched) != before:
                found.writers.add(name)
            tx.run("ROLLBACK TO attempt")
            tx.run("RELEASE attempt")
        raise Undo

    with suppress(Undo):
        await engine.db.write(work)
    return found


def later(column: str, value: Any) -> Any:
    """A value of the twin: all times differ, so that a row of the wrong account is told apart."""
    return value + 1 if column.endswith("_at") and isinstance(value, int) else value


# What was said in a lane is in the thread of a task and kept from the board, an agent is assigned to the task, the task
# belongs to the topic and the goal, and a run waits for the budget.
_FIRST = "(SELECT min(id) FROM {0}s WHERE account_id = :account)"
LINKS = (
    "UPDATE entries SET classification_error = 'private', task_view = 'thread' WHERE account_id = :account",
    "UPDATE task_parties SET kind = 'agent' WHERE account_id = :account",
    "UPDATE budgets SET scope = 'account', per = 'day', action = 'wait' WHERE account_id = :account",
    "UPDATE budget_periods SET since = 0 WHERE account_id = :account",
    "UPDATE runs SET held_for = 'their budget' WHERE account_id = :account AND state = 'queued'",
    *(f"UPDATE tasks SET {it}_id = {_FIRST.format(it)} WHERE account_id = :account" for it in ("topic", "goal")),
)


async def twins(engine: Engine) -> tuple[Access, Access]:
    """Two accounts with the same keys, slugs and ids."""
    theirs = await filled_account(engine)
    await engine.db.write(lambda tx: [tx.run(sql, theirs) for sql in LINKS])
    mine = await engine.another_account("mine")
    await engine.db.write(lambda tx: copy_rows(tx, theirs, mine, later))
    return mine, theirs


async def test_no_store_function_reads_or_changes_a_row_of_another_account(tmp_path: Path) -> None:
    async with (
        open_engine(f"sqlite:///{tmp_path / 'shared.db'}") as shared,
        open_engine(f"sqlite:///{tmp_path / 'alone.db'}") as alone,
    ):
        mine, theirs = await twins(shared)
        assert await twins(alone) == (mine, theirs)
        await alone.db.write(lambda tx: remove_rows(tx, theirs))
        rows = await shared.db.read(lambda tx: every_row(tx, mine))
        beside = await tried(shared, mine, rows, theirs)
        by_itself = await tried(alone, mine, rows, mine)
        nobody = await tried(shared, NOBODY, rows, theirs)
    assert beside.writers == nobody.writers == set()
    differing = {name for name in FUNCTIONS if beside.outcomes[name] != by_itself.outcomes[name]}
    assert differing == set(), "what an account finds depends on what another one has"
    # The arguments are good ones: most functions find or change something; those that return a condition do neither.
    working = {name for name in FUNCTIONS if beside.outcomes[name] != nobody.outcomes[name]} | by_itself.writers
    conditions = [one for one in FUNCTIONS.values() if inspect.signature(one).return_annotation == CONDITION]
    assert len(working) > (len(FUNCTIONS) - len(conditions)) * 3 / 4
