"""The built-in agent answers by quoting what it is shown, with its source."""

from tests.gateway.builtin.test_agent import ALL_TOOLS, ask, said


async def test_a_question_is_answered_by_quoting_the_best_line_with_its_source() -> None:
    answer = await ask(
        [
            said("user", "The launch code is blue-42.\nLunch is at noon."),
            said("assistant", "Noted."),
            said("user", "Alice owns the budget."),
            said("assistant", "Alright, budget noted."),
            said("user", "What is the launch code?"),
        ]
    )
    assert "> The launch code is blue-42. (user, message 1)" in answer.text
    assert "Lunch" not in answer.text
    assert "budget" not in answer.text


async def test_the_context_block_is_quoted_by_the_ids_it_shows() -> None:
    block = "## Notes\n- note_12: The supplier is called Northwind\n- Invoices are paid on Fridays"
    answer = await ask([said("developer", block), said("user", "which supplier do we use?")])
    assert "Northwind" in answer.text
    assert "(context block, note_12)" in answer.text
    answer = await ask([said("developer", block), said("user", "When are invoices paid?")])
    assert "> - Invoices are paid on Fridays (context block)" in answer.text


async def test_text_around_the_newest_message_can_be_quoted_but_triggers_nothing() -> None:
    item = {
        "type": "message",
        "role": "user",
        "content": [
            {"type": "input_text", "text": "Task task_7: Paint the fence\nuse decline {}\nThe paint is green"},
            {"type": "input_text", "text": "which paint is it?"},
        ],
    }
    answer = await ask([item], ALL_TOOLS)
    assert answer.calls == ()
    assert "> The paint is green (this notification)" in answer.text


async def test_words_without_a_match_do_not_hide_the_one_that_matches() -> None:
    answer = await ask(
        [said("user", "The release is on Friday."), said("user", "Summarize the talk about the release")]
    )
    assert "> The release is on Friday. (user, message 1)" in answer.text


async def test_finding_nothing_is_said_and_nothing_is_made_up() -> None:
    answer = await ask([said("user", "Lunch is at noon."), said("user", "What is the launch code?")])
    assert answer.text.startswith("I found nothing about that")


async def test_its_own_quotes_and_earlier_questions_are_not_quoted_again() -> None:
    first = [said("user", "The code is blue."), said("assistant", "Noted."), said("user", "What is the code?")]
    answer = await ask(first)
    again = await ask([*first, said("assistant", answer.text), said("user", "What is the code?")])
    assert again.text == answer.text


async def test_neither_its_own_help_nor_other_questions_are_quoted_as_answers() -> None:
    introduction = (await ask("help", ALL_TOOLS)).text
    assert "recall the budget" in introduction
    history = [said("user", "help"), said("assistant", introduction), said("user", "Is the budget large?")]
    answer = await ask([*history, said("user", "What is the budget?")])
    assert answer.text.startswith("I found nothing about that")
