"""What reads a text, on long texts of one sign or two: ten times the text, at most 15 x the time.

Patterns alone do not make the work linear: a list that is searched for each sentence, or a rest
that is copied at each sign, is as slow as a bad pattern. Each function has a process of its own.
"""

import random
import resource
import string
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

from memory_mesh import privacy
from memory_mesh.context import fence
from memory_mesh.context.packing import choice
from memory_mesh.formats import (
    documents,
    memory_file,
    memory_file_reading,
    memory_log,
    project_memory,
    terminal,
    trace_file,
    yaml_text,
    yamo,
)
from memory_mesh.learn.rules import failure_signature, rules
from memory_mesh.model.errors import MeshError
from memory_mesh.privacy import redactor as privacy_redactor
from memory_mesh.rules import filters
from memory_mesh.search.triggers import patterns
from memory_mesh.text import analyzer, question, scrub, sentences, times
from memory_mesh.write import claims
from tests.faults.patterns import FEW, FLOOR_SECONDS, MANY, MOST_GROWTH, seconds
from tests.faults.processes import Child, ChildFailed
from tests.faults.report import Progress, Report, Ticker, silent
from tests.faults.sample import points

_NOW = datetime(2026, 3, 1, tzinfo=UTC)
_LIMIT_SECONDS = 600  # of the processor, for all texts of one function
_WAIT_FACTOR = 40.0
_TRIES = 3
_PAIRS = (
    "< ", "</", "<a ", "<a>", "</a>", "<!--", "<b><i>", "[ ", "[a](", "![a](", "[[", "]]", "[a]",
    "a.", "a. ", "e.g. ", "`a`.", "``a", "```\n", "- ", "-\n", "> ", ">> ", "* a\n", "**a", "_a",
    "a: ", "a, ", "a\n", "\n\n", "\n ", " \n", "# ", "# a\n", "1.", "1. a\n", "1 ", "0.0", "| ",
    "a|", "|-|\n", "&lt;", "&", "\\[", "\\", "({", "})", "a@", "@a.", "@a.b ", "://", "a/", "/a ",
    "pw: ", "password ", "key=", "-----BEGIN RSA PRIVATE KEY-----\n", "4 ", "+1", "a'", "'s ",
    "---\n", "---\na: b\n", "a:\n", "  - a\n", "is ", "is a ", "the ", "and ", ", and ", "then ",
    "always ", "never ", "I am ", "because ", "today ", "in 3 ", "march ", "é", "字",
    "あ。", "\u200b",
)  # fmt: skip

Reader = Callable[[str], object]


def units() -> tuple[str, ...]:
    """What the texts are made of: each sign alone, and pairs that mean something somewhere."""
    return tuple(dict.fromkeys((*string.punctuation, " ", "\n", "\t", "a", "A", "1", *_PAIRS)))


def readers() -> Mapping[str, Reader]:
    """Returns the functions that read what users, files and models say."""
    redactor = privacy.NamespaceRedactor(b"k" * 32, "default")
    return {
        "redact": redactor.text,
        "mask": privacy.masked,
        "scrub": scrub.scrub,
        "scrub a page": lambda text: scrub.scrub(text, form=scrub.TextForm.HTML),
        "scrub markdown": lambda text: scrub.scrub(text, form=scrub.TextForm.MARKDOWN),
        "form of a text": scrub.form_of,
        "read a claim": claims.read,
        "terms": analyzer.terms,
        "terms of a question": analyzer.query_terms,
        "sentences": sentences.sentences,
        "times": lambda text: times.read(text, _NOW),
        "a question": lambda text: question.read(text, {"anna", "bob"}, _NOW),
        "a filter": filters.parse,
        "frontmatter": yaml_text.read,
        "documents": documents.spans,
        "a memory file": memory_file_reading.parse,
        "notes": lambda text: [
            *memory_file.wiki_links(text), *memory_file.inline_tags(text),
            *memory_file.relations(text), *memory_file.observations(text),
        ],
        "a trace file": trace_file.parse_all,
        "a memory log": memory_log.parse,
        "a learning file": project_memory.parse,
        "a yamo block": yamo.parse,
        "a prompt": fence.quoted,
        "a terminal": terminal.safe_text,
        "a trigger": patterns.check,
        "a triggered text": lambda text: patterns.match("implement.*auth|fix the bug", text),
        "a rule": lambda text: rules.read_rule(text, failed=True),
        "a failure": failure_signature.signature,
        "a goal": privacy_redactor.summary,
        "tokens": choice.token_bound,
    }  # fmt: skip


def linear(
    *,
    seed: int,
    few: int = FEW,
    many: int = MANY,
    share: float = 1.0,
    floor: float = FLOOR_SECONDS,
    only: Iterable[str] = (),
    most: float = MOST_GROWTH,
    progress: Progress = silent,
) -> Report:
    """Give each function texts of a share of the units; a time that grows faster is broken."""
    report = Report()
    names = list(only) or list(readers())
    ticker, dice = Ticker(progress, len(names)), random.Random(seed)
    for number, name in enumerate(names, start=1):
        given = [units()[point - 1] for point in points(len(units()), share, dice)]
        try:
            child = Child(_worst, name, few, many, given, floor)
            unit, ratio, taken = child.result(_WAIT_FACTOR * _LIMIT_SECONDS)
        except ChildFailed as error:
            report.broken("no end", f"{name}: {error}")
            continue
        report.count("functions")
        report.count("texts", len(given))
        report.figures[name] = f"{ratio:.1f} x, {taken:.2f} s for {unit!r}"
        if ratio > most:
            report.broken("not linear", f"{name} on {unit!r} * n: {ratio:.0f} x, {taken:.2f} s")
        ticker.tick(number, name)
    report.figures["characters"] = many
    return report


def _worst(
    name: str, few: int, many: int, given: Iterable[str], floor: float
) -> tuple[str, float, float]:
    """Returns the text with the largest growth, the growth and the time."""
    resource.setrlimit(resource.RLIMIT_CPU, (_LIMIT_SECONDS, _LIMIT_SECONDS))
    use, worst = _tolerant(readers()[name]), ("", 0.0, 0.0)
    use("warm up: a <b>text</b>.")  # modules and tables are loaded once
    for unit in given:
        short, long = (unit * (size // len(unit)) for size in (few, many))
        before = seconds(use, short, runs=1)
        if before > 1.0 and before > MOST_GROWTH * seconds(use, short[: few // 10], runs=1):
            return unit, before / seconds(use, short[: few // 10]), before
        after = seconds(use, long, runs=1)
        for _ in range(_TRIES):
            if after <= MOST_GROWTH * max(before, floor):
                break
            before, after = seconds(use, short, runs=2), seconds(use, long, runs=2)
        ratio = after / max(before, floor)
        if ratio > worst[1]:
            worst = unit, ratio, after
        if ratio > MOST_GROWTH:
            break
    return worst


def _tolerant(reader: Reader) -> Callable[[str | bytes], object]:
    """The function; a text that it refuses is read as well."""

    def use(text: str | bytes) -> object:
        try:
            return reader(str(text))
        except MeshError as error:
            return error

    return use
