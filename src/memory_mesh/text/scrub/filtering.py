"""Stage 2, filtering: removes boilerplate, repetitions and noise from a document.

Only whole lines of documents go, never code, never the last text. A sentence about a sidebar or a
privacy policy is no boilerplate: the line must be nothing else.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.text.scrub import forms

_PUNCTUATION = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u201f", '"')
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc", "'")
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | {"\u2026": "...", "\u00ad": "", "\ufeff": ""}
)
_BULLETS = "-*\u2022\u2023\u25e6\u25aa\u25cf\u25cb\u25a0"
_NUMBER_STARTS = "0123456789.,$\u20ac\u00a3\u00a5"

_LEAST_REPEATED = 20  # characters; "Yes." may be said twice
_LEAST_NOISE = 8  # characters; `{{x}}` on its own may be meant
_MAX_BOILERPLATE_CHARS = 300  # characters of a line of boilerplate
_STRUCTURE = re.compile(r"[ \t]*(?:#|[-*+\u2022][ \t]|\d+[.)][ \t]|\||>)").match
_NAME = r"(?-i:[A-Z0-9][\w.&'\u2019-]*|and|of|the|by|&)"
_YEARS = r"\d{4}(?:\s*+[-\u2013,]\s*+\d{4})?"
_SIGN = r"(?:\u00a9|\(c\))"
_DATE = (
    r"(?:\d(?:[\d.:/+-]|T(?=\d))*+(?:st|nd|rd|th|Z)?|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
    r"|mon|tue|wed|thu|fri|sat|sun)[a-z]*+|at|am|pm|utc|gmt)"
)
_COMPANY = r"(?:inc|ltd|llc|gmbh|corp|foundation|contributors)"
_MENU = r"\s*+[\w&'-][\w&' -]{0,29}+"
_BOILERPLATE = {
    "copyright notice": (
        rf"(?:copyright\s*+)?{_SIGN}\s*+{_YEARS}(?:[\s,]++{_NAME}){{0,8}}[.,]?",
        (
            rf"(?:(?:copyright)?(?:\s*+{_SIGN})?(?:\s*+{_YEARS})?(?:[\s,]++{_NAME}){{0,8}}[.,]?\s*+)?"
            r"all rights reserved\.?"
        ),
        rf"copyright\s++{_YEARS}(?:(?:\s++{_NAME}){{0,5}}\s++{_COMPANY})?\.?",
    ),
    "navigation": (
        rf"home(?:\s*+\|{_MENU}){{1,12}}",
        rf"home(?:\s*+[>\u203a\u00bb/]{_MENU}){{2,12}}",
        r"(?:navigation|(?:main )?menu|sidebar|breadcrumbs?)\s*:?",
        r"(?:jump|skip) to (?:section|(?:the )?(?:main )?content|navigation|search|top)\.?",
        r"back to top|table of contents:?",
    ),
    "date of a page": (
        (
            rf"(?:page )?last (?:updated|modified)(?:\s*+:\s*+|\s++on\s++)"
            rf"{_DATE}(?:(?:[\s,.]++|(?<=\.)){_DATE}){{0,7}}\.?"
        ),
    ),
    "link to a policy": (
        rf"(?:cookie|privacy) (?:policy|settings|notice)(?:\s*+[|\u00b7]{_MENU}){{0,8}}\.?",
        rf"terms (?:of (?:service|use)|and conditions)(?:\s*+[|\u00b7]{_MENU}){{1,8}}",
    ),
    "notice of cookies": (
        (
            r"(?:this (?:web ?)?site|we) uses? cookies(?: to (?:improve|enhance|ensure|give|provide"
            r"|offer|personali[sz]e|deliver|analy[sz]e)\b.{0,200})?\.?"
            r"(?: accept(?: all)?| ok| got it)?\.?"
        ),
    ),
}


def filtered(content: str, min_signal: float) -> tuple[str, list[str]]:
    """Returns the filtered document and the reason for each removed line."""
    lines = content.split("\n")
    reasons: dict[int, str] = {}
    seen: set[str] = set()
    for paragraph in _paragraphs(lines):
        if _is_repeated([lines[at] for at in paragraph], seen):
            reasons |= dict.fromkeys(paragraph, "repetition")
            continue
        last = ""
        for at in paragraph:
            reason = _meaningless(lines[at], last, min_signal)
            if reason is None:
                last = lines[at]
            else:
                reasons[at] = reason
    kept = "\n".join(line for at, line in enumerate(lines) if at not in reasons)
    return (kept, list(reasons.values())) if any(map(str.isalnum, kept)) else (content, [])


def _paragraphs(lines: list[str]) -> Iterator[list[int]]:
    """Returns the line numbers of each paragraph, without code."""
    front = front_matter(lines)
    paragraph: list[int] = []
    for at, (line, in_code) in enumerate(zip(lines, forms.fenced(lines), strict=True)):
        if in_code or at < front or not line.strip() or line.startswith(("    ", "\t")):
            yield paragraph
            paragraph = []
        else:
            paragraph.append(at)
    yield paragraph


def _is_repeated(paragraph: Sequence[str], seen: set[str]) -> bool:
    """True if the paragraph is a repetition; short ones and headings may repeat."""
    said = closed_up(" ".join(paragraph))
    if len(said) < _LEAST_REPEATED or said.startswith("#"):
        return False
    known = said in seen
    seen.add(said)
    return known


def _meaningless(line: str, last: str, min_signal: float) -> str | None:
    """Returns the reason to remove a line, or None."""
    if line == last and not _STRUCTURE(line):
        return "repetition"
    said = line.strip().lstrip("-*\u2022> \t").strip("*_ ")
    if len(said) <= _MAX_BOILERPLATE_CHARS and not line.lstrip().startswith("#"):
        for reason, pattern in _patterns().items():
            if pattern.fullmatch(said):
                return reason
    framing = _STRUCTURE(line) or not line.strip().strip("-=*_ ")
    noisy = len(said) >= _LEAST_NOISE and _signal(said) < min_signal
    return "noise" if noisy and not framing else None


def _signal(said: str) -> float:
    """Returns the share of letters, digits and non-Latin characters."""
    signs = [character for character in said if not character.isspace()]
    return sum(map(_means, signs)) / len(signs) if signs else 1.0


def _means(character: str) -> bool:
    if character.isascii():
        return character.isalnum()
    return not ("\u2010" <= character <= "\u2027" or "\u2500" <= character <= "\u259f")


@cache
def _patterns() -> "dict[str, re.Pattern[str]]":
    return {
        reason: re.compile("|".join(rules), re.IGNORECASE) for reason, rules in _BOILERPLATE.items()
    }


# Stage 3, normalisation: one form of headings, bullets and punctuation, never inside code.
#
# Punctuation changes only in what is embedded. Headings and bullets also change in the content of a
# document. A bullet before a number stays as it is written: it may be its sign.


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
    return bool(kept) and kept[-1][:1].isalnum() and (len(kept) == 1 or not kept[-2].strip())


def _without_closing(heading: str) -> str:
    """`Heading ##` is `Heading`, but C# stays C#."""
    bare = heading.rstrip("#")
    return bare.rstrip() if bare[-1:].isspace() else heading


_heading = lazy_pattern(r" {0,3}(#{1,6})[ \t]+(\S.*)")


_underline = lazy_pattern(r"(=|-)(?:\1{2,})[ \t]*")


_item = lazy_pattern(rf"([ \t]*)([{re.escape(_BULLETS)}])[ \t]+(\S.*)")


_rule = lazy_pattern(r"[ \t]*([-*])(?:[ \t]*\1){2,}[ \t]*")
