"""How the result of a run is shown to the person who waited for it."""

from io import StringIO

import pytest

from carrel.bridge import Run
from carrel.main.cli.output import Screen
from carrel.main.cli.run_results import show_result


@pytest.mark.parametrize(
    ("note", "told"),
    [
        (None, ""),
        ("no_reply", ""),
        ("left_out: a.zip (application/zip)", "The model could not be given: a.zip (application/zip).\n"),
        ("max_output_tokens", "The reply was cut short: max_output_tokens.\n"),
    ],
)
def test_what_a_reply_lacks_is_told_beside_it(note: str | None, told: str) -> None:
    out, err = StringIO(), StringIO()
    assert show_result(Run(id="run_1", state="completed", reply="Yes.", note=note), Screen(out, err)) == 0
    assert (out.getvalue(), err.getvalue()) == ("Yes.\n", told)
