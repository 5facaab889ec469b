"""What commands about whole stores say: the store that was named, ids, plurals, short lists."""

import argparse
import json
import re
import shlex
from dataclasses import replace

import pytest

from memory_mesh.cli import command_table, output
from memory_mesh.cli.commands import damage as salvage
from memory_mesh.model.care import Unread
from tests.surface.command import CommandLine
from tests.surface.situations import TEXT, alter, database


def given(**stated: str) -> argparse.Namespace:
    return argparse.Namespace(
        **{"store": None, "db_dir": None, "namespace": None, "user": None, **stated}
    )


@pytest.mark.parametrize(
    ("said", "stated", "told"),
    [
        ("run `memory-mesh repair`", {}, "run `memory-mesh repair`"),
        (
            "memory-mesh verify; memory-mesh upkeep",
            {"db_dir": "my store"},
            "memory-mesh --db-dir 'my store' verify; memory-mesh --db-dir 'my store' upkeep",
        ),
        (
            "memory-mesh repair; memory-mesh salvage --to FOLDER",
            {"namespace": "my work"},
            "memory-mesh --namespace 'my work' repair; memory-mesh salvage --to FOLDER",
        ),
        (
            "memory-mesh repair --accept-loss --namespace other",
            {"db_dir": "d", "user": "ann"},
            "memory-mesh --db-dir d repair --accept-loss --namespace other",
        ),
        (
            "memory-mesh list --db-dir new; memory-mesh verify --all",
            {"db_dir": "old", "user": "ann"},
            "memory-mesh --user ann list --db-dir new; memory-mesh --db-dir old verify --all",
        ),
        ("memory-mesh models pull", {"db_dir": "d"}, "memory-mesh models pull"),
    ],
)
def test_advised_commands_are_for_what_was_named(
    said: str, stated: dict[str, str], told: str
) -> None:
    assert output.completed(said, given(**stated)) == told


_EXAMPLES = [
    shlex.split(line.partition(" > ")[0])[1:]
    for name in command_table.COMMANDS
    for line in command_table.load(name).example.splitlines()
]


@pytest.mark.parametrize("words", _EXAMPLES, ids=" ".join)
def test_a_common_option_may_stand_anywhere_among_the_words(words: list[str]) -> None:
    _, meant = command_table.read([*words, "--session", "s1"])
    for place in range(len(words)):
        if place == 0 or not words[place - 1].startswith("-"):
            typed = [*words[:place], "--session", "s1", *words[place:]]
            assert command_table.read(typed)[1] == meant, shlex.join(typed)


def test_a_message_about_several_namespaces_names_none() -> None:
    options = given(namespace="work")
    options.also_namespace = ["other"]
    assert output.completed("memory-mesh repair", options) == "memory-mesh repair"


def test_the_advice_about_a_store_with_a_difficult_name_can_be_typed_as_it_stands(
    cli: CommandLine,
) -> None:
    named = ("--db-dir", "my store", "--namespace", "it's work")
    cli.stored(TEXT, *named)
    (file,) = (cli.home / "my store/namespaces").glob("*.db")
    file.write_bytes(b"no database" * 1_000)
    refused = cli("list", *named)
    (advised,) = re.findall(r"See what is wrong: (memory-mesh .*?)\. Rebuild", refused.err)
    assert shlex.split(advised) == [
        "memory-mesh", "--db-dir", "my store", "verify", "--namespace", "it's work",
    ]  # fmt: skip
    looked = cli.shell(advised)
    assert looked.code == 1
    assert "wrong opening: " in looked.out
    assert "memory-mesh --db-dir 'my store' salvage --to FOLDER" in looked.out


def test_a_finding_of_one_of_all_namespaces_advises_for_that_one(cli: CommandLine) -> None:
    cli.stored(TEXT, "--db-dir", "s")
    cli.stored(TEXT, "--db-dir", "s", "--user", "ann")
    (file,) = (cli.home / "s/namespaces").glob("user*.db")
    file.rename(cli.home / "aside.db")
    database(cli).parent.mkdir(parents=True)
    (cli.home / "aside.db").rename(database(cli))
    alter(cli, "DELETE FROM live_data WHERE id > 10")
    database(cli).rename(file)
    done = cli("verify", "--all", "--db-dir", "s")
    assert done.code == 1
    assert "run `memory-mesh --db-dir s --user ann repair`" in done.out
    assert "memory-mesh --db-dir s repair --namespace NAME" in done.err
    assert cli("repair", "--db-dir", "s", "--user", "ann").code == 0
    assert cli("verify", "--all", "--db-dir", "s").code == 0


