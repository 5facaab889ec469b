"""Reads a pattern: lowercase, trimmed, taken apart at its pipes, each part in one form.

::

    auth|login|security                 three plain parts
    exploring|navigate|find.*file       two plain parts and a regular expression
    implement *auth                     a wildcard: a bare * is anything
    When implementing security          words: one key word, `secur`

A part is a regular expression where it has signs that plain language has not. One that RE2 refuses
is read as plain text.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice

from memory_mesh.base.typed import Protocol, dataclass
from memory_mesh.model.trigger import Form, MatchContext, Strength, TriggerMatch
from memory_mesh.rules.privacy_rule import Finder
from memory_mesh.text import analyzer, synonyms

MAX_TEXT = 250_000  # characters of a task that are read
MAX_WORDS_TEXT = 20_000  # characters of a task whose words are read
LEAST_SHARE = 0.6  # of the key words of natural language that a text must hold
_SPACELESS = "\u0e00"  # from Thai on, few scripts put spaces between words
_OCCURRENCES = 64  # places of a plain pattern that are looked at for the best one
_FOUND_CHARS = 80
_CACHED_TEXTS = 8

COMPILED = 512  # expressions that are kept ready
MAX_SIZE = 400  # instructions of an expression; `implement.*auth` has 34
WORK = 4_000_000  # characters times instructions that one search may take
_FIRST_MEMORY = 1 << 17  # bytes: an expression that does not compile in them is too large
_MEMORY = 1 << 19
_TRIES = 4  # matches that are looked at for the best one
_HINTS = {
    "(?=": "RE2 has no lookahead",
    "(?!": "RE2 has no lookahead",
    "(?<": "RE2 has no lookbehind",
    "(?>": "RE2 has no atomic groups",
}

_SHORT = 3  # letters: a shorter alternative stands inside many words
_FORMS = {
    Form.PLAIN: "text that contains",
    Form.WILDCARD: "text that meets the wildcard",
    Form.REGEX: "text that meets the regular expression",
}

_GENERAL = """
    add adjust agent allow apply approach ask asked begin build call change check choose come
    concern consider contain create deal decide decision define describe design discuss do does done
    edit ensure exist explain explore feature figure find follow general get give given go
    handle happen help implement implementation include involve issue keep know let like
    look make maintain manage mean mention modify move need new occur part perform plan
    please prepare problem produce propose provide put question read refer regard
    relate relevant require result run say see set setup set-up show something specific start
    step subject support sure take talk task tell thing think topic touch try understand
    update use user want way whenever whether wish work write
