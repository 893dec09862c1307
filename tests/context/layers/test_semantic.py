"""What a context recalls: matches alone, each thing once, whole passages, with their dates and who said it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import structs

from carrel.context import ContextLimits
from carrel.context.model import LOCATION, RECALLED_LOGS, RECALLED_TASKS, RECALLED_TOPICS, TIMELINE, WORKING_TASKS
from carrel.kernel import MS_PER_DAY, iso
from carrel.work import post_message
from tests.context.whiteboard import Whiteboard, open_whiteboard, section
from tests.requirements.mark import requirement

MAIN = "agent:main:main"
FILLER = "and then we had soup with bread, and nobody said much about anything at all"


@pytest.fixture
async def pier(sqlite_url: str) -> AsyncIterator[Whiteboard]:
    async with open_whiteboard(sqlite_url) as opened:
        await opened.topic("Pier")
        yield opened


async def talk(pier: Whiteboard, *lines: str, session: str = "harbour talk", **more: Any) -> list[str]:
    """Record a conversation about the pier; return the ids of its entries."""
    return [(await pier.log(line, session, topic_id="pier", **more)).id for line in lines]


@requirement("S4.context.full")
async def test_what_was_said_next_to_each_other_is_read_in_its_order(pier: Whiteboard) -> None:
    said = await talk(pier, "Which colour?", "The harbour lamps get moss green.", "Moss green is fine.")
    other = await talk(pier, "The harbour lamps are expensive.", session="another talk")
    found = await pier.build("elsewhere", "Do the harbour lamps get moss green?", mode="full")
    recalled = found.of(RECALLED_LOGS)
    assert [line.id for line in recalled] == [*said, *other]
    scores = [line.score or 0 for line in recalled]
    assert max(scores) == scores[1]
    assert scores[0] < scores[1]


async def test_a_limit_of_entries_counts_passages(pier: Whiteboard) -> None:
    first = await talk(pier, "Which green do the harbour lamps get?", "Moss green for the harbour lamps.")
    await talk(pier, "The harbour lamps are expensive.", session="another talk")
    limits = ContextLimits(logs=1)
    found = await pier.build("elsewhere", "Which green do harbour lamps have?", mode="full", limits=limits)
    assert [line.id for line in found.of(RECALLED_LOGS)] == first


async def test_a_line_says_when_and_by_whom_it_was_said(pier: Whiteboard) -> None:
    at = 1_700_000_000_000
    await talk(pier, "the harbour lamps must be green", agent_label="Ann", created_at=at)
    await talk(pier, "the harbour lamps must be blue", agent_id="main", session="another talk", created_at=at)
    found = await pier.build("elsewhere", "which harbour lamps?", mode="full")
    assert sorted(section(found, RECALLED_LOGS)) == [
        "- 2023-11-14 Ann (reported): the harbour lamps must be green",
        "- 2023-11-14 main (reported): the harbour lamps must be blue",
    ]


async def test_what_a_person_said_in_a_thread_is_recalled_under_the_persons_name(pier: Whiteboard) -> None:
    task = await pier.task("Order harbour lamps")
    words, ann = "The harbour lamps must be green.", structs.replace(pier.access, kind="owner", name="Ann")
    await pier.db.write(lambda tx: post_message(tx, ann, task.id, words, pier.server.rules))
    found = await pier.build(f"agent:main:task:{task.id}", "Which harbour lamps?", mode="full")
    (line,) = [line for line in section(found, RECALLED_LOGS) if words in line]
    assert line.endswith(f" Ann: {words}")


async def test_a_long_text_is_cut_around_what_was_asked_for(pier: Whiteboard) -> None:
    await talk(pier, f"{FILLER} " * 30 + "The harbour lamps must be green. " + f"{FILLER} " * 30)
    found = await pier.build("elsewhere", "which harbour lamps?", mode="full")
    (line,) = section(found, RECALLED_LOGS)
    assert "The harbour lamps must be green." in line
    assert line.endswith("…")
    assert len(line) <= 2_200 // 6


async def test_what_has_only_a_stray_word_in_common_is_not_recalled(pier: Whiteboard) -> None:
    await talk(pier, *(f"{word} {FILLER}" for word in ("Windows", "Lamps", "Doors")))
    question = "Why does the build of the release branch fail on Windows since the compiler was upgraded?"
    assert not section(await pier.build("elsewhere", question, mode="full"), RECALLED_LOGS)
    assert section(await pier.build("elsewhere", "Windows", mode="full"), RECALLED_LOGS)


async def test_the_question_itself_is_not_recalled(pier: Whiteboard) -> None:
    asked, answered = await talk(pier, "Which harbour lamps?", "The green harbour lamps.")
    found = await pier.build("elsewhere", "which  harbour lamps?", mode="full")
    assert [line.id for line in found.of(RECALLED_LOGS)] == [answered]
    assert asked not in {line.id for line in found.lines}


async def test_a_word_of_agreement_is_not_recalled_for_what_stands_beside_it(pier: Whiteboard) -> None:
    lamps, _, _, more = await talk(
        pier, "The harbour lamps must be green.", "ok", "Thanks!", "The harbour lamps come from Hamburg."
    )
    found = await pier.build("elsewhere", "Which harbour lamps?", mode="full")
    assert [line.id for line in found.of(RECALLED_LOGS)] == [lamps, more]


async def test_what_the_timeline_shows_is_not_recalled_as_well(pier: Whiteboard) -> None:
    (said,) = await talk(pier, "the harbour lamps must be green", session="here")
    found = await pier.build("here", "which harbour lamps?", mode="full")
    assert [line.section for line in found.lines if line.id == said] == [TIMELINE]


async def test_every_topic_and_task_is_shown_once(pier: Whiteboard) -> None:
    await pier.topic("Harbour lamps", pinned=True)
    await pier.task("Order harbour lamps", topic_id="harbour-lamps", pinned=True)
    found = await pier.build("clawboard:topic:harbour-lamps", "which harbour lamps?", mode="full")
    assert [(line.id, line.section) for line in found.lines] == [
        ("harbour-lamps", LOCATION), ("order-harbour-lamps", WORKING_TASKS),
    ]  # fmt: skip


@requirement("S4.context.working.tasks")
async def test_work_that_a_question_is_not_about_is_shown_only_if_it_cannot_wait(pier: Whiteboard) -> None:
    now = await pier.db.read(lambda tx: tx.now)
    await pier.task("Order harbour lamps", priority=1)
    await pier.task("Paint the office", priority=1)
    await pier.task("Renew the insurance", due_date=now + MS_PER_DAY)
    await pier.task("Water the plants", pinned=True)
    asked = await pier.build(MAIN, "Which harbour lamps do we order?")
    due = f"due {(iso(now + MS_PER_DAY) or '')[:10]}"
    assert [(line.id, line.reason) for line in asked.of(WORKING_TASKS)] == [
        ("water-the-plants", "pinned"), ("renew-the-insurance", due), ("order-harbour-lamps", "priority 1"),
    ]  # fmt: skip
    assert not asked.of(RECALLED_TASKS)
    idle = await pier.build(MAIN, "ok")
    assert "paint-the-office" in {line.id for line in idle.of(WORKING_TASKS)}


async def test_work_on_the_topic_of_a_session_is_shown_whatever_is_asked(pier: Whiteboard) -> None:
    await pier.task("Paint the railing", topic_id="pier", priority=1)
    found = await pier.build("clawboard:topic:pier", "Which harbour lamps do we order?")
    assert [line.id for line in found.of(WORKING_TASKS)] == ["paint-the-railing"]


async def test_what_was_said_finds_room_before_names_of_topics_and_work(pier: Whiteboard) -> None:
    for n in range(3):
        await pier.topic(f"Harbour lamps {n}", digest="harbour lamps " * 30)
        await pier.task(f"Order harbour lamps {n}", pinned=True)
        await talk(pier, f"the harbour lamps of pier {n} must be green", session=f"talk {n}")
    limits = ContextLimits(max_chars=420)
    found = await pier.build("elsewhere", "which harbour lamps?", mode="full", limits=limits)
    assert len(found.of(RECALLED_LOGS)) == 3
    assert not found.of(RECALLED_TOPICS)


@requirement("S4.context.full")
async def test_a_line_on_another_topic_of_the_session_is_not_recalled_for_what_stands_beside_it(
    pier: Whiteboard,
) -> None:
    await pier.topic("Lunch")
    told = await talk(pier, "The harbour lamps get moss green paint.", "The paint is in the shed.")
    other = [(await pier.log(text, "harbour talk", topic_id="lunch")).id for text in ("Soup?", "Bread and cheese.")]
    found = await pier.build("elsewhere", "Which paint do the harbour lamps get?", mode="full")
    assert [line.id for line in found.of(RECALLED_LOGS)] == told
    assert not set(other) & {line.id for line in found.lines}


@requirement("S4.context.full")
async def test_a_session_that_has_gone_on_to_another_topic_adds_nothing_to_its_lines(pier: Whiteboard) -> None:
    await pier.topic("Lunch")
    await talk(pier, *["The harbour lamps get moss green paint."] * 3)
    for text in ("Soup?", "Bread and cheese.", "With butter?"):
        await pier.log(text, "harbour talk", topic_id="lunch")
    last = await pier.log("The cheese for lunch is from the harbour shop.", "harbour talk", topic_id="lunch")
    found = await pier.build("elsewhere", "Which paint do the harbour lamps get?", mode="full")
    assert max((line.score or 0 for line in found.of(RECALLED_LOGS) if line.id == last.id), default=0) < 0.3


@requirement("S4.context.full")
async def test_our_own_sentences_about_tasks_are_not_recalled(pier: Whiteboard) -> None:
    task = await pier.task("Paint the harbour lamps", assigned_agent_ids=("main",), topic_id="pier")
    key = f"agent:main:task:{task.id}"
    await pier.server.until(lambda tx: bool(tx.one("SELECT 1 FROM runs WHERE state = 'completed'")))
    await pier.log("The harbour lamps get moss green paint.", key)
    found = await pier.build(
        key, "What paint do the harbour lamps of this task get?", mode="full", limits=ContextLimits(timeline=0)
    )
    shown = [line.line for line in found.of(RECALLED_LOGS)]
    assert not [line for line in shown if "assigned you" in line]
