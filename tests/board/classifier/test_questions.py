"""What a model is asked about a bundle, and which of its answers count."""

import json
from typing import Any

import pytest

from carrel.board.classifier.bundles import bundle_at
from carrel.board.classifier.questions import question_about
from carrel.board.classifier.rules import Candidate, Candidates, Choice, TaskCandidate
from tests.board.classifier.test_bundles import conversation
from tests.board.classifier.test_rules import AROUND, CANDIDATES

ASKED = question_about(bundle_at(conversation(("user", "buy planks"), ("assistant", "Bought.")), 0), AROUND)


def answer(**said: Any) -> str:
    """Return an answer as a model gives it, with words around it."""
    return f"Sure:\n```json\n{json.dumps(said)}\n```"


def test_a_model_sees_topics_tasks_and_entries_by_number() -> None:
    assert "T2: Garden fence" in ASKED.text
    assert "K1 (of T2): Buy planks for the fence" in ASKED.text
    assert "1. Person: buy planks" in ASKED.text


def test_a_model_sees_no_topic_but_the_candidates() -> None:
    alone = question_about(bundle_at(conversation(("user", "buy planks")), 0), Candidates()).text
    assert not [topic.id for topic in CANDIDATES if topic.name in alone]


def test_an_answer_chooses_among_what_was_shown() -> None:
    found = ASKED.read(answer(topic="T2", task="K1", summaries=["Buys planks", "y" * 90, "too many"]))
    assert found.choice == Choice(topic_id="Garden fence", task_id="planks")
    assert found.summaries[0] == "Buys planks"
    assert [len(one) <= 56 for one in found.summaries] == [True, True]


def test_a_task_of_another_topic_is_not_taken() -> None:
    assert ASKED.read(answer(topic="T2", task="K2")).choice == Choice(topic_id="Garden fence")


def test_a_new_topic_that_has_nearly_the_name_of_another_is_that_one() -> None:
    assert ASKED.read(answer(newTopic="The garden fence")).choice.topic_id == "Garden fence"
    assert ASKED.read(answer(newTopic="Bee keeping\n" + "z" * 500)).choice.new_topic == "Bee keeping " + "z" * 47 + "…"


def test_a_model_makes_no_task_that_nobody_asked_for() -> None:
    assert ASKED.read(answer(topic="T2", newTask="Do it all")).choice.new_task is None


@pytest.mark.parametrize("said", [
    "", "none", "{", "[]", "}{", "null", '{"topic": 2}', '{"topic": "T99"}', '{"topic": "T0"}', '{"topic": "space-x"}',
    '{"topic": "T-1"}', '{"newTopic": " "}', '{"topic": null}', '{"topic": "T1", "task": "K99"}', "{" * 10_000,
])  # fmt: skip
def test_whatever_else_a_model_says_is_no_answer(said: str) -> None:
    with pytest.raises(ValueError):
        ASKED.read(said)


def test_a_model_is_shown_so_much_and_no_more() -> None:
    many = Candidates(
        topics=[Candidate(id=str(n), name=f"Topic {n}") for n in range(500)],
        tasks=[TaskCandidate(id=str(n), name="x" * 90, topic_id="3") for n in range(500)],
    )
    talk = conversation(*[("user", "w" * 5_000)] * 200)
    assert len(question_about(bundle_at(talk, 0), many).text) < 30_000