"""
_NAME = 2  # words of a name

KNOWN_PATTERNS = 32_768  # patterns whose reading is remembered
MAX_PARTS = 50  # alternatives of a pattern; what follows is not read
MAX_CHARS = 1_000  # of a pattern; what follows is not read
_CLOSERS = ")]}."  # after these a * repeats, it does not stand for anything
_ESCAPED = re.compile(r"\\[pP]\{?\^?\w+\}?|\\.", re.DOTALL)
_SIGNS = re.compile(
    r"""
    \\[^\s]                          # an escape: \b, \d, \.
  | [.)\]][*+?{]                     # a repeated dot, group or class
  | \*                               # anything
  | \w\{\d+(?:,\d*)?\}               # counted
  | \w\?\w | ^\S*\w\?$               # optional; at the end of a sentence it asks
  | \w\.\w                           # any one character
  | \(\?[:imsUP=!<>] | \([^()|]*+\|[^()]*+\)  # groups
  | \w\[[^\[\]]++\] | \[[^\[\]]++\]\w | \[(?=[^\[\]]*+\])[^\[\]]*?(?:\w-\w|\^)
  | ^\^ | \$$
    """,
    re.VERBOSE,
)
_NESTING = frozenset("\\([")
_ONLY_STARS = re.compile(r"[^\\.\[\](){}+?^$]*")


@dataclass(frozen=True, slots=True)
class PatternPart:
    """One alternative of a pattern."""

    text: str
    form: Form
    keys: tuple[str, ...] = ()  # the stems of its key words
    source: str | None = None  # of what looks like a regular expression
    needed: str = ""  # letters that stand in every text which it meets


@lru_cache(maxsize=KNOWN_PATTERNS)
def read(pattern: str) -> tuple[PatternPart, ...]:
    """Returns the parts of a pattern; empty ones are left out."""
    found = [piece.strip() for piece in split(lowered(pattern[:MAX_CHARS]))]
    alone = len(found) == 1
    return tuple(_part(text, alone=alone) for text in found if text)[:MAX_PARTS]


def lowered(pattern: str) -> str:
    r"""Returns the pattern trimmed and in lower case, but for escapes: \S is not \s."""
    kept, done = [], 0
    text = pattern.strip()
    for escape in _ESCAPED.finditer(text):
        kept += [text[done : escape.start()].lower(), escape[0]]
        done = escape.end()
    return "".join([*kept, text[done:].lower()])


def split(pattern: str) -> list[str]:
    """Splits at the pipes that stand in no group, class or escape."""
    if "|" not in pattern or _NESTING.isdisjoint(pattern):
        return pattern.split("|")
    parts, depth, inside, escaped = [""], 0, False, False
    closes = pattern.count("]")
    for char in pattern:
        if escaped or char == "\\":
            escaped = not escaped
        elif inside:
            inside = char != "]"
        elif char == "[" and closes:
            inside = True
        elif char in "()":
            depth = max(0, depth + (1 if char == "(" else -1))
        elif char == "|" and not depth:
            parts.append("")
            continue
        closes -= char == "]"
        parts[-1] += char
    return parts if not (depth or inside) else pattern.split("|")


def is_regex(text: str) -> bool:
    """True if the text has signs of a regular expression or a wildcard."""
    return _SIGNS.search(text) is not None


def source_of(text: str) -> str:
    """Returns the regular expression of a part: a bare * becomes .*, and so does **.

    `te?t` means both an optional letter and any one character, as in a file name.
    """
    made, escaped = "", False
    for char in text:
        bare = char == "*" and not escaped and (not made or made[-1] not in _CLOSERS)
        if bare and not made.endswith(".*") and not re.search(r"(?<!\\)(?:\\\\)*\\[^\\]$", made):
            made += ".*"
        elif not (char == "*" and made.endswith(".*")):
            made += char
        escaped = char == "\\" and not escaped
    return re.sub(r"(?<=[a-z0-9])\?(?=[a-z0-9])", "?.?", made)


def _part(text: str, *, alone: bool) -> PatternPart:
    if is_regex(text):
        source = source_of(text)
        form = Form.WILDCARD if _ONLY_STARS.fullmatch(text) else Form.REGEX
        return PatternPart(text, form, source=source, needed=needed(source))
    natural = alone and " " in text
    words = keys(text) if natural else tuple(analyzer.query_terms(text))
    return PatternPart(text, Form.WORDS if natural else Form.PLAIN, words)


# Natural language in triggers: the key words of a pattern, and the words of a text.
#
# "When implementing security features" is about security. Function words are left out, and so are
# the
# words that any task may have: verbs such as implement or use, nouns such as task or feature. A
# pattern that has no other words is read by these.


def keys(pattern: str) -> tuple[str, ...]:
    """Returns the stems of the key words of a pattern, in their order.

    A short name such as `feature flag` is looked for as a whole: all its words are key words.
    """
    found = analyzer.query_terms(pattern)
    first = pattern.split(maxsplit=1)[0]
    if len(found) <= _NAME and not (first in analyzer.STOP_WORDS or first.endswith("ing")):
        return tuple(found)
    return tuple(term for term in found if term not in _general()) or tuple(found)


def is_general(pattern: str) -> bool:
    """True if a pattern has only words that any task may have."""
    return not any(term not in _general() for term in analyzer.query_terms(pattern))


def spoken(text: str) -> frozenset[str]:
    """Returns the stems of a text's words and of their other names: auth, k8s."""
    found = analyzer.terms(text)
    names = synonyms.expand(list(dict.fromkeys(found)))
    other = (word for each in names.values() for name in each for word in name.words)
    return frozenset((*found, *other))


@lru_cache(maxsize=1)
def _general() -> frozenset[str]:
    return frozenset(analyzer.stem(word) for word in _GENERAL.split())


# Says what is wrong with a pattern, and how it is read.


def check(pattern: str) -> tuple[str, ...]:
    """Returns what is wrong with a pattern, in sentences that say what to do; empty if nothing."""
    parts = read(pattern)
    if not parts:
        return ("The pattern is empty: write words, alternatives such as auth|login, or a regex.",)
    said = []
    if len(pattern) > MAX_CHARS:
        said.append(f"Only the first {MAX_CHARS} characters of the pattern are read.")
    if len(parts) == MAX_PARTS:
        said.append(f"Only the first {MAX_PARTS} alternatives are read.")
    elif len(parts) < len(split(lowered(pattern[:MAX_CHARS]))):
        said.append("An alternative is empty and is ignored: remove the extra |.")
    return (*said, *(message for part in parts for message in _about(part)))


def describe(pattern: str) -> tuple[str, ...]:
    """Returns how each alternative of a pattern is read."""
    return tuple(_described(part) for part in read(pattern))


def _about(part: PatternPart) -> list[str]:
    if part.source is not None:
        wrong = fault(part.source)
        if wrong is not None:
            return [f"{part.text!r} is read as plain text: as a regular expression, {wrong}."]
        if meets_everything(part.source):
            return [
                (
                    f"{part.text!r} meets every task: it calls up nothing but critical memories. "
                    "Name what the task must contain."
                )
            ]
        return []
    if len(part.text) < _SHORT and part.text.isascii() and part.form is Form.PLAIN:
        return [
            f"{part.text!r} is found inside many words. For the word alone write \\b{part.text}\\b."
        ]
    if part.form is Form.WORDS and is_general(part.text):
        return [f"{part.text!r} has only words that any task may have: name the subject."]
    return []


def _described(part: PatternPart) -> str:
    if part.source is not None and fault(part.source) is not None:
        return f"{_FORMS[Form.PLAIN]} {part.text!r}"
    if part.form is Form.WORDS:
        return f"text with these words, or more than half of them: {', '.join(part.keys)}"
    return f"{_FORMS[part.form]} {part.text!r}"


# Regular expressions of triggers: RE2, and never more work than a hundredth of a second allows.
#
# RE2 needs a time that grows with the text and with the size of the expression. Patterns may come
# from a language model or a stranger's repository, so both are limited: an expression of more than
# `MAX_SIZE` instructions is refused, and a larger one reads less of a long text.


class _Sized(Finder, Protocol):
    """A compiled expression that knows its size."""

    @property
    def programsize(self) -> int:
        """Its number of instructions."""


def spans(source: str, text: str) -> Iterator[tuple[int, int]]:
    """Yields where an expression meets a text, the first few places; one with a fault nowhere."""
    made = compiled(source)
    if isinstance(made, str):
        return
    read = text[: WORK // max(1, made.programsize)]
    yield from (met.span() for met in islice(made.finditer(read), _TRIES))


@lru_cache(maxsize=COMPILED)
def compiled(source: str) -> "_Sized | str":
    """Returns the compiled expression, or why there is none."""
    import re2  # type: ignore[import-untyped]  # it ships none

    options = re2.Options()
    options.log_errors, options.case_sensitive = False, False
    options.dot_nl = options.never_capture = True
    options.max_mem = _FIRST_MEMORY
    try:
        re2.compile(source, options=options)
        options.max_mem = _MEMORY
        made: _Sized = re2.compile(source, options=options)
    except re2.error as error:
        return _reason(source, error.args[0])
    if made.programsize > MAX_SIZE:
        return "it is too large; use fewer or smaller repetitions"
    return made


def fault(source: str) -> str | None:
    """Returns why an expression cannot be used, in words; None if it can."""
    made = compiled(source)
    return made if isinstance(made, str) else None


def meets_everything(source: str) -> bool:
    """True if the expression meets even an empty text."""
    return any(True for _ in spans(source, ""))


def needed(source: str) -> str:
    """Returns the longest run of letters that every match holds; empty if none is certain."""
    runs, depth, position = [""], 0, 0
    while position < len(source):
        char, after = source[position], source[position + 1 : position + 2]
        position += 1
        if char == "\\":
            position = _after_escape(source, position)
        elif char == "[":
            position = _after_class(source, position)
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif depth == 0 and (char.isalnum() or char in " _-/@#") and after not in {"*", "?", "{"}:
            runs[-1] += char
            continue
        elif char == "{":
            position = source.find("}", position) + 1 or len(source)
        runs.append("")
    return max(runs, key=len)


def _after_escape(source: str, position: int) -> int:
    if source[position : position + 2] in {"p{", "P{", "x{"}:
        return source.find("}", position) + 1 or len(source)
    return position + 1


def _after_class(source: str, position: int) -> int:
    """The position behind a class that was just opened; ] in the first place belongs to it."""
    if source[position : position + 1] == "^":
        position += 1
    end = position + 1
    while end < len(source) and source[end] != "]":
        end += 2 if source[end] == "\\" else 1
    return end + 1


def _reason(source: str, given: object) -> str:
    for sign, hint in _HINTS.items():
        if sign in source:
            return hint
    if any(f"\\{digit}" in source for digit in "123456789"):
        return "RE2 has no backreferences"
    said = given.decode(errors="replace") if isinstance(given, bytes) else str(given)
    if "too large" in said or "repetition size" in said:
        return "it is too large; use fewer or smaller repetitions"
    return said


# Holds a pattern against a text: `match` and `match_any`.


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text made ready to be matched: in lower case, and the stems of its words."""

    lowered: str
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Situation:
    """What an agent is about to do, made ready to be matched."""

    texts: tuple[
        tuple[PreparedText, Strength], ...
    ]  # each with the strength that a match in it may have
    together: PreparedText


@lru_cache(maxsize=_CACHED_TEXTS)
def prepared(text: str) -> PreparedText:
    """Makes a text ready, once for all patterns."""
    return PreparedText(text[:MAX_TEXT].lower(), spoken(text[:MAX_WORDS_TEXT]))


def match(pattern: str, text: str) -> TriggerMatch | None:
    """Returns how a pattern meets a text, by its strongest alternative; None if it does not."""
    return _match(pattern, prepared(text))


def situation(context: MatchContext) -> Situation:
    """Makes a context ready to be held against the triggers of many memories."""
    given = (
        (context.task, Strength.EXACT),
        (context.agent_name, Strength.MODERATE),
        (context.current_plan, Strength.LOOSE),
    )
    texts = tuple((prepared(text), most) for text, most in given if text)
    terms = frozenset(term for text, _ in texts for term in text.terms)
    return Situation(texts, PreparedText("\n".join(text.lowered for text, _ in texts), terms))


def match_any(triggers: Iterable[str], there: Situation) -> TriggerMatch | None:
    """Returns the strongest match of any trigger with the task, the agent's name or the plan.

    The agent's name alone gives no more than a moderate match, the plan alone a loose one.
    """
    likely = [trigger for trigger in triggers if _may_meet(trigger, there.together)]
    for text, most in there.texts if likely else ():
        matches = [_match(trigger, text) for trigger in likely]
        met = max(filter(None, matches), key=lambda each: each.strength, default=None)
        if met is not None:
            return _at_most(met, most)
    return None


def _may_meet(pattern: str, text: PreparedText) -> bool:
    """False if a pattern surely meets no part of a text: so it is with nearly all."""
    lowered, terms = text.lowered, text.terms
    for part in read(pattern):
        if part.source is not None:
            if part.needed in lowered:
                return True
        elif part.text in lowered or not terms.isdisjoint(part.keys):
            return True
    return False


def _match(pattern: str, text: PreparedText) -> TriggerMatch | None:
    found: TriggerMatch | None = None
    for part in read(pattern):
        if part.source is not None:
            if part.needed not in text.lowered:  # most are out of it without being compiled
                continue
            met = _by_regex(pattern, part, part.source, text)
        elif part.text in text.lowered:
            met = TriggerMatch(pattern, Form.PLAIN, _literal(part.text, text.lowered), part.text)
        elif not text.terms.isdisjoint(part.keys):
            met = _by_words(pattern, part, text)
        else:
            continue
        if met is not None and (found is None or met.strength > found.strength):
            found = met
    return found


def _at_most(found: TriggerMatch, strength: Strength) -> TriggerMatch:
    if found.strength <= strength:
        return found
    return TriggerMatch(found.pattern, found.form, strength, found.found)


def _by_regex(
    pattern: str, part: PatternPart, source: str, text: PreparedText
) -> TriggerMatch | None:
    """How an expression meets a text; one that RE2 refuses is plain text."""
    if fault(source) is not None:
        if part.text not in text.lowered:
            return None
        return TriggerMatch(pattern, Form.PLAIN, _literal(part.text, text.lowered), part.text)
    best: TriggerMatch | None = None
    for start, stop in spans(source, text.lowered):
        strength = _strength(text.lowered, start, stop)
        if best is None or strength > best.strength:
            found = text.lowered[start:stop][:_FOUND_CHARS]
            best = TriggerMatch(pattern, part.form, strength, found)
        if best.strength is Strength.EXACT:
            break
    if best is not None and meets_everything(source):
        return _at_most(best, Strength.LOOSE)
    return best


def _literal(wanted: str, text: str) -> Strength:
    """How well a text holds a text that it does hold: the best of the first places."""
    best, start = Strength.LOOSE, text.find(wanted)
    for _ in range(_OCCURRENCES):
        if start < 0 or best is Strength.EXACT:
            break
        best = max(best, _strength(text, start, start + len(wanted)))
        start = text.find(wanted, start + 1)
    return best


def _by_words(pattern: str, part: PatternPart, text: PreparedText) -> TriggerMatch | None:
    """How many of the key words a text holds; of an alternative it must hold all."""
    held = [key for key in part.keys if key in text.terms]
    share = len(held) / len(part.keys)
    if share < (LEAST_SHARE if part.form is Form.WORDS else 1.0):
        return None
    strength = Strength.EXACT if share == 1.0 else Strength.CLOSE
    return TriggerMatch(pattern, Form.WORDS, strength, " ".join(held)[:_FOUND_CHARS])


def _strength(text: str, start: int, stop: int) -> Strength:
    """Whole words are exact; the beginning of one is moderate; inside of one it is loose."""
    if start > 0 and stop > start and _joined(text[start - 1], text[start]):
        return Strength.LOOSE
    if start < stop < len(text) and _joined(text[stop - 1], text[stop]):
        return Strength.MODERATE
    return Strength.EXACT


def _joined(left: str, right: str) -> bool:
    """True if two neighbouring characters belong to one word."""
    return _of_a_word(left) and _of_a_word(right)


def _of_a_word(char: str) -> bool:
    return char == "_" or (char.isalnum() and char < _SPACELESS)
