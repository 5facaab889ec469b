"""`export`, `import` and `move` as a user runs them."""

import json
import os
import pty
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from memory_mesh.sync import MemoryMesh
from tests.surface.command import CommandLine


def test_a_namespace_goes_to_a_file_and_into_another_store(cli: CommandLine) -> None:
    cli.stored("the door is red")
    done = cli("export", "--to", "a.tar.gz", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["memories"] == 1
    done = cli("import", "--from", "a.tar.gz", "--db-dir", "other", "--into", "copy")
    assert (done.code, done.out) == (
        0,
        "[MemoryMesh] Imported 1 memory, 1 block, into copy; the chain was verified.\n",
    )
    assert "under the name copy" in done.err
    listed = json.loads(cli("list", "--db-dir", "other", "--namespace", "copy", "--json").out)
    assert [memory["content"] for memory in listed["items"]] == ["the door is red"]
    again = cli("import", "--from", "a.tar.gz")
    assert again.code == 1
    assert "--into NAME" in again.err


def test_a_file_for_other_programs_leaves_and_comes_back(cli: CommandLine) -> None:
    cli.stored("the door is red")
    done = cli("export", "notes.jsonl")
    assert (done.code, done.out) == (0, "[MemoryMesh] Exported 1 memory to notes.jsonl.\n")
    row = json.loads((cli.home / "notes.jsonl").read_text(encoding="utf-8"))
    assert row["content"] == "the door is red"
    with (cli.home / "notes.jsonl").open("a", encoding="utf-8") as file:
        file.write("{\n")
    done = cli("import", "notes.jsonl", "--db-dir", "other")
    assert (done.code, done.out) == (1, "[MemoryMesh] Read notes.jsonl: 1 stored, 1 refused.\n")
    assert "line 2: it is no JSON" in done.err
    done = cli("import", "notes.jsonl", "--db-dir", "other", "--json")
    assert (done.code, json.loads(done.out)["outcomes"]) == (1, {"merged": 1, "refused": 1})
    assert cli("import", "notes.jsonl", "--into", "copy").code == 2


@pytest.mark.parametrize("file", ["notes.jsonl", "notes.tar.gz"])
def test_an_export_says_what_it_leaves_to_other_namespaces(cli: CommandLine, file: str) -> None:
    cli.stored("the door is red")
    assert cli("export", file).err == ""
    cli.stored("I like tea", "--user", "ann")
    cli.stored("I like rum", "--user", "bob")
    cli.stored("the tests run at night", "--namespace", "work")
    done = cli("export", f"2{file}")
    assert done.code == 0
    assert done.err == (
        "[MemoryMesh] Not exported: 3 memories of other namespaces (user.ann, user.bob, work); "
        "name a user with --user, one of the others with --namespace; a backup holds all.\n"
    )
    for named in (("--user", "ann"), ("--namespace", "default")):
        assert cli("export", f"3{named[1]}{file}", *named).err == ""


def _sources(cli: CommandLine, store: str) -> set[tuple[str, bool]]:
    with MemoryMesh(db_dir=cli.home / store, embedder="none") as mesh:
        return {(memory.source.kind.value, memory.pinned) for memory in mesh.get_all()}


def test_an_archive_under_another_key_is_a_documents_word(cli: CommandLine, tmp_path: Path) -> None:
    stranger = CommandLine(tmp_path / "stranger")
    stranger.home.mkdir()
    cli.stored("Ada reads mail at ada@example.org")
    for one in (cli, stranger):
        id_ = one.stored("Bob reads mail at bob@example.org")
        one("pin", "--id", id_)
        one("export", "--to", str(tmp_path / f"{one.home.name}.tar.gz"))
    foreign = cli("import", "--from", str(tmp_path / "stranger.tar.gz"), "--db-dir", "foreign")
    assert foreign.code == 0, foreign.err
    assert "made under another key" in foreign.err
    assert _sources(cli, "foreign") == {("document", False)}
    assert cli("verify", "--db-dir", "foreign").code == 0
    own = cli("import", "--from", str(tmp_path / f"{cli.home.name}.tar.gz"), "--db-dir", "own")
    assert "made under another key" not in own.err
    assert _sources(cli, "own") == {("user_explicit", False), ("user_explicit", True)}
    agent = replace(cli, variables={"CLAUDECODE": "1"})
    agent("import", "--from", str(tmp_path / f"{cli.home.name}.tar.gz"), "--db-dir", "agents")
    assert _sources(cli, "agents") == {("document", False)}


@pytest.mark.parametrize(
    ("typed", "kind"), [(b"yes\n", "user_explicit"), (b"\n", "document"), (b"no\n", "document")]
)
def test_at_a_terminal_the_user_says_whose_word_an_archive_is(
    cli: CommandLine, typed: bytes, kind: str
) -> None:
    cli.stored("the door is red")  # under no key, so it may be anybody's
    cli("export", "--to", "a.tar.gz")
    terminal, keyboard = pty.openpty()
    os.write(terminal, typed)
    words = [*cli.start, "import", "--from", "a.tar.gz", "--db-dir", "other"]
    done = subprocess.run(
        words, stdin=keyboard, capture_output=True, env=cli.environment, cwd=cli.home, check=True
    )
    assert b"type yes: " in done.stderr
    assert _sources(cli, "other") == {(kind, False)}
    os.close(terminal)
    os.close(keyboard)


@pytest.mark.parametrize("words", [["export"], ["import"], ["move"]])
def test_what_is_needed_is_asked_for(cli: CommandLine, words: list[str]) -> None:
    assert cli(*words).code == 2


def test_a_store_and_a_namespace_are_moved(cli: CommandLine) -> None:
    cli.stored("the door is red")
    cli.stored("the gate is blue", "--namespace", "work")
    done = cli("move", "--only", "--namespace", "work", "--to", "second")
    assert done.code == 0, done.err
    assert cli("namespaces", "--db-dir", "second").out == "work\n"
    done = cli("move", "--to", "third", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["namespaces"] == ["default"]
    assert cli("namespaces", "--db-dir", "third").out == "default\n"
    assert cli("move", "--to", "fourth").code == 1


def test_an_export_says_how_many_vectors_it_carries(cli: CommandLine) -> None:
    cli.stored("The user prefers dark themes")
    none = cli("export", "none.tar.gz", "--with-vectors")
    assert "1 block, 0 vectors, to " in none.out
    assert "has no vectors yet, so the archive carries none" in none.err
    told = cli("import", "none.tar.gz", "--into", "copy").err
    assert "the archive has no vectors" in told.lower()
    meaning = replace(cli, variables={"MEMORY_MESH_EMBEDDER": "static"})
    assert meaning("upkeep").code == 0
    one = cli("export", "one.tar.gz", "--with-vectors", "--json", "--namespace", "default")
    assert (json.loads(one.out)["vectors"], one.err) == (1, "")
    assert "vector" not in cli("export", "without.tar.gz").out
