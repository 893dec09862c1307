"""Languages of which no word is known: their common words join nothing, their greetings and names tell nothing."""

from collections import Counter

import pytest

from bench.sparse_chats import POLISH, sparse_lines
from carrel.board.classifier.groups import group_messages
from carrel.board.classifier.moves import TopicEntry, Unit
from carrel.board.classifier.phrases import name_by_words, social_words_in
from carrel.board.profiles import Profile, Weights, common_share, distinctive_words, gist
from carrel.kernel.settings import SearchSettings
from carrel.search import Similarity, embedder_for
from carrel.wire import Wire
from tests.requirements.mark import requirement

LINES = [line for line in sparse_lines() if distinctive_words(line.text)]


def pairs(counts: Counter[tuple[str, int]] | Counter[int] | Counter[str]) -> int:
    """Return how many pairs are counted together."""
    return sum(count * (count - 1) // 2 for count in counts.values())


def unit(text: str, chat: str = "a") -> Unit:
    """Return a message of a chat."""
    entry = TopicEntry(id="e", topic_id="t", chat=chat, at=0, text=text, is_by_person=True, is_given=False)
    return Unit(entry, ("e",), False)


@requirement("A.topic.names")
async def test_few_lines_on_each_subject_are_grouped_by_it_in_a_language_without_a_list_of_words() -> None:
    social_words = social_words_in([line.text for line in LINES])
    ordered = sorted(LINES, key=lambda line: line.chat)
    messages = [unit(line.text, line.chat).message(False, social_words) for line in ordered]
    wire = Wire()
    similarity = Similarity(embedder_for(SearchSettings(), wire))
    meanings = await similarity.directions([gist(line.text) for line in ordered])
    await wire.close()
    found = {at: number for number, group in enumerate(group_messages(messages, meanings)) for at in group}
    polish = [(line.subject, found[at]) for at, line in enumerate(ordered) if line.subject in POLISH]
    together = Counter((str(subject), group) for subject, group in polish)
    precision = pairs(together) / pairs(Counter(group for _, group in polish))
    recall = pairs(together) / pairs(Counter(str(subject) for subject, _ in polish))
    assert precision > 0.3
    assert recall > 0.5


def test_asides_are_told_by_where_they_stand() -> None:
    said = [
        "Dzień dobry", "dzień dobry!", "hej Wojtek", "hej Zofia", "gratulacje Zofia!", "spoko", "spoko!",
        "Zofia, kosiarka jest zepsuta", "@Wojtek szklarnia jest gotowa", "hej Zofia, szklarnia jest za droga",
        "gdzie jest nasza kosiarka?", "nasza szklarnia, kosiarka i konewka są na sprzedaż",
    ]  # fmt: skip
    assert social_words_in(said) >= {"dzień", "dobri", "hej", "wojtek", "zofia", "spoko"}
    assert not social_words_in(said) & {"kosiarka", "szklarnia", "konewka"}
    assert social_words_in(["Invoices", "the invoices are late again", "who wrote the invoices?"]) == frozenset()


@requirement("A.topic.names")
def test_an_aside_names_no_topic_and_tells_not_what_a_message_is_about() -> None:
    said = ["spoko, kosiarka", "Spoko, nasza kosiarka", "spoko"]
    assert name_by_words(Profile().with_said(said), Weights([]), frozenset({"spoko"})) == "Kosiarka"
    assert tuple(unit(said[0]).message(False, frozenset({"spoko"})).words) == ("kosiarka",)


@pytest.mark.parametrize(
    ("text", "share"), [("kto się zajmie ogrodem?", 0.0), ("who takes care of it?", 1.0), ("", 1.0)]
)
def test_a_message_whose_common_words_are_not_known_is_in_no_known_language(text: str, share: float) -> None:
    assert common_share(text) == share
