"""Stage 3, normalisation: one form of headings, bullets and punctuation, never inside code.

Punctuation changes only in what is embedded. Headings and bullets also change in the content of a
document. A bullet before a number stays as it is written: it may be its sign.
"""

import re
from functools import cache

from memory_mesh.policy.scrub import forms

_PUNCTUATION = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u201f", '"')
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc", "'")
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | {"\u2026": "...", "\u00ad": "", "\ufeff": ""}
)
_BULLETS = "-*\u2022\u2023\u25e6\u25aa\u25cf\u25cb\u25a0"
_NUMBER_STARTS = "0123456789.,$\u20ac\u00a3\u00a5"


def punctuation(text: str) -> str:
    """Typographic quotes, dashes and dots as a keyboard has them."""
    return text if text.isascii() else text.translate(_PUNCTUATION)


def prose(text: str) -> str:
    """A plain text with plain punctuation outside of backticks, blanks closed up line by line."""
    if not text.isascii():
        text = _outside_code(text) if "`" in text else text.translate(_PUNCTUATION)
    if "\n" not in text:
        return closed_up(text)
    return "\n".join(filter(None, map(closed_up, text.split("\n"))))


def closed_up(line: str) -> str:
    """One blank between words, none around them."""
    return " ".join(line.split())


def bullet(marker: str, text: str) -> str:
    """An item under the one bullet we use, unless the marker may be a sign or carry meaning."""
    kept = marker not in _BULLETS or text[0] in _NUMBER_STARTS
    return f"{marker if kept else '-'} {text}"


def document(content: str) -> str:
    """A document with headings as `# Heading` and bullets as `- item`."""
    lines = content.split("\n")
    kept: list[str] = []
    front = front_matter(lines)
    is_list = sum(_item().fullmatch(line) is not None for line in lines) > 1
    for at, (line, in_code) in enumerate(zip(lines, forms.fenced(lines), strict=True)):
        if in_code or at < front or line.startswith(("    ", "\t")):
            kept.append(line)
        elif (underline := _underline().fullmatch(line)) and _stands_alone(kept):
            kept[-1] = f"{'#' if underline[1] == '=' else '##'} {kept[-1].strip()}"
        elif (heading := _heading().fullmatch(line)) and heading[2]:
            kept.append(f"{heading[1]} {_without_closing(heading[2])}")
        elif is_list and (item := _item().fullmatch(line)) and not _rule().fullmatch(line):
            kept.append(item[1] + bullet(item[2], item[3]))
        else:
            kept.append(line)
    return "\n".join(kept)


def front_matter(lines: list[str]) -> int:
    """How many lines at the start are YAML between two lines of three dashes."""
    if lines[0] != "---":
        return 0
    for at, line in enumerate(lines[1:], 1):
        if line == "---":
            return at + 1
        if not line.strip():
            return 0
    return 0


def _outside_code(text: str) -> str:
    parts, at = list[str](), 0
    for start, stop in forms.code_spans(text):
        parts += [text[at:start].translate(_PUNCTUATION), text[start:stop]]
        at = stop
    return "".join([*parts, text[at:].translate(_PUNCTUATION)])


def _stands_alone(kept: list[str]) -> bool:
    """The last line is a paragraph of its own, so that a line of dashes makes a heading of it."""
    if not kept or not kept[-1][:1].isalnum():
        return False
    return len(kept) == 1 or not kept[-2].strip()


def _without_closing(heading: str) -> str:
    """`Heading ##` is `Heading`, but C# stays C#."""
    bare = heading.rstrip("#")
    return bare.rstrip() if bare[-1:].isspace() else heading


@cache
def _heading() -> "re.Pattern[str]":
    return re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")


@cache
def _underline() -> "re.Pattern[str]":
    return re.compile(r"(=|-)(?:\1{2,})[ \t]*")


@cache
def _item() -> "re.Pattern[str]":
    return re.compile(rf"([ \t]*)([{re.escape(_BULLETS)}])[ \t]+(\S.*)")


@cache
def _rule() -> "re.Pattern[str]":
    return re.compile(r"[ \t]*([-*])(?:[ \t]*\1){2,}[ \t]*")
