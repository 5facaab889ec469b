"""Nothing that was stored, asked or misspelt can act on a terminal, nor pass a pipe to do so."""

import re
import unicodedata
from itertools import product
from pathlib import Path

import pytest

from memory_mesh.sync import MemoryMesh
from tests.faults.sample import gated
from tests.surface.command import CommandLine, Ran

HOSTILE = {
    "clear screen": "a\x1b[2Jb",
    "window title": "a\x1b]0;owned\x07b",
    "clipboard": "a\x1b]52;c;cm0gLXJmIH4=\x07b",
    "hyperlink": "a\x1b]8;;https://example.org\x1b\\b\x1b]8;;\x1b\\",
    "device query": "a\x1b[6n\x1bP$qm\x1b\\b",
    "8-bit CSI": "a\x9b31mb\x9d0;t\x9cb",
    "carriage return": "harmless\rEVIL",
    "backspaces": "ab\b\bEVIL",
    "other controls": "a\x01\x0b\x0c\x0e\x0f\x7f\x80\x85b",
    "bidi override": "a\u202eb\u202cc\u2066d\u2069e\u200ff",
    "invisible": "a\u200b\u2060\ufeffb\u00ad\U000e0041\u180ec",
    "line ends": "one\u2028two\u2029three",
    "forged line": "x\n[MemoryMesh] Ingested record mem_1_ffffff",
}
OUR_STYLES = re.compile("\x1b\\[[012]m")


def acting(text: str) -> list[str]:
    """The characters that could do more than be seen."""
    return [
        char
        for char in text
        if char not in "\n\t" and unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    ]


@pytest.fixture
def hostile(cli: CommandLine) -> CommandLine:
    """A store in which every place that takes text holds every hostile string."""
    with MemoryMesh(db_dir=cli.store) as mesh:
        for text in HOSTILE.values():
            mesh.add(
                f"findme {text}",
                {"type": text, "source": text, "tags": [text], "note": text, f"key {text}": [text]},
                speaker=text,
                role=text,
                source_ref=text,
                key=text,
            )
    return cli


def ids(cli: CommandLine) -> list[str]:
    return [line.split("\t")[0] for line in cli("list").out.splitlines()]


def reads(cli: CommandLine) -> list[tuple[str, ...]]:
    one_each = [(command, "--id", id_) for id_ in ids(cli) for command in ("get", "explain")]
    return [
        ("list",),
        ("search", "findme", "--limit", "50", "--explain"),
        ("stats", "--verbose"),
        ("verify",),
        ("namespaces",),
        ("config",),
        *one_each,
    ]


def misspelt(text: str) -> list[tuple[str, ...]]:
    """Command lines that carry a hostile text into a message."""
    return [
        (text,),
        ("--" + text,),
        ("list", "--" + text),
        ("list", "--limit", text),
        ("list", "--include", text),
        ("list", "--filter", f"type = '{text}'"),
        ("list", "--filter", text),
        ("list", "--cursor", text),
        ("list", "--namespace", text),
        ("list", "--as-of", text),
        ("search", text, "--project", text),
        ("get", "--id", text),
        ("explain", "--id", text),
        ("explain", "--id", text, "--query", text),
        ("delete", "--id", text),
        ("store", "--content", "x", "--metadata", text),
        ("store", "--content", "x", "--meta", text),
        ("store", "--content", "x", "--importance", text),
        ("store", "--content", "x", "--session", text, "--agent", text, "--type", text),
        ("verify", "--against", text),
        ("verify", "--checkpoint", f"{text}/none"),
        ("stats", "--db-dir", f"here/{text}"),
        ("config", "--namespace", text, "--project", text),
        ("completion", text),
    ]


def assert_harmless(done: Ran, words: tuple[str, ...]) -> None:
    assert acting(done.out + done.err) == [], words


def test_what_is_stored_cannot_act_in_a_pipe(hostile: CommandLine) -> None:
    for words in reads(hostile):
        done = hostile(*words)
        assert done.code == 0, done.err
        assert_harmless(done, words)


