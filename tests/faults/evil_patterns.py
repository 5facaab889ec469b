"""200 evil patterns against a text of a million characters, each within a tenth of a second."""

import random
import time
from collections.abc import Iterator

from memory_mesh.model.trigger import MatchContext
from memory_mesh.search.triggers import patterns
from tests.faults.patterns import MOST_ON_A_BUSY_MACHINE
from tests.faults.report import Progress, Report, Ticker, silent
from tests.faults.sample import dealt

PATTERNS = 200
TEXT_CHARS = 1_000_000
LIMIT_MS = 100.0
_FLOOR_MS = 1.0
_BOMBS = (
    "(a*)*b", "(a+)+$", "^(a+)+$", "(a|aa)+$", "(a|a?)+$", "([a-z]+)*9", "(.*a){{{n}}}",
    "(.*)(.*)(.*)(.*)(.*)9", "a.{{{n}}}b9", "(a|b)*a(a|b){{{n}}}9", "[ab]*a[ab]{{{n}}}9",
    "(x+x+)+y", "(?:a?){{{n}}}a{{{n}}}", "((a{{0,{n}}}){{0,{n}}}){{0,{n}}}9", r"\pL{{{n}}}9",
    r"(\pL|\pN)*\pL{{{n}}}9", ".*.*.*.*=.*", "(.{{0,{n}}}){{0,10}}z9", "a{{{n}}}",
    "(a{{{n}}}){{{n}}}9", r"(\w+\s?)*9", r"(\d+)*\1", "(?=(a+))a*b", "(?<!a)(b+)+c", "(?>a+)b",
    "(?P<x>a+)(?P=x)", "[^9]*[^8]*[^7]*[^6]*9{{{n}}}", "(a|b|c|d|e|f|g|h)*{n}",
    "({deep}a{shut})*b", "[{wide}]{{{n}}}9", "*" * 40, "a*b*c*d*e*f*g*h*9", "{stars}9",
    r"(?i)(?s)(.|\n)*9", "(^a|b$|^c)*{n}$", r"\b(\w)*\b(\w)*\b9", "when {words}", "{pipes}",
    "(((((", "[a-", "a{{2,1}}", "\\", "(?", "|" * 200, "aaaaaaaaaaaaaaaaaaaaaaaa|{pipes}",
)  # fmt: skip


def evil(seed: int) -> Iterator[str]:
    """Yields the patterns: regex bombs of all sizes, broken ones, and far too large ones."""
    numbers = random.Random(seed)
    bombs = dealt(_BOMBS, numbers)
    made: dict[str, None] = {}
    while len(made) < PATTERNS:
        n = numbers.randint(2, 1_000)
        parts = {
            "n": n, "deep": "(" * (n % 90), "shut": ")" * (n % 90), "wide": "ab" * (n % 40 + 1),
            "stars": "a*" * (n % 90), "words": "security " * (n % 60 + 1),
            "pipes": "|".join(f"a{k}.*b{k}" for k in range(n % 90 + 2)),
        }  # fmt: skip
        made.setdefault(next(bombs).format(**parts))
    yield from made


def texts(seed: int, chars: int) -> dict[str, str]:
    """Long texts, made so that the bombs nearly match and never do."""
    numbers = random.Random(seed)
    return {
        "one letter": "a" * chars,
        "two letters": "".join(numbers.choices("ab", k=chars)),
        "words": "".join(numbers.choices("abcdefgh ", k=chars)),
        "scripts": "".join(numbers.choices("aäжあ字 é", k=chars)),
    }


def linear(
    *, seed: int, count: int = PATTERNS, chars: int = TEXT_CHARS, strict: bool = True,
    progress: Progress = silent,
) -> Report:  # fmt: skip
    """Match so many patterns with every text, cold, and count those that took too long.

    That is more than 100 ms or, where other processes share the machine, a time that grows much
    faster than the text.
    """
    report = Report()
    chosen, given = list(evil(seed))[:count], texts(seed, chars)
    ticker, slowest, worst = Ticker(progress, len(chosen)), 0.0, ""
    for text in given.values():
        patterns.match("warm up|a.*b", text)  # modules and tables are loaded once
    for number, pattern in enumerate(chosen, start=1):
        for name, text in given.items():
            met, taken = _matched(pattern, text)
            if taken > slowest:
                slowest, worst = taken, f"{pattern[:60]} on {name}"
            report.count("matches" if met else "no match")
            if taken > (LIMIT_MS if strict else _allowed(pattern, text)):
                report.broken("too slow", f"{pattern[:60]!r} on {name}: {taken:.0f} ms")
        patterns.check(pattern)  # never raises
        report.count("patterns")
        ticker.tick(number)
    report.figures["slowest ms"] = round(slowest, 1)
    report.figures["slowest"] = worst
    report.figures["characters"] = chars
    return report


def _matched(pattern: str, text: str) -> tuple[bool, float]:
    """Whether a pattern meets a text, and the milliseconds of this thread; others do not count."""
    _forget()
    start = time.thread_time()
    met = patterns.match_any([pattern], patterns.situation(MatchContext(text)))
    return bool(met), 1_000 * (time.thread_time() - start)


def _allowed(pattern: str, text: str) -> float:
    """Milliseconds that a linear match may take, by what a tenth of the text takes."""
    _, part = _matched(pattern, text[: len(text) // 10])
    return MOST_ON_A_BUSY_MACHINE * max(part, _FLOOR_MS)


def _forget() -> None:
    """Nothing of an earlier match is remembered."""
    patterns.prepared.cache_clear()
    patterns.read.cache_clear()
    patterns.compiled.cache_clear()
