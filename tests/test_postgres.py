"""The embedded PostgreSQL keeps its promises: a database of one's own, nothing left behind."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg
import pytest

from tests.postgres import DIRECTORY_PREFIX, PostgresServer, postgres_server

ROOT = Path(__file__).parent.parent

STARTER = """
import sys
from tests.postgres import postgres_server
with postgres_server() as server:
    print(server.port, server.directory, flush=True)
    sys.stdin.read()
"""


def test_each_database_is_empty_and_apart_from_the_others(postgres: PostgresServer) -> None:
    one, two = postgres.create_database(), postgres.create_database()
    with psycopg.connect(one) as connection:
        connection.execute("CREATE TABLE desk (id int)")
    with psycopg.connect(two) as connection:
        assert connection.execute("SELECT to_regclass('desk')").fetchone() == (None,)
    postgres.drop_database(one)
    postgres.drop_database(two)


@pytest.mark.parametrize(("fsync", "shown"), [(False, "off"), (True, "on")])
def test_a_measurement_can_ask_for_a_server_that_keeps_its_promises_to_the_disk(fsync: bool, shown: str) -> None:
    with postgres_server(fsync=fsync) as server, psycopg.connect(server.url()) as connection:
        assert connection.execute("SHOW fsync").fetchone() == (shown,)
        assert connection.execute("SHOW synchronous_commit").fetchone() == (shown,)
    assert not server.directory.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux stops a child with its parent")
def test_a_killed_starter_leaves_no_server_and_the_next_start_removes_its_directory() -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    port, directory = starter.stdout.readline().split()
    with psycopg.connect(f"postgresql://carrel@127.0.0.1:{port}/postgres") as connection:
        os.kill(starter.pid, signal.SIGKILL)
        starter.communicate(timeout=30)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT pg_sleep(30)")
    assert Path(directory).exists()
    with postgres_server():
        pass
    assert not Path(directory).exists()
    assert directory.startswith(str(Path(tempfile.gettempdir()) / DIRECTORY_PREFIX))
