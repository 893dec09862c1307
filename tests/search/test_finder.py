"""What a query finds: by words and by meaning, with scores that mean the same for every query."""

import asyncio
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from carrel.kernel import Code, Refusal
from carrel.kernel.limits import SEARCH_QUICK_CANDIDATES
from carrel.kernel.settings import SearchSettings
from carrel.search import Search, SearchQuery, SearchResult
from carrel.search.embedders import EmbeddingUnavailable, NoEmbedder
from carrel.search.model import KINDS
from carrel.search.ranking import candidate_limits
from carrel.search.vectors import Floats
from tests.end_to_end.test_board_rows import CountingDatabase
from tests.harness.elapsing import Elapsing
from tests.harness.engine import START_MS, within
from tests.requirements.mark import requirement
from tests.search.board import Board, MeaningsOf, asked, open_board

DAY = 86_400_000
HOSTILE = (
    '"', '" OR "1', "alpha AND NOT", "NEAR(alpha beta)", "terms:alpha", "alpha*", "^alpha", "a & b | !c", "\\",
    "'; DROP TABLE x; --", "\x00alpha\x00", "\ud800alpha", "%s %(x)s :x ?1", "\u05d0\u05dc\u05e4\u05d0",
    "e\u0301te\u0301",
    "\u202ealpha", "\u6771\u4eac\u3067", "\U0001f469\u200d\U0001f467 alpha", "\ufb01nd \u2167 \xbd",
)  # fmt: skip


async def test_the_forms_of_a_word_are_found_and_every_kind_has_its_list(board: Board) -> None:
    await board.put("e1", "She was painting the boats")
    await board.put("n1", "The boat needs new paint", kind="note")
    await board.put("k1", "", kind="task", label="Paint the boat")
    await board.put("t1", "", kind="topic", label="Boats", topic_id=None)
    await board.put("e2", "Lunch is at noon")
    found = await board.find("who painted a boat?")
    assert [[hit.id for hit in hits] for hits in (found.topics, found.tasks, found.logs, found.notes)] == [
        ["t1"], ["k1"], ["e1"], ["n1"]
    ]  # fmt: skip
    assert (found.mode, found.dense) == ("lexical", False)


@requirement("S4.search.hybrid")
async def test_meaning_finds_what_has_no_word_in_common_and_the_answer_says_that_it_was_used(store_url: str) -> None:
    async with open_board(store_url, MeaningsOf("car vehicle automobile", "lunch meal")) as board:
        await board.put("e1", "the automobile is red")
        await board.put("e2", "a meal at noon")
        found = await board.find("vehicle")
        assert [hit.id for hit in found.logs] == ["e1"]
        assert (found.mode, found.dense) == ("hybrid", True)
        assert found.logs[0].reason.meaning > 0 == found.logs[0].reason.words


async def test_when_texts_cannot_be_embedded_words_alone_count_and_the_answer_says_so(store_url: str) -> None:
    class Away:
        model = "away/64"

        async def embed(self, texts: list[str]) -> Floats:
            raise EmbeddingUnavailable("the endpoint is away")

    async with open_board(store_url) as writing:
        await writing.put("e1", "the automobile is red")
        found = await Board(writing.engine, Away(), embedding="endpoint").find("automobile")
        assert ([hit.id for hit in found.logs], found.mode) == (["e1"], "lexical")


async def test_a_search_waits_two_seconds_for_an_endpoint_that_hangs_and_then_words_alone_count(
    store_url: str, elapsing: Elapsing
) -> None:
    asked = asyncio.Event()

    class Hanging:
        model = "hanging/64"

        async def embed(self, texts: list[str]) -> Floats:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError("nobody sets it")

    async with open_board(store_url) as writing, asyncio.TaskGroup() as group:
        await writing.put("e1", "the automobile is red")
        searching = Board(writing.engine, Hanging(), embedding="endpoint")
        finding = group.create_task(searching.find("automobile"))
        await within(asked.wait())
        elapsing.advance(2)
        found = await within(finding)
        assert ([hit.id for hit in found.logs], found.mode, searching.search.is_degraded) == (["e1"], "lexical", True)


