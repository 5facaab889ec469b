"""Commands about whole stores: what they refuse, and what they say next."""

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

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
    assert [one["ok"] for one in json.loads(done.out)] == [True, True, False]
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
