"""Merging small topics that are about the same, taking a merge back, and what a person has settled."""

import json
from typing import Any

import pytest
from msgspec import structs

from carrel.board import LogChange, change_entry, join_topics, split_topic
from carrel.board.classifier.groups import Message, group_messages
from carrel.board.classifier.merges import move_messages
from carrel.board.classifier.moves import Move, TopicEntry, Unit, moves_to, units_of
from carrel.board.classifier.phrases import name_by_words
from carrel.board.profiles import Profile, Weights, distinctive_words
from carrel.board.store import routes_of
from carrel.journal import DEFAULT_SPACE, Entry, events_after
from carrel.kernel import Access, Refusal
from carrel.kernel.settings import DigestsSettings
from carrel.topics import Topic, TopicChange, change_topic, topics_by_id
from tests.board.places import Board
from tests.requirements.mark import requirement

KILN = ("The kiln cracked my glazed bowl", "Kiln temperature ruins every glazed bowl", "Another glazed bowl, same kiln")
LOAN = ("The lender wants an appraisal", "Lender asks for the appraisal again", "Which appraisal does the lender need?")

POLISH = {
    "roof": (
        "dach jest do naprawy ale nie jutro", "ten dach jest stary ale nie cieknie",
        "dach do wymiany nie jest to tani remont",
    ),
    "cat": (
        "kot nie jest w domu ale wroci", "ten kot jest chory ale nie je", "kot do weterynarza nie jest to daleko",
    ),
    "car": (
        "auto nie jest umyte ale jedzie", "ten auto jest stare ale nie drogie", "auto do mechanika nie jest to pilne",
    ),
    "cake": (
        "tort jest na stole ale nie dla dzieci", "ten tort jest slodki ale nie drogi",
        "tort do odbioru nie jest to jutro",
    ),
}  # fmt: skip


def person(board: Board) -> Access:
    """Return the access of a person."""
    return structs.replace(board.access, kind="user")


async def topic(board: Board, entry: Entry) -> Topic:
    """Return the topic of an entry."""
    topic_id = (await board.entry(entry)).topic_id
    assert topic_id is not None
    return (await board.db.read(lambda tx: topics_by_id(tx, board.access, [topic_id])))[0]


async def talk(board: Board, *chats: tuple[str, ...], **more: Any) -> list[Entry]:
    """Say something in one chat after another, sorting in between."""
    said: list[Entry] = []
    for number, chat in enumerate(chats):
        for text in chat:
            said.append(await board.send(text, f"chat-{number}-{more.get('space_id', '')}", **more))
            await board.sort()
    return said


def chatted(chat: str, *texts: str, **more: Any) -> list[Message]:
    """Return messages of a chat as they are grouped."""
    return [Message(chat=chat, words=tuple(distinctive_words(text)), **more) for text in texts]


def grouped(*messages: list[Message]) -> list[list[int]]:
    """Group messages by their words alone."""
    return group_messages([message for chat in messages for message in chat], None)


def test_what_was_said_about_the_same_in_two_chats_is_one_group() -> None:
    assert grouped(chatted("a", *KILN[:2]), chatted("b", KILN[2]), chatted("c", *LOAN)) == [[0, 1, 2], [3, 4, 5]]
    assert grouped() == []


def test_a_chat_that_turns_to_something_else_is_cut_there() -> None:
    assert grouped(chatted("a", *KILN, *LOAN), chatted("b", *LOAN, *KILN)) == [[0, 1, 2, 9, 10, 11], [3, 4, 5, 6, 7, 8]]


def test_one_word_in_common_makes_no_group() -> None:
    river, money = ("The bank of the river", "river bank"), ("My bank raised a fee", "bank fee")
    assert grouped(chatted("a", *river), chatted("b", *money)) == [[0, 1], [2, 3]]


def test_words_of_every_conversation_join_nothing_in_a_language_of_which_no_word_is_known() -> None:
    assert grouped(*(chatted(chat, *said) for chat, said in POLISH.items())) == [
        [0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11],
    ]  # fmt: skip


def test_what_is_settled_takes_up_what_is_alike_and_is_never_joined_nor_left() -> None:
    first, second = chatted("a", *KILN, settled="one"), chatted("b", *KILN, settled="two")
    assert grouped(first, chatted("b", *KILN)) == [[0, 1, 2, 3, 4, 5]]
    assert grouped(first, second) == [[0, 1, 2], [3, 4, 5]]
    assert grouped(first, chatted("c", *LOAN), chatted("d", KILN[0], settled="two")) == [[0, 1, 2], [6], [3, 4, 5]]