@pytest.mark.parametrize(
    ("statement", "row"),
    [
        ("UPDATE memory SET status = 'archived'", "memory 1"),
        ("UPDATE text SET echo = x'00'", "text 1"),
        ("UPDATE version SET importance = 0.123", "version 1"),
        ("UPDATE observation SET outcome = 'merged'", "observation 1"),
    ],
)
def test_a_changed_row_is_named_by_its_memory_and_what_shows_it(
    cli: CommandLine, statement: str, row: str
) -> None:
    id_ = cli.stored(TEXT)
    alter(cli, statement)
    done = cli("verify")
    assert f"checksums: {row} of {id_} is not what was stored" in done.out
    assert "memory-mesh get --id ID" in done.err


def test_one_is_one_and_several_are_several(cli: CommandLine) -> None:
    cli.stored("Write to ada@example.org")
    said = [
        cli("export", "--to", "one.tar.gz").out,
        cli("import", "--from", "one.tar.gz", "--into", "copy").out,
        cli("salvage", "--to", "rescued").out,
        cli("repair").out,
        cli("namespaces", "delete", "copy", "--yes").out,
        cli("backup", "--to", "backups").out,
    ]
    alter(cli, "UPDATE memory SET status = 'archived'")
    said += [cli("repair").out]
    (cli.home / ".config/memory-mesh/keys").rename(cli.home / "lost")
    said += [cli("keys", "replace").out]
    assert all(said)
    whole = "\n".join(said)
    assert not re.search(r"\b1 (memories|blocks|findings|texts|namespaces|files|tombstones)", whole)
    for one in ("1 memory", "1 block", "1 text", "1 namespace"):
        assert one in whole
    for several in ("0 findings", "0 skills", "0 tombstones", "3 files"):
        assert several in whole


def test_a_long_list_is_cut_on_the_line_and_whole_as_json() -> None:
    ids = tuple(f"mem_{number}" for number in range(60))
    assert output.some(ids[:5]) == "mem_0, mem_1, mem_2, mem_3, mem_4"
    line = salvage._said(Unread("text", 1, 60, "cannot be read", ids))
    assert line.endswith("(of mem_0, mem_1, mem_2, mem_3, mem_4 and 55 more)")


def test_a_salvage_names_every_lost_memory_as_json(cli: CommandLine) -> None:
    ids = {cli.stored(f"{TEXT} {word}") for word in "abcdefg"}
    alter(cli, "UPDATE text SET content = 'changed'")
    done = cli("salvage", "--to", "lines")
    assert sum(line.startswith("  lost mem_") for line in done.out.splitlines()) == 5
    assert "  lost … and 2 more; --json names them" in done.out
    plain = json.loads(cli("salvage", "--to", "json", "--json").out)
    assert set(plain["namespaces"][0]["lost"]) == ids


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("export", "--to", "-"), "not written to standard output"),
        (("backup", "--to", "b", "--keep", "0"), "must be 1 or more, not 0"),
        (("backup", "--to", "b", "--keep", "x"), "--keep takes a whole number, not 'x'"),
    ],
)
def test_what_cannot_be_meant_is_a_mistake_of_the_command_line(
    cli: CommandLine, words: tuple[str, ...], said: str
) -> None:
    cli.stored(TEXT)
    done = cli(*words)
    assert (done.code, said in done.err) == (2, True), done.err
    assert not (cli.home / "-").exists()
    assert not (cli.home / "b").exists()


@pytest.mark.parametrize("action", ["rotate", "replace"])
def test_a_store_that_is_not_there_gets_no_key(cli: CommandLine, action: str) -> None:
    done = cli("keys", action)
    assert (done.code, "there is no store in" in done.err) == (1, True)
    assert not cli.store.exists()
    assert not (cli.home / ".config").exists()


