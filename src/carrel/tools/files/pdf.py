"""The text of a PDF, page by page: read in another process, with limits on its time, memory and pages."""

import asyncio
import subprocess
import sys
from pathlib import Path
from threading import BoundedSemaphore

import msgspec
from msgspec import Struct

from carrel.kernel import limits

PDF = "application/pdf"
_PROGRAM = Path(__file__).with_name("pdf_process.py")
_TOO_MUCH = "This PDF takes too long or too much memory to read."
_BUSY = "Too many PDFs are being read; try again in a moment."
_slots = BoundedSemaphore(limits.PDF_AT_ONCE_MAX)


class PdfBounds(Struct, frozen=True, kw_only=True):
    """Limits for reading one PDF."""

    pages: int = limits.PDF_PAGES_MAX
    memory_bytes: int = limits.PDF_MEMORY_BYTES_MAX
    processor_seconds: int = limits.PDF_PROCESSOR_SECONDS_MAX
    seconds: float = limits.PDF_SECONDS_MAX


class PdfText(Struct, frozen=True):
    """The pages of a PDF that were read, how many it has, and what is wrong with it."""

    texts: tuple[str, ...] = ()
    pages: int = 0
    error: str | None = None

    @property
    def text(self) -> str:
        """All pages, each below its number; empty for a PDF that has no text."""
        shown = [f"Page {n} of {self.pages}:\n{text}" for n, text in enumerate(self.texts, 1)]
        return "\n\n".join(shown) if any(self.texts) else ""

    @property
    def has_all(self) -> bool:
        return len(self.texts) == self.pages


_WITHIN = PdfBounds()


async def read_pdf(content: bytes, *, chars_max: int, within: PdfBounds = _WITHIN) -> PdfText:
    """Return the text of a PDF, at least that many characters of it if it has them."""
    return await asyncio.to_thread(_read, content, chars_max, within)


def _read(content: bytes, chars_max: int, within: PdfBounds) -> PdfText:
    if not _slots.acquire(timeout=within.seconds):
        return PdfText(error=_BUSY)
    bounds = (chars_max, within.pages, within.memory_bytes, within.processor_seconds)
    command = [sys.executable, "-I", str(_PROGRAM), *map(str, bounds)]
    try:
        done = subprocess.run(command, input=content, capture_output=True, timeout=within.seconds, check=True, env={})
        return msgspec.json.decode(done.stdout, type=PdfText)
    except (subprocess.SubprocessError, OSError, msgspec.DecodeError):
        return PdfText(error=_TOO_MUCH)
    finally:
        _slots.release()
