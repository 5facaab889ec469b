"""Commands about whole stores: what they refuse, and what they say next."""

import json
import shlex
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from memory_mesh.model import Scope
from memory_mesh.model.care import HELD_BACK
from memory_mesh.sync import MemoryMesh
from tests.surface.command import CommandLine

DARK = "The user prefers dark themes"


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        (("backup", "--to", "elsewhere"), "memory-mesh export"),
        (("move", "--to", "elsewhere"), "--only"),
        (("salvage", "--to", "elsewhere"), "leave it out"),
        (("restore", "--from", "elsewhere", "--replace"), "namespaces/NAME.db"),
    ],
)
def test_a_part_is_not_taken_for_the_whole_store(
    cli: CommandLine, words: tuple[str, ...], instead: str
) -> None:
    cli.stored(DARK)
    done = cli(*words, "--namespace", "work")
    assert (done.code, instead in done.err) == (2, True), done.err
    assert not (cli.home / "elsewhere").exists()
    assert (cli.store / "namespaces" / "default.db").exists()


@pytest.mark.parametrize("words", [("move", "--to", "elsewhere"), ("repair", "--accept-loss")])
def test_an_agent_neither_moves_a_store_nor_accepts_a_loss(
    cli: CommandLine, words: tuple[str, ...]
) -> None:
    cli.stored(DARK)
    done = replace(cli, variables={"CLAUDECODE": "1"})(*words)
    assert (done.code, "an agent may not run" in done.err) == (1, True), done.err
    assert not (cli.home / "elsewhere").exists()


def test_verify_all_finds_the_damaged_namespace_among_others(cli: CommandLine) -> None:
    cli.stored(DARK)
    cli.stored("Tea is served at four", "--user", "ann")
    cli.stored("Deploys run on Fridays", "--namespace", "work")
    assert cli("verify", "--all").out.splitlines() == [
        "Namespace default: 0 findings",
        "Namespace user.ann: 0 findings",
        "Namespace work: 0 findings",
    ]
    (cli.store / "namespaces" / "work.db").write_bytes(b"no database at all" * 1000)
    done = cli("verify", "--all", "--json")
    assert done.code == 1
    assert [one["ok"] for one in json.loads(done.out)["items"]] == [True, True, False]
    assert "1 of 3 namespaces are damaged: work" in done.err
    assert cli("verify", "--all", "--checkpoint", "now.json").code == 2


def test_verify_names_the_namespace_that_was_asked_for(cli: CommandLine) -> None:
    cli.stored(DARK)
    cli.stored("Deploys run on Fridays", "--namespace", "work")
    folder = cli.store / "namespaces"
    shutil.copy(folder / "work.db", folder / "default.db")
    done = cli("verify")
    assert done.out.startswith("Namespace default: 1 finding\n")
    assert "1 finding in the namespace default" in done.err


def test_a_misspelt_namespace_is_not_verified_as_an_empty_one(cli: CommandLine) -> None:
    cli.stored(DARK)
    done = cli("verify", "--namespace", "wrok")
    assert (done.code, "its namespaces are: default" in done.err) == (1, True)


def test_salvage_says_what_to_do_with_the_new_store(cli: CommandLine, tmp_path: Path) -> None:
    cli.stored(DARK)
    done = cli("salvage", "--to", str(tmp_path / "rescued"))
    assert done.code == 0
    assert f"memory-mesh list --db-dir {tmp_path / 'rescued'}" in done.out + done.err


def test_salvage_names_the_commands_for_what_it_holds_back(
    cli: CommandLine, tmp_path: Path
) -> None:
    id_ = cli.stored(DARK, "--project", "atlas")
    cli.stored("Deploys run on Fridays", "--project", "atlas")
    with closing(sqlite3.connect(cli.store / "namespaces" / "default.db")) as db, db:
        db.execute("UPDATE version SET project = 'beacon' WHERE number = 1")
    new = tmp_path / "rescued"
    done = cli("salvage", "--to", str(new))
    assert done.code == 1
    assert "2 memories: 1 as they were, 1 held back, 0 lost" in done.out
    assert "held back: 1" in done.out
    assert "1 memory held back for you to decide on" in done.err
    said = json.loads(cli("salvage", "--to", str(tmp_path / "again"), "--json").out)
    (held,) = said["namespaces"][0]["held_back"]
    assert (said["complete"], said["namespaces"][0]["known"], held["id"]) == (False, 2, id_)
    commands = [
        line.split(": ", 1)[1] for line in done.out.splitlines() if ": memory-mesh review" in line
    ]
    look, accept = [shlex.split(command)[1:] for command in commands]
    assert DARK in cli(*look).out
    for project in ("atlas", "beacon", ""):
        assert id_ not in cli("list", "--project", project, "--db-dir", str(new)).out
    literal = cli(*accept)
    assert (literal.code, "in the place of PROJECT" in literal.err) == (2, True)
    accepted = cli(*["atlas" if part == "PROJECT" else part for part in accept])
    assert accepted.code == 0, accepted.err
    assert id_ in cli("list", "--project", "atlas", "--db-dir", str(new)).out
    assert id_ not in cli("list", "--project", "beacon", "--db-dir", str(new)).out


