"""PDF and Word files in a folder: read by their content, or named with the reason."""

import json

from tests.document_files import docx, encrypted_pdf, paragraph, pdf


def test_documents_are_read_by_their_content_and_found(cli):
    root = cli.home / "docs"
    root.mkdir()
    (root / "notes.txt").write_bytes(pdf("The lift is repaired in May"))
    (root / "contract.docx").write_bytes(docx(paragraph("The contract ends in June")))
    (root / "plain.pdf").write_text("The lamp is green")
    done = cli("ingest-dir", str(root))
    assert (done.code, done.out) == (0, "[MemoryMesh] Ingested 3 files, 0 already known.\n")
    (hit,) = json.loads(cli("search", "when is the lift repaired", "--json").out)["items"]
    assert hit["content"] == "The lift is repaired in May"
    (root / "notes.txt").write_bytes(pdf("The lift is repaired in July"))
    done = json.loads(cli("ingest-dir", str(root), "--json").out)
    assert (done["ingested"], done["known"], done["superseded"]) == (1, 2, 1)


def test_what_cannot_be_read_is_named_with_the_reason(cli):
    root = cli.home / "docs"
    root.mkdir()
    (root / "locked.pdf").write_bytes(encrypted_pdf("A secret", "word"))
    (root / "scan.pdf").write_bytes(pdf("a", drawn=b""))
    (root / "tea.md").write_text("Tea is green")
    done = cli("ingest-dir", str(root))
    assert done.code == 1
    start = f"[MemoryMesh] Unread: {root}"
    assert done.out.splitlines() == [
        "[MemoryMesh] Ingested 1 file, 0 already known.",
        "[MemoryMesh] Skipped: 2 unread.",
        f"{start}/locked.pdf: it is encrypted; store a copy without a password.",
        f"{start}/scan.pdf: it holds no text; run OCR on it first.",
    ]
    told = json.loads(cli("ingest-dir", str(root), "--json").out)["skipped"]["documents"]
    assert [each["reason"].split(";")[0] for each in told] == [
        "it is encrypted", "it holds no text",
    ]  # fmt: skip


def test_a_module_of_the_folder_is_never_run(cli):
    root = cli.home / "docs"
    root.mkdir()
    for name in ("pypdf.py", "memory_mesh.py", "sitecustomize.py"):
        (root / name).write_text("open('ran', 'w').close()\n")
    (root / "a.pdf").write_bytes(pdf("The lift is repaired in May"))
    assert cli("ingest-dir", ".", cwd=root).code == 0
    assert not (root / "ran").exists()
    assert "The lift is repaired" in cli("list").out
