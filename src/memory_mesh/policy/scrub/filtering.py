"""Stage 2, filtering: removes boilerplate, repetitions and noise from a document.

Only whole lines of documents go, never code, never the last text. A sentence about a sidebar or a
privacy policy is no boilerplate: the line must be nothing else.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from memory_mesh.policy.scrub import forms, normalising

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
    front = normalising.front_matter(lines)
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
    said = normalising.closed_up(" ".join(paragraph))
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