def test_a_deleted_memory_that_is_accepted_is_where_it_was_given_to(
    cli: CommandLine, tmp_path: Path
) -> None:
    """The rows of the memory are those of another namespace's file, so its audience is not sure."""
    id_ = cli.stored(DARK, "--user", "ann")
    cli("delete", "--id", id_, "--user", "ann")
    cli.stored("Deploys run on Fridays")
    folder = cli.store / "namespaces"
    for end in ("-wal", "-shm"):
        (folder / f"default.db{end}").unlink(missing_ok=True)
    (folder / "user.ann.db").rename(folder / "default.db")
    (folder / "user.ann.head").unlink()
    new = tmp_path / "rescued"
    done = cli("salvage", "--to", str(new))
    (accept,) = [line for line in done.out.splitlines() if line.strip().startswith("accept: ")]
    words = shlex.split(accept.split(": ", 1)[1])[1:]
    assert "PROJECT" in words
    given = ["atlas" if part == "PROJECT" else part for part in words]
    accepted = cli(*given)
    assert accepted.code == 0, accepted.err
    assert id_ in cli("list", "--project", "atlas", "--db-dir", str(new)).out


def test_giving_a_memory_that_was_given_and_not_approved_approves_it(
    cli: CommandLine, tmp_path: Path
) -> None:
    """As after a kill between the two writes."""
    id_ = cli.stored(DARK, "--project", "atlas")
    with closing(sqlite3.connect(cli.store / "namespaces" / "default.db")) as db, db:
        db.execute("UPDATE version SET project = 'beacon' WHERE number = 1")
    new = tmp_path / "rescued"
    cli("salvage", "--to", str(new))
    with MemoryMesh(db_dir=new, embedder="none") as mesh:
        mesh.update(id_, reader=Scope(HELD_BACK), scope=Scope("atlas"))
    words = ("--give-to", "atlas", "--project", HELD_BACK, "--db-dir", str(new))
    done = cli("review", "--id", id_, "--approve", *words)
    assert done.code == 0, done.err
    assert id_ in cli("list", "--project", "atlas", "--db-dir", str(new)).out


@pytest.mark.parametrize("words", [("verify",), ("verify", "--all")])
def test_a_folder_without_a_store_is_not_called_sound(
    cli: CommandLine, tmp_path: Path, words: tuple[str, ...]
) -> None:
    done = cli(*words, "--db-dir", str(tmp_path / "misspelt"))
    assert (done.code, "there is no store in" in done.err) == (1, True)


def test_verify_names_a_head_file_that_cannot_be_read(cli: CommandLine) -> None:
    cli.stored(DARK)
    head = cli.store / "namespaces" / "default.head"
    head.write_bytes(b"x" + head.read_bytes()[1:])
    found = cli("verify")
    assert (found.code, "default.head cannot be read" in found.out) == (1, True)
    cli.stored("Deploys run on Fridays")
    assert cli("verify").code == 0


def test_only_what_salvage_held_back_is_given_to_another_project(cli: CommandLine) -> None:
    id_ = cli.stored(DARK, "--project", "atlas")
    given = ("--give-to", "beacon", "--project", "atlas")
    assert cli("review", "--id", id_, "--give-to", "beacon").code == 2
    assert "salvage:held-back" in cli("review", "--id", id_, "--approve", *given).err


def test_a_changed_text_is_named_by_the_memory_that_it_is_of(cli: CommandLine) -> None:
    id_ = cli.stored(DARK)
    with closing(sqlite3.connect(cli.store / "namespaces" / "default.db")) as db, db:
        db.execute("UPDATE text SET content = 'changed behind its back'")
    assert f"text 1 of {id_} is not what was stored" in cli("verify").out


def test_an_import_speaks_of_rejected_values_only_if_there_are_any(cli: CommandLine) -> None:
    cli.stored(DARK)
    assert cli("export", "--to", "one.tar.gz").code == 0
    done = cli("import", "--from", "one.tar.gz", "--into", "copy")
    assert done.code == 0
    assert "new placeholders differ" in done.out + done.err
    assert "rejected" not in done.out + done.err
