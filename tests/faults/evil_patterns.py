"""200 evil patterns against a text of a million characters, each within a tenth of a second."""

import random
import time
from collections.abc import Iterator

from memory_mesh.model.trigger import MatchContext
from memory_mesh.policy.triggers import checking, matching, patterns, regex
from tests.faults.report import Progress, Report, Ticker, silent

PATTERNS = 200
TEXT_CHARS = 1_000_000
LIMIT_MS = 100.0
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
    made: dict[str, None] = {}
    while len(made) < PATTERNS:
        n = numbers.randint(2, 1_000)
        parts = {
            "n": n, "deep": "(" * (n % 90), "shut": ")" * (n % 90), "wide": "ab" * (n % 40 + 1),
            "stars": "a*" * (n % 90), "words": "security " * (n % 60 + 1),
            "pipes": "|".join(f"a{k}.*b{k}" for k in range(n % 90 + 2)),
        }  # fmt: skip
        made.setdefault(numbers.choice(_BOMBS).format(**parts))
    yield from made


def texts(seed: int) -> dict[str, str]:
    """Texts of a million characters, made so that the bombs nearly match and never do."""
    numbers = random.Random(seed)
    return {
        "one letter": "a" * TEXT_CHARS,
        "two letters": "".join(numbers.choices("ab", k=TEXT_CHARS)),
        "words": "".join(numbers.choices("abcdefgh ", k=TEXT_CHARS)),
        "scripts": "".join(numbers.choices("aäжあ字 é", k=TEXT_CHARS)),
    }


def linear(
    *, seed: int, every: int = 1, limit_ms: float = LIMIT_MS, progress: Progress = silent
) -> Report:
    """Match each `every`th pattern with every text, cold, and count those that took too long."""
    report = Report()
    chosen, given = list(evil(seed))[::every], texts(seed)
    ticker, slowest, worst = Ticker(progress, len(chosen)), 0.0, ""
    for text in given.values():
        matching.match("warm up|a.*b", text)  # modules and tables are loaded once
    for number, pattern in enumerate(chosen, start=1):
        for name, text in given.items():
            _forget()
            start = time.thread_time()  # other processes must not count
            met = matching.match_any([pattern], matching.situation(MatchContext(text)))
            taken = 1_000 * (time.thread_time() - start)
            if taken > slowest:
                slowest, worst = taken, f"{pattern[:60]} on {name}"
            report.count("matches" if met else "no match")
            if taken > limit_ms:
                report.broken("too slow", f"{pattern[:60]!r} on {name}: {taken:.0f} ms")
        checking.check(pattern)  # never raises
        report.count("patterns")
        ticker.tick(number)
    report.figures["slowest ms"] = round(slowest, 1)
    report.figures["slowest"] = worst
    report.figures["characters"] = TEXT_CHARS
    return report


def _forget() -> None:
    """Nothing of an earlier match is remembered."""
    matching.prepared.cache_clear()
    patterns.read.cache_clear()
    regex.compiled.cache_clear()