def unit(entry_id: str, topic_id: str) -> Unit:
    """Return a message of a topic."""
    entry = TopicEntry(id=entry_id, topic_id=topic_id, chat="a", at=0, text=KILN[0], is_by_person=True, is_given=False)
    return Unit(entry, (entry_id,), False)


def test_a_group_takes_the_topic_that_has_most_of_it_and_the_rest_moves() -> None:
    first, second = [unit("1", "x"), unit("2", "x"), unit("3", "y")], [unit("4", "x"), unit("5", "z"), unit("6", "z")]
    assert moves_to([first, second], {}) == [
        Move("x", "z", (second[0],), False),
        Move("y", "x", (first[2],), True),
    ]


def test_a_group_without_a_topic_gets_a_new_one_unless_it_is_small() -> None:
    most, rest = [unit(str(at), "x") for at in range(4)], [unit(str(at), "x") for at in range(4, 7)]
    assert moves_to([most, rest], {}) == [Move("x", None, tuple(rest), False)]
    assert moves_to([most, rest[:2]], {}) == []


def test_a_settled_group_keeps_its_topic_whoever_has_more_of_it() -> None:
    group = [unit("1", "mine"), unit("2", "made"), unit("3", "made")]
    assert moves_to([group], {0: "mine"}) == [Move("made", "mine", tuple(group[1:]), True)]


def test_what_answers_a_message_or_says_nothing_goes_where_it_goes() -> None:
    entries = [
        TopicEntry(id=name, topic_id=topic, chat="a", at=at, text=text, is_by_person=bool(persons), is_given=False)
        for name, topic, at, text, persons in (
            ("hi", "x", 0, "Good morning!", True), ("ask", "x", 0, KILN[0], True), ("answer", "x", 1, LOAN[0], False),
            ("thanks", "x", 2, "Thanks!", True), ("other", "y", 3, LOAN[0], True), ("late", "y", 900_000, KILN[0], 1),
        )
    ]  # fmt: skip
    units = units_of(entries)
    assert [each.entry_ids for each in units] == [("ask", "answer", "thanks"), ("other",), ("late",)]
    assert [each.is_later for each in units] == [False, False, True]


@requirement("A.topic.names")
def test_a_name_is_made_of_the_words_that_set_a_topic_apart() -> None:
    said = [f"Hi Maria! {text}, see the report" for text in KILN]
    others = [Profile().with_said([f"{text}, see the report"]).words for text in LOAN]
    profile = Profile().with_said(said)
    assert name_by_words(profile, Weights([profile.words, *others]), frozenset()) == "Bowl, glazed, kiln"
    assert name_by_words(Profile().with_said(["Thanks, Maria!", "Wow, cool"]), Weights([]), frozenset()) is None


@pytest.mark.parametrize(
    "text",
    [
        "Thanks, Maria!",
        "Wow, Jon, that's great",
        "Guten Morgen Anna",
        "¡Vale, gracias!",
        "Merci beaucoup",
        "I think so too",
    ],
)
def test_greetings_thanks_names_and_filler_tell_nothing(text: str) -> None:
    assert not distinctive_words(text)


@requirement("A.topic.names")
async def test_fragments_of_one_subject_become_one_topic_that_remembers_them(board: Board) -> None:
    said = await talk(board, KILN[:2], LOAN, KILN[2:], LOAN)
    kiln = await topic(board, said[0])
    assert (await topic(board, said[5])).id == kiln.id
    assert (await topic(board, said[2])).id != kiln.id
    assert kiln.name == "Bowl, glazed, kiln"


@requirement("A.topic.names")
async def test_a_merge_is_an_event_and_can_be_taken_back_for_good(board: Board) -> None:
    first, second = await board.send(KILN[0], "a"), await board.send(LOAN[0], "b")
    await board.sort()
    into, other = await topic(board, first), await topic(board, second)
    joined = await board.db.write(lambda tx: join_topics(tx, person(board), into.id, [other.id]))
    assert (await topic(board, second)).id == into.id
    (merged,) = joined.merged_from
    assert (merged.id, merged.name, merged.entry_ids) == (other.id, other.name, (second.id,))
    events = await board.db.read(lambda tx: events_after(tx, board.access, 0, limit=1_000))
    (event,) = [event for event in events if event.name == "topic.merged"]
    assert json.loads(event.body)["merged"]["entryIds"] == [second.id]
    split = await board.db.write(
        lambda tx: split_topic(tx, person(board), into.id, merged.entry_ids, merged.name)
    )  # fmt: skip
    assert ((await topic(board, second)).id, split.name, split.created_by) == (split.id, other.name, "user")
    await talk(board, KILN, LOAN)
    assert (await topic(board, second)).id == split.id


