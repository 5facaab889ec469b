"""What a person sees on a terminal: narrow, without UTF-8, plain; a pipe gets none of it."""

from dataclasses import replace

import pytest

from tests.surface import golden
from tests.surface.command import CommandLine

LONG = (
    "The user prefers dark themes in the evening, and light ones – “bright” as he calls them – "
    "while the sun shines on /usr/share/very/long/path/that/has/no/spaces/and/goes/on.txt"
)

TEN = [  # the commands that most people use, as one session
    ("store", "The user prefers dark themes", "--tag", "ui"),
    ("store", "Deploys run on Fridays"),
    ("search", "dark themes"),
    ("context", "When do we deploy?"),
    ("list",),
    ("get", "{1}"),
    ("update", "{1}", "--content", "The user prefers light themes"),
    ("explain", "{1}", "--query", "light themes"),
    ("delete", "{2}"),
    ("stats",),
    ("help",),
]


@pytest.fixture
def narrow(cli: CommandLine) -> CommandLine:
    return replace(cli, variables={"COLUMNS": "40", "LC_ALL": "C", "NO_COLOR": "1"})


def test_a_terminal_of_40_columns_without_utf_8_shows_all_of_it(narrow: CommandLine) -> None:
    first = narrow.stored(LONG, "--speaker", "Ada", "--tag", "ui")
    narrow.stored("Deploys run on Fridays")
    for words in (("search", "dark themes"), ("list",), ("help",)):
        shown = narrow.on_terminal(*words)
        assert shown.code == 0
        assert shown.out.isascii()
        assert "\x1b" not in shown.out
        lines = shown.out.partition("processes.")[2].partition("example:")[0] or shown.out
        assert max(map(len, lines.splitlines())) <= 40
    found = narrow.on_terminal("search", "dark themes").out
    assert found.startswith("1  The user prefers dark themes in the\n   evening, and light ones - ")
    assert "just now - said by Ada - every project - #ui - score" in " ".join(found.split())
    assert first in found.replace("\n   ", "")
    narrow.stored("茶は四時")
    assert "\\u8336" in narrow.on_terminal("list").out


def test_a_terminal_with_utf_8_is_styled_and_a_pipe_is_not(cli: CommandLine) -> None:
    cli.stored("茶 – tea at four")
    assert (
        "\x1b[1m1\x1b[0m  茶 – tea at four\n   \x1b[2mjust now · "
        in cli.on_terminal("search", "tea").out
    )
    piped = replace(cli, variables={"LC_ALL": "C"})("search", "tea")
    assert "茶 – tea at four" in piped.out
    assert "\x1b" not in piped.out


def test_a_new_store_and_long_work_are_told_to_a_person_only(cli: CommandLine) -> None:
    stored = cli.on_terminal("store", "tea at four")
    assert f"This is a new store: {cli.store}\n" in stored.out
    assert "new store" not in cli.on_terminal("store", "tea at five").out
    notes = cli.home / "notes"
    notes.mkdir()
    for number in range(3):
        (notes / f"{number}.md").write_text(f"note {number} is its own")
    assert "3 of 3 files, 100 %" in cli.on_terminal("ingest-dir", "notes").out
    (notes / "3.md").write_text("note 3 is its own")
    piped = cli("ingest-dir", "notes")
    assert (piped.out, piped.err) == ("[MemoryMesh] Ingested 1 file, 3 already known.\n", "")


@pytest.mark.parametrize("where", ["terminal", "pipe"])
def test_the_commands_that_most_people_use_look_as_they_did(cli: CommandLine, where: str) -> None:
    golden.check(f"most-used-{where}", cli, TEN, terminal=where == "terminal")
