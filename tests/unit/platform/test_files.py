"""Which files of a folder are read, and what is counted of the rest."""

import inspect
import os
import sys
from pathlib import Path

from memory_mesh.platform.text_files import paths, texts


def folder(root):
    (root / "sub" / "deep").mkdir(parents=True)
    (root / ".git").mkdir()
    files = {
        "b.md": "bee",
        "a.md": "\ufeffay",
        "c.txt": "sea",
        "secret.env": "x",
        "sub/d.md": "dee",
        "sub/kept.env": "y",
        "sub/deep/e.md": "ee",
        ".git/config": "z",
        ".gitignore": "*.env\n/build/\n",
        "sub/.gitignore": "!kept.env\ndeep/\n",
    }
    for name, text in files.items():
        (root / name).write_text(text, encoding="utf-8")
    (root / "image.md").write_bytes(b"\x89PNG\0\0")
    (root / "latin.md").write_bytes(b"caf\xe9")
    (root / "link.md").symlink_to(root / "b.md")
    (root / "loop").symlink_to(root)
    return root


def names(root, **options):
    return [path.relative_to(root).as_posix() for path in paths(root, **options)]


def test_files_come_in_order_and_as_gitignore_says(tmp_path):
    root = folder(tmp_path)
    here = ["a.md", "b.md", "c.txt", "image.md", "latin.md"]
    assert names(root) == here
    assert names(root, recursive=True) == [*here, "sub/d.md", "sub/kept.env"]
    assert names(root, endings=[".md"], recursive=True) == [
        "a.md", "b.md", "image.md", "latin.md", "sub/d.md",
    ]  # fmt: skip


def test_binaries_are_named_and_links_and_ignored_files_counted(tmp_path):
    found = texts(folder(tmp_path), [".md"], recursive=True)
    assert [(path.name, text) for path, text in found.found] == [
        ("a.md", "ay"), ("b.md", "bee"), ("d.md", "dee"),
    ]  # fmt: skip
    skipped = found.skipped
    assert skipped.binary == [str(tmp_path / "image.md")]
    assert skipped.not_utf8 == [str(tmp_path / "latin.md")]
    assert skipped.links == 2
    assert skipped.ignored == 3  # .git, secret.env, sub/deep


def test_a_single_file_and_one_that_is_too_large(tmp_path):
    one = tmp_path / "one.txt"
    one.write_text("one")
    assert [text for _, text in texts(one).found] == ["one"]
    with one.open("wb") as file:
        os.truncate(file.fileno(), 10_000_001)
    found = texts(one)
    assert list(found.found) == []
    assert found.skipped.too_large == [str(one)]


def test_lines_that_are_no_pattern_say_nothing(tmp_path):
    (tmp_path / ".gitignore").write_text("!\n\\\n*.env\n")
    (tmp_path / "a.md").write_text("ay")
    (tmp_path / "b.env").write_text("bee")
    assert names(tmp_path) == ["a.md"]


def test_the_rules_of_the_work_tree_hold_in_a_folder_of_it(tmp_path):
    root = folder(tmp_path)
    (root / "sub" / "other.env").write_text("z")
    assert names(root / "sub") == ["d.md", "kept.env"]


def test_a_late_nul_makes_a_file_binary(tmp_path):
    (tmp_path / "late.md").write_bytes(b"x" * 10_000 + b"\0")
    found = texts(tmp_path)
    assert list(found.found) == []
    assert found.skipped.binary == [str(tmp_path / "late.md")]


def test_a_folder_that_cannot_be_listed_is_named_and_the_rest_is_read(tmp_path, monkeypatch):
    (tmp_path / "closed").mkdir()
    (tmp_path / "open.md").write_text("seen")
    listed = Path.iterdir

    def refusing(path):
        if path.name == "closed":
            raise PermissionError(path)
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", refusing)
    found = texts(tmp_path, recursive=True)
    assert [text for _, text in found.found] == ["seen"]
    assert found.skipped.unreadable == [str(tmp_path / "closed")]


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.md")
    assert list(texts(tmp_path).found) == []
    alone = texts(tmp_path / "pipe.md")
    assert list(alone.found) == []
    assert alone.skipped.unreadable


def test_folders_may_lie_deeper_than_calls_may(tmp_path):
    inner = tmp_path
    for _ in range(60):
        inner = inner / "d"
    inner.mkdir(parents=True)
    (inner / "x.md").write_text("deep")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 50)
    try:
        found = [text for _, text in texts(tmp_path, recursive=True).found]
    finally:
        sys.setrecursionlimit(limit)
    assert found == ["deep"]