def test_what_is_stored_cannot_act_as_json(hostile: CommandLine) -> None:
    for words in reads(hostile)[:-12]:
        done = hostile(*words, "--json")
        assert done.out.isascii()
        assert_harmless(done, words)


def test_what_is_stored_cannot_act_on_a_terminal(hostile: CommandLine) -> None:
    for words in reads(hostile):
        shown = hostile.on_terminal(*words)
        assert acting(OUR_STYLES.sub("", shown.out)) == [], words
    plain = CommandLine(hostile.home, variables={"NO_COLOR": "1"})
    for words in reads(hostile)[:4]:
        assert_harmless(plain.on_terminal(*words), words)


def test_a_stored_text_adds_no_line_where_one_is_promised(hostile: CommandLine) -> None:
    assert len(ids(hostile)) == len(HOSTILE)
    assert all(re.fullmatch(r"mem_\d+_[0-9a-f]{6}", id_) for id_ in ids(hostile))
    heads = re.findall(
        r"(?m)^Type: .* \| Source: .*$", hostile("search", "findme", "--limit", "50").out
    )
    assert len(heads) == len(HOSTILE)


def test_what_is_misspelt_cannot_act(cli: CommandLine) -> None:
    for words in misspelt(" ".join(HOSTILE.values())):
        assert_refused_harmlessly(cli, words)


@pytest.mark.slow
def test_no_single_misspelt_word_can_act(cli: CommandLine) -> None:
    """Every text in every place at night; in the gate every text, and every place."""
    places = range(len(misspelt("")))
    for name, place in gated(list(product(HOSTILE, places))):
        words = misspelt(HOSTILE[name])[place]
        assert_refused_harmlessly(cli, words)
        shown = cli.on_terminal(*words)
        assert acting(OUR_STYLES.sub("", shown.out)) == [], words


def assert_refused_harmlessly(cli: CommandLine, words: tuple[str, ...]) -> None:
    done = cli(*words)
    assert "Traceback" not in done.err
    assert done.code in {0, 1, 2}, (words, done.err)
    assert_harmless(done, words)


def test_bytes_that_are_no_text_cannot_act(cli: CommandLine) -> None:
    """Arguments that are not UTF-8 arrive as lone surrogates."""
    for words in (
        ("search", "a\udc9b31m"),
        ("store", "--content", "a\udc9b"),
        ("get", "--id", "\udcff"),
    ):
        done = cli(*words)
        assert done.code == 2
        assert "is not UTF-8 text" in done.err
        assert_harmless(done, words)


@pytest.mark.parametrize("text", ["\x00", "a\x00b", "\x1b[2J\x00"])
def test_a_piped_text_with_nul_cannot_act(cli: CommandLine, text: str) -> None:
    done = cli("store", "--content", "-", stdin=text.encode())
    assert "Traceback" not in done.err
    assert done.code in {0, 1}
    for words in (("list",), ("search", "a b")):
        assert_harmless(cli(*words), words)


def test_a_project_folder_with_a_hostile_name_cannot_act(cli: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "a\x1b[2J\u202eb"
    (folder / ".git").mkdir(parents=True)
    for words in (("store", "--content", "x"), ("get", "--id", "mem_1_000000"), ("config",)):
        assert_harmless(cli(*words, cwd=folder), words)
    (id_,) = [line.split("\t")[0] for line in cli("list", "--all-projects").out.splitlines()]
    assert_harmless(cli("get", "--id", id_, cwd=folder), ("get",))


def test_an_ascii_terminal_still_gets_an_answer(cli: CommandLine) -> None:
    cli.stored("naïve 日本")
    old = CommandLine(cli.home, variables={"PYTHONIOENCODING": "ascii", "LANG": "C"})
    done = old("list")
    assert done.code == 0
    assert done.out.endswith("na\\xefve \\u65e5\\u672c\n")


def test_an_error_shows_no_secret(cli: CommandLine) -> None:
    done = cli("update", "--id", "bob@example.com", "--content", "x")
    assert done.code == 1
    assert "bob@example.com" not in done.err
    assert "[EMAIL]" in done.err
