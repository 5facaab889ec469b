"""Files that git converts, and files and folders with names that mean something to git."""

import pytest

from memory_mesh.mirror.authors import Author, Authors
from tests.clones import author, clone, new_repo, shared

THEIRS = "theirs.md"


# --- what git changes in a file -------------------------------------------------------------------


@pytest.mark.parametrize("text", ["one\ntwo\n", "one\r\ntwo\r\n", "one\r\ntwo\nthree\r\n"])
@pytest.mark.parametrize(
    "rule", ["text eol=crlf", "text eol=lf", "text=auto", "-text", "ident", "text ident eol=crlf"]
)
def test_line_ends_that_git_changes_do_not_make_theirs_mine(tmp_path, text, rule):
    seed = new_repo(tmp_path / "seed", "them")
    seed.write("a.md", f"$Id$\n{text}")
    seed.git("add", "-A")
    seed.git("commit", "-qm", "first")
    (seed.top / ".gitattributes").write_text(f"*.md {rule}\n")
    seed.git("add", ".gitattributes")
    seed.git("commit", "-qm", "second")
    mine = clone(seed.top, tmp_path / "mine")
    assert author(mine, "a.md") is Author.DOCUMENT
    mine.write("a.md", "edited\r\n")
    assert author(mine, "a.md") is Author.USER


@pytest.mark.parametrize("setting", ["true", "input", "false"])
def test_the_setting_autocrlf_does_not_make_theirs_mine(tmp_path, setting):
    seed = new_repo(tmp_path / "seed", "them")
    seed.commit("a.md", "one\ntwo\n")
    mine = clone(seed.top, tmp_path / "mine", "me", "-c", f"core.autocrlf={setting}")
    assert author(mine, "a.md") is Author.DOCUMENT
    mine.commit("b.md", "one\r\nthree\r\n")
    assert author(mine, "b.md") is Author.USER


def test_an_encoding_that_git_changes_does_not_make_theirs_mine(tmp_path):
    seed = new_repo(tmp_path / "seed", "them")
    (seed.top / ".gitattributes").write_text("*.md working-tree-encoding=ISO-8859-1\n")
    seed.commit("a.md", "na\u00efve".encode().decode("latin-1"))
    mine = clone(seed.top, tmp_path / "mine")
    assert author(mine, "a.md") is Author.DOCUMENT
    assert author(mine, "new.md", b"mine") is Author.USER


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "with space.md",
        "-n.md",
        "--all",
        ":(top)a.md",
        ":/a.md",
        "a~3",
        "a^{tree}",
        "a@{1}.md",
        "HEAD",
        "*.md",
        "[a].md",
        'quo"te.md',
        "back\\slash.md",
        "tab\there.md",
        "größe.md",
        "日本.md",
        "deep/er/a.md",
        "commit abc",
        ":100644 100644 a b M",
    ],
)
def test_a_file_of_any_name_is_found(tmp_path, name):
    seed = new_repo(tmp_path / "seed", "them")
    seed.commit(name, "theirs")
    mine = clone(seed.top, tmp_path / "mine")
    assert author(mine, name) is Author.DOCUMENT
    mine.write(name, "edited")
    assert author(mine, name) is Author.USER
    mine.git("add", "-A")
    mine.git("commit", "-qm", "edit")
    assert author(mine, name) is Author.USER
    with Authors.of_folder(mine.notes, tmp_path / "state") as authors:
        assert authors.baseline(name) == b"theirs"


def test_a_name_that_cannot_be_looked_up_is_a_documents(tmp_path):
    mine = new_repo(tmp_path / "mine")
    mine.write("line\nbreak.md", "words")
    assert author(mine, "line\nbreak.md") is Author.DOCUMENT
    for name in ("../a.md", "/etc/passwd", "a/../../b.md", "", "nul\0.md"):
        assert author(mine, name, b"words") is Author.DOCUMENT


def test_a_folder_with_signs_of_a_pattern_is_taken_literally(tmp_path):
    seed = new_repo(tmp_path / "seed", "them")
    seed.notes = seed.top / "n[o]te*"
    seed.commit(THEIRS, "theirs")
    mine = clone(seed.top, tmp_path / "mine")
    mine.notes = mine.top / "n[o]te*"
    mine.commit("mine.md", "mine")
    assert author(mine, THEIRS) is Author.DOCUMENT
    assert author(mine, "mine.md") is Author.USER


def test_the_folder_may_be_the_top_of_the_clone(tmp_path):
    mine, _, _ = shared(tmp_path)
    mine.commit("mine.md", "mine")
    mine.notes = mine.top
    assert author(mine, f"notes/{THEIRS}") is Author.DOCUMENT
    assert author(mine, "notes/mine.md") is Author.USER
