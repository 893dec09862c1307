"""Digests by rule: how a topic or a task stands."""

from carrel.board.digest_rules import Material, digest_by_rule, material_text
from tests.board.test_rules import entry

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
