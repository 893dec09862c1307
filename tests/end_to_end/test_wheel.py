"""What is built to be installed is complete: in an empty environment, the wheel alone serves everything."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.process import RunningServer, clean_environment
from tests.house.source import ROOT

INSTALL_SECONDS = 240
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")
ASSETS = re.compile(r"(?:src|href)=\"(/[^\"#]+\.(?:js|css|svg))\"")


def run(*command: str | Path) -> None:
    """Run a command; what it says is shown if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the wheel and what it needs, and nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, *PIP, "wheel", "--no-deps", "--wheel-dir", folder, ROOT)
    run(sys.executable, "-m", "venv", folder / "venv")
    (wheel,) = folder.glob("carrel-*.whl")
    run(folder / "venv" / "bin" / "python", *PIP, "install", wheel)
    return folder / "venv" / "bin"


@pytest.mark.timeout(2 * INSTALL_SECONDS)
def test_an_installed_wheel_serves_the_dashboard_and_answers(installed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    environment = clean_environment(tmp_path) | {"PATH": f"{installed}{os.pathsep}{os.environ['PATH']}"}
    server = RunningServer(folder, environment, program=installed / "carrel")
    try:
        said = server.carrel("send", "My favourite colour is blue.", "--wait")
        assert said.code == 0, said.err
        assert "blue" in server.carrel("send", "Which colour is my favourite?", "--wait").out
        assert server.carrel("note", "The door is green").code == 0
        assert server.carrel("doctor").code == 0
        with server.client() as client:
            page = client.get("/")
            assets = ASSETS.findall(page.text)
            assert assets
            assert [path for path in assets if client.get(path).status_code != 200] == []
            assert client.get("/api/search", params={"q": "door"}).json()["mode"] == "hybrid"
            assert client.get("/api/openapi.json").status_code == 200
            for agent_card in ("/.well-known/agent-card.json", "/v1/models", "/agent"):
                assert client.get(agent_card).status_code == 200
        assert server.stop() == 0
    finally:
        server.close()


@pytest.mark.timeout(2 * INSTALL_SECONDS)
def test_an_installed_wheel_brings_the_plugin_for_openclaw(installed: Path, tmp_path: Path) -> None:
    program = "from carrel.main.openclaw_config import plugin_folder; print(plugin_folder())"
    done = subprocess.run(
        [installed / "python", "-c", program], cwd=tmp_path, env=clean_environment(tmp_path), capture_output=True,
        text=True, timeout=INSTALL_SECONDS, check=True,
    )  # fmt: skip
    folder = Path(done.stdout.strip())
    assert folder.is_relative_to(installed.parent)
    assert _files_of(ROOT / "integrations" / "openclaw") - _files_of(folder) == set()


def _files_of(folder: Path) -> set[Path]:
    return {file.relative_to(folder) for file in folder.rglob("*") if file.is_file()}
