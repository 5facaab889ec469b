"""`--user` on the command line: the memories of one user."""

import json
import shlex
from pathlib import Path

from tests.surface.command import CommandLine

MAIL = "alice@example.com"


def test_a_user_has_memories_of_their_own(cli: CommandLine) -> None:
    id_ = cli.stored("I live in Oslo", "--user", MAIL)
    cli.stored("I live in Rome", "--user", "bob")
    cli.stored("The office is in Paris")
    shown = cli("--user", MAIL, "list", "--json")
    assert [memory["content"] for memory in json.loads(shown.out)["items"]] == ["I live in Oslo"]
    assert "Rome" in cli("search", "live", "--user", "bob").out
    assert "Rome" not in cli("search", "live", "--user", MAIL).out
    assert cli("get", "--id", id_).code == 1
    assert cli("get", "--id", id_, "--user", MAIL).code == 0


def test_an_import_of_a_users_rows_is_undone_and_let_in_by_what_is_printed(
    cli: CommandLine, tmp_path: Path
) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("content,user\nThe gate needs a code,ann\nThe roof leaks,ann\n")
    assert cli("import", str(rows)).code == 0
    assert "Erased 2 memories" in cli("erase", "--source", str(rows), "--user", "ann", "--yes").out
    refused = cli("import", str(rows))
    assert refused.code == 1
    told = next(line for line in refused.err.splitlines() if "--unforget" in line)
    words = shlex.split(told[told.index("memory-mesh ") :].rstrip("."))[1:]
    assert words[-5:] == ["--user", "ann", "--source", "rows.csv", "--unforget"]
    assert "may be stored again" in cli(*words).out
    assert "user ann: 2 stored" in cli("import", str(rows)).out.replace("  ann", "user ann")
    assert "give --unforget TEXT" in cli(*words).out
    assert cli("erase", "--unforget").code == 2
    unknown = cli("erase", "--source", "nosuch", "--unforget")
    assert unknown.code == 1
    assert "nothing was erased from the source 'nosuch'" in unknown.err


def test_what_waits_is_written_when_the_command_ends(cli: CommandLine) -> None:
    cli.stored("I live in Oslo", "--user", "alice")
    cli("search", "live", "--user", "alice")
    assert json.loads(cli("stats", "--user", "alice", "--json").out)["recalls"] == 1


def test_users_are_shown_by_their_ids(cli: CommandLine) -> None:
    cli.stored("I live in Oslo", "--user", MAIL)
    cli.stored("tea", "--user", "a\x1b[31m\nb")
    assert cli("namespaces").out == f"user.a\\x1b[31m b\nuser.{MAIL}\n"
    assert json.loads(cli("namespaces", "--json").out)["items"][1] == f"user.{MAIL}"
    assert f"Namespace: user.{MAIL}" in cli("stats", "--verbose", "--user", MAIL).out
    assert cli("verify", "--user", MAIL).out.startswith(f"Namespace user.{MAIL}: 0 findings")
    assert f"user.{MAIL}  (option --user)" in cli("config", "--user", MAIL).out


def test_a_user_and_a_namespace_exclude_each_other(cli: CommandLine) -> None:
    both = cli("list", "--user", "alice", "--namespace", "work")
    assert (both.code, "not both" in both.err) == (2, True)
    reserved = cli("list", "--namespace", "user.alice")
    assert (reserved.code, "--user" in reserved.err) == (1, True)
    assert cli("list", "--user", "").code == 1


def test_a_list_of_a_user_who_is_not_there_says_so(cli: CommandLine) -> None:
    id_ = cli.stored("I live in Oslo", "--user", "alice")
    unknown = cli("list", "--user", "nobody")
    assert (unknown.code, unknown.out) == (0, "")
    assert "There is no user nobody here" in unknown.err
    assert "There is no namespace shop here" in cli("list", "--namespace", "shop").err
    assert "no user" in json.loads(cli("--json", "list", "--user", "nobody").err)["note"]
    assert cli("delete", id_, "--user", "alice").code == 0
    known = cli("list", "--user", "alice")
    assert (known.out, known.err) == ("", "")
    assert cli("list").err == ""


def test_a_user_named_like_a_namespace_is_told_of_before_any_question(cli: CommandLine) -> None:
    cli.stored("I live in Oslo", "--user", "alice")
    cli.stored("I live in Rome", "--user", "bob")
    cli.stored("The office is in Paris", "--namespace", "bob")
    for words in (("users", "delete", "alice"), ("namespaces", "delete", "alice", "--yes")):
        done = cli(*words)
        assert done.code == 2
        assert "that is a user, and no namespace; to delete one: memory-mesh" in done.err
        assert "delete --user alice" in done.err
        assert "--yes" not in done.err
    assert "belong to users" in cli("users", "delete", "user.alice").err
    assert "add --yes to delete bob" in cli("users", "delete", "bob").err  # a namespace, too
    assert "add --yes to delete carol" in cli("users", "delete", "carol").err
    assert cli("users", "delete", "--user", "alice", "--yes").code == 0
    assert cli("namespaces").out == "bob\nuser.bob\n"
