"""The events of live text: what a draft adds to what was sent, however it is cut into pieces."""

import pytest

from carrel.delivery import DraftText, LivePiece
from carrel.surfaces.responses.stream import EventWriter

RESTART = ""


def deltas(*said: str) -> list[str]:
    """Return the deltas that are sent while these pieces are said."""
    words = DraftText()
    writer = EventWriter("resp_1", words)
    sent = []
    for piece in said:
        words.add(LivePiece("restart" if piece == RESTART else "text", "run_1", "agent:main:main", piece))
        sent += [event["delta"] for event in writer.send_live(words.step) if "delta" in event]
    return sent


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        (("Once ", "upon"), ["Once ", "upon"]),
        ((" ", "\n", "Once", " "), [" \nOnce", " "]),
        (("Half a ", RESTART, "Ha", "lf", " a story"), ["Half a ", "story"]),
        (("Half a ", RESTART, "Half", RESTART, "Half a whole"), ["Half a ", "whole"]),
        (("Half a ", RESTART, "Something else, longer"), ["Half a "]),
        (("Half a ", RESTART, "Half", " of one", " and more"), ["Half a "]),
    ],
)
def test_a_draft_goes_on_where_the_sent_text_ends_or_is_not_sent(said: tuple[str, ...], sent: list[str]) -> None:
    assert deltas(*said) == sent
