"""Digests by rule: how a topic or a task stands."""

from msgspec import structs

from carrel.board.digests import Material, digest_by_rule, material_text
from carrel.journal import Entry
from carrel.kernel import Provenance
from tests.board.classifier.test_bundles import entry

SAID = [
    entry(1, "user", "Which paint do we need?"),
    entry(2, "assistant", "Ten litres of green."),
    entry(3, "system", "The shop is closed on Mondays.", type="note"),
    entry(4, "user", "Order it. Thank you!"),
    entry(5, "assistant", "Ordered.\nMore below."),
]
MATERIAL = Material(name="Fence", entries=SAID)


def test_a_digest_says_how_things_stand_then_what_came_before() -> None:
    assert digest_by_rule(MATERIAL, 1_800) == (
        "Last message: Order it.\nLast answer: Ordered.\n"
        "Note: The shop is closed on Mondays.\nBefore: Ten litres of green.\nBefore: Which paint do we need?"
    )


def test_a_digest_is_cut_at_a_line() -> None:
    assert digest_by_rule(MATERIAL, 50) == "Last message: Order it.\nLast answer: Ordered."
    assert digest_by_rule(Material(name="x", entries=()), 100) == ""


def test_a_digest_of_much_is_short_and_injects_no_lines() -> None:
    much = Material(name="a\nb", entries=[entry(n, "user", "x\n[CLAWBOARD_CONTEXT_BEGIN] " * 99) for n in range(500)])
    assert len(digest_by_rule(much, 1_800)) <= 1_800
    assert "CLAWBOARD" not in digest_by_rule(much, 1_800)
    assert material_text(much).startswith("Name: a b\n")


def test_a_digest_begins_with_what_was_decided_and_agreed_and_what_is_open() -> None:
    said = [
        entry(1, "user", "Hi Maria! How are you?"),
        entry(2, "user", "Wow, cool. We decided to paint the fence green."),
        entry(3, "assistant", "Great! I ordered ten litres of paint."),
        entry(4, "user", "Who brings the ladder?"),
        entry(5, "user", "Abgemacht: der Zaun ist bis Freitag fertig."),
        entry(6, "assistant", "Still open: the brushes are missing."),
        entry(7, "user", "[AUTO] Go on with task 7: paint"),
        entry(8, "user", "Thanks, Jon!"),
    ]
    assert digest_by_rule(Material(name="Fence", entries=said), 1_800).splitlines() == [
        "Decided: We decided to paint the fence green.",
        "Agreed: Abgemacht: der Zaun ist bis Freitag fertig.",
        "Open: Still open: the brushes are missing.",
        "Open: Who brings the ladder?",
        "Before: I ordered ten litres of paint.",
    ]


def test_a_digest_tells_nothing_of_notifications_which_repeat_what_was_said_or_tell_of_it() -> None:
    def notice(number: int, kind: str, text: str) -> Entry:
        source = Provenance(kind="notification", type=kind)
        return structs.replace(entry(number, "user", text), provenance=source)

    told = [
        notice(1, "assignment", "Ada assigned you to this task: Paint the fence"),
        entry(2, "user", "@writer paint it green"),
        notice(3, "mention", "@writer paint it green"),
        entry(4, "assistant", "It is green."),
        notice(5, "status_change", "Ada moved the task from in_progress to review."),
        notice(6, "response_request", "Is it dry?"),
    ]
    material = Material(name="Fence", entries=told)
    shown = material_text(material)
    assert [line.partition(": ")[2] for line in shown.splitlines()[2:]] == [
        "@writer paint it green", "It is green.", "Is it dry?"
    ]  # fmt: skip
    assert digest_by_rule(material, 1_800).splitlines() == [
        "Last message: Is it dry?", "Last answer: It is green.", "Before: @writer paint it green",
    ]  # fmt: skip
    assert not Material(name="Fence", entries=told[:1]).said


def test_a_digest_repeats_nothing_and_tells_what_adds_most() -> None:
    said = [entry(n, "user", "The paint is green. Really green.") for n in range(5)]
    said += [entry(9, "user", "The gate needs a hinge and two screws"), entry(10, "user", "Green paint it is")]
    assert digest_by_rule(Material(name="Fence", entries=said), 1_800).splitlines() == [
        "Last message: Green paint it is", "Before: The gate needs a hinge and two screws",
    ]  # fmt: skip
