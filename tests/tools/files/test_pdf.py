"""The text of PDF files: page by page, whatever the file does to its reader."""

import asyncio
import io
import zlib

import pytest
from pypdf import PdfReader, PdfWriter

from carrel.kernel import limits
from carrel.tools.files.pdf import PdfBounds, PdfText, read_pdf
from tests.harness.documents import pdf_of
from tests.requirements.mark import requirement

MEGABYTE = 1024 * 1024


@requirement("A.files")
async def test_the_text_of_a_pdf_is_read_page_by_page() -> None:
    read = await read_pdf(pdf_of("The first page.", "", "The third page."), chars_max=10_000)
    assert read == PdfText(("The first page.", "", "The third page."), 3)
    assert read.text == "Page 1 of 3:\nThe first page.\n\nPage 2 of 3:\n\n\nPage 3 of 3:\nThe third page."


async def test_no_more_pages_are_read_than_are_asked_for_or_allowed() -> None:
    content = pdf_of(*["Twenty characters it"] * 9)
    asked = await read_pdf(content, chars_max=50)
    assert (len(asked.texts), asked.pages, asked.has_all) == (3, 9, False)
    allowed = await read_pdf(content, chars_max=10_000, within=PdfBounds(pages=4))
    assert (len(allowed.texts), allowed.pages, allowed.has_all) == (4, 9, False)


@pytest.mark.parametrize(
    "content",
    [b"", b"%PDF-1.7", b"no pdf at all", b"%PDF-1.7\n" + b"\xff" * 10_000, pdf_of("x", kids_of_itself=True)],
)
async def test_what_is_no_pdf_has_no_text_and_says_so(content: bytes) -> None:
    assert await read_pdf(content, chars_max=1_000) == PdfText(error="This PDF is damaged.")


async def test_a_pdf_of_pictures_has_no_text() -> None:
    read = await read_pdf(pdf_of("", ""), chars_max=1_000)
    assert (read.text, read.error) == ("", None)


async def test_a_locked_pdf_says_so() -> None:
    writer, locked = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf_of("A secret.")))), io.BytesIO()
    writer.encrypt("password", algorithm="RC4-128")
    writer.write(locked)
    assert (await read_pdf(locked.getvalue(), chars_max=1_000)).error == "This PDF is protected by a password."


@pytest.mark.parametrize(
    ("content", "within"),
    [
        # A small file that unfolds to two hundred times its size.
        (b"BT /F1 12 Tf (x) Tj ET" + b" " * (200 * MEGABYTE), PdfBounds(memory_bytes=120 * MEGABYTE)),
        (b"BT /F1 12 Tf " + b"(x) Tj " * 3_000_000 + b"ET", PdfBounds(processor_seconds=1)),
        (b"BT /F1 12 Tf (x) Tj ET", PdfBounds(seconds=0.001)),
    ],
)
async def test_a_pdf_that_takes_too_much_is_given_up(content: bytes, within: PdfBounds) -> None:
    read = await read_pdf(pdf_of("", packed=zlib.compress(content)), chars_max=1_000, within=within)
    assert (read.text, read.error is not None) == ("", True)


async def test_everything_else_goes_on_while_pdfs_are_read() -> None:
    reading = [asyncio.ensure_future(read_pdf(pdf_of("x"), chars_max=100)) for _ in range(2 * limits.PDF_AT_ONCE_MAX)]
    turns = 0
    while not all(one.done() for one in reading):
        await asyncio.sleep(0)
        turns += 1
    assert turns > 10
    assert [one.result().texts for one in reading] == [("x",)] * len(reading)