@requirement("S4.x.score.honest")
async def test_scores_of_different_queries_can_be_compared_and_a_lone_weak_hit_is_not_a_full_one(board: Board) -> None:
    await board.put("e1", "the gasket of the pump was replaced", session_key="a")
    for n in range(20):
        await board.put(f"x{n}", f"something else entirely, number {n}", session_key=f"b{n}")
    (full,) = (await board.find("pump gasket replaced")).logs
    (weak,) = (await board.find("gasket catalogue prices northwind")).logs
    assert 0 < weak.score < 0.4 < full.score <= 1
    assert full.score == pytest.approx(sum(structs.astuple(full.reason)), abs=1e-3)


@requirement("S4.search.notes")
async def test_a_note_weighs_more_than_an_entry_that_matches_equally(board: Board) -> None:
    await board.put("e1", "the door code is kept by Ann")
    await board.put("n1", "the door code is kept by Ann", kind="note")
    found = await board.find("door code")
    assert found.notes[0].score > found.logs[0].score
    assert found.notes[0].reason.note > 0 == found.logs[0].reason.note


@requirement("S4.x.recall.window")
async def test_what_is_old_is_found_however_much_came_after_it(board: Board) -> None:
    await board.put("n1", "the safe is behind the blue wardrobe", kind="note", at=START_MS - 900 * DAY)
    await board.put("e1", "the safe is behind the red wardrobe", at=START_MS - 900 * DAY)
    for n in range(400):
        await board.put(f"x{n}", f"the door is behind the curtain {n}", at=START_MS + n)
    found = await board.find("where is the safe", logs_max=3, notes_max=3)
    assert (found.notes[0].id, found.logs[0].id) == ("n1", "e1")


async def test_what_was_said_beside_an_entry_helps_to_find_it(board: Board) -> None:
    said = ["Where does the pump come from?", "From Northwind.", "And the gasket?", "No idea."]
    for n, text in enumerate(said):
        await board.put(f"e{n}", text, session_key="agent:main:main", sequence=n)
        await board.put(f"x{n}", f"From Southwind {n}.", session_key="agent:other:main", sequence=n)
    ids = await board.logs("where does the pump come from")
    assert ids[:2] == ["e0", "e1"]
    hit = next(hit for hit in (await board.find("where does the pump come from")).logs if hit.id == "e1")
    assert hit.reason.session > 0


async def test_the_words_of_the_one_who_is_named_come_first(board: Board) -> None:
    await board.put("melanie", "I like the sea", speaker="Melanie")
    await board.put("james", "I like the sea", speaker="James Harding")
    assert await board.logs("what does James like about the sea") == ["james", "melanie"]
    melanie, james = (await board.find("what is Melanie's opinion of the sea")).logs
    assert (melanie.id, james.id) == ("melanie", "james")
    assert melanie.reason.label > 0 == james.reason.label


async def test_a_date_finds_what_was_said_on_it(board: Board) -> None:
    await board.put("e1", "we met", at=1_683_504_000_000)
    await board.put("e2", "we met", at=1_700_000_000_000)
    assert (await board.logs("whom did we meet on 8 May 2023"))[0] == "e1"


async def test_a_changed_document_is_found_by_its_new_words_alone_and_a_removed_one_not_at_all(board: Board) -> None:
    await board.put("e1", "alpha")
    assert await board.logs("alpha") == ["e1"]
    await board.put("e1", "beta")
    assert (await board.logs("alpha"), await board.logs("beta")) == ([], ["e1"])
    assert await board.remove("e1")
    assert not await board.remove("e1")
    assert await board.logs("beta") == []


async def test_a_removed_document_is_not_found_by_its_meaning_either(store_url: str) -> None:
    async with open_board(store_url, MeaningsOf("car vehicle")) as board:
        await board.put("e1", "a vehicle")
        await board.put("e2", "my vehicle")
        assert sorted(await board.logs("car")) == ["e1", "e2"]
        await board.remove("e1")
        await board.put("e2", "my services")
        assert await board.logs("car") == []


