"""Where messages belong by rules alone: names, words, meaning, what came before, and when something new is made."""

from typing import Any

import pytest

from carrel.board.classifier.rules import Candidate, Candidates, Choice, TaskCandidate, choose_by_rules, scores
from carrel.board.profiles import Profile

TOPICS = {
    "Invoice import": ("The nightly invoice import fails with a timeout", "which invoices are missing since Monday?"),
    "Garden fence": ("paint the fence green", "how much wood do we need for the garden fence?"),
    "Kubernetes upgrade": ("upgrade the staging cluster to 1.31", "drain the nodes one by one"),
    "Quarterly report": ("collect the numbers for the quarterly report", "add a chart of revenue by region"),
    "Trip to Lisbon": ("book flights to Lisbon in May", "find a hotel near the river"),
}
CANDIDATES = [Candidate(id=name, name=name, profile=Profile().with_said(said)) for name, said in TOPICS.items()]
TASKS = (
    TaskCandidate(id="planks", name="Buy planks for the fence", topic_id="Garden fence"),
    TaskCandidate(id="flights", name="Book flights", topic_id="Trip to Lisbon"),
)
AROUND = Candidates(topics=CANDIDATES, tasks=TASKS)


def placed(*asked: str, **candidates: Any) -> Choice:
    """Return where messages go among the topics above."""
    return choose_by_rules(asked, Candidates(topics=CANDIDATES, tasks=TASKS, **candidates), {})


@pytest.mark.parametrize(("text", "topic"), [
    ("The import of invoices timed out again tonight", "Invoice import"),
    ("Can you check why no invoices arrived?", "Invoice import"),
    ("what colour of paint did we choose for the garden?", "Garden fence"),
    ("cordon the nodes before the upgrade", "Kubernetes upgrade"),
    ("revenue chart is missing the region Asia in the report", "Quarterly report"),
    ("is the hotel in Lisbon booked?", "Trip to Lisbon"),
])  # fmt: skip
def test_a_message_goes_to_the_topic_it_is_about(text: str, topic: str) -> None:
    assert placed(text).topic_id == topic


@pytest.mark.parametrize("text", [
    "Write a poem about autumn leaves", "What is the capital of Mongolia?", "the printer on floor 3 is jammed",
    "give me the weather report for tomorrow",
])  # fmt: skip
def test_a_message_about_something_else_gets_a_topic_of_its_own(text: str) -> None:
    place = placed(text)
    assert (place.topic_id, place.task_id, place.new_task) == (None, None, None)
    assert place.new_topic


def test_a_lone_candidate_is_not_the_best_for_everything() -> None:
    (score,) = scores("What is the capital of Mongolia?", CANDIDATES[:1], {})
    assert score.value < 0.1


def test_meaning_brings_a_topic_up_that_shares_few_words() -> None:
    text = "users cannot log in on staging"
    said = Profile().with_said(["login fails with 500 on staging"])
    topic = Candidate(id="login", name="Login bug on staging", profile=said)
    by_words, by_both = scores(text, [topic, *CANDIDATES], {}), scores(text, [topic, *CANDIDATES], {"login": 0.65})
    assert by_both[0].id == "login"
    assert by_both[0].value > by_words[0].value


def test_a_terse_message_goes_where_its_session_was_last() -> None:
    last = Choice(topic_id="Trip to Lisbon", task_id="flights")
    assert placed("yes, do it", last=last) == last
    assert placed("yes, do it").new_topic == "Small Talk"


def test_small_talk_has_a_topic_of_its_own_that_is_used_again() -> None:
    assert placed("Good morning!", last=Choice(topic_id="Trip to Lisbon")).new_topic == "Small Talk"
    candidates = Candidates(topics=[Candidate(id="talk", name="Small talk")])
    assert choose_by_rules(["Hello, how are you?"], candidates, {}).topic_id == "talk"


def test_a_vague_message_continues_unless_it_says_otherwise() -> None:
    last = Choice(topic_id="Trip to Lisbon", task_id="flights")
    assert placed("what does it cost?", last=last) == last
    assert placed("something else: what does it cost?", last=last).new_topic is not None


def test_a_task_that_fits_brings_its_topic() -> None:
    candidates = Candidates(
        topics=[Candidate(id="house", name="House"), *CANDIDATES],
        tasks=(TaskCandidate(id="gutter", name="Clean the gutter", topic_id="house"),),
    )
    assert choose_by_rules(["please clean the gutter"], candidates, {}) == Choice(topic_id="house", task_id="gutter")


def test_a_task_is_chosen_only_within_the_chosen_topic() -> None:
    assert placed("how many planks for the garden fence do we buy?").task_id == "planks"
    locked = placed("book the flights to Lisbon", topic_id="Garden fence")
    assert locked == Choice(topic_id="Garden fence")


def test_a_task_is_made_only_when_it_is_asked_for_and_not_twice() -> None:
    assert placed("TODO: paint the garden fence").new_task == "Paint the garden fence"
    assert placed("todo: buy planks for the fence", topic_id="Garden fence").task_id == "planks"
    assert placed("We must paint the garden fence soon").new_task is None


def test_a_topic_of_nearly_the_same_name_is_used_again() -> None:
    candidates = Candidates(topics=[Candidate(id="poem", name="A poem about autumn leaves")])
    assert choose_by_rules(["Autumn leaves: the poem"], candidates, {}).topic_id == "poem"


# Words that none of the candidates below has, so that their scores are those of their meanings alone.
FOREIGN = "umbrella weather seaside holiday"
FENCE = Candidate(id="fence", name="Garden fence")


@pytest.mark.parametrize(("similarity", "later", "continues"), [
    (0.049, False, False), (0.051, False, True), (0.26, True, False), (0.27, True, True),
])  # fmt: skip
def test_a_session_goes_on_with_what_is_near_and_after_a_pause_with_what_is_nearer(
    similarity: float, *, later: bool, continues: bool
) -> None:
    candidates = Candidates(topics=[FENCE], last=Choice(topic_id="fence"), is_later=later)
    assert choose_by_rules([FOREIGN], candidates, {}, similarity).topic_id == ("fence" if continues else None)


def test_a_session_goes_on_where_its_words_were_said_of_late() -> None:
    candidates = Candidates(topics=[FENCE], last=Choice(topic_id="fence"), recent=["a holiday at the seaside"])
    assert choose_by_rules([FOREIGN], candidates, {}).topic_id == "fence"


def test_greetings_names_and_filler_go_where_the_session_was_or_to_small_talk() -> None:
    candidates = Candidates(topics=[FENCE], last=Choice(topic_id="fence"))
    for text in ("Wow, Maria, that's really amazing!", "Ach wirklich? Das freut mich.", "I think so too, Jon"):
        assert choose_by_rules([text], candidates, {}).topic_id == "fence"
        assert choose_by_rules([text], Candidates(topics=[FENCE]), {}).new_topic == "Small Talk"


def test_a_message_of_three_words_continues_and_one_of_four_does_not() -> None:
    candidates = Candidates(topics=[FENCE], last=Choice(topic_id="fence"))
    assert choose_by_rules(["umbrella weather seaside"], candidates, {}).topic_id == "fence"
    assert choose_by_rules([FOREIGN], candidates, {}).topic_id is None
