"""Git's configuration is read as git reads it, and changed in one place only."""

import shutil
import subprocess
from pathlib import Path

import pytest

from memory_mesh.platform.git_files import entries, with_value

TEXT = r"""# a comment
[core]
	bare = false ; why
[remote "origin"]
	url = "https://example.org/a b.git" # here
	fetch = +refs/heads/*:refs/remotes/origin/*
[Remote "od\"d]"] URL = git@host:\
app.git
[url "git@github.com:"]
	insteadOf = gh:
[alias]
	bare
	say = "two  \"words\" \\ \t." 'x'
"""


def test_sections_keys_quotes_comments_and_continued_lines_are_read() -> None:
    assert entries(TEXT) == [
        ("core", "", "bare", "false"),
        ("remote", "origin", "url", "https://example.org/a b.git"),
        ("remote", "origin", "fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ("remote", 'od"d]', "url", "git@host:app.git"),
        ("url", "git@github.com:", "insteadof", "gh:"),
        ("alias", "", "bare", "true"),
        ("alias", "", "say", "two  \"words\" \\ \t. 'x'"),
    ]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not here")
def test_git_reads_the_same(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(TEXT)
    listed = subprocess.check_output(
        ["git", "config", "--file", str(file), "--list", "--null"], text=True
    )
    theirs = [item.partition("\n") for item in listed.split("\0") if item]
    ours = [
        (".".join(part for part in (section, sub, key) if part), value)
        for section, sub, key, value in entries(TEXT)
    ]
    assert ours == [(name, value if line else "true") for name, line, value in theirs]


@pytest.mark.parametrize("broken", ["", "[", "[a", '[a "b', "=x", "[a]\n=1", "\\", "[a]\nb = \\"])
def test_a_broken_file_is_read_as_far_as_it_goes(broken: str) -> None:
    assert all(section for section, _, _, _ in entries(broken))


def test_one_value_is_set_changed_and_removed() -> None:
    once = with_value(TEXT, "memory-mesh", "project", 'my "app" \\ x')
    assert once.startswith(TEXT)
    assert entries(once)[-1] == ("memory-mesh", "", "project", 'my "app" \\ x')
    twice = with_value(once, "memory-mesh", "project", "other")
    assert [entry for entry in entries(twice) if entry[0] == "memory-mesh"] == [
        ("memory-mesh", "", "project", "other")
    ]
    assert with_value(twice, "memory-mesh", "project", None) == TEXT
    assert with_value("[core]", "memory-mesh", "project", "x") == (
        '[core]\n[memory-mesh]\n\tproject = "x"\n'
    )
