"""What is kept in memory follows the store, whatever happened in between."""

import random
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import pytest

from carrel.kernel import Code, Refusal, limits
from carrel.search import Search, account_index
from carrel.storage import Database, LongTx, Row
from carrel.storage.database import InAccount
from tests.harness.wrapped_database import WrappedDatabase
from tests.harness.wrapped_transaction import WrappedTransaction
from tests.search.board import Board, MeaningsOf, asked, open_board

T = TypeVar("T")


@pytest.fixture
async def cars(store_url: str) -> AsyncIterator[Board]:
    async with open_board(store_url, MeaningsOf("car vehicle")) as opened:
        yield opened


async def test_more_removals_than_are_remembered_load_everything_anew(
    cars: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SEARCH_REMOVALS_MAX", 3)
    for n in range(12):
        await cars.put(f"e{n}", "vehicle")
    assert len(await cars.logs("car")) == 12
    for n in range(8):
        await cars.remove(f"e{n}")
    kept = await cars.engine.read(lambda tx: tx.one("SELECT count(*) FROM search_removals"))
    assert kept is not None
    assert kept[0] <= 4
    assert sorted(await cars.logs("car")) == ["e10", "e11", "e8", "e9"]


async def test_documents_are_loaded_page_by_page(cars: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SEARCH_LOAD_ROWS", 3)
    for n in range(10):
        await cars.put(f"e{n}", "vehicle")
    assert len(await cars.logs("car")) == 10
    for n in range(10):
        await cars.put(f"e{n}", "bicycle")
    assert await cars.logs("car") == []
    assert len(await cars.logs("bicycles")) == 10


class SlowPages(WrappedDatabase):
    """A store on which the time is up before the third page of documents is loaded; it notes where pages begin."""

    def __init__(self, db: Database, pages: list[object]) -> None:
        super().__init__(db)
        self._pages = pages

    async def long_read(
        self, work: Callable[[LongTx], T], *, seconds_max: float = 30, urgent: bool = True, feed: bool = True
    ) -> T:
        return await super().long_read(
            lambda tx: work(SlowPage(tx, self._pages)), seconds_max=seconds_max, urgent=urgent
        )


class SlowPage(WrappedTransaction):
    """A transaction of such a store."""

    def __init__(self, tx: LongTx, pages: list[object]) -> None:
        super().__init__(tx)
        self._pages = pages

    def all(self, sql: str, access: InAccount | None = None, /, **values: object) -> list[Row]:
        if "number > :after" in sql:
            self._pages.append(values["after"])
            if len(self._pages) == 3:
                raise Refusal(Code.STORAGE_UNAVAILABLE, "The time is up.")
        return super().all(sql, access, **values)


async def test_loading_that_ran_out_of_time_goes_on_where_it_was(cars: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(10):
        await cars.put(f"e{n}", "vehicle")
    monkeypatch.setattr(limits, "SEARCH_LOAD_ROWS", 4)
    pages = list[object]()
    cars.search = Search(SlowPages(cars.engine.db, pages), cars.embedder, cars.settings)
    with pytest.raises(Refusal):
        await cars.logs("car")
    await cars.remove("e0")
    await cars.put("e1", "bicycle")
    await cars.put("e2", "vehicle", spaces=("s2",))
    assert await cars.logs("car", spaces=("s2",)) == ["e2"]
    assert sorted(await cars.logs("car")) == [f"e{n}" for n in range(2, 10)]
    assert pages[2] == pages[3] != 0


async def test_a_word_that_too_many_have_still_counts_among_the_candidates(
    cars: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SEARCH_MATCHES_PER_WORD_MAX", 5)
    by_words = Board(cars.engine)
    for n in range(20):
        await by_words.put(f"x{n}", f"common {n}", session_key=f"k{n}")
    await by_words.put("both", "common gasket", session_key="a")
    await by_words.put("one", "gasket", session_key="b")
    assert await by_words.logs("common gasket") == ["both", "one"]
    assert set(await by_words.logs("common", logs_max=3)) <= {"x16", "x17", "x18", "x19", "both"}


async def test_a_quick_search_looks_at_the_newest_alone(cars: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SEARCH_QUICK_MATCHES_MAX", 5)
    monkeypatch.setattr(limits, "SEARCH_MATCHES_PER_WORD_MIN", 1)
    monkeypatch.setattr(limits, "SEARCH_QUICK_VECTORS_MAX", 5)
    for n in range(20):
        await cars.put(f"e{n}", "vehicle", session_key=f"k{n}")
    newest = {f"e{n}" for n in range(15, 20)}
    # By the word itself, and by one that means the same.
    assert set(await cars.logs("vehicle", quick=True)) == set(await cars.logs("car", quick=True)) == newest
    assert len(await cars.logs("vehicle")) == len(await cars.logs("car")) == 20


async def test_each_word_of_a_long_text_brings_up_some_however_many_words_there_are(
    cars: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SEARCH_QUICK_MATCHES_MAX", 4)
    monkeypatch.setattr(limits, "SEARCH_MATCHES_PER_WORD_MIN", 3)
    by_words = Board(cars.engine)
    for n, word in enumerate(["pump", "pump", "valve", "valve", "seal", "hose", "hose", "hose"]):
        await by_words.put(f"e{n}", word, session_key=f"k{n}")
    # Three have the last word, which is as many as are looked up: by that alone nothing is found.
    assert sorted(await by_words.logs("pump valve seal hose", quick=True)) == ["e0", "e1", "e2", "e3", "e4"]


async def test_what_is_kept_of_a_scope_follows_every_change(cars: Board) -> None:
    await cars.put("e0", "vehicle", spaces=("s1",))
    await cars.put("e1", "vehicle", spaces=("s2",))
    assert await cars.logs("vehicle", spaces=("s1",)) == ["e0"]
    await cars.put("e1", "vehicle", spaces=("s1",))
    assert sorted(await cars.logs("vehicle", spaces=("s1",))) == ["e0", "e1"]
    await cars.put("e2", "vehicle", spaces=("s1",))
    assert sorted(await cars.logs("vehicle", spaces=("s1",))) == ["e0", "e1", "e2"]
    await cars.remove("e0")
    assert sorted(await cars.logs("car", spaces=("s1",))) == ["e1", "e2"]


async def test_entries_that_come_out_of_order_are_put_into_it(cars: Board) -> None:
    by_words = Board(cars.engine)
    said = {"fourth": (4, "no"), "first": (1, "the gasket?"), "second": (2, "it broke"), "third": (3, "again")}
    for name, (sequence, text) in said.items():
        await by_words.put(name, text, session_key="agent:main:main", sequence=sequence)
        await by_words.find(f"warm {name}")
    # The fourth came just before the first, but was said three entries later.
    assert sorted(await by_words.logs("gasket")) == ["first", "second", "third"]


async def test_accounts_that_were_searched_least_recently_are_dropped(
    cars: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SEARCH_DOCUMENTS_IN_MEMORY_MAX", 2)
    other = Board(cars.engine, cars.embedder, await cars.engine.another_account("other"))
    other.search = cars.search
    for at in (cars, other):
        for n in range(2):
            await at.put(f"e{n}", "vehicle")
        assert len((await at.search.find(at.access, asked("car"))).logs) == 2
    assert len(await cars.logs("vehicle")) == 2


async def test_what_a_search_looks_at_stays_as_it_is_while_another_takes_changes_over(cars: Board) -> None:
    for n in range(3):
        await cars.put(f"e{n}", "vehicle", session_key="agent:main:main", sequence=n, speaker="one")
    kept = account_index.AccountIndex("groups/64")
    await cars.engine.read(lambda tx: kept.refresh(tx, cars.access))
    scope = asked("x", viewer="owner").scope(cars.access.account_id)
    view = kept.view(scope, ())
    names = ("previous", "following", "segments", "speakers")
    before = {name: getattr(view, name).copy() for name in names}
    await cars.put("e0", "bicycle", session_key="agent:main:main", sequence=0, speaker="two")
    await cars.put("e3", "vehicle", session_key="agent:main:main", sequence=3)
    await cars.engine.read(lambda tx: kept.refresh(tx, cars.access))
    assert [name for name in names if (getattr(view, name) != before[name]).any()] == []
    assert view.following.max() < view.count
    assert kept.view(scope, ()).following.max() == 3


@pytest.mark.parametrize("seed", range(3))
async def test_what_is_kept_of_scopes_equals_what_is_found_out_anew(cars: Board, seed: int) -> None:
    chance, kept, names = random.Random(seed), account_index.AccountIndex("groups/64"), list[str]()
    queries: list[dict[str, Any]] = [
        {},
        {"spaces": ("s1",)},
        {"spaces": ("s2",), "topic_id": "t1"},
        {"own_tasks": ("w1",)},
    ]
    followed = list[account_index.View]()
    scopes = [asked("x", **one).scope(cars.access.account_id) for one in queries]

    async def change() -> None:
        name = chance.choice(names) if names and chance.random() < 0.6 else f"e{len(names)}"
        if name in names and chance.random() < 0.3:
            await cars.remove(name)
            return
        names.append(name)
        await cars.put(
            name, " ".join(chance.choices(["vehicle", "lunch", "x" * 700], k=chance.randint(1, 4))),
            kind="log", session_key=f"k{len(name) % 3}", sequence=int(name[1:]), spaces=(chance.choice(["s1", "s2"]),),
            topic_id=chance.choice(["t1", "t2"]), task_id=chance.choice(["w1", None]),
        )  # fmt: skip

    for _ in range(25):
        for _ in range(chance.randint(1, 4)):
            await change()
        await cars.engine.read(lambda tx: kept.refresh(tx, cars.access))
        followed = [kept.view(scope, ()) for scope in scopes]
        kept._scopes.clear()
        for view, anew in zip(followed, (kept.view(scope, ()) for scope in scopes), strict=True):
            assert view.in_scope.tolist() == anew.in_scope.tolist()
            assert (view.count, view.length, view.said.tolist()) == (anew.count, anew.length, anew.said.tolist())
            for kind, (owners, rows) in anew.coded.items():
                assert [each.tolist() for each in view.coded[kind]] == [owners.tolist(), rows.tolist()]
    assert sum(view.count for view in followed) > 0