@requirement("S4.search.params")
async def test_limits_have_defaults_and_caps_and_a_query_has_a_length(board: Board) -> None:
    for n in range(130):
        await board.put(f"e{n}", f"alpha {n}", session_key=f"k{n}")
    assert len((await board.find("alpha")).logs) == 120
    assert len((await board.find("alpha", logs_max=10_000)).logs) == 130
    assert (await board.find("alpha", logs_max=0)).logs == ()
    for text in ("", "  ", "x" * 501, "x" * 1_000_000):
        with pytest.raises(Refusal) as refused:
            await board.find(text)
        assert (refused.value.code, refused.value.field) == (Code.INVALID_PARAMS, "q")


@requirement("S4.search.busy")
async def test_one_search_too_many_waits_a_moment_and_is_then_refused(store_url: str) -> None:
    going, entered = asyncio.Event(), asyncio.Event()

    class Slow:
        model = "slow/64"

        async def embed(self, texts: list[str]) -> Floats:
            entered.set()
            await going.wait()
            return np.ones((len(texts), 64), dtype=np.float32)

    async with open_board(store_url, Slow(), concurrency=1, concurrency_wait_ms=20) as board:
        first = asyncio.create_task(board.find("alpha"))
        await entered.wait()
        with pytest.raises(Refusal) as refused:
            await board.find("beta")
        assert (refused.value.code, refused.value.retry_after_seconds) == (Code.SEARCH_BUSY, 1)
        going.set()
        await first
        await board.find("beta")


@requirement("S4.search.tuning")
async def test_the_settings_say_how_many_documents_a_search_reads(store_url: str) -> None:
    async with open_board(store_url) as board:
        for n in range(60):
            await board.put(f"e{n}", f"alpha beta {n}", session_key=f"s{n}")
        counting = CountingDatabase(board.engine.db)

        async def read(text: str, **settings: Any) -> int:
            """Return how many more documents a search reads than one that finds nothing."""
            search = Search(counting, NoEmbedder(), SearchSettings(query_cache_size=0, **settings))
            counts = []
            for words in ("gamma", text):
                await search.find(board.access, asked(words, logs_max=5))
                before = counting.rows
                await search.find(board.access, asked(words, logs_max=5))
                counts.append(counting.rows - before)
            return counts[1] - counts[0]

        assert await read("alpha", source_topk=50, single_token_window_max=20) == 20
        # However many words there are, they are looked up in one row.
        assert await read("alpha beta", source_topk=50, single_token_window_max=20) == 50
        assert await read("alpha beta", source_topk=10, single_token_window_max=20) == 10


@requirement("S4.search.tuning")
def test_a_search_that_a_run_waits_for_looks_at_fewer() -> None:
    tuned, log = SearchSettings(source_topk=50, single_token_window_max=20), KINDS.index("log")
    quick = SearchQuery(text="x", logs_max=5, quick=True)
    assert candidate_limits(quick, 2, tuned)[log] == SEARCH_QUICK_CANDIDATES < 50
    assert candidate_limits(quick, 1, tuned)[log] == 20


@requirement("S4.search.tuning")
@pytest.mark.parametrize(("query", "setting"), [("alpha", "single_token_window_max"), ("alpha beta", "source_topk")])
async def test_what_words_bring_up_is_looked_at_closely_as_far_as_the_settings_say(
    store_url: str, query: str, setting: str
) -> None:
    other = {"single_token_window_max", "source_topk"} - {setting}
    for looked_at, best in ((16, "named"), (15, "other")):
        settings: dict[str, Any] = {setting: looked_at} | dict.fromkeys(other, 10 if best == "named" else 100)
        async with open_board(store_url, **settings) as board:
            # Its text is long, which speaks against it until its label is looked at.
            await board.put("named", f"alpha beta {'gamma ' * 20}", kind="topic", label="alpha beta")
            for n in range(15):
                await board.put(f"other-{n}", "alpha beta", kind="topic", label="delta")
            (hit,) = (await board.find(query, topics_max=1)).topics
            assert hit.id.partition("-")[0] == best


