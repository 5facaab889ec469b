"""YAML as plain values: every text reads back as itself, for us and for other readers."""

import pytest
import yaml

from memory_mesh.formats import yaml_text
from memory_mesh.formats.yaml_text import YamlFault, entry, flow, plain, quoted, read_map
from memory_mesh.model.errors import InvalidInput
from tests.faults.hostile import TEXTS


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_reads_back_here_and_in_an_older_reader(text):
    written = entry("key", plain(text)) + entry("other", quoted(text)) + entry("in", flow([text]))
    assert "\n" not in plain(text)
    expected = {"key": text, "other": text, "in": [text]}
    assert read_map(written).values == expected
    assert yaml.safe_load(written) == expected


@pytest.mark.parametrize("start", range(0, 0x11000, 0x800))
def test_every_character_reads_back(start):
    characters = [chr(code) for code in range(start, start + 0x800) if not 0xD800 <= code < 0xE000]
    written = entry("key", flow(characters)) + entry("all", quoted("".join(characters)))
    assert read_map(written).values == {"key": characters, "all": "".join(characters)}


@pytest.mark.parametrize(
    "value",
    [None, True, False, 0, -7, 10**40, 1.5, -0.25, 1e300, 1e-9, [], {}, [[1, ["x"]], {"a": {}}]],
)
def test_a_value_reads_back_with_its_type(value):
    found = read_map(entry("key", flow(value))).values["key"]
    assert found == value
    assert type(found) is type(value)


def test_a_key_may_be_any_text():
    for key in ("yes", "", "a: b", "- x", "k" * 3_000, "\n"):
        assert read_map(entry(key, "1")).values == {key: 1}
        assert read_map(entry("in", flow({key: {key: 1}}))).values == {"in": {key: {key: 1}}}


def test_yaml_1_1_is_not_read_into_texts():
    text = "a: yes\nb: 12:30:45\nc: 2026-01-05\nd: 0x1F\ne: 010\nf: 1_000\ng: on\nh: .inf\n"
    assert list(read_map(text).values.values()) == [
        "yes", "12:30:45", "2026-01-05", "0x1F", "010", "1_000", "on", ".inf",
    ]  # fmt: skip


def test_what_stands_under_a_text_key_stays_text():
    found = read_map("a: 1.10\nb: [1, true, ~]\nc: 1.10\n", texts=frozenset("ab"))
    assert found.values == {"a": "1.10", "b": ["1", "true", None], "c": 1.1}


@pytest.mark.parametrize(
    "text",
    ["- a", "a", "a: &x 1", "a: *x", "a: !t x", "? [a]\n: 1", "a: 1\n--- \nb: 2", "a: [", "a: \x00",
     "a: " + "[" * 51, "- " * 9_999, "a: " + "1" * 2_000_001],
)  # fmt: skip
def test_other_yaml_is_refused(text):
    with pytest.raises(YamlFault):
        read_map(text)


def test_a_value_that_is_too_deep_is_not_written():
    value: object = "x"
    for _ in range(60):
        value = [value]
    with pytest.raises(InvalidInput, match="flatter"):
        flow(value)  # type: ignore[arg-type]


def test_a_frontmatter_keeps_the_lines_that_do_not_change():
    text = "# top\na: 1 # one\n\nb:\n  - x\n# about c\nc: 'z'\n"
    assert yaml_text.edited(text, {"b": "b: [y]\n"}) == (
        "# top\na: 1 # one\n\nb: [y]\n# about c\nc: 'z'\n"
    )
    assert yaml_text.edited(text, {"a": None, "d": "d: 4\n"}) == (
        "# top\n\nb:\n  - x\n# about c\nc: 'z'\nd: 4\n"
    )
    assert yaml_text.edited("", {"d": "d: 4\n"}) == "d: 4\n"
    assert yaml_text.edited("{a: 1}", {"a": "a: 2\n"}) is None
    assert yaml_text.edited("a: 1\na: 2\n", {"a": "a: 2\n"}) is None
    assert yaml_text.edited("a: [", {"a": "a: 2\n"}) is None


def test_a_frontmatter_says_which_line_is_invalid():
    with pytest.raises(InvalidInput, match="line 2 of the frontmatter"):
        yaml_text.read("a: 1\nb: &x 1\n")
    with pytest.raises(InvalidInput, match="20000 characters"):
        yaml_text.read("a" * 20_001)
