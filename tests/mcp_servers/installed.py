"""The commands of real MCP servers, which are installed the first time they are wanted."""

import sys
from pathlib import Path

from tests.dashboard.node import node_and_npm, run

_HERE = Path(__file__).parent
_FILESYSTEM = "@modelcontextprotocol/server-filesystem"


def filesystem_server(folder: Path) -> list[str]:
    """Return the command of the file server of npm for one folder; raise NoNode where there is no Node."""
    node, npm = node_and_npm()
    program = _HERE / "node_modules" / _FILESYSTEM / "dist" / "index.js"
    # What is installed is what package.json says: its versions are exact.
    stamp, wanted = _HERE / "node_modules" / "carrel-installed", (_HERE / "package.json").read_text("utf-8")
    if not stamp.exists() or stamp.read_text("utf-8") != wanted:
        run([*npm, "install", "--no-package-lock", "--no-audit", "--no-fund"], node, _HERE)
        stamp.write_text(wanted, "utf-8")
    return [node, str(program), str(folder)]


def git_server(repository: Path) -> list[str]:
    """Return the command of the Git server of PyPI for one repository."""
    return [sys.executable, "-m", "mcp_server_git", "--repository", str(repository)]
