"""`./dev` installs once, again when needed, and hands over. Scripts stand in for the installers: nothing is fetched."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.house.source import ROOT
from tests.requirements.mark import requirement

PROJECT = '[project]\nname = "carrel"\nversion = "1"\n'
PYTHON = """\
#!/bin/sh
case "$*" in
  *"-m pip install"*) echo "$*" >> "$(dirname "$0")/../installs"; exit "${PIP_STATUS:-0}" ;;
  *"-m pip"*) exit 0 ;;
  *"-m pytest"*) echo "pytest $* required=$CARREL_REQUIRE_ALL${PYTHONDONTWRITEBYTECODE:+ uncompiled}" ;;
  *"-m ruff"* | *"-m mypy"* | *importlinter*) echo "check $*"; exit "${CHECK_STATUS:-0}" ;;
  *) exec {python} "$@" ;;
esac
"""
CARREL = '#!/bin/sh\necho "carrel $*"\n'
PATIENT = """\
#!{python}
import signal
signal.signal(signal.SIGTERM, lambda *_: exit(7))
print("up", flush=True)
signal.pause()
"""
UV = """\
#!/bin/sh
here=$(cd "$(dirname "$0")/.." && pwd)
echo "$1 $2" >> "$here/uv-calls"
[ "$1" = venv ] || exit "${UV_STATUS:-0}"
mkdir -p "$here/.venv/bin"
cp "$here/programs/python" "$here/programs/carrel" "$here/.venv/bin/"
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a venv whose installer only records what it is asked for."""
    binaries = tmp_path / ".venv" / "bin"
    binaries.mkdir(parents=True)
    shutil.copy(ROOT / "dev", tmp_path / "dev")
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    for folder in (binaries, tmp_path / "programs"):
        folder.mkdir(exist_ok=True)
        write_program(folder / "python", PYTHON.replace("{python}", sys.executable))
        write_program(folder / "carrel", CARREL)
    write_program(tmp_path / "programs" / "chromium", "#!/bin/sh\n")
    write_program(tmp_path / "programs" / "python3", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    return tmp_path


def write_program(path: Path, text: str) -> None:
    """Write an executable script."""
    path.write_text(text)
    path.chmod(0o755)


def run(checkout: Path, *arguments: str, program: str = "dev", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the checkout's ./dev in a bare environment; a browser is there, so that none is installed."""
    bare = {"PATH": f"{checkout / 'programs'}:/usr/bin:/bin", "HOME": str(checkout / "nowhere")}
    return subprocess.run(
        [checkout / program, *arguments], cwd=checkout, env=bare | environment, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip


def installs(checkout: Path) -> list[str]:
    """Return the extras of each installation that took place."""
    notes = checkout / ".venv" / "installs"
    return [line.rsplit("[", 1)[1].rstrip("]") for line in notes.read_text().splitlines()] if notes.exists() else []


def test_it_installs_once_and_hands_over_with_all_options(checkout: Path) -> None:
    first, second = run(checkout, "up", "--port", "0"), run(checkout, "up")
    assert (first.stdout, second.stdout) == ("carrel up --port 0\n", "carrel up\n")
    assert installs(checkout) == ["postgres"]


def test_the_wider_set_serves_up_and_the_narrower_does_not_serve_tests(checkout: Path) -> None:
    run(checkout, "up")
    run(checkout, "test", "-x")
    run(checkout, "up")
    assert installs(checkout) == ["postgres", "dev"]


def test_it_installs_again_when_the_project_changed_and_not_when_only_a_tool_did(checkout: Path) -> None:
    run(checkout, "test")
    (checkout / "pyproject.toml").write_text(PROJECT + "[tool.ruff]\nline-length = 100\n")
    run(checkout, "test")
    assert installs(checkout) == ["dev"]
    (checkout / "pyproject.toml").write_text(PROJECT + 'dependencies = ["x"]\n')
    run(checkout, "up")
    assert installs(checkout) == ["dev", "dev"]


def test_a_failed_installation_is_told_and_taken_up_again(checkout: Path) -> None:
    failed = run(checkout, "up", PIP_STATUS="3")
    assert failed.returncode != 0
    assert "failed with status 3" in failed.stderr
    assert run(checkout, "up").stdout == "carrel up\n"
    assert installs(checkout) == ["postgres", "postgres"]


def test_a_checkout_that_was_copied_gets_a_venv_of_its_own_made_by_uv_where_uv_is(checkout: Path) -> None:
    run(checkout, "up")
    stamp = checkout / ".venv" / "carrel-installed.json"
    stamp.write_text(json.dumps(json.loads(stamp.read_text()) | {"root": "/elsewhere"}))
    write_program(checkout / "programs" / "uv", UV)
    assert run(checkout, "up").stdout == "carrel up\n"
    assert (checkout / "uv-calls").read_text().splitlines() == ["venv --quiet", "pip install"]


def test_pip_is_tried_where_uv_does_not_get_through(checkout: Path) -> None:
    write_program(checkout / "programs" / "uv", UV)
    assert run(checkout, "up", UV_STATUS="2").stdout == "carrel up\n"
    assert installs(checkout) == ["postgres"]


@pytest.mark.parametrize(("value", "required"), [("true", "1"), ("1", "1"), ("false", ""), ("", "")])
def test_nothing_may_be_skipped_where_ci_is_set(checkout: Path, value: str, required: str) -> None:
    assert run(checkout, "test", "tests/a.py", CI=value).stdout == f"pytest -m pytest tests/a.py required={required}\n"


@requirement("S3.verify")
def test_continuous_integration_is_one_command_that_checks_everything_and_lets_no_test_be_skipped(
    checkout: Path,
) -> None:
    (checkout / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", checkout / ".ci" / "run")
    done = run(checkout, program=".ci/run")
    *checks, tests = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert [line.split()[2:4] for line in checks if "-m" in line] == [
        ["ruff", "check"], ["ruff", "format"], ["mypy"], ["mypy", "--scripts-are-modules"],
    ]  # fmt: skip
    assert [line for line in checks if "lint_imports_command()" in line]
    assert tests.startswith("pytest -m pytest --")
    assert "not slow" not in tests
    assert tests.endswith("required=1")
    failed = run(checkout, program=".ci/run", CHECK_STATUS="1")
    assert failed.returncode != 0
    assert "pytest" not in failed.stdout
    assert failed.stderr.splitlines()[-1] == (
        "dev: check failed: linter, formatting, import contracts, types, types of ./dev"
    )


@requirement("S3.verify")
def test_the_checks_are_strict_and_cover_the_tests_too() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert tools["mypy"]["strict"] is True
    assert {"carrel", "tests", "bench"} <= set(tools["mypy"]["packages"])
    assert not [name for name in tools["mypy"] if name in ("overrides", "exclude", "disable_error_code")]
    assert not [name for name in tools["ruff"] if name.endswith("exclude")]
    assert len(tools["importlinter"]["contracts"]) >= 10
    pytest_options = tools["pytest"]["ini_options"]
    assert pytest_options["xfail_strict"] is True
    assert pytest_options["testpaths"] == ["tests"]


def test_fast_leaves_out_what_is_slow_and_needs_no_browser(checkout: Path) -> None:
    (checkout / "programs" / "chromium").unlink()
    alone = run(checkout, "test", "--fast")
    assert alone.stdout.startswith("pytest -m pytest -m not slow --numprocesses=")
    assert "Chromium" not in alone.stderr
    assert (
        run(checkout, "test", "tests/runs", "--fast", "-x").stdout
        == "pytest -m pytest -m not slow tests/runs -x required=\n"
    )


def test_tests_keep_what_python_compiles_even_where_the_environment_says_otherwise(checkout: Path) -> None:
    assert run(checkout, "test", "tests/a.py", PYTHONDONTWRITEBYTECODE="1").stdout.endswith("required=\n")


@pytest.mark.parametrize("options", [(), ("--fast",)])
def test_a_run_has_half_as_many_workers_again_as_cores(checkout: Path, options: tuple[str, ...]) -> None:
    cores = len(os.sched_getaffinity(0))
    assert f"--numprocesses={min(cores + cores // 2, 8)} --dist=worksteal" in run(checkout, "test", *options).stdout


def test_a_signal_reaches_the_server_and_its_status_is_ours(checkout: Path) -> None:
    run(checkout, "up")
    write_program(checkout / ".venv" / "bin" / "carrel", PATIENT.replace("{python}", sys.executable))
    with subprocess.Popen([checkout / "dev", "up"], stdout=subprocess.PIPE, env=dict(os.environ)) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == b"up\n"
        started.send_signal(signal.SIGTERM)
        assert started.wait(30) == 7


def test_an_unknown_command_is_refused_with_the_list_of_those_there_are(checkout: Path) -> None:
    refused = run(checkout, "dance")
    assert refused.returncode == 2
    assert "usage: ./dev" in refused.stderr
    assert run(checkout).stdout == run(checkout, "--help").stdout != ""
    assert installs(checkout) == []
