"""Mentions: who a text means, and who it does not."""

import pytest

from carrel.work.mentions import Mentionable, read_mentions
from tests.growth import shown_to_be_linear
from tests.requirements.mark import requirement

KNOWN = [
    Mentionable("agent", "writer", ("writer", "author"), "The Writer"),
    Mentionable("agent", "critic-2", ("critic-2",), "Critic"),
    Mentionable("user", "usr_1", ("ada",), "Ada Lovelace"),
    Mentionable("user", "usr_2", ("zoë",), "Zoë"),
]


@requirement("S0.fanout.mention")
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("@writer please", "writer"),
        ("please, @WRITER!", "writer"),
        ("(@author)", "writer"),
        ("@writer @author @writer", "writer"),
        ("@critic-2, and you?", "critic-2"),
        ("@critic-2- so", "critic-2"),
        ('@"The Writer" and @"ada  lovelace"', "writer usr_1"),
        ("@zoë and @ZOË", "usr_2"),
        ("@ada: and @writer.", "writer usr_1"),
        ("@all", "writer critic-2 usr_1 usr_2"),
        ("ask\n@writer\n", "writer"),
        ("*@writer*", "writer"),
        # Code.
        ("`@writer`", ""),
        ("```\n@writer\n```", ""),
        ("~~~ text\n@writer\n~~~\n@ada", "usr_1"),
        ("```\n@writer", ""),
        ("a ` b @writer", "writer"),
        ("`code` @writer `code`", "writer"),
        # Quotations.
        ("> @writer said so", ""),
        ("> @writer said so\n@ada did not", "usr_1"),
        ('he said "ask @writer" to @ada', "usr_1"),
        ("“@writer” and «@ada»", ""),
        ('a lone " quotation mark and @writer', "writer"),
        # Words that only look like mentions.
        ("mail me at me@writer.example", ""),
        ("writer@ada", ""),
        ("@@writer", ""),
        ("@nobody @writers @", ""),
        ('@"" @"Nobody"', ""),
        ("", ""),
    ],
)
def test_a_text_mentions_who_is_named_outside_code_and_quotations(text: str, meant: str) -> None:
    assert [each.id for each in read_mentions(text, KNOWN)] == meant.split()


@pytest.mark.parametrize(
    "piece", ["@", "`", '"', '@"', "```\n", "> ", "“", "@a", "~~~\n", "   ```x\n", "``", "@-", " \n", '"@writer', "«@"]
)
def test_an_adversarial_text_is_read_in_linear_time(piece: str) -> None:
    shown_to_be_linear(lambda n: lambda: read_mentions(piece * (n // len(piece)), KNOWN), 10_000)
