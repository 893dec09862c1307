"""The process that reads the text of a PDF: it is given the file and answers with JSON. It imports nothing of Carrel.

A PDF is a program of sorts, and a hostile one may take any time and memory. So it is read in a process of its own,
without secrets in its environment, with limits that the system enforces.
"""

import io
import json
import sys

# Why a PDF has no text, for the model.
_LOCKED = "This PDF is protected by a password."
_DAMAGED = "This PDF is damaged."


def read_pages(content: bytes, *, chars_max: int, pages_max: int) -> dict[str, object]:
    """Return the texts of the first pages, up to that many characters, how many pages there are, or what is wrong."""
    # Only this process pays for the import.
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    texts: list[str] = []
    try:
        reader = PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            return {"error": _LOCKED}
        count = len(reader.pages)
        for page in reader.pages[:pages_max]:
            texts.append(page.extract_text().strip()[:chars_max])
            if sum(map(len, texts)) > chars_max:
                break
    except (PyPdfError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, OSError, RecursionError):
        # A damaged file can raise anything in the reader; keep what was read before.
        return {"texts": texts, "pages": len(texts), "error": _DAMAGED}
    except ImportError:
        # Some ciphers need another package.
        return {"error": _LOCKED}
    return {"texts": texts, "pages": count}


def _limit(memory_bytes_max: int, seconds_max: int) -> None:
    """Have the system end this process once it exceeds these limits."""
    try:
        import resource
    except ImportError:
        # Without such limits, only the caller's timeout applies.
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes_max, memory_bytes_max))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds_max, seconds_max))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _main() -> None:
    chars_max, pages_max, memory_bytes_max, seconds_max = map(int, sys.argv[1:])
    content = sys.stdin.buffer.read()
    _limit(memory_bytes_max, seconds_max)
    try:
        found = read_pages(content, chars_max=chars_max, pages_max=pages_max)
    except MemoryError:
        found = {"error": _DAMAGED}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    _main()
