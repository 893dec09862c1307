"""Who finds what: every answer equals an independent model of the rule, in random spaces that change."""

import random
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
from msgspec import structs

from carrel.kernel import limits, system_access
from carrel.search import Document, SearchResult, store
from carrel.search.model import Scope
from carrel.storage import Tx
from carrel.visibility import Findable, Viewer
from tests.requirements.mark import requirement
from tests.search.board import Board, MeaningsOf, asked, open_board

SPACES = ("s1", "s2", "s3")
SESSIONS = ("agent:main:web:a", "agent:main:web:b", "agent:other:main")
WORDS = ("alpha", "beta", "gamma", "delta")


@pytest.fixture
async def alike(store_url: str) -> AsyncIterator[Board]:
    """A board where texts have meanings, on either engine."""
    async with open_board(store_url, MeaningsOf("alpha aleph", "beta beth"), query_cache_size=4) as opened:
        yield opened


def visible(document: Document, query: dict[str, Any]) -> bool:
    """Whether the rule lets a query find a document, told once more."""
    allowed = query["spaces"] is None or bool(set(query["spaces"]) & set(document.spaces))
    if document.kind == "log" and query["viewer"] == "user":
        allowed = allowed and (document.on_board or document.private_to in (None, query["user_id"]))
    if query["viewer"] == "user":
        # A person finds what was said in their own chats, in whatever spaces.
        allowed = allowed or (document.kind == "log" and document.private_to == query["user_id"])
    if query["viewer"] == "lane":
        is_of_task = query["lane_task"] is not None and document.task_id == query["lane_task"]
        if document.kind == "log":
            own = query["session_key"] is not None and document.session_key == query["session_key"]
            allowed = allowed and (own or is_of_task or (document.on_board and query["recalls_board"]))
        # An agent finds the tasks that it works on, and in their lanes what belongs to them, in whatever spaces.
        allowed = allowed or (is_of_task and query["lane_task"] in query["own_tasks"])
        allowed = allowed or (document.kind == "task" and document.id in query["own_tasks"])
    for kind, name in (("topic", query.get("topic_id")), ("task", query.get("task_id"))):
        place = document.id if document.kind == kind else getattr(document, f"{kind}_id")
        allowed = allowed and (name is None or place == name)
    return allowed


def random_document(chance: random.Random, name: str) -> Document:
    return Document(
        kind=chance.choice(("log", "log", "log", "note", "task", "topic")),
        id=name,
        text=" ".join(chance.choices(WORDS, k=2)),
        at=chance.randrange(1_700_000_000_000),
        spaces=tuple(chance.sample(SPACES, chance.choice((0, 1, 1, 2)))),
        topic_id=chance.choice((None, None, "t1", "t2")),
        task_id=chance.choice((None, None, "k1")),
        session_key=chance.choice((None, *SESSIONS)),
        sequence=chance.randrange(50),
        private_to=chance.choice((None, None, "ann", "bob", "")),
        on_board=chance.random() < 0.5,
    )


def random_query(chance: random.Random) -> dict[str, Any]:
    query: dict[str, Any] = {
        "spaces": chance.choice((None, (), ("s1",), ("s1", "s3"), SPACES, ("s9",))),
        "viewer": chance.choice(("lane", "lane", "lane", "user", "owner")),
        "user_id": chance.choice(("ann", "bob")),
        "session_key": chance.choice((None, *SESSIONS)),
        "recalls_board": chance.random() < 0.5,
        "lane_task": chance.choice((None, "k1", "d5")),
        "own_tasks": chance.choice(((), ("d4", "d6"), ("k1", "d5"))),
    }
    if chance.random() < 0.3:
        query["topic_id"] = chance.choice(("t1", "t2", "d3"))
    if chance.random() < 0.2:
        query["task_id"] = chance.choice(("k1", "d4"))
    return query


def names(found: SearchResult) -> set[str]:
    return {hit.id for hits in (found.topics, found.tasks, found.logs, found.notes) for hit in hits}


@requirement("S4.search.scope")
@pytest.mark.parametrize("seed", range(4))
async def test_every_answer_equals_the_rule_in_random_spaces_that_change(alike: Board, seed: int) -> None:
    chance = random.Random(seed)
    known: dict[str, Document] = {}
    for step in range(60):
        name = f"d{chance.randrange(40)}"
        if name in known and chance.random() < 0.3:
            assert await alike.remove(name, known.pop(name).kind)
        else:
            document = random_document(chance, name)
            if name in known:
                document = structs.replace(document, kind=known[name].kind)
            known[name] = await alike.put_document(document)
        if step % 3 == 0:
            word, query = chance.choice(WORDS), random_query(chance)
            found = names(await alike.find(word, **query))
            allowed = {one.id for one in known.values() if visible(one, query)}
            assert found <= allowed, (word, query)
            assert {one for one in allowed if word in known[one].text.split()} <= found, (word, query)


def allows(viewer: Viewer, thing: Findable) -> bool:
    """Return whether a viewer may find a thing, by the names of both: in one of its spaces, or anywhere."""
    if not set(viewer.names_anywhere()).isdisjoint(thing.names_anywhere()):
        return True
    in_space = viewer.spaces is None or not set(viewer.spaces).isdisjoint(thing.spaces)
    return in_space and not set(viewer.names()).isdisjoint(thing.names())


