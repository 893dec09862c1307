"""What is taken out of texts before they are stored or searched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.journal import ContextMarks, NewEntry, append_entry, clean, quoted_lines_removed
from carrel.journal.store import entries_since
from carrel.kernel import Provenance
from tests.harness.engine import open_engine
from tests.requirements.mark import requirement

BEGIN, END = ContextMarks.BEGIN, ContextMarks.END
OWN_BLOCK = f"{ContextMarks.OWN_BEGIN}\n{ContextMarks.PREAMBLE}\n- Fence\n{ContextMarks.OWN_END}"
BLOCK = f"{BEGIN}\n{ContextMarks.PREAMBLE}\n{ContextMarks.HEADING}\nWorking set topics:\n- Fence\n{END}"


@requirement("S4.clean.markers")
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain text", "plain text"),
        ("  spaces [stay] as they are ", "  spaces [stay] as they are "),
        (f"{BLOCK}\n\nPaint the fence", "Paint the fence"),
        (f"Before\n\n{BLOCK}\n\nAfter", "Before\n\nAfter"),
        (f"Before\n\n{OWN_BLOCK}\n\nAfter", "Before\n\nAfter"),
        (f"{OWN_BLOCK}\n{BLOCK}\nBoth", "Both"),
        (f"{BLOCK}\n{BLOCK}\nTwice", "Twice"),
        (f"one {BEGIN}hidden{END} two", "one\n\n two"),
        (BLOCK, ""),
        (f"{BEGIN}\ncut off\n- Fence\n\nthe message", "the message"),
        (f"{BEGIN}\n\n{BEGIN}\n- Fence", ""),
        ("\n".join(f"> {line}" for line in BLOCK.split("\n")) + "\n\nhello", "hello"),
        (f"the end of a block\n{END}\nthe message", "the end of a block\n\nthe message"),
        (f"{ContextMarks.PREAMBLE}\nhello", "hello"),
        (f"> {BLOCK}".replace("\n", " ") + " hello", "hello"),
        ("Clawboard continuity hook is active for this turn.\nhello", "hello"),
        ("> Use this Clawboard retrieval context merged with memory.\nhello", "hello"),
        ("Use Clawboard for this", "Use Clawboard for this"),
        ("[Discord Guild #general channel id:123] hello", "hello"),
        ("[Telegram Ada (@ada) id:7 2026-02-08 09:01] hello", "hello"),
        ("[Sun 2026-02-08 09:01 EST] hello", "hello"),
        ("[Discord Ada] [Sun 2026-02-08 09:01 EST] hello", "hello"),
        ("first\n[Mon 2026-02-09 10:00] second", "first\nsecond"),
        ("hello [message_id: 1234567890]", "hello"),
        ("a [message_id: 1] b", "a   b"),
        ("a [message_id: [message_id: 1] 2] b", "a   b"),
        ("a [message_id: [x] 2] b", "a [message_id: [x] 2] b"),
        ("[message_id: 1] [Discord Ada] hello", "hello"),
        ("see [Discord rules](https://example.com)", "see [Discord rules](https://example.com)"),
        ("[Discord rules](https://example.com)", "[Discord rules](https://example.com)"),
        ("meet on [Sun 2026-02-08 09:01 EST]", "meet on [Sun 2026-02-08 09:01 EST]"),
        ("[Signal] is a word in brackets", "[Signal] is a word in brackets"),
        ("[cron:nightly] run", "[cron:nightly] run"),
    ],
)
def test_injected_context_and_the_marks_of_channels_are_removed(text: str, left: str) -> None:
    assert clean(text) == left


MARKS = st.sampled_from(
    [BEGIN, END, BEGIN[:9], BEGIN[9:], END[:15], END[15:], "[message_id:", " 1]", "x", "\n", "\n\n"]
)


@given(st.lists(MARKS, max_size=30).map("".join))
def test_nothing_that_is_left_is_a_mark_again(text: str) -> None:
    left = clean(text)
    assert BEGIN not in left
    assert END not in left
    assert clean(left) == left


@pytest.mark.parametrize(
    "text",
    [BEGIN * 40_000, "[message_id:" * 80_000, "[Discord " * 100_000, " " * 1_000_000 + "[", ("[" + " " * 9) * 90_000],
)
def test_a_long_hostile_text_is_cleaned_in_linear_time(text: str) -> None:
    # Quadratic, each of these takes minutes, and the suite ends the test.
    assert len(clean(text)) <= len(text)
    quoted_lines_removed(text, BLOCK)


@requirement("S4.clean.loop")
def test_lines_of_a_block_are_removed_also_where_they_are_quoted() -> None:
    block = "Kept facts:\n- [global] Ada drinks tea\n- yes"
    said = "As I was told:\n> Kept facts:\n> - [global] Ada drinks tea\n* [global] Ada drinks tea\nSo I made tea."
    assert quoted_lines_removed(said, block) == "As I was told:\nSo I made tea."
    assert quoted_lines_removed("yes\nAda drinks tea", block) == "yes\nAda drinks tea"
    assert quoted_lines_removed(block, block) == ""
    assert quoted_lines_removed(said, "") == said


@requirement("S4.clean.loop")
def test_lines_of_a_block_are_removed_also_where_they_are_joined_in_one() -> None:
    block = "Kept facts:\n- [global] Ada drinks tea\n- [global] Bob drinks coffee\n- yes"
    said = "I was told: Kept facts: - [global] Ada drinks tea - [global] Bob drinks coffee So I made both."
    assert quoted_lines_removed(said, block).split("\n") == ["I was told: ", " So I made both."]
    assert quoted_lines_removed("[global] Ada drinks tea, she says", block) == "[global] Ada drinks tea, she says"


@requirement("S4.clean.markers")
async def test_a_message_is_stored_clean_and_a_tool_result_as_it_is(store_url: str) -> None:
    def entry(kind: str, role: str) -> NewEntry:
        said = f"{BLOCK}\n[Discord Ada] hi"
        person = Provenance(kind="external_user")
        return NewEntry(type=kind, role=role, content=said, author="user", provenance=person)

    async with open_engine(store_url) as engine:
        for new in (entry("conversation", "user"), entry("action", "toolResult")):
            await engine.db.write(lambda tx, new=new: append_entry(tx, engine.access, new))  # type: ignore[misc]
        message, result = await engine.db.read(lambda tx: entries_since(tx, engine.access, 0, limit=2))
    assert message.content == "hi"
    assert result.content.startswith(BEGIN)
