"""Isolation of accounts: whatever is stored, no read with one account's access returns a row of another's."""

import asyncio
import inspect
import random
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import carrel.access.store
import carrel.agents.store
import carrel.journal.store
import carrel.runs.lane_store
import carrel.runs.list_store
import carrel.runs.store
import carrel.sessions.store
from carrel.journal import About, NewEntry, append_entry, append_event
from carrel.kernel import Access, Provenance, SessionKey
from carrel.records import Artifact, insert_artifact, record_call
from carrel.runs import RunFilter
from carrel.sessions import LaneFilter, move_pointer
from carrel.storage import Tx
from tests.harness.engine import lane_key, open_engine

STORES = (
    carrel.access.store,
    carrel.journal.store,
    carrel.runs.lane_store,
    carrel.runs.list_store,
    carrel.runs.store,
    carrel.agents.store,
    carrel.sessions.store,
)
WRITES = (
    "insert", "update", "delete", "revoke", "touch", "keep", "append", "prune", "set_", "close", "issue", "enter",
    "leave", "stay", "promote", "end_", "requeue", "ask_", "change", "archive", "note_", "record", "claim", "unpoint",
)  # fmt: skip


def reads_of(module: types.ModuleType) -> Iterator[tuple[str, Callable[..., object]]]:
    """Every function of a store that reads for an access."""
    for name, function in inspect.getmembers(module, inspect.isfunction):
        parameters = list(inspect.signature(function).parameters)
        own = function.__module__ == module.__name__ and not name.startswith("_")
        if own and parameters[:2] == ["tx", "access"] and not name.startswith(WRITES):
            yield f"{module.__name__}.{name}", function


READS = dict(pair for module in STORES for pair in reads_of(module))


def arguments_for(function: Callable[..., object], known: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every way to call a function with what someone in another account might know."""
    wanted = list(inspect.signature(function).parameters.values())[2:]
    ids = [*known["ids"], "call-1"]
    fixed: dict[str, dict[str, Any]] = {
        "after": {"int": 0, "str": ""},
        "before": {"tuple": (1 << 60, "~"), "int": 1 << 60, "str": "run_~"},
        "wanted": {"RunFilter": RunFilter(), "LaneFilter": LaneFilter()},
        "a2a": {"bool": False},
        "tool_results": {"bool": True},
    }
    guesses = [*ids, *known["keys"]]
    named = any(parameter.annotation in ("str", str, SessionKey) for parameter in wanted)
    for guess in guesses if named else guesses[:1]:
        asked: dict[str, Any] = {}
        for parameter in wanted:
            kind = str(getattr(parameter.annotation, "__name__", parameter.annotation))
            if parameter.name in fixed:
                options = fixed[parameter.name]
                asked[parameter.name] = next((value for name, value in options.items() if name in kind), None)
            elif kind == "int":
                asked[parameter.name] = 1 << 60 if parameter.name in ("moment", "at") else 1_000
            elif "Iterable" in kind or "tuple" in kind:
                asked[parameter.name] = tuple(ids)
            elif kind == "SessionKey":
                asked[parameter.name] = SessionKey.stored(guess if guess in known["keys"] else known["keys"][0])
            else:
                asked[parameter.name] = guess
        yield asked


def build(tx: Tx, access: Access, secret: str, chance: random.Random) -> None:
    """Fill an account with everything a lane can contain, each piece marked with the account's secret."""
    runs = tx.all("SELECT id, key, session_id FROM runs WHERE account_id = :account", account=access.account_id)
    for run_id, key, session_id in runs:
        said = NewEntry(
            type="conversation",
            role="user",
            content=f"{secret} {chance.random()}",
            author=secret,
            provenance=Provenance(kind="external_user"),
            key=key,
            session_id=session_id,
            run_id=run_id,
        )
        append_entry(tx, access, said)
        append_event(tx, access, f"told.{secret}", About(key=key, run_id=run_id), "{}")
        record_call(tx, access, run_id, "call-1", tool=secret, effect="write", result=secret)
        insert_artifact(tx, access, run_id, Artifact("a", 1, secret, None, None, "text", secret, 0, 1))
        kept = carrel.sessions.store.lane_of(tx, access, SessionKey.stored(key))
        assert kept is not None
        move_pointer(tx, access, "web", secret, kept, "user")


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000), lanes=st.lists(st.sampled_from("abcd"), min_size=1, max_size=5))
def test_no_read_with_the_access_of_one_account_returns_a_row_of_another(
    tmp_path_factory: pytest.TempPathFactory, seed: int, lanes: list[str]
) -> None:
    url = f"sqlite:///{tmp_path_factory.mktemp('wall') / 'carrel.db'}"
    asyncio.run(look_over_the_wall(url, seed, lanes))


async def look_over_the_wall(url: str, seed: int, lanes: list[str]) -> None:
    chance = random.Random(seed)
    async with open_engine(url, seed=seed) as engine:
        theirs = await engine.another_account("theirs")
        mine = await engine.another_account("mine")
        for name in lanes:
            await engine.say(lane_key(name), "walled-off", sender_id=f"walled-{chance.random()}", access=theirs)
        for held in await engine.take(2):
            await engine.start_turn(held)
            if chance.random() < 0.5:
                await engine.end(held)
        await engine.db.write(lambda tx: build(tx, theirs, "walled-off", chance))
        await engine.say(lane_key("mine"), "my own", access=mine)
        await engine.db.read(lambda tx: ask_everything(tx, theirs, mine))


def ask_everything(tx: Tx, theirs: Access, mine: Access) -> None:
    columns = {"runs": "id", "sessions": "id", "entries": "id", "tokens": "id", "agents": "id", "lanes": "key"}
    found = {
        table: [
            str(row[0]) for row in tx.all(f"SELECT {column} FROM {table} WHERE account_id = :a", a=theirs.account_id)
        ]
        for table, column in columns.items()
    }
    known = {
        "ids": [name for table, names in found.items() if table != "lanes" for name in names],
        "keys": found["lanes"],
    }
    own = set(known["ids"]) - {"main"}
    for name, function in READS.items():
        for asked in arguments_for(function, known):
            seen = repr(function(tx, mine, **asked))
            assert "walled-off" not in seen, f"{name}({asked}) shows another account's row"
            echoed = {str(value) for value in asked.values()} | {
                part for value in asked.values() for part in _parts(value)
            }
            assert not any(name_of in seen for name_of in own - echoed), f"{name}({asked}) shows another account's id"


def _parts(value: object) -> list[str]:
    return [str(part) for part in value] if isinstance(value, tuple) else []


def test_the_isolation_test_covers_every_store() -> None:
    assert len(READS) > 35
    assert {name.rpartition(".")[0] for name in READS} == {module.__name__ for module in STORES}
