"""The MCP conformance suite against a new server: `python -m tests.conformance.mcp NODE SUITE`.

NODE is Node 22 or later, SUITE the folder of an installed `@modelcontextprotocol/conformance`. It runs against the
product, against the product with the suite's fixtures instead of its tools, and again with sessions kept.
"""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.harness.process import clean_environment

START_SECONDS_MAX = 60
SUITE_SECONDS_MAX = 300
PRODUCT = ["-c", "from carrel.main.cli import main; import sys; sys.exit(main(sys.argv[1:]))", "serve", "--port", "0"]
FIXTURES = ["-m", "tests.conformance.mcp_serving"]
SERVERS = {
    "the product": [*PRODUCT, "--data-dir", "{dir}"],
    "with fixtures": [*FIXTURES, "{dir}"],
    "with fixtures and sessions": [*FIXTURES, "{dir}", "sessions"],
}
REQUIREMENTS = ("2025-11-25", "2026-07-28")
LINE = re.compile(r"^([✓✗]) (\S+): (\d+) passed, (\d+) failed", re.MULTILINE)
NOT_SCORED = re.compile(r"^  [✓✗] (\S+) \((?:extension|pending|added-after-release)\)", re.MULTILINE)


@contextlib.contextmanager
def serving(words: list[str]) -> Iterator[str]:
    """Run a server that needs no token on this machine and yield its URL."""
    with tempfile.TemporaryDirectory(prefix="carrel-mcp-") as name:
        environment = clean_environment(Path(name), CARREL_AUTH__MODE="loopback", CARREL_LOG__LEVEL="warning")
        command = [sys.executable, *(word.format(dir=name) for word in words)]
        started = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            assert started.stdout is not None
            yield next(line.split()[1] for line in started.stdout if line.startswith("ready http"))
        finally:
            started.terminate()
            started.wait(START_SECONDS_MAX)


def suite(node: Path, folder: Path, url: str, *options: str) -> str:
    """Run the suite and return its output."""
    program = folder / "dist" / "index.js"
    done = subprocess.run(
        [str(node), str(program), "server", "--url", f"{url}/mcp", *options],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=SUITE_SECONDS_MAX,
        check=False,
    )
    return done.stdout


def report(title: str, printed: str) -> Iterator[str]:
    """Yield the counts and the scored scenarios that failed."""
    rows = [(mark, name, int(passed), int(failed)) for mark, name, passed, failed in LINE.findall(printed)]
    unscored = set(NOT_SCORED.findall(printed))
    scored = [row for row in rows if row[1] not in unscored]
    failing = [row[1] for row in scored if row[0] == "✗"]
    checks = f"checks {sum(row[2] for row in scored)} passed, {sum(row[3] for row in scored)} failed"
    yield f"{title}: scenarios {len(scored) - len(failing)} of {len(scored)}, {checks}"
    yield from (f"  {name}" for name in failing)
    # The suite counts these as passed.
    yield from (f"  {name}: nothing was checked" for _, name, passed, failed in scored if not passed + failed)


def main() -> int:
    """Run everything and print the results."""
    node, folder = Path(sys.argv[1]), Path(sys.argv[2])
    version = re.search(r'"version": "([^"]+)"', (folder / "package.json").read_text())
    assert version is not None
    runs = [["--requirements", name] for name in REQUIREMENTS] if version[1] >= "0.2" else [[]]
    for title, words in SERVERS.items():
        with serving(words) as url:
            for options in runs:
                name = f"{version[1]} {' '.join(options[1:])} {title}"
                sys.stdout.write("\n".join([*report(name, suite(node, folder, url, *options)), ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
