"""Nothing stored can act on a terminal."""

import pytest
from hypothesis import given, strategies as st

from memory_mesh.formats.terminal import safe_text

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
ZERO_WIDTH = "\u200b\u2060\u2061\u2064\ufeff\u00ad\u034f\u115f\u3164\uffa0\u2800\u180e"
HOSTILE = [
    "\x1b[2J\x1b[H",
    "\x1b]0;owned\x07",
    "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1bP+q544e\x1b\\",
    "\x1b[6n",
    "\x1b[?1049h",
    "\x1bc",
    "\x9b31mred",
    "\x9d0;title\x9c",
    "\x90q\x9c",
    "\x07\x08\x0b\x0c\x0e\x0f",
    "rm -rf /\rls         ",
    "ok\x7f\x7f",
    "nul\x00byte",
    "next\x85line",
    "line\u2028para\u2029end",
    "admin\u202ecod.exe",
    "\u2066a\u2069",
    "pass\u200bword",
    "tag\U000e0041\U000e0042",
    "smuggled\ufe01\ufe02\U000e0100",
    "\ufff9anchor\ufffa\ufffb",
    "\ud800lone",
    "\ue000private",
    "\U0010ffff",
    "a\u200db",
    "\u200d\u200c",
    *BIDI,
    *ZERO_WIDTH,
    *map(chr, range(0x20)),
    *map(chr, range(0x7F, 0xA0)),
]


def harmless(char: str) -> bool:
    return char == "\n" or char in "\u200c\u200d" or char.isprintable()


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_hostile_text_is_made_visible(text):
    shown = safe_text(f"before {text} after")
    assert all(map(harmless, shown))
    assert not set(shown) & set(BIDI + ZERO_WIDTH + "\u2028\u2029\r\t")
    shown.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\u202eb", "a\\u202eb"),
        ("\U000e0041", "\\U000e0041"),
        ("a\u200db", "a\\u200db"),
        ("é\u200d\u200d", "é\u200d\\u200d"),
        ("a\u2028b", "a\\u2028b"),
        ("a\r\nb\nc\rd", "a\nb\nc\\x0dd"),
        ("a\tb", "a    b"),
        ("a\u00a0b\u3000c", "a b c"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_cannot_be_seen_is_shown_as_its_code(text, shown):
    assert safe_text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "plain text\nwith lines",
        "naïve café",
        "日本語",
        "👨\u200d👩\u200d👧 ❤\ufe0f",
        "می\u200cخواهم",
        "क्\u200dष",
        "",
    ],
)
def test_honest_text_is_not_touched(text):
    assert safe_text(text) == text


def test_one_line_stays_one_line():
    assert safe_text("a\r\nb\nc", keep_newlines=False) == "a b c"


@given(st.text(alphabet=st.characters()))
def test_no_text_reaches_the_terminal_unsafe_and_twice_changes_nothing(text):
    shown = safe_text(text)
    assert all(map(harmless, shown))
    assert not set(shown) & set(BIDI + ZERO_WIDTH)
    assert safe_text(shown) == shown
    assert "\n" not in safe_text(text, keep_newlines=False)
