"""Splits notes, chat and Markdown into sentences, in scripts with and without spaces.

A sentence ends at its mark, at the end of a list item or a paragraph, and at a line end that the
next line does not carry on. What stands in a code fence is no sentence; a heading is one only
where there is nothing else. A dot in a number, a path, code or an abbreviation ends
nothing.
"""
# ruff: noqa: RUF001 - the marks of many scripts

import re
from collections.abc import Iterator
from functools import cache

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.text import analyzer

_SHORT = (
    "approx apr aug bzw ca capt cf co corp d.h dec dept dr e.g ed eds eg est etc feb gen gov i.e "
    "ie inc incl jan jr ltd max mar min mr mrs ms mt nov oct p.ex prof ref rev sen sep sept sr st "
    "tel usw v vs z.b"
)
_ABBREVIATIONS = frozenset(_SHORT.split())
_NUMBERED = frozenset(
    ("fig", "figs", "no", "nos", "nr", "p", "pp", "sec", "vol")
)  # No. 5, but: no.
_MAY_END = frozenset(("co", "corp", "etc", "inc", "jr", "ltd", "sr", "usw"))  # before a capital
_POLITE = (
    "absolutely amazing appreciate awesome bye cheers congrats congratulations cool course cute "
    "definitely exactly fantastic fine glad good gotcha great haha happy hello hey hi hmm hope "
    "indeed interesting lol love lovely luck nice noted oh ok okay perfect please really sorry "
    "sounds sure sweet thank thanks totally understood welcome well wonderful worries wow yeah yep "
    "yes yup"
)
FULL = 3  # terms of a sentence that stands for itself
_PUNCTUATION = ".,:;!?()[]\"'`*"
_NEAR = 200  # characters before a full stop that are looked at
_WRAPPED = 60  # characters: a line as long as that was broken by an editor, not by its writer


def sentences(text: str) -> list[str]:
    """Returns the sentences of a text in order, each on one line."""
    units = list(_units(text))
    found = [part for unit, heading in units if not heading for part in _split(unit)]
    return found or [part for unit, _ in units for part in _split(unit)]


def asks(sentence: str) -> bool:
    """True for a question."""
    return sentence.rstrip("\"'”’)]»」』 ").endswith(("?", "？", "؟"))


def says(sentence: str, least: int = 2) -> bool:
    """True if there are enough words besides courtesies and function words."""
    count = 0
    for word in sentence.split():
        if word.strip(_PUNCTUATION).casefold() in analyzer.STOP_WORDS:
            continue
        held = set(analyzer.terms(word)) - courtesies()
        count += min(len(held), 1) if word.isascii() else len(held)
    return count >= least


@cache
def courtesies() -> frozenset[str]:
    """The terms of words that say nothing: thanks, wow, sure."""
    return frozenset(analyzer.terms(_POLITE))


def _units(text: str) -> Iterator[tuple[str, bool]]:
    """Paragraphs, list items and headings, each with whether it is a heading."""
    gathered: list[str] = []
    fence = ""
    for line in [*text.splitlines(), ""]:
        bare = line.strip()
        if fence:
            fence = "" if bare.startswith(fence) else fence
            continue
        opened = _fences().match(bare)
        if opened:
            fence = opened[0][:3]
        begins = bool(opened) or not bare or _begins_anew(bare)
        if gathered and (begins or not _carried_on(gathered[-1], bare)):
            yield " ".join(gathered), False
            gathered = []
        if opened or not bare or _rules().fullmatch(bare):
            continue
        if _titles().fullmatch(bare):
            yield bare.strip("#*: "), True
            continue
        opening = _markers().match(bare)
        gathered.append(bare[opening.end() :] if opening else bare)


def _begins_anew(line: str) -> bool:
    if _rules().fullmatch(line) or _titles().fullmatch(line):
        return True
    return any(pattern.match(line) for pattern in (_markers(), _rows()))


def _carried_on(before: str, line: str) -> bool:
    """A wrapped line: it goes on in lower case, or after a comma, or the one before is long."""
    if before.endswith((".", "!", "?", "。", "！", "？", ":", ";")):
        return line[:1].islower() and not before.endswith((":", ";"))
    return line[:1].islower() or before.endswith(",") or len(before) >= _WRAPPED


def _split(unit: str) -> Iterator[str]:
    start = 0
    closed = _code().finditer(unit)
    code = next(closed, None)
    for found in _ends().finditer(unit):
        while code and code.end() <= found.start():
            code = next(closed, None)
        if (code and code.start() < found.start()) or not _is_end(unit, start, found):
            continue
        if sentence := unit[start : found.end()].strip():
            yield sentence
        start = found.end()
    if rest := unit[start:].strip():
        yield rest


def _is_end(unit: str, start: int, found: re.Match[str]) -> bool:
    mark = found[0]
    if mark[0] in "。！？｡؟।":
        return True
    following = _sign().search(unit, found.end())
    if following is None:
        return True
    after = following[0]
    if after.islower() or after in ",;":
        return False
    if mark != ".":
        return True
    words = unit[max(start, found.start() - _NEAR) : found.start()].split()
    last = words[-1].lstrip("([\"'“‘").casefold() if words else ""
    if last in _ABBREVIATIONS:
        return last in _MAY_END and after.isupper()
    if last in _NUMBERED:
        return not after.isdigit()
    if last.isdigit():
        return len(words) > 1  # 1. opens a list
    return not (len(last) == 1 and last.isalpha())  # J. Smith


_ends = lazy_pattern(r"(?<![.!?…])[.!?…]++[\"'”’)\]»]*+(?=\s|$)|[。！？｡؟।]+[」』”’)）»]*")


_sign = lazy_pattern(r"\S")


_code = lazy_pattern(r"`[^`\n]{1,400}`")


_fences = lazy_pattern(r"```|~~~")


_titles = lazy_pattern(r"#{1,6}\s.*|\*\*[^*]+\*\*:?")


_rules = lazy_pattern(r"[-*_=|:\s]{3,}")


# A line such as `port: 8080`.
_rows = lazy_pattern(r"[\w][\w .-]{0,30}:\s+\S")


# The start of a list item or of a stored turn.
_markers = lazy_pattern(
    r"(?:[-*+•]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+|>\s*|\[(?:USER|ASSISTANT)\]\s*)"
)
