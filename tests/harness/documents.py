"""PDF files for tests, written by hand: their pages, and what is in them."""

import zlib


def pdf_of(*pages: str, packed: bytes | None = None, kids_of_itself: bool = False) -> bytes:
    """Return a PDF with those texts on its pages; `packed` is the compressed content of the first page instead."""
    texts = [f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode() if text else b"" for text in pages]
    streams = [zlib.compress(text) for text in texts]
    streams[:1] = [packed] if packed is not None else streams[:1]
    first = 4
    kids = " ".join(f"{first + 2 * n} 0 R" for n in range(len(streams)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(streams)} /Kids [{'2 0 R' if kids_of_itself else kids}] >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, stream in enumerate(streams):
        contents = first + 2 * n + 1
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {contents} 0 R >>".encode()
        )
        objects.append(f"<< /Length {len(stream)} /Filter /FlateDecode >>\nstream\n".encode() + stream + b"\nendstream")
    return _written(objects)


def _written(objects: list[bytes]) -> bytes:
    written, places = bytearray(b"%PDF-1.7\n"), []
    for number, one in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n".encode() + one + b"\nendobj\n"
    table = len(written)
    written += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    written += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    written += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n".encode()
    return bytes(written)