async def test_a_persons_name_and_move_are_final(board: Board) -> None:
    said = await talk(board, KILN[:1], LOAN[:1])
    kiln, loan = await topic(board, said[0]), await topic(board, said[1])
    await board.db.write(lambda tx: change_topic(tx, person(board), kiln.id, TopicChange(name="My hobby")))
    await board.db.write(lambda tx: change_entry(tx, person(board), said[1].id, LogChange(topic_id=kiln.id)))
    await talk(board, KILN, LOAN, KILN)
    assert (await topic(board, said[0])).name == "My hobby"
    assert (await topic(board, said[1])).id == kiln.id
    rows = await board.db.read(lambda tx: topics_by_id(tx, board.access, [kiln.id, loan.id]))
    assert {row.id for row in rows} >= {kiln.id}
    assert all(row.curated for row in rows)


async def move(board: Board, entry: Entry, to: str | None) -> set[str]:
    """Move a message to another topic, as the classifier does."""
    from_id = (await topic(board, entry)).id
    moving = Move(from_id, to, (structs.replace(unit(entry.id, from_id), is_later=True),), False)
    return await board.db.write(
        lambda tx: move_messages(tx, board.access, moving, DEFAULT_SPACE, DigestsSettings())
    )  # fmt: skip


async def test_a_message_moves_with_its_route_and_the_feed_says_so(board: Board) -> None:
    first, second = await board.send(KILN[0], "a"), await board.send(LOAN[0], "b")
    await board.sort()
    kiln, loan = await topic(board, first), await topic(board, second)
    assert await move(board, second, kiln.id) == {kiln.id, loan.id}
    assert (await topic(board, second)).id == kiln.id
    (route,) = await board.db.read(lambda tx: routes_of(tx, board.access, "b", limit=5))
    assert route.topic_id == kiln.id
    assert await move(board, second, None) > {kiln.id}
    assert (await topic(board, second)).created_by == "classifier"


async def test_nothing_moves_out_of_what_a_person_has_settled_nor_into_another_space(board: Board) -> None:
    home = await board.space("Home")
    here, there = await board.send(KILN[0], "a"), await board.send(LOAN[0], "b", space_id=home)
    await board.sort()
    kiln, loan = await topic(board, here), await topic(board, there)
    assert await move(board, here, loan.id) == set()
    await board.db.write(lambda tx: change_topic(tx, person(board), kiln.id, TopicChange(name="My hobby")))
    assert await move(board, here, None) == set()
    assert (await topic(board, here)).id == kiln.id


def test_what_was_given_its_topic_is_settled_there() -> None:
    given = structs.replace(unit("1", "x").entry, is_given=True)
    assert Unit(given, ("1",), False).message(is_settled=False, social_words=frozenset()).settled == "x"
    assert unit("1", "x").message(is_settled=True, social_words=frozenset()).settled == "x"
    assert unit("1", "x").message(is_settled=False, social_words=frozenset()).settled is None


async def test_topics_of_two_spaces_are_never_merged(board: Board) -> None:
    home = await board.space("Home")
    here, there = await talk(board, KILN, LOAN[:1]), await talk(board, KILN, LOAN[:1], space_id=home)
    assert (await topic(board, here[0])).space_id != (await topic(board, there[0])).space_id
    one, other = (await topic(board, here[0])).id, (await topic(board, there[0])).id
    with pytest.raises(Refusal, match="same spaces"):
        await board.db.write(lambda tx: join_topics(tx, person(board), one, [other]))


async def test_a_deleted_word_is_in_no_profile_and_is_learnt_no_more(board: Board) -> None:
    said = await talk(board, KILN)
    kiln = await topic(board, said[0])
    sql = "SELECT words FROM topic_profiles WHERE account_id = :account AND topic_id = :id"
    assert "crack" in (await board.db.read(lambda tx: tx.one(sql, board.access, id=kiln.id)) or [""])[0]
    reworded = LogChange(content="The kiln broke my bowl")
    await board.db.write(lambda tx: change_entry(tx, person(board), said[0].id, reworded))
    assert await board.db.read(lambda tx: tx.one(sql, board.access, id=kiln.id)) is None
    await talk(board, KILN[1:])
    known = (await board.db.read(lambda tx: tx.one(sql, board.access, id=kiln.id)) or [""])[0]
    assert "kiln" in known
    assert "crack" not in known


async def test_what_is_not_in_a_topic_cannot_be_split_off_it(board: Board) -> None:
    said = await talk(board, KILN[:1], LOAN[:1])
    kiln = await topic(board, said[0])
    with pytest.raises(Refusal, match="entries of this topic"):
        await board.db.write(lambda tx: split_topic(tx, person(board), kiln.id, [said[1].id], None))
