"""A disk that takes nothing more: what health says of it, and what a start does."""

import resource
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.harness.process import CARREL, START_SECONDS, RunningServer, Start, clean_environment


def allow_to_write(server: RunningServer, bytes_max: int) -> None:
    """Let a server write no more than so many bytes into any file, as if the disk were full."""
    hard = resource.prlimit(server.started.pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(server.started.pid, resource.RLIMIT_FSIZE, (bytes_max, hard))


def health(server: RunningServer) -> tuple[Any, ...]:
    """What everybody is told of the storage, with the status, and what people are told."""
    with server.client() as client:
        ready, shown = client.get("/readyz"), client.get("/api/health").json()
    assert ready.json()["checks"]["storage"] == shown["checks"]["storage"]
    return ready.status_code, ready.json()["checks"]["storage"], shown["storageError"]


def test_health_says_that_and_why_nothing_can_be_written_until_a_write_succeeds_again(start: Start) -> None:
    server = start()
    assert health(server) == (200, "ok", None)
    allow_to_write(server, 0)
    with server.client() as client:
        refused = client.post("/api/runs", json={"message": "hello"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "storage_unavailable")
        assert client.get("/api/runs").status_code == 200, "reading goes on"
    status, state, why = health(server)
    assert (status, state) == (503, "failed")
    assert why
    assert why in server.carrel("status").out
    allow_to_write(server, resource.RLIM_INFINITY)
    assert health(server) == (200, "ok", None)


# The size of the file at which it happens: at its first page, in the middle of its schema.
@pytest.mark.parametrize("bytes_max", [512, 100_000])
def test_a_start_on_a_full_disk_ends_with_a_sentence(tmp_path: Path, bytes_max: int) -> None:
    assert start_on_full_disk(tmp_path, bytes_max).startswith(f"Cannot use {tmp_path}/carrel.db as a database (")


def test_a_start_whose_data_directory_is_full_ends_with_a_sentence(tmp_path: Path, postgres_url: str) -> None:
    said = start_on_full_disk(tmp_path, 0, CARREL_STORAGE__URL=postgres_url)
    assert said == "Cannot write to the data directory (File too large); free some space and start again.\n"


def start_on_full_disk(folder: Path, bytes_max: int, **environment: str) -> str:
    """The only line that a server says that may write no more than so many bytes into any file."""
    done = subprocess.run(
        [CARREL, "serve", "--port", "0", "--data-dir", str(folder)],
        env=clean_environment(folder, **environment), capture_output=True, text=True, timeout=START_SECONDS,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, bytes_max)), check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    return done.stderr
