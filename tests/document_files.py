"""PDF and Word files for tests, made from texts."""

import zlib
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

from pypdf import PdfReader, PdfWriter

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def pdf(*pages: str, drawn: bytes | None = None) -> bytes:
    """A PDF with a line of text on each page, or with what is drawn there."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 20 700 Td ({text}) Tj ET".encode() if drawn is None else drawn
        packed = zlib.compress(stream)
        parts += [
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1 3 0 R>>>>"
            b"/Contents %d 0 R>>" % (5 + 2 * number),
            b"<</Filter/FlateDecode/Length %d>>stream\n" % len(packed) + packed + b"\nendstream",
        ]
    made, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(made))
        made += b"%d 0 obj\n" % number + part + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    count = len(parts) + 1
    return (
        made + b"xref\n0 %d\n0000000000 65535 f \n" % count + table
        + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (count, len(made))
    )  # fmt: skip


def encrypted_pdf(text: str, password: str) -> bytes:
    """A PDF that opens with a password."""
    writer = PdfWriter(PdfReader(BytesIO(pdf(text))))
    writer.encrypt(password, "owner", algorithm="RC4-128")
    made = BytesIO()
    writer.write(made)
    return made.getvalue()


def docx(body: str, head: str = "") -> bytes:
    """A Word file with a body of XML."""
    made = BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED) as parts:
        parts.writestr("[Content_Types].xml", "<Types/>")
        parts.writestr(
            "word/document.xml",
            f'<?xml version="1.0"?>{head}<w:document xmlns:w="{_WORD}" xmlns:mc="mc"><w:body>'
            f"{body}</w:body></w:document>",
        )
    return made.getvalue()


def paragraph(text: str, properties: str = "") -> str:
    """A paragraph of a Word file."""
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"
