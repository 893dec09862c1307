"""The official JavaScript client, unmodified, against a new server; not in the test suite, because it needs Node."""

import shutil
import subprocess
from pathlib import Path

from tests.conformance.kits import kit_server

PROGRAM = Path(__file__).with_name("js_client.mjs")
SECONDS_MAX = 120


def run_javascript(folder: Path) -> int:
    """Run the client program and return its exit status; @a2a-js/sdk is installed in `folder`."""
    node = shutil.which("node")
    if node is None:
        raise SystemExit("Node is not installed")
    # Node resolves packages from the location of a program, so copy it next to them.
    beside = folder.resolve() / PROGRAM.name
    shutil.copyfile(PROGRAM, beside)
    try:
        with kit_server("full") as server:
            command = [node, str(beside), server.url]
            return subprocess.run(command, cwd=beside.parent, timeout=SECONDS_MAX, check=False).returncode
    finally:
        beside.unlink()
