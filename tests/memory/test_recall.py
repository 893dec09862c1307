"""Recall: which memories of a chain are chosen for a question, in which order, and why."""

from collections.abc import AsyncIterator

import pytest

from carrel.kernel import Refusal
from carrel.memory import fact_lines
from tests.harness.engine import open_engine
from tests.memory.places import Notebook, counted, reader
from tests.requirements.mark import requirement

HERE = "session:web:c1"


@pytest.fixture
async def notes(store_url: str) -> AsyncIterator[Notebook]:
    """The memories of an account, on either engine."""
    async with open_engine(store_url) as engine:
        yield Notebook(engine)


async def test_what_matches_the_question_comes_first_and_says_why(notes: Notebook) -> None:
    await notes.keep("The supplier is called Northwind", HERE)
    await notes.keep("Short answers, please", HERE, type="preference")
    first, second = await notes.recall(reader(), "which SUPPLIER do we use?")
    assert first.memory.content == "The supplier is called Northwind"
    assert first.score > second.score
    assert first.reason.startswith("matches supplier; fact, 0 days old, confidence 0.90")
    assert second.reason.startswith("holds for every message;")
    (found,) = await notes.recall(reader(), "supplier", only_matching=True)
    assert found.memory == first.memory


@pytest.mark.parametrize(
    "question",
    ["Is the cat on the roof?", "Wo ist die Katze?", "what is it about?", "go on", "Lunches are nothing to me"],
)
async def test_a_fact_is_recalled_for_a_question_only_by_a_word_that_says_something(
    notes: Notebook, question: str
) -> None:  # fmt: skip
    await notes.keep("The lunch is on the house, and it is about noon", HERE)
    await notes.keep("Das Passwort ist die Farbe der Tür", HERE)
    await notes.promote(await notes.keep("The office is in the north", "session:web:c2"))
    is_of_lunch = "Lunch" in question
    for only_matching in (False, True):
        recalled = await notes.recalled(reader(), question, only_matching=only_matching)
        assert recalled == ["The lunch is on the house, and it is about noon"] * is_of_lunch
    assert len(await notes.recalled(reader(), "")) == 3


async def test_what_says_how_to_work_and_what_the_own_task_and_goal_keep_is_recalled_for_every_question(
    notes: Notebook,
) -> None:
    await notes.keep("Olga likes short answers", HERE, type="preference")
    await notes.keep("Never name prices", HERE, type="constraint")
    await notes.keep("The fence was cheap", HERE, type="decision")
    await notes.keep("Half of it is painted", "task:t1", type="task_state")
    await notes.keep("Green paint", "goal:web:c1:g1", type="decision")
    recalled = await notes.recalled(reader(task="t1", goal="g1"), "continue with your work")
    assert sorted(recalled) == [
        "Green paint", "Half of it is painted", "Never name prices", "Olga likes short answers"
    ]  # fmt: skip


async def test_of_two_that_match_alike_the_newer_surer_and_weightier_is_better(notes: Notebook) -> None:
    old = await notes.keep("alpha one", HERE)
    notes.engine.advance(10 * 86_400)
    new = await notes.keep("alpha two", HERE)
    sure = await notes.keep("alpha three", HERE, confidence=1.0)
    weighty = await notes.keep("alpha four", HERE, confidence=1.0, type="constraint")
    assert [one.memory.id for one in await notes.recall(reader(), "alpha")] == [weighty.id, sure.id, new.id, old.id]


@requirement("S3.x.quota")
async def test_a_full_narrow_scope_cannot_push_out_the_wider_ones(notes: Notebook) -> None:
    for n in range(60):
        await notes.keep(f"deploy step {n}", "task:t1", type="fix", confidence=1.0)
    for n in range(3):
        await notes.keep(f"lunch before you deploy {n}", HERE, confidence=0.1)
        await notes.promote(await notes.keep(f"rule of the house for a step {n}", "session:web:c2", confidence=0.1))
    notes.engine.advance(90 * 86_400)
    chosen = await notes.recall(reader(task="t1"), "deploy step", items_max=12)
    kinds = [str(one.memory.scope) for one in chosen]
    assert kinds == ["task:t1"] * 8 + [HERE] * 2 + ["global"] * 2
    assert len(await notes.recall(reader(task="t1"), "deploy", items_max=5)) == 5


@requirement("S3.metric.scope")
async def test_what_is_taken_from_each_scope_is_counted(notes: Notebook) -> None:
    await notes.keep("a", "task:t1")
    await notes.keep("b", "goal:web:c1:g1")
    await notes.keep("c", "goal:web:c1:g1")
    names = [f"memory.scope.{kind}.selected.count" for kind in ("task", "goal", "session", "global")]
    before = [counted(name) for name in names]
    await notes.recall(reader(task="t1", goal="g1"))
    assert [counted(name) - was for name, was in zip(names, before, strict=True)] == [1, 2, 0, 0]