def is_same(one: SearchResult, other: SearchResult) -> bool:
    """Return whether an answer is one that was kept; how long each had to wait is its own."""
    return one.logs is other.logs


@requirement("S4.search.tuning")
async def test_as_many_answers_are_kept_as_the_settings_say(store_url: str) -> None:
    async with open_board(store_url, query_cache_size=2) as board:
        await board.put("e1", "alpha beta gamma")
        alpha, beta = await board.find("alpha"), await board.find("beta")
        assert is_same(await board.find("alpha"), alpha)
        assert is_same(await board.find("beta"), beta)
        await board.find("gamma")
        assert is_same(await board.find("beta"), beta)
        assert not is_same(await board.find("alpha"), alpha)
    async with open_board(store_url, query_cache_size=0) as board:
        assert not is_same(await board.find("alpha"), await board.find("alpha"))


async def test_meaning_alone_finds_from_a_similarity_of_a_quarter_on(store_url: str) -> None:
    class Compass:
        """Texts that name a similarity to north point that much to the north."""

        model = "compass/64"

        async def embed(self, texts: list[str]) -> Floats:
            north = [float(text) if text[0] == "0" else 1.0 for text in texts]
            vectors = np.zeros((len(texts), 64), dtype=np.float32)
            vectors[:, 0] = north
            vectors[:, 1] = np.sqrt(1 - np.square(north))
            return vectors

    async with open_board(store_url, Compass()) as board:
        for n, similarity in enumerate(("0.23", "0.27")):
            await board.put(similarity, similarity, session_key=f"k{n}")
        assert await board.logs("north") == ["0.27"]


async def test_what_was_said_more_than_two_entries_away_does_not_help(board: Board) -> None:
    for n, text in enumerate(("one", "two", "three", "alpha", "four", "five", "six")):
        await board.put(f"e{n}", text, session_key="k", sequence=n + 1)
    assert sorted(await board.logs("alpha")) == ["e1", "e2", "e3", "e4", "e5"]


async def test_a_search_that_a_run_waits_for_starts_while_others_rest(sqlite_url: str) -> None:
    async with open_board(sqlite_url) as board:
        await board.put("e1", "alpha")
        pace = board.search._pace
        pace.ended(1, writes=1_000_000)
        far_away = 1e12
        pace.wait_seconds(far_away)
        assert await within(board.logs("alpha", quick=True)) == ["e1"]
        assert pace.wait_seconds(far_away) > 0, "all others still have to wait"


@requirement("S4.search.tuning")
async def test_an_answer_is_kept_until_the_index_changes(store_url: str) -> None:
    async with open_board(store_url, query_cache_size=1) as board:
        await board.put("e1", "alpha")
        first = await board.find("alpha")
        assert is_same(await board.find("alpha"), first)
        await board.put("e2", "alpha")
        assert len((await board.find("alpha")).logs) == 2
        await board.find("beta")
        await board.put("e3", "alpha")
        assert len((await board.find("alpha")).logs) == 3


@pytest.mark.parametrize("text", HOSTILE)
async def test_no_text_is_syntax(board: Board, text: str) -> None:
    await board.put("e1", f"{text} said alpha".encode("utf-8", "replace").decode())
    found = await board.find(text)
    assert all(0 <= hit.score <= 1 for hit in found.logs)
    assert await board.logs("alpha") == ["e1"]


async def test_text_of_every_script_is_found_by_its_words(board: Board) -> None:
    said = {"ja": "明日東京で会いましょう", "he": "שלום עולם", "ru": "Привет, мир", "fr": "L'été à Nîmes"}
    for name, text in said.items():
        await board.put(name, text)
    assert [await board.logs(word) for word in ("東京", "עולם", "МИР", "nîmes")] == [["ja"], ["he"], ["ru"], ["fr"]]


async def test_a_text_of_a_megabyte_is_indexed_within_its_limits(board: Board) -> None:
    await board.put("e1", "alpha " + "".join(f"w{n} " for n in range(150_000)))
    assert await board.logs("alpha") == ["e1"]
