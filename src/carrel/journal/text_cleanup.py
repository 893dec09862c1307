"""Removes injected context and channel marks from texts, before these are stored or searched. Pure and linear."""

import re


class ContextMarks:
    """The marks around injected context."""

    # Around the block of our own runs.
    OWN_BEGIN = "[CARREL_CONTEXT_BEGIN]"
    OWN_END = "[CARREL_CONTEXT_END]"
    # For programs that know Clawboard's marks.
    BEGIN = "[CLAWBOARD_CONTEXT_BEGIN]"
    END = "[CLAWBOARD_CONTEXT_END]"
    # The line after the first mark.
    PREAMBLE = "Context from the board, for reference only; it is not a part of the conversation."
    # The first line of the block, in our runs and for programs that know Clawboard's.
    HEADING = "Clawboard context (layered):"
    RUN_HEADING = "Context from Carrel:"


# Lines that other plugins put around a block, wherever they remain.
_OTHER_PREAMBLE = re.compile(
    r"^[> \t]*(?:Clawboard continuity hook is active|Use this Clawboard retrieval context)[^\n]*$", re.MULTILINE
)
# With the quotation marks of its line.
_MARK = re.compile(r"(?:^[> \t]+)?\[/?(?:CARREL|CLAWBOARD)_CONTEXT_(BEGIN|END)\]", re.IGNORECASE | re.MULTILINE)
# Where a message id begins and may end, and what it cannot contain.
_BRACKETS = re.compile(r"\[message_id:|[\[\]\n]", re.IGNORECASE)
_CHANNELS = "Discord|Telegram|Slack|WhatsApp|Signal|iMessage|Matrix|WebChat"
_DAYS = "Mon|Tue|Wed|Thu|Fri|Sat|Sun"
# At the beginning of a line. A Markdown link is not a channel's tag.
_TAGS = re.compile(
    rf"^[ \t]*(?:\[(?:(?:{_CHANNELS})[ \t][^\[\]\n]*"
    rf"|(?:{_DAYS})[ \t]+\d{{4}}-\d\d-\d\d[ \t]+\d\d?:\d\d(?::\d\d)?(?:[ \t][^\[\]\n]*)?)\](?!\()[ \t]*)+",
    re.MULTILINE | re.IGNORECASE,
)
_QUOTE_MARKS = "> \t"
_BULLETS = "-*•"
# A shorter line counts as quoted only with its bullet: anybody may say "yes".
_QUOTED_CHARS_MIN = 16
# Fewer lines are no quotation, unless one is a heading.
_QUOTED_LINES_MIN = 3


def clean(text: str) -> str:
    """Return a text without injected context, channel tags, local times and message ids; often it is the same text."""
    if "[" not in text and ContextMarks.PREAMBLE not in text and "Clawboard" not in text:
        return text
    # Leave a gap, so that the remaining text cannot form a mark.
    left = _OTHER_PREAMBLE.sub(" ", _without_context(text).replace(ContextMarks.PREAMBLE, " "))
    left = _TAGS.sub("", _without_message_ids(left))
    return text if left == text else "\n".join(line.rstrip() for line in left.split("\n")).strip()


def _without_context(text: str) -> str:
    kept, at, inside = [], 0, False
    for mark in _MARK.finditer(text):
        begins = mark[1].upper() == "BEGIN"
        if not inside:
            kept.append(text[at : mark.start()])
        at, inside = mark.end(), begins
    if not kept:
        return text
    # A truncated block ends with its paragraph.
    rest = text[at:].partition("\n\n")[2] if inside else text[at:]
    return "\n\n".join([*(piece.strip("\n") for piece in kept), rest.lstrip("\n")])


def _without_message_ids(text: str) -> str:
    """Return a text without message ids, including nested ones, which would otherwise leave a mark."""
    kept: list[str] = []
    begun: list[int] = []
    at = 0
    for found in _BRACKETS.finditer(text):
        kept.append(text[at : found.start()])
        at = found.start()
        if len(found[0]) > 1:
            begun.append(len(kept))
        elif found[0] == "]" and begun:
            kept[begun.pop() :] = [" "]
            at = found.end()
        else:
            begun.clear()
    return "".join([*kept, text[at:]])


def quoted_lines_removed(text: str, block: str) -> str:
    """Return a text without the lines of a block that it quotes, even quoted or with another bullet.

    They may also be joined into one line. A text with only a line or two of the block and no heading is the author's
    own and stays as it is.
    """
    if not block:
        return text
    lines = [_unquoted(line) for line in block.splitlines()]
    passages = {bare for line in lines if len(bare := _bare(line)) >= _QUOTED_CHARS_MIN}
    shown = {line for line in lines if line} | passages
    joined = passages | {line for line in lines if line.endswith(":")}
    said = [(part, _unquoted(part)) for line in text.split("\n") for part in _parts(line, joined)]
    quoted = [bare for _, bare in said if _is_shown(bare, shown)]
    if len(quoted) < _QUOTED_LINES_MIN and not any(line.endswith(":") for line in quoted):
        return text
    return "\n".join(line for line, bare in said if not _is_shown(bare, shown)).strip()


def _parts(line: str, passages: set[str]) -> list[str]:
    """Return the block's lines that are joined in one line, and the text between them."""
    within = sorted((passage for passage in passages if passage in line), key=len, reverse=True)
    if len(within) < _QUOTED_LINES_MIN:
        return [line]
    parts = re.split(f"({'|'.join(map(re.escape, within))})", line)
    return [part for part in parts if part.strip(_BULLETS + _QUOTE_MARKS)]


def _is_shown(line: str, shown: set[str]) -> bool:
    return line in shown or _bare(line) in shown


def _unquoted(line: str) -> str:
    return line.strip().lstrip(_QUOTE_MARKS)


def _bare(line: str) -> str:
    return line.lstrip(_BULLETS).lstrip()
