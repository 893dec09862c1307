"""What the page makes of an agent's Markdown, read by Node: no browser is needed for it."""

import json
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from carrel.surfaces.dashboard.pages import STATIC

NODE = Path(str(files("playwright"))) / "driver" / "node"
SCRIPT = Path(__file__).with_name("markdown.mjs")
SECONDS_MAX = 60


def read(*texts: str, **more: dict[str, int]) -> Any:
    """Read texts with the page's own modules."""
    given = {"folder": str(STATIC / "js" / "markdown"), "texts": texts, "hostile": more.get("hostile", {})}
    done = subprocess.run(
        [str(NODE), "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", str(SCRIPT)],
        input=json.dumps(given), capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


SHOWN = {
    "# Title #\ntext\nmore": "<h1>Title</h1><p>text\nmore</p>",
    "#no heading": "<p>#no heading</p>",
    "**b** *i* ***both*** ~~s~~ snake_case_name 2 * 3": (
        "<p><strong>b</strong> <em>i</em> <em><strong>both</strong></em> <del>s</del> snake_case_name 2 * 3</p>"
    ),
    "`a*b*` ``x`y`` \\*no\\* `open": "<p><code>a*b*</code> <code>x`y</code> *no* `open</p>",
    "```py\na <b>\n\n```\nafter": "<pre py>a <b>\n</pre><p>after</p>",
    "~~~\nstill open": "<pre>still open</pre>",
    "- a\n  - b\n- c\n\nend": "<ul><li><p>a</p><ul><li><p>b</p></li></ul></li><li><p>c</p></li></ul><p>end</p>",
    "3. x\n4. y": "<ol 3><li><p>x</p></li><li><p>y</p></li></ol>",
    "In\n1984. it began": "<p>In\n1984. it began</p>",
    "> q\n> - z": "<quote><p>q</p><ul><li><p>z</p></li></ul></quote>",
    "a\n\n---\nb": "<p>a</p><hr><p>b</p>",
    "|a|b|\n|:-|-:|\n|`1`|2\\|3|\n|x|": (
        "<table left right><th>a</th><th>b</th> / <td><code>1</code></td><td>2|3</td> / <td>x</td></table>"
    ),
    "a | b\nc | d": "<p>a | b\nc | d</p>",
    "<img src=x onerror=alert(1)> <!-- c -->": "<p><img src=x onerror=alert(1)> <!-- c --></p>",
    "[a *b*](https://x.org/y)": "<p><a https://x.org/y x.org>a <em>b</em></a></p>",
    "[https://good.org](https://evil.org/)": "<p><a https://evil.org/ evil.org>https://good.org</a></p>",
    "![p](https://x.org/p.png)": "<p><a https://x.org/p.png x.org>Image: p</a></p>",
    "See https://x.org/a_(b). <mailto:a@x.org>": (
        "<p>See <a https://x.org/a_(b)>https://x.org/a_(b)</a>. <a mailto:a@x.org>mailto:a@x.org</a></p>"
    ),
}
NO_LINKS = (
    "[a](javascript:alert(1))", "[a](JaVaScRiPt:alert(1))", "[a](<java\tscript:alert(1)>)", "[a](data:text/html,x)",
    "[a](vbscript:x)", "[a](file:///etc/passwd)", "[a](//x.org)", "[a](/settings)", "[a](blob:x)", "<javascript:x>",
    "![a](data:image/png;base64,x)", "[a]()", "[a](https://)", "javascript:x",
)  # fmt: skip
HOSTILE = (
    "*a ", "*a _b ", "_ * ", "**a _b_ ", "~~a ", "*", "[", "]", "![", "[x](", "[x](a '", "[x](<", "](a(b)",
    "*[a](http://x.y) ",
    "`a``b", "\\`", "https://", "https://,", "[https://", "http://x.y)", "<", "<https://a", ">", "> a\n", "> ",
    "- a\n\n", "  - a\n", "- ", "1. ", "- a\nb\n", "a|b\n", "a|b\n-|-\n", "|", "-", "-|", "# ", "```\n", " ", "\n",
    "\\",
)  # fmt: skip


def test_what_agents_write_is_shown_as_they_mean_it_and_markup_stays_text() -> None:
    assert dict(zip(SHOWN, read(*SHOWN)["shown"], strict=True)) == SHOWN


def test_only_addresses_of_the_web_and_of_mail_become_links() -> None:
    for written, shown in zip(NO_LINKS, read(*NO_LINKS)["shown"], strict=True):
        assert "<a " not in shown, written


@pytest.mark.slow
def test_ten_times_the_text_takes_about_ten_times_as_long() -> None:
    times = read(hostile=dict.fromkeys(HOSTILE, 4_000))["times"]
    slow = {piece: pair for piece, pair in times.items() if pair[1] > 30 * max(pair[0], 3)}
    assert slow == {}
