"""Replacing a settings file at once: a full disk or a crash leaves the old file or the new one, never half of one."""

import os
from pathlib import Path


def text_of(path: Path) -> str:
    """Return the text of a settings file, which need not exist."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


def changed_lines(path: Path, before: str, after: str, *, around: int = 3) -> list[str]:
    """Return what a change does to a file, as people read it, with so many lines around each place."""
    # Imported late: only who is shown a change pays for it.
    from difflib import unified_diff

    name = str(path)
    return list(unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="", n=around))


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
