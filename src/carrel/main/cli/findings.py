"""What a check finds, and how a list of findings is printed."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from carrel.main.cli.command import Exit
from carrel.main.cli.output import Screen


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
            _show(finding, screen)
    if screen.as_json:
        screen.json({"findings": [finding._asdict() for finding in known]})
    return Exit.FAILED if any(finding.state == "fail" for finding in known) else Exit.OK


def _show(finding: Finding, screen: Screen) -> None:
    screen.out.write(screen.state(finding.state.ljust(4)) + "  ")
    screen.line(f"{finding.what}: {finding.found}")
    if finding.advice:
        screen.line(f"      → {finding.advice}")
    screen.out.flush()
