"""Output of commands: tables and colour on a terminal, plain lines in a pipe, JSON on request."""

import json
import os
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, TextIO

from carrel.kernel import clip
from carrel.main.cli.humanize import in_words, label_of
from carrel.main.cli.table import cut, fitted, width_of
from carrel.main.terminal_text import terminal_json, terminal_text

_COLOURS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_STATE_COLOURS = {
    "busy": "green", "running": "green", "ready": "green", "ok": "green", "completed": "dim", "idle": "dim",
    "closed": "dim", "queued": "blue", "waiting": "yellow", "warn": "yellow", "degraded": "yellow",
    "failed": "red", "fail": "red", "not_ready": "red", "cancelled": "dim", "disabled": "dim",
}  # fmt: skip
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_SPIN_SECONDS = 0.1
_ERASE_LINE = "\r\x1b[K"


class Screen:
    """A command's stdout and stderr, and what may be drawn on them.

    Both may be the same terminal. So the spinner is drawn only at the start of a line, and erased before anything else
    is written.
    """

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None, *, as_json: bool = False) -> None:
        self.out = out or sys.stdout
        self.err = err or sys.stderr
        self.as_json = as_json
        self.is_terminal = self.out.isatty()
        self._in_colour = self.is_terminal and not os.environ.get("NO_COLOR")
        self._drawing = threading.RLock()
        self._is_mid_line = False
        self._has_spinner = False

    def line(self, text: str = "") -> None:
        """Write a line to stdout."""
        self.piece(text + "\n")

    def piece(self, text: str, colour: str = "") -> None:
        """Write text to stdout, which may be part of a line, and flush it if it is."""
        if not text:
            return
        shown = self.paint(colour, terminal_text(text)) if colour else terminal_text(text)
        with self._drawing:
            self._erase_spinner()
            # An interrupt may come while it is written.
            self._is_mid_line = True
            self.out.write(shown)
            self._is_mid_line = not text.endswith("\n")
            if self._is_mid_line:
                self.out.flush()

    def end_line(self) -> None:
        """End the line that a piece has begun, if there is one."""
        if self._is_mid_line:
            self.line()

    def note(self, text: str) -> None:
        """Write a remark to stderr, on a line of its own."""
        with self._drawing:
            if self.is_terminal:
                self.end_line()
            self._erase_spinner()
            self.err.write(terminal_text(text) + "\n")
            self.err.flush()

    def ask(self, question: str) -> str:
        """Ask the person at the terminal and return the answer; empty if the input ended instead."""
        self.piece(f"{question} ")
        answer = sys.stdin.readline()
        # Their Enter has ended the line.
        self._is_mid_line = not answer
        return answer.strip()

    def agrees(self, question: str) -> bool:
        """Ask the person at the terminal; return whether the answer was yes."""
        return self.ask(f"{question} [y/N]").lower() in ("y", "yes")

    def json(self, body: Any) -> int:
        """Write the answer as JSON, indented on a terminal and on one line elsewhere; return exit code 0."""
        self.out.write(json_text(body, indent=2 if self.is_terminal else None) + "\n")
        return 0

    def table(
        self, headers: Iterable[str], rows: Sequence[Sequence[object]], *, empty: str = "None.", whole_ids: bool = False
    ) -> None:
        """Write rows: aligned under headers on a terminal, tab-separated and without headers elsewhere.

        A narrow terminal gets cut ids, unless `whole_ids`: some ids no command can complete.
        """
        cells = [[_flat(in_words(value)) for value in row] for row in rows]
        if not self.is_terminal:
            for row in cells:
                self.line("\t".join(row))
        elif not cells:
            self.note(empty)
        else:
            titles, *lines = fitted(headers, cells, _columns(), whole_ids=whole_ids)
            self.out.write(self.paint("dim", "  ".join(titles).rstrip()) + "\n")
            for line in lines:
                self.out.write("  ".join(map(self.state, line)).rstrip() + "\n")

    def facts(self, pairs: Iterable[tuple[str, object]]) -> None:
        """Write one name and value per line, in words; a list of objects as one line each, empty values not at all."""
        shown = [(label, _flat(text)) for name, value in pairs for label, text in _facts_of(name, value) if text]
        width = max((width_of(name) for name, _ in shown), default=0)
        for name, value in shown:
            label = self.paint("dim", name.ljust(width)) + "  " if self.is_terminal else name + "\t"
            self.out.write(label + self.state(value) + "\n")

    def paint(self, colour: str, text: str) -> str:
        """Return the text in a colour, if colours are on."""
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if self._in_colour else text

    def state(self, cell: str) -> str:
        """Return a cell in the colour of the state it names, if any."""
        colour = _STATE_COLOURS.get(cell.strip())
        return self.paint(colour, cell) if colour else cell

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show a spinner on stderr while waiting; nothing when stderr is not a terminal."""
        if not self.err.isatty():
            yield
            return
        ended = threading.Event()
        spinner = threading.Thread(target=self._spin, args=(text, ended), daemon=True)
        spinner.start()
        try:
            yield
        finally:
            ended.set()
            spinner.join()
            self._erase_spinner()

    def _spin(self, text: str, ended: threading.Event) -> None:
        turns = 0
        while not ended.wait(_SPIN_SECONDS):
            # A text wider than the terminal would wrap to a second line, which is not erased.
            shown = cut(f"{_SPINNER[turns % len(_SPINNER)]} {terminal_text(text)}", _columns() - 1)
            with self._drawing:
                if not (self.is_terminal and self._is_mid_line):
                    self.err.write(f"\r{shown}")
                    self.err.flush()
                    self._has_spinner = True
            turns += 1

    def _erase_spinner(self) -> None:
        with self._drawing:
            if self._has_spinner:
                self.err.write(_ERASE_LINE)
                self.err.flush()
                self._has_spinner = False


class Finding(NamedTuple):
    """One check: its state, what was found, and how to fix it."""

    state: Literal["ok", "warn", "fail"]
    what: str
    found: str
    advice: str = ""


def report(findings: Iterable[Finding], screen: Screen) -> int:
    """Print every finding as soon as it is there; exit with 1 if anything must be fixed."""
    known: list[Finding] = []
    for finding in findings:
        known.append(finding)
        if not screen.as_json:
            screen.out.write(screen.state(finding.state.ljust(4)) + "  ")
            screen.line(f"{finding.what}: {finding.found}")
            if finding.advice:
                screen.line(f"      → {finding.advice}")
            screen.out.flush()
    if screen.as_json:
        screen.json({"findings": [finding._asdict() for finding in known]})
    return int(any(finding.state == "fail" for finding in known))


def _columns() -> int:
    return shutil.get_terminal_size((100, 24)).columns


def json_text(body: Any, *, indent: int | None = None) -> str:
    """Return JSON with control characters escaped."""
    return terminal_json(json.dumps(body, ensure_ascii=False, indent=indent))


def first_line(text: str | None, chars: int = 80) -> str:
    """Return the start of a text on one line."""
    return clip(" ".join((text or "").split()), chars)


def _facts_of(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield the label and the text of a field, or those of each object of a list."""
    if isinstance(value, list) and value and isinstance(value[0], dict) and "id" in value[0]:
        for row in value:
            parts = (row.get(field) for field in ("id", "status", "state", "title", "name"))
            yield label_of(name).removesuffix("s"), "  ".join(first_line(str(part)) for part in parts if part)
    else:
        yield label_of(name), in_words(value, name)


def _flat(text: str) -> str:
    return terminal_text(text).replace("\t", " ").replace("\n", " ")
