"""One server per SQLite file: a second one would take running turns for abandoned and start them again."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from carrel.kernel import Code, Refusal


@contextmanager
def own_file(path: Path) -> Iterator[None]:
    """Hold the file's lock while the server runs; the operating system releases it when the process dies."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock_path = path.with_name(path.name + ".lock")
        held = os.fdopen(os.open(lock_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w")
    except OSError as error:
        why = f"Cannot write to {path.parent} ({error.strerror}); use another --data-dir."
        raise Refusal(Code.STORAGE_UNAVAILABLE, why) from error
    with held as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            why = f"Another server is using {path}; stop it first, or use another --data-dir."
            raise Refusal(Code.CONFLICT, why) from error
        yield
