"""Splits a note into sentences, and marks those that are output of a program."""

import re
from collections.abc import Iterator

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import dataclass
from memory_mesh.text.sentences import sentences

MAX_NOTE_CHARS = 6_000  # of a longer text the start and the end are read
_CURLY = {"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"'}


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence; `plain` is as long, with quotations and code replaced by x."""

    text: str
    plain: str
    log: bool = False

    @property
    def exclaims(self) -> bool:
        """True if it ends with an exclamation mark."""
        return self.text.rstrip("\"') ").endswith("!")


def read_note(text: str) -> list[Sentence]:
    """Returns the sentences of a note in order; of a stored exchange only what the user said."""
    said = text.split("[ASSISTANT]", 1)[0]
    if len(said) > MAX_NOTE_CHARS:
        half = MAX_NOTE_CHARS // 2
        said = f"{said[:half]}\n\n{said[-half:]}"
    for curly, straight in _CURLY.items():
        said = said.replace(curly, straight)
    found: list[Sentence] = []
    passages = list(_passages(said))
    for logged, passage in passages:
        for place, part in enumerate(part for one in sentences(passage) for part in _split(one)):
            advice = bool(found and found[-1].log and not place and _advice().match(part))
            whole = logged and (not place or len(passages) > 1)
            log = whole or advice or bool(_errors().match(part))
            found.append(Sentence(part, _masked(part), log))
    return found


def _passages(text: str) -> Iterator[tuple[bool, str]]:
    """Yields runs of lines; a line of program output stands alone."""
    plain: list[str] = []
    code = False
    for line in text.splitlines():
        if _frames().match(line):
            code = True
        elif code and line.startswith("    "):
            continue
        elif _logs().match(line):
            yield from _joined(plain)
            yield True, line
            plain, code = [], False
            continue
        else:
            plain, code = [*plain, line], False
            continue
        yield from _joined(plain)
        plain = []
    yield from _joined(plain)


def _joined(lines: list[str]) -> Iterator[tuple[bool, str]]:
    if any(line.strip() for line in lines):
        yield False, "\n".join(lines)


def _split(sentence: str) -> Iterator[str]:
    """Splits also where the writer began the next sentence in lower case."""
    start = 0
    masked = _masked(sentence)
    for found in _ends().finditer(masked):
        words = masked[start : found.start()].split()
        word = words[-1].casefold().strip("(")
        unit = len(words) > 1 and words[-2][-1:].isdigit()  # `4 s.`
        if word in _SHORT or (len(word.strip(".")) == 1 and not unit):
            continue
        yield sentence[start : found.end()].strip()
        start = found.end()
    if sentence[start:].strip():
        yield sentence[start:].strip()


def _masked(text: str) -> str:
    return _quoted().sub(lambda found: "x" * len(found[0]), text)


_SHORT_WORDS = (
    "approx ca cf co dept dr e.g eg etc fig i.e ie inc incl ltd max min mr mrs ms no nos resp "
    "st vol vs"
)
_SHORT = frozenset(_SHORT_WORDS.split())


_ends = lazy_pattern(r"(?<=[\w)\]'\"])[.!?]+\s+(?=[a-z])")


_quoted = lazy_pattern(r"`[^`\n]{1,400}`|\"[^\"\n]{1,400}\"")


# Pattern of a line of a stack trace.
_frames = lazy_pattern(
    r"\s*(?:File \"|Traceback \(|at [\w.$<>\[\] ]+\(|from \S+:\d+:in|\d+: 0x|#\d+\s|"
    r"goroutine \d+|"
    r"\.\.\. \d+ more|\S+\.(?:py|js|ts|go|rb|rs|java):\d+(?::\d+)?:?$)"
)


# Pattern of a line that a program wrote.
_logs = lazy_pattern(
    r"\s*(?:\[?(?:ERROR|FATAL|WARN(?:ING)?|INFO|DEBUG|CRITICAL)\]?[:\s]|fatal:|"
    r"error(?:\[\w+\])?:|hint:|npm ERR!|"
    r"panic:|Caused by:|thread '[^']*' panicked|called `[^`]*` on|note: run with|warning:|"
    r"remote:|"
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\$ |>>> |[\w.]+(?:Error|Exception|Warning)\b:|Uncaught |"
    r"Unhandled |LINE \d+:)"
)


# Pattern of a sentence that is an error message.
_errors = lazy_pattern(
    r"\W*+(?:[\w.$]*(?:Error|Exception|Warning)\b:|fatal(?: error)?:|FATAL:|panic:|Uncaught )"
)


# Pattern of the advice that programs print after an error.
_advice = lazy_pattern(
    r"(?:please|try|consider|you (?:may|might)|did you|perhaps|for more)\b", re.IGNORECASE
)