def test_a_restore_of_nothing_does_not_say_that_it_was_verified(cli: CommandLine) -> None:
    cli.stored(TEXT)
    folder = json.loads(cli("backup", "--to", "backups", "--json").out)["folder"]
    assert cli("namespaces", "delete", "default", "--yes").code == 0
    done = cli("restore", "--from", folder, "--to", "new")
    assert "Restored 0 namespaces to" in done.out
    assert "verified" not in done.out


@pytest.mark.parametrize("name", ["evolve", "supersede"])
def test_an_id_before_the_newer_statement_is_not_stored_as_a_word_of_it(
    cli: CommandLine, name: str
) -> None:
    old = cli.stored("We use MySQL as our database", "--user", "bob")
    done = cli(name, old, "We use PostgreSQL", "--user", "bob")
    meant = f"memory-mesh --user bob update {old} 'We use PostgreSQL'"
    assert (done.code, meant in done.err) == (1, True), done.err
    assert f'update {old} "the new text"' in cli(name, old).err
    assert cli.shell(meant).code == 0
    (only,) = json.loads(cli("list", "--user", "bob", "--json").out)["items"]
    assert (only["id"], only["content"]) == (old, "We use PostgreSQL")
    assert cli(name, f"{old} was the first that we stored").code == 0  # a text about a memory


def test_the_advice_of_evolve_can_be_typed(cli: CommandLine) -> None:
    old = cli.stored("Backups of the shop run at night")
    told = cli("evolve", "Backups of the blog run at night").err
    assert "claim" not in told
    assert f'memory-mesh update {old} "the new text"' in told
    assert "contradicts it by rule" in cli("help", "--all").out


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("list", "--last", "5"), "use --limit."),
        (("list", "--top", "5"), "use --limit."),
        (("list", "-n", "5"), "use --limit."),
        (("list", "--format", "json"), "use --json."),
        (("list", "--type", "lesson"), "use --filter \"type = 'WORD'\"."),
        (("pin", "--list"), "unknown option --list. See"),
        (("list", "--limt", "5"), "did you mean --limit?"),
        (("list", "deploy the app"), "unexpected words: deploy the app. See"),
        (("list", "deploy", "it"), "unexpected words: deploy it. Put a text with spaces in quotes"),
        (("explain", "mem_1", "where is it"), "For a question: --query 'where is it'."),
        (("delete", "--user", "ada"), "memory-mesh namespaces delete --user ada."),
        (("forget", "--user", "ada"), "memory-mesh namespaces delete --user ada."),
        (("lesson", "add"), 'type the rule: memory-mesh lesson add "Use pnpm here" --when'),
        (("lesson", "add", ""), 'type the rule: memory-mesh lesson add "Use pnpm here" --when'),
        (("restore", "backups"), "memory-mesh restore --from backups"),
        (("export", "all.txt"), "an archive ends in .tar.gz, a file of rows in .jsonl, .csv, .md"),
    ],
)
def test_a_mistake_is_answered_with_what_was_meant(
    cli: CommandLine, words: tuple[str, ...], hint: str
) -> None:
    (cli.home / "backups").mkdir()
    done = cli(*words)
    assert done.code == 2
    assert hint in done.err


def test_a_store_that_is_not_there_is_said_by_list_and_stats(cli: CommandLine) -> None:
    assert "There is no store in " in cli.on_terminal("list").out
    assert "Status: no store yet" in cli("stats").out
    cli.stored("tea is hot")
    assert "Status: connected" in cli("stats").out
    assert "Size" not in cli("stats").out
    assert "[MemoryMesh] Size: 0.04 MB, " in cli.on_terminal("stats").out
    assert cli("users").out == "default\n"


def test_a_memory_of_a_session_needs_one_by_option_or_by_the_shells(cli: CommandLine) -> None:
    refused = cli("store", "We try the new parser", "--type", "session")
    assert refused.code == 1
    assert "--session or the variable MEMORY_MESH_SESSION" in refused.err
    said = ("store", "We try the new parser", "--type", "session")
    assert replace(cli, variables={"MEMORY_MESH_SESSION": "s1"})(*said).code == 0
    assert cli(*said, "--session", "s2").code == 0
    for session in ("s1", "s2"):
        assert len(json.loads(cli("list", "--session", session, "--json").out)["items"]) == 1
    assert json.loads(cli("list", "--json").out)["items"] == []
