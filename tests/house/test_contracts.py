"""Every import contract notices when it is broken: each is shown a small package with one wrong import."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.source import ROOT

LINT = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
DOORS = (
    "main",
    "surfaces",
    "surfaces/api",
    "surfaces/a2a",
    "delivery",
    "runs",
    "memory",
    "storage",
    "wire",
    "kernel",
    "bridge",
)

DOWNWARD = "rooms import downward only"
BRIDGE_REACH = "the bridge knows the kernel and A2A only"
BRIDGE_USE = "the command line alone uses the bridge"
INDEPENDENT = "surfaces are independent of one another"
STORE = "in every room the store stands over the model"
CIRCLE = "nothing imports in a circle"
SIBLINGS = "packages beside each other do not import in a circle"
DATABASE = "only storage opens a database"
DRIVER = "only storage and the bridge's outbox use SQLite's own driver"
FRAMEWORK = "only surfaces and main meet the web framework"
REQUESTS = "only wire and the bridge make HTTP requests"
DOOR = "rooms use only what other rooms export"

FOR_TYPES_ONLY = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from carrel.runs import model"
TWO_PACKAGES = {
    "runs/one/__init__.py": "",
    "runs/one/a.py": "import carrel.runs.two.a",
    "runs/one/b.py": "",
    "runs/two/__init__.py": "",
    "runs/two/a.py": "",
    "runs/two/b.py": "import carrel.runs.one.b",
}

PLANTED = [
    (DOWNWARD, {"kernel/ids.py": "import carrel.runs"}),
    (DOWNWARD, {"runs/claim.py": "import carrel.memory"}),
    (DOWNWARD, {"attic/__init__.py": ""}),
    (BRIDGE_REACH, {"bridge/client.py": "import carrel.wire"}),
    (BRIDGE_USE, {"delivery/turn.py": "import carrel.bridge"}),
    (INDEPENDENT, {"surfaces/api/routes.py": "import carrel.surfaces.a2a"}),
    (
        INDEPENDENT,
        {"surfaces/api/routes.py": "import carrel.surfaces.go", "surfaces/go.py": "import carrel.surfaces.a2a"},
    ),
    (STORE, {"runs/store.py": "", "runs/model.py": "import carrel.runs.store"}),
    (CIRCLE, {"runs/a.py": "import carrel.runs.b", "runs/b.py": "import carrel.runs.a"}),
    (CIRCLE, {"runs/__init__.py": "import carrel.runs.a", "runs/a.py": "import carrel.runs"}),
    (SIBLINGS, TWO_PACKAGES),
    (DATABASE, {"bridge/outbox.py": "import apsw"}),
    (DRIVER, {"runs/store.py": "import sqlite3"}),
    (FRAMEWORK, {"delivery/turn.py": "from starlette.requests import Request"}),
    (REQUESTS, {"delivery/turn.py": "import httpx"}),
    (REQUESTS, {"main/app.py": "import websockets"}),
    (DOOR, {"delivery/turn.py": "from carrel.runs.model import Run", "runs/model.py": ""}),
    (DOOR, {"delivery/turn.py": FOR_TYPES_ONLY, "runs/model.py": ""}),
    (DOOR, {"main/app.py": "import carrel.surfaces.api.routes", "surfaces/api/routes.py": ""}),
]

SOUND = {
    "main/app.py": "import uvicorn\nfrom carrel.surfaces.api import routes_of\nimport carrel.bridge",
    "surfaces/answers.py": "",
    "surfaces/api/__init__.py": "import carrel.surfaces.api.routes",
    "surfaces/api/routes.py": "import starlette\nimport carrel.surfaces.answers\nfrom carrel.runs import deliver",
    "runs/__init__.py": "from carrel.runs.store import claim",
    "runs/store.py": "from carrel.runs.model import Run\nfrom carrel.storage import Tx",
    "runs/model.py": "from carrel.kernel import Ids",
    "storage/sqlite.py": "import apsw",
    "wire/client.py": "import httpx",
    "bridge/client.py": "import httpx\nimport carrel.kernel",
}


def broken_contracts(folder: Path, files: dict[str, str]) -> set[str]:
    """Build a package of these files and return the names of the contracts it breaks."""
    package = folder / "carrel"
    for path, text in ({"__init__.py": ""} | {f"{door}/__init__.py": "" for door in DOORS} | files).items():
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_text(text + "\n")
    command = [*LINT, "--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    environment = os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "200", "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert "Contracts:" in done.stdout, done.stdout + done.stderr
    broken = set(re.findall(r"^(.+) BROKEN", done.stdout, re.MULTILINE))
    assert bool(broken) == (done.returncode != 0)
    return broken


def test_a_sound_house_breaks_no_contract(tmp_path: Path) -> None:
    assert broken_contracts(tmp_path, SOUND) == set()


@pytest.mark.parametrize(("contract", "files"), PLANTED, ids=lambda value: value if isinstance(value, str) else "")
def test_the_contract_notices_what_breaks_it(tmp_path: Path, contract: str, files: dict[str, str]) -> None:
    assert contract in broken_contracts(tmp_path, files)