async def test_what_two_scopes_say_alike_is_recalled_once_from_the_narrower(notes: Notebook) -> None:
    await notes.promote(await notes.keep("The door is green", HERE))
    (one,) = await notes.recall(reader(), "door")
    assert one.memory.scope == HERE


async def test_an_old_memory_is_found_by_its_words_among_many_newer_ones(notes: Notebook) -> None:
    await notes.keep("The safe opens with 4711", HERE)
    notes.engine.advance(86_400)
    for n in range(50):
        await notes.keep(f"small talk {n}", HERE)
    assert "The safe opens with 4711" not in await notes.recalled(reader(), "talk")
    assert (await notes.recalled(reader(), "how does the safe open?", items_max=12))[0] == "The safe opens with 4711"


async def test_the_lines_of_a_block_fit_together_and_only_the_longest_are_clipped(notes: Notebook) -> None:
    await notes.keep("short\nand  plain", HERE)
    await notes.keep("long " * 300, HERE)
    await notes.keep("longer " * 250, "task:t1")
    lines = fact_lines(await notes.recall(reader(task="t1")), 400)
    assert sum(map(len, lines)) <= 400
    assert "- [session] short and plain" in lines
    assert [line[-1] for line in lines if "long" in line] == ["…", "…"]
    assert all(len(line) > 150 for line in lines if "long" in line)
    assert fact_lines([], 400) == []


async def test_a_memory_is_found_by_other_forms_of_its_words(notes: Notebook) -> None:
    await notes.keep("Send every invoice to the bookkeeping", HERE)
    for question in ("invoices", "invoiced", "INVOICE"):
        (found,) = await notes.recall(reader(), question, only_matching=True)
        assert found.reason.startswith(f"matches {question.lower()};")
    (best,) = await notes.recall(reader(), "who sends invoices?")
    assert best.memory.content.startswith("Send every invoice")
    assert best.reason.startswith("matches invoices, sends;")


async def test_a_memory_is_found_that_was_stored_under_whole_words(notes: Notebook) -> None:
    memory = await notes.keep("Two invoices are open", HERE)
    sql = "UPDATE memory_words SET word = 'invoices' WHERE account_id = :account AND word = 'invoic'"
    await notes.engine.db.write(lambda tx: tx.run(sql, notes.access))
    (found,) = await notes.recall(reader(), "invoices", only_matching=True)
    assert found.memory.id == memory.id


@requirement("S3.scope.bound", "S3.metric.blocked")
async def test_a_memory_outside_the_chain_is_not_found_and_counted(notes: Notebook) -> None:
    memory = await notes.keep("The door is green", HERE)
    assert await notes.found(reader(), memory) == memory
    foreign = (reader("web:c2"), reader("web:c1", "other"), reader("web:c2", task="t1", goal="g1"))
    before = counted("memory.scope.cross_session_blocked.count")
    for by in foreign:
        assert await notes.recalled(by, "door") == []
        with pytest.raises(Refusal, match="There is no such memory"):
            await notes.found(by, memory)
    assert counted("memory.scope.cross_session_blocked.count") == before + len(foreign)


@requirement("S3.inv.3", "S3.x.task.bound")
async def test_a_task_never_reads_the_scope_of_another(notes: Notebook) -> None:
    await notes.keep("of one", "task:t1")
    await notes.keep("of two", "task:t2")
    assert await notes.recalled(reader(task="t1")) == ["of one"]
    assert await notes.recalled(reader(task="t2")) == ["of two"]
    assert await notes.recalled(reader()) == []


@requirement("S3.scope.overlay", "S3.inv.4", "S3.inv.5")
async def test_the_tasks_of_a_goal_share_its_scope_which_is_bound_to_its_session(notes: Notebook) -> None:
    await notes.keep("the aim", "goal:web:c1:g1")
    await notes.keep("of one", "task:t1")
    assert await notes.recalled(reader(task="t1", goal="g1")) == ["of one", "the aim"]
    assert await notes.recalled(reader(task="t2", goal="g1")) == ["the aim"]
    assert await notes.recalled(reader("web:c2", task="t2", goal="g1")) == []
    assert await notes.recalled(reader("web:c1", "other", goal="g1")) == []


async def test_two_accounts_that_share_every_id_share_no_memory(notes: Notebook) -> None:
    twin = Notebook(notes.engine, await notes.engine.another_account("twin"))
    mine = await notes.keep("mine", "task:t1")
    await twin.keep("theirs", "task:t1")
    await notes.promote(await notes.keep("mine everywhere", HERE))
    assert await twin.recalled(reader(task="t1"), "mine theirs everywhere") == ["theirs"]
    assert sorted(await notes.recalled(reader(task="t1"))) == ["mine", "mine everywhere"]
    with pytest.raises(Refusal):
        await twin.found(reader(task="t1"), mine)
