"""What a newcomer types that is called otherwise here is answered with what to type."""

from pathlib import Path

import pytest

from memory_mesh.sync import MemoryMesh
from tests.surface.command import CommandLine


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("list", "--tag", "ops"), "unknown option --tag; use --filter \"tags = 'WORD'\""),
        (("search", "tea", "--tag", "ops"), "use --filter \"tags = 'WORD'\""),
        (("context", "tea", "--budget", "9"), "unknown option --budget; use --max-tokens"),
        (("search", "tea", "--top-k", "3"), "use --limit"),
        (("delete", "mem_1_000001", "mem_1_000002"), "one id at a time: repeat the command"),
        (("import", "."), "is a folder; memory-mesh import folder stores its files"),
    ],
)
def test_a_command_line_names_the_option_that_does_it(
    cli: CommandLine, words: tuple[str, ...], advice: str
) -> None:
    done = cli(*words)
    assert done.code == 2
    assert advice in done.err


def test_health_is_what_doctor_says(cli: CommandLine) -> None:
    assert "store: " in cli("health").out


def test_subfolders_that_are_not_read_are_counted(cli: CommandLine) -> None:
    for name in ("one", "two"):
        (cli.home / "kb" / name).mkdir(parents=True)
    (cli.home / "kb/top.md").write_text("The office closes at six")
    assert "Skipped: 2 subfolders (--recursive reads them)." in cli("import", "folder", "kb").out
    assert "Skipped" not in cli("import", "folder", "kb", "--recursive").out


def test_a_terminal_says_that_a_list_is_empty_and_that_a_field_is_unknown(cli: CommandLine) -> None:
    cli.stored("tea at four", "--tag", "ops")
    shown = cli.on_terminal("list", "--filter", "tag = 'ops'").out
    assert "Nothing was found.\n" in shown
    assert "did you mean the field tags?" in shown
    assert cli("list", "--filter", "tags = 'none'").out == ""


def test_a_list_marks_what_is_deleted_and_what_happened_before(cli: CommandLine) -> None:
    id_ = cli.stored("tea at four", "--occurred-at", "2026-03-05T12:00:00Z")
    assert "every project · happened 2026-03-05" in cli.on_terminal("list").out
    cli("delete", id_)
    assert "deleted · every project" in cli.on_terminal("list", "--include", "deleted").out
    kept = cli.stored("cake at five")
    rows = cli("list", "--include", "deleted", "--include", "archived").out.splitlines()
    assert [row.split("\t")[0::4] for row in rows] == [[kept, "active"], [id_, "deleted"]]
    assert cli("list").out.split("\t")[3:] == ["cake at five\n"]


def test_a_budget_that_holds_no_memory_says_how_much_one_takes(cli: CommandLine) -> None:
    cli.stored("The database of the shop is hosted in the data centre of Porto, on two servers")
    shown = cli.on_terminal("context", "where is the database hosted?", "--max-tokens", "40").out
    assert "The shortest of them takes " in shown
    assert "give more with --max-tokens" in shown


def test_stats_say_that_users_have_memories_of_their_own(cli: CommandLine) -> None:
    cli.stored("tea at four")
    assert "of their own" not in cli.on_terminal("stats").out
    cli.stored("coffee at five", "--user", "bob")
    assert "of their own: memory-mesh namespaces" in cli.on_terminal("stats").out


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("since", "use filter=\"created_at >= '2026-11-01'\""),
        ("tags", "use filter=\"tags = 'WORD'\""),
        ("project", "use scope=Scope(project=NAME)"),
        ("session", "use scope=Scope(session=NAME)"),
    ],
)
def test_python_names_the_option_that_does_it(tmp_path: Path, name: str, advice: str) -> None:
    with (
        MemoryMesh(db_dir=tmp_path, embedder="none") as mesh,
        pytest.raises(TypeError) as error,
    ):
        mesh.search("tea", **{name: "7d"})  # type: ignore[arg-type]  # it has no such option
    assert advice in str(error.value)
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        assert mesh.search("tea", filter="created_at >= '2026-11-01' AND tags = 'WORD'") == []
