"""The official JavaScript client, as it is, against a server of its own: not part of the suite, for it needs Node."""

import shutil
import subprocess
from pathlib import Path

from tests.conformance.kits import kit_server

PROGRAM = Path(__file__).with_name("js_client.mjs")
SECONDS_MAX = 120


def run_javascript(folder: Path) -> int:
    """Let the program talk to a server; `folder` is where @a2a-js/sdk is installed. The program's exit status."""
    node = shutil.which("node")
    if node is None:
        raise SystemExit("no Node here")
    # Packages are looked up from where a program lies, so it is put beside them for the moment.
    beside = folder.resolve() / PROGRAM.name
    shutil.copyfile(PROGRAM, beside)
    try:
        with kit_server("full") as server:
            command = [node, str(beside), server.url]
            return subprocess.run(command, cwd=beside.parent, timeout=SECONDS_MAX, check=False).returncode
    finally:
        beside.unlink()
