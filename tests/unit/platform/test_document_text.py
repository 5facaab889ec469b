"""PDF and Word files are told by their content, read within limits, or said to have no text."""

import subprocess
import sys

import pytest

from memory_mesh.model.errors import InvalidInput
from memory_mesh.platform import document_text as module
from memory_mesh.platform.document_text import document_text
from tests.document_files import docx, encrypted_pdf, paragraph, pdf

BOMB = """<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>"""


def test_the_pages_of_a_pdf_are_read_in_order():
    assert document_text(b"\n" + pdf("The first page", "The second page")) == (
        "The first page\n\nThe second page"
    )


def test_a_pdf_that_needs_no_password_is_read():
    assert document_text(encrypted_pdf("The first page", "")) == "The first page"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (encrypted_pdf("The first page", "secret"), "encrypted"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
        (pdf("a", drawn=b"0 0 100 100 re f"), "it holds no text; run OCR"),
        (b"%PDF-1.4 and no more", "damaged"),
        (docx("<w:p/>"), "it holds no text"),
        (docx(paragraph("&c;"), BOMB), "damaged"),
        (docx("<w:p>"), "damaged"),
        (docx(paragraph("a"))[:200], "damaged"),
        (docx(f"<w:p>{' ' * module.MAX_XML_BYTES}</w:p>"), "takes more than 20,000,000 bytes"),
    ],
    ids=["pdf", "office", "scanned", "broken", "empty", "entities", "xml", "zip", "bomb"],
)  # fmt: skip
def test_what_has_no_text_says_why(data, why):
    with pytest.raises(InvalidInput, match=why):
        document_text(data)


@pytest.mark.parametrize("data", [b"A text about %PDF-1.4", b"PK and word/document.xml", b"\0"])
def test_other_files_are_no_documents(data):
    assert document_text(data) is None


def test_the_words_of_a_word_file_keep_their_form():
    rows = "<w:tr><w:tc>{}</w:tc><w:tc>{}</w:tc></w:tr>".format(*map(paragraph, "ab"))
    body = (
        paragraph("Deploy", '<w:pStyle w:val="Heading2"/><w:numPr/><w:tabs><w:tab/></w:tabs>')
        + paragraph("Ask &amp; wait")
        + paragraph("a step", "<w:numPr/>")
        + "<w:p><w:r><w:t>one</w:t><w:tab/><w:t>two</w:t><w:br/><w:t>three</w:t></w:r>"
        "<w:r><w:delText>gone</w:delText><w:instrText>PAGE</w:instrText></w:r>"
        "<mc:Fallback><w:r><w:t>again</w:t></w:r></mc:Fallback></w:p>" + f"<w:tbl>{rows}</w:tbl>"
    )
    assert document_text(docx(body)) == (
        "## Deploy\n\nAsk & wait\n\n- a step\n\none\ttwo\nthree\n\na | b | \n\n"
    )


def test_a_pdf_that_takes_too_long_or_too_much_memory_is_given_up(monkeypatch):
    monkeypatch.setattr(module, "MAX_SECONDS", 0.01)
    with pytest.raises(InvalidInput, match="takes longer than"):
        document_text(pdf("The first page"))
    code = "from memory_mesh.platform import system as s; s.bound_memory(1 << 28); b'a' * (1 << 29)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MemoryError" in done.stderr


def test_a_pdf_that_unpacks_without_end_is_given_up():
    with pytest.raises(InvalidInput, match=r"damaged|no text"):
        document_text(pdf("a", drawn=b" " * (200 << 20)))


def test_a_pdf_of_too_many_pages_is_not_read():
    with pytest.raises(InvalidInput, match="more than 2000 pages"):
        document_text(pdf(*["a"] * (module.MAX_PAGES + 1)))