@requirement("I.rule.one")
def test_the_marks_of_the_index_say_the_same_as_the_predicate() -> None:
    chance = random.Random(1)
    for _ in range(3_000):
        document, query = random_document(chance, f"d{chance.randrange(8)}"), random_query(chance)
        query = {name: value for name, value in query.items() if name not in ("topic_id", "task_id")}
        search, account = asked("alpha", **query), chance.choice(("acc_1", "acc_2"))
        assert search.finds(account, document) == allows(search.viewer, document.findable), (document, query)
        assert not set(search.viewer.marks("acc_3")) & set(document.reach(account))


async def test_accounts_find_nothing_of_one_another(alike: Board) -> None:
    other = Board(alike.engine, alike.embedder, await alike.engine.another_account("other"))
    await alike.put("e1", "alpha")
    await other.put("e2", "alpha")
    assert (await alike.logs("alpha"), await other.logs("alpha")) == (["e1"], ["e2"])
    assert (await alike.logs("aleph"), await other.logs("aleph")) == (["e1"], ["e2"])


async def test_documents_of_another_account_use_up_none_of_the_matches_of_a_word(alike: Board) -> None:
    other = Board(alike.engine, alike.embedder, await alike.engine.another_account("other"))
    await alike.put("e1", "alpha")
    await other.put("e2", "alpha")
    in_topic = asked("alpha", topic_id="t1").scope(alike.access.account_id)

    def newest(tx: Tx, scope: Scope | None) -> list[str]:
        numbers = store.matching(tx, alike.access, scope, "alpha", limit=1)
        return [one.id for one in store.documents_numbered(tx, alike.access, numbers.tolist())]

    for scope in (in_topic, None):
        assert await alike.engine.read(partial(newest, scope=scope)) == ["e1"]


async def test_accounts_whose_ids_end_alike_find_nothing_of_one_another(alike: Board) -> None:
    other_id = f"acc_{alike.access.account_id[-8:]}"
    sql = "INSERT INTO accounts (id, slug, name, settings, created_at) VALUES (:id, 'alike', 'Alike', '{}', 0)"
    await alike.engine.db.write(lambda tx: tx.run(sql, id=other_id))
    ours, other = (Board(alike.engine, access=access) for access in (alike.access, system_access(other_id, "alike")))
    await ours.put("e1", "alpha", session_key="a")
    for n in range(3):
        await other.put(f"x{n}", "alpha")
    await ours.put("e2", "beta", session_key="b")
    for spaces in (None, ("s1",)):
        assert await ours.logs("alpha", spaces=spaces) == ["e1"]
        assert sorted(await other.logs("alpha", spaces=spaces)) == ["x0", "x1", "x2"]


@requirement("S4.search.scope", "S4.x.recall.window")
async def test_in_a_scope_of_most_documents_an_old_match_is_found_behind_many_newer_ones_elsewhere(
    alike: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SEARCH_MATCHES_PER_WORD_MAX", 5)
    by_words = Board(alike.engine)
    await by_words.put("old", "gasket", spaces=("s1",), session_key="a")
    for n in range(30):
        await by_words.put(f"s{n}", "pump", spaces=("s1",), session_key=f"b{n}")
    for n in range(20):
        await by_words.put(f"x{n}", "gasket", spaces=("s2",), session_key=f"c{n}")
    assert await by_words.logs("gasket", spaces=("s1",)) == ["old"]
    assert sorted(await by_words.logs("gasket", spaces=("s1", "s2"), logs_max=5)) == ["x15", "x16", "x17", "x18", "x19"]


@requirement("S4.search.scope")
async def test_a_full_space_beside_it_does_not_push_anything_out_of_a_scope(alike: Board) -> None:
    for n in range(300):
        await alike.put(f"x{n}", "alpha alpha alpha", spaces=("s2",), session_key=f"k{n}")
    await alike.put("e1", "alpha once, in a long text about many other things of the day", spaces=("s1",))
    assert await alike.logs("alpha", spaces=("s1",), logs_max=1) == ["e1"]


@pytest.mark.parametrize("others_here", [0, 300], ids=["in a small scope", "in a scope of most documents"])
async def test_how_often_a_word_is_used_elsewhere_does_not_change_a_score(alike: Board, others_here: int) -> None:
    for n in range(others_here):
        await alike.put(f"o{n}", "pump", spaces=("s1",), session_key=f"o{n}")
    for n in range(10):
        await alike.put(f"e{n}", f"gamma {WORDS[n % 2]}", spaces=("s1",), session_key=f"a{n}")
    before = await alike.find("gamma alpha", spaces=("s1",))
    for n in range(100):
        await alike.put(f"x{n}", "gamma", spaces=("s2",), session_key=f"b{n}")
    assert (await alike.find("gamma alpha", spaces=("s1",))).logs == before.logs


async def test_a_text_cannot_name_the_marks_of_another_space(alike: Board) -> None:
    target = await alike.put("e1", "alpha", spaces=("s1",))
    marks = " ".join(target.reach(alike.access.account_id))
    await alike.put("e2", f"alpha {marks}", spaces=("s2",))
    assert await alike.logs("alpha", spaces=("s1",)) == ["e1"]
    assert await alike.logs(marks[:400], spaces=("s1",)) == []
