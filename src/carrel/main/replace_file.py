"""Replacing a settings file at once: a full disk or a crash leaves the old file or the new one, never half of one."""

import os
from pathlib import Path


def replace_file(path: Path, text: str, *, mode: int | None = None) -> None:
    """Write a file that may hold secrets: with this mode or the old one; new ones are readable by their owner only."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # If it is a symbolic link, replace the file it points to.
    target = path.resolve()
    fresh = target.with_name(f"{target.name}.new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    if mode is not None:
        fresh.chmod(mode)
    elif target.exists():
        fresh.chmod(target.stat().st_mode & 0o777)
    fresh.replace(target)
