"""The text of PDF and Word files, which are told by their content, whatever their name.

A PDF is read by pypdf in a process of its own, which ends where it takes too long or too much
memory. A Word file is a ZIP file: its text is read from one part of it, as far as a limit, by a
parser that refuses a document type, so that no entity can expand.
"""

import re
import subprocess
import sys
import zlib
from collections.abc import Mapping
from io import BytesIO
from xml.parsers import expat
from zipfile import BadZipFile, ZipFile

from memory_mesh.model.errors import InvalidInput
from memory_mesh.platform import extras, system

MAX_SECONDS = 60
MAX_MEMORY = 1 << 30  # bytes that reading a PDF may take
MAX_PAGES = 2_000
MAX_XML_BYTES = 20_000_000  # of the text of a Word file, unpacked
_CHUNK = 1 << 16
_HEAD = 1024  # bytes in which a PDF begins
_OFFICE, _LOCKED = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "EncryptedPackage".encode("utf-16-le")
_PART = "word/document.xml"
_REFUSED = 3  # exit code of the process that reads a PDF and says why it has no text
_ENCRYPTED = "it is encrypted; store a copy without a password"
_EMPTY = "it holds no text; run OCR on it first"
_DAMAGED = "it is damaged, or too large to be read"
_BETWEEN = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_HEADING = re.compile(r"(?:[Hh]eading ?([1-6])|[Tt]itle)")
_ERRORS = (
    BadZipFile,
    EOFError,
    KeyError,
    RuntimeError,
    ValueError,
    OSError,
    zlib.error,
    expat.ExpatError,
)


def document_text(data: bytes) -> str | None:
    """The text of a PDF or Word file, None for another file; InvalidInput says why it has none."""
    if data[:_HEAD].lstrip().startswith(b"%PDF-"):
        text = _pdf_text(data)
    elif data.startswith(b"PK\x03\x04") and _PART.encode() in data:
        text = _word_text(data)
    elif data.startswith(_OFFICE) and _LOCKED in data:
        raise InvalidInput(_ENCRYPTED)
    else:
        return None
    if not text.strip():
        raise InvalidInput(_EMPTY)
    return text


def _pdf_text(data: bytes) -> str:
    extras.need("pypdf", extra="documents", purpose="Reading a PDF")
    command = [sys.executable, "-P", "-m", __name__]  # -P: nothing is imported from this folder
    try:
        done = subprocess.run(  # noqa: S603  # this module
            command, input=data, capture_output=True, timeout=MAX_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise InvalidInput(f"it takes longer than {MAX_SECONDS} seconds to read") from None
    said = done.stdout.decode()
    if done.returncode:
        raise InvalidInput(said if done.returncode == _REFUSED else _DAMAGED)
    return said


def _print_pdf_text() -> int:
    """Prints the text of the PDF at standard input, or why it has none; returns the exit code."""
    system.end_in(MAX_SECONDS)
    system.bound_memory(MAX_MEMORY)
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    reader = PdfReader(BytesIO(sys.stdin.buffer.read()))
    try:
        locked = reader.is_encrypted and not reader.decrypt("")
    except DependencyError:
        locked = True
    if locked or len(reader.pages) > MAX_PAGES:
        sys.stdout.write(_ENCRYPTED if locked else f"it has more than {MAX_PAGES} pages")
        return _REFUSED
    text = "\n\n".join(page.extract_text() for page in reader.pages).replace("\0", "")
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return 0


def _word_text(data: bytes) -> str:
    words, read = _Words(), 0
    try:
        with ZipFile(BytesIO(data)) as parts, parts.open(_PART) as part:
            while chunk := part.read(_CHUNK):
                read += len(chunk)
                if read > MAX_XML_BYTES:
                    raise InvalidInput(f"its text takes more than {MAX_XML_BYTES:,} bytes")
                words.parser.Parse(chunk)
            words.parser.Parse(b"", True)  # noqa: FBT003  # expat takes no names
    except _ERRORS:
        raise InvalidInput(_DAMAGED) from None
    return "".join(words.said)


class _Words:
    """Takes the words out of the XML of a Word file: paragraphs, headings, lists and tables.

    What was deleted, codes of fields and the second form of a text box are in other elements.
    """

    def __init__(self) -> None:
        self.said: list[str] = []
        self._open: dict[str, int] = {}  # how many elements of a name are open
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.StartElementHandler = self._begin
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._say

    def _refuse(self, *_: object) -> None:
        raise InvalidInput(_DAMAGED)

    def _begin(self, named: str, given: Mapping[str, str]) -> None:
        name = _local(named)
        self._open[name] = self._open.get(name, 0) + 1
        if name == "pStyle" and (style := _HEADING.fullmatch(next(iter(given.values()), ""))):
            self.said.append("#" * int(style[1] or 1) + " ")
        elif name == "numPr" and not "".join(self.said[-1:]).startswith("#"):
            self.said.append("- ")
        elif self._open.get("r"):  # else it is a place where a tab would end
            self.said.append(_BETWEEN.get(name, ""))

    def _end(self, named: str) -> None:
        name, in_table = _local(named), self._open.get("tbl", 0)
        self._open[name] -= 1
        after = {"p": " " if in_table else "\n\n", "tc": "| ", "tr": "\n", "tbl": "\n"}
        if name in after:
            self.said.append(after[name])

    def _say(self, text: str) -> None:
        if self._open.get("t") and not self._open.get("Fallback"):
            self.said.append(text)


def _local(name: str) -> str:
    """The name of an element of Word, and of another form of it; others are as none."""
    space, _, local = name.rpartition(" ")
    return local if "wordprocessingml" in space or local == "Fallback" else ""


if __name__ == "__main__":
    sys.exit(_print_pdf_text())
