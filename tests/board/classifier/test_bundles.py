"""What is sorted together: a message, its answers, and nothing of another space."""

from typing import Any

from msgspec import structs

from carrel.board.classifier.bundles import bundle_at
from carrel.journal import Entry
from carrel.kernel import Provenance


def entry(at: int, role: str, text: str, status: Any = "pending", **more: Any) -> Entry:
    """Return an entry of one conversation."""
    entry = Entry(
        seq=at, id=str(at), type="conversation", role=role, content=text, details=None, key="agent:main:main",
        session_id=None, run_id=None, agent_id="main", author="user", provenance=Provenance(kind="external_user"),
        message_id=None, channel=None, attachment_ids=(), created_at=at, classification=status,
    )  # fmt: skip
    return structs.replace(entry, **more)


def conversation(*said: tuple[str, str]) -> list[Entry]:
    """Return pending entries of these roles and texts."""
    return [entry(at, role, text) for at, (role, text) in enumerate(said)]


TALK = conversation(
    ("user", "paint the fence"), ("user", "in green"), ("assistant", "Which green?"), ("user", "ok"),
    ("toolCall", "look"), ("assistant", "Done."), ("user", "book the flights"), ("assistant", "Booked."),
)  # fmt: skip


def test_a_bundle_lasts_until_a_new_message_after_an_answer() -> None:
    first = bundle_at(TALK, 0)
    assert [one.id for one in first.entries] == ["0", "1", "2", "3", "4", "5"]
    assert first.asked == ("paint the fence", "in green", "ok")
    assert not first.follows
    assert [one.id for one in bundle_at(TALK, 6).entries] == ["6", "7"]


def test_an_answer_follows_the_message_that_has_its_place_already() -> None:
    talk = [entry(0, "user", "paint the fence", "classified"), *TALK[2:]]
    bundle = bundle_at(talk, 1)
    assert bundle.follows
    assert bundle.opening is talk[0]
    assert [one.id for one in bundle.entries] == ["2"]


def test_an_answer_without_a_message_in_sight_has_no_opening() -> None:
    bundle = bundle_at(TALK[4:6], 0)
    assert (bundle.opening, bundle.follows, len(bundle.entries)) == (None, False, 2)


def test_entries_that_have_their_place_are_not_sorted_again() -> None:
    talk = [*TALK[:2], entry(2, "assistant", "Which green?", "classified"), *TALK[3:]]
    assert [one.id for one in bundle_at(talk, 0).entries] == ["0", "1", "3", "4", "5"]


def test_what_a_timer_says_is_no_part_of_what_a_person_asked_for() -> None:
    talk = [
        entry(0, "user", "paint the fence", run_id="r1"),
        entry(1, "user", "nightly backup", run_id="r2", author_kind="system"),
        entry(2, "assistant", "Backup done.", run_id="r2"),
    ]
    assert [one.id for one in bundle_at(talk, 0).entries] == ["0"]
    assert bundle_at([structs.replace(talk[0], classification="classified"), *talk[1:]], 2).opening is talk[1]


def test_an_answer_belongs_to_the_message_of_its_own_run() -> None:
    talk = [
        entry(0, "user", "paint the fence", "classified", run_id="r1"),
        entry(1, "user", "book the flights", "classified", run_id="r2"),
        entry(2, "assistant", "Painted.", run_id="r1"),
    ]
    assert bundle_at(talk, 2).opening is talk[0]
    assert bundle_at(talk[1:], 1).opening is None


def test_a_bundle_never_spans_two_spaces() -> None:
    talk = [entry(0, "user", "paint the fence"), entry(1, "user", "in green", space_id="space-home")]
    assert [one.id for one in bundle_at(talk, 0).entries] == ["0"]
