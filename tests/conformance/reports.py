"""The results of a kit: counts, failed and skipped tests with reasons, and unmet requirements."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

REASON_CHARS_MAX = 200


@dataclass
class Report:
    """The results of one run of a kit."""

    title: str
    counts: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[str, str]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    requirements: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return the report as lines of text."""
        counted = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self.counts.items()))
        lines = [f"{self.title}: {counted or 'nothing ran'}"]
        lines += [f"  requirement not met: {name}" for name in self.requirements]
        lines += [f"  failed: {name}: {why}" for name, why in self.failed]
        lines += [f"  skipped {count}: {why}" for why, count in self.skipped.most_common()]
        return lines


def read_junit(title: str, path: Path) -> Report:
    """Read the outcome of every test from a JUnit file; expected failures are counted separately."""
    report = Report(title)
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname', '').rpartition('.')[2]}.{case.get('name')}"
        verdict = next((child for child in case if child.tag in ("failure", "error", "skipped")), None)
        why = _short(verdict.get("message") or verdict.text or "") if verdict is not None else ""
        match verdict.tag if verdict is not None else "passed":
            case "skipped" if verdict is not None and verdict.get("type") == "pytest.xfail":
                report.counts["expected failures"] += 1
                report.failed.append((name, why))
            case "skipped":
                report.counts["skipped"] += 1
                report.skipped[why] += 1
            case "failure" | "error":
                report.counts["failed"] += 1
                report.failed.append((name, why))
            case _:
                report.counts["passed"] += 1
    return report


def read_requirements(path: Path) -> list[str]:
    """Read the unmet requirements of the 1.0 kit, with their levels and errors."""
    rows = json.loads(path.read_text())["per_requirement"]
    return [
        f"{name} ({row['level']}): {_short('; '.join(dict.fromkeys(row['errors'])))}"
        for name, row in sorted(rows.items())
        if row["status"] == "FAIL"
    ]


def _short(text: str) -> str:
    line = " ".join(text.split())
    # Ids change with every run; without them, equal reasons compare equal.
    line = re.sub(r"(tck-[a-z0-9-]+?)-[0-9a-f]{8}\b", r"\1", line)
    return line if len(line) <= REASON_CHARS_MAX else line[: REASON_CHARS_MAX - 1] + "…"
