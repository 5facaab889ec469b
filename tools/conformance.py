"""Write `docs/conformance.md`: what shows each requirement, overrules it, or keeps it open.

    python tools/conformance.py                  write it; refuses to lose a row that was shown
    python tools/conformance.py --drop R-000-002 lose that row knowingly
    python tools/conformance.py --check          exit 1 when the page is not true

A row is **shown** by tests marked `@pytest.mark.req("R-000-002")`, found by reading the sources,
not by running them; a test that is skipped or expected to fail shows nothing. A row of the kind
"open question" asks instead of requiring: with such a test it is **answered**, and counted apart. A
row is **overruled** when `docs/spec/overruled.toml` names it with a decision record, else **open**
with the reason that `docs/spec/open.toml` gives. That file names no other row.
"""

import argparse
import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = Path("docs/conformance.md")
REQUIREMENTS = Path("docs/spec/requirements.md")
OVERRULED = Path("docs/spec/overruled.toml")
OPEN = Path("docs/spec/open.toml")
TEST_FOLDERS = ("tests", "src/memory_mesh/testing")

VOID_MARKS = ("pytest.mark.skip", "pytest.mark.xfail")
NOT_YET = "not built yet"
QUESTION = "open question"
SENTENCE_LENGTH = 110
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
SEEDS = {
    "000": "RFC-0011 memory mesh",
    "001": "Markdown memories of a task runner",
    "002": "traces and learnings of an agent system",
    "003": "graph memory with claims and trust",
    "004": "typed memories of a coding assistant",
}


class State(StrEnum):
    """Where a requirement stands."""

    SHOWN = "shown"
    ANSWERED = "answered"
    OVERRULED = "overruled"
    OPEN = "open"


COUNTED = {State.ANSWERED: "answered questions"}  # where the word alone says too little
BY_TESTS = (State.SHOWN, State.ANSWERED)


@dataclass(frozen=True, slots=True)
class Row:
    """One requirement."""

    id: str
    sentence: str
    kind: str

    @property
    def seed(self) -> str:
        """The specification it comes from."""
        return self.id.split("-")[1]


class UnreadableMark(Exception):
    """A req mark names its rows by something else than plain strings."""


@dataclass(frozen=True, slots=True)
class Overruling:
    """A decision that a row is not followed to the letter, and what holds instead."""

    record: str
    ruling: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything the page is made from."""

    rows: Sequence[Row]
    shown: Mapping[str, Sequence[str]]
    overruled: Mapping[str, Overruling]
    reasons: Mapping[str, str]

    def state(self, row: Row) -> State:
        """Where the row stands; a decision to read it otherwise comes before any test."""
        if row.id in self.overruled:
            return State.OVERRULED
        if row.id not in self.shown:
            return State.OPEN
        return State.ANSWERED if row.kind == QUESTION else State.SHOWN


def main() -> int:
    """Write the page or check it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--drop", nargs="*", default=[], metavar="ROW", help="rows to give up")
    options = parser.parse_args()
    evidence = gather(ROOT)
    before = (ROOT / PAGE).read_text(encoding="utf-8") if (ROOT / PAGE).exists() else ""
    page = render(evidence)
    faults = [*find_faults(evidence, ROOT), *find_losses(evidence, before, given_up=options.drop)]
    if options.check and page != before:
        faults.append(f"{PAGE} is out of date: run `just conformance`")
    for fault in faults:
        print(fault, file=sys.stderr)
    if faults:
        return 1
    if not options.check:
        (ROOT / PAGE).write_text(page, encoding="utf-8")
    counts = Counter(evidence.state(row) for row in evidence.rows)
    print(
        f"{PAGE}: " + ", ".join(f"{counts[state]} {COUNTED.get(state, state)}" for state in State)
    )
    return 0


def gather(root: Path) -> Evidence:
    """Read the requirements, the two tables and the marks of every test."""
    rows = parse_requirements((root / REQUIREMENTS).read_text(encoding="utf-8"))
    shown: dict[str, list[str]] = {}
    for folder in TEST_FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            place = path.relative_to(root).as_posix()
            for row, test in find_marks(path.read_text(encoding="utf-8"), place):
                if test not in shown.setdefault(row, []):
                    shown[row].append(test)
    overruled = tomllib.loads((root / OVERRULED).read_text(encoding="utf-8"))
    reasons = tomllib.loads((root / OPEN).read_text(encoding="utf-8"))
    return Evidence(
        rows,
        shown,
        {row: Overruling(**entry) for row, entry in overruled.items()},
        spread(reasons["open"], [row.id for row in rows]),
    )


def parse_requirements(text: str) -> list[Row]:
    """The rows of the requirement list, in order."""
    rows = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells and re.fullmatch(r"R-\d{3}-\d{3}", cells[0]):
            rows.append(Row(id=cells[0], sentence=cells[2], kind=cells[3]))
    return rows


def spread(entries: Iterable[Mapping[str, str]], ids: Sequence[str]) -> dict[str, str]:
    """The reason of each row; an entry names one row or `first..last`, and a later one wins."""
    reasons: dict[str, str] = {}
    for entry in entries:
        first, _, last = entry["rows"].partition("..")
        start, stop = ids.index(first), ids.index(last or first)
        reasons |= dict.fromkeys(ids[start : stop + 1], entry["reason"])
    return reasons


def find_marks(source: str, place: str) -> Iterator[tuple[str, str]]:
    """Each (row, test) that this file marks; a test is named as pytest names it.

    A mark counts on a test, on its class, on the whole module (`pytestmark`) and on one case
    (`pytest.param(..., marks=...)`).
    """
    yield from _in_body(ast.parse(source), place, inherited=[])


def _in_body(
    node: ast.Module | ast.ClassDef, place: str, *, inherited: list[str]
) -> Iterator[tuple[str, str]]:
    rows = inherited + [row for mark in _pytestmark(node) for row in _rows(mark, place)]
    for item in node.body:
        if isinstance(item, Definition):
            yield from _in_definition(item, f"{place}::{item.name}", rows)
        elif not _is_pytestmark(item):  # a table of cases that tests share
            yield from ((row, place) for row in _rows(item, place))


def _in_definition(item: Definition, name: str, rows: list[str]) -> Iterator[tuple[str, str]]:
    if any(ast.unparse(each).startswith(VOID_MARKS) for each in item.decorator_list):
        return
    own = rows + [row for each in item.decorator_list for row in _rows(each, name)]
    if isinstance(item, ast.ClassDef):
        yield from _in_body(item, name, inherited=own)
        if not _has_tests(item) and own != rows:  # a state machine: the class is the test
            yield from ((row, name) for row in own)
    elif item.name.startswith("test"):
        yield from ((row, name) for row in own)


def _rows(node: ast.AST, name: str) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and ast.unparse(part.func) == "pytest.mark.req":
            for argument in part.args:
                if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
                    raise UnreadableMark(f"{name}: req takes plain strings")
                yield argument.value


def _pytestmark(node: ast.Module | ast.ClassDef) -> Iterable[ast.stmt]:
    return [item for item in node.body if _is_pytestmark(item)]


def _is_pytestmark(item: ast.stmt) -> bool:
    return isinstance(item, ast.Assign) and ast.unparse(item.targets[0]) == "pytestmark"


def _has_tests(node: ast.ClassDef) -> bool:
    functions = (item for item in node.body if isinstance(item, ast.FunctionDef))
    return any(item.name.startswith("test") for item in functions)


def find_faults(evidence: Evidence, root: Path) -> list[str]:
    """What keeps the page from being true, whatever it says."""
    known = {row.id for row in evidence.rows}
    faults = [
        f"{test}: there is no requirement {row}"
        for row, tests in evidence.shown.items()
        for test in tests
        if row not in known
    ]
    for row, overruling in evidence.overruled.items():
        if row not in known:
            faults.append(f"{OVERRULED}: there is no requirement {row}")
        if not (root / overruling.record).is_file():
            faults.append(f"{OVERRULED}: {row} has no decision record at {overruling.record}")
    return faults + [
        f"{OPEN}: {row} is not open: a test shows it, or a decision overrules it. Take it out"
        for row in evidence.reasons
        if row in evidence.shown or row in evidence.overruled
    ]


def find_losses(evidence: Evidence, before: str, *, given_up: Sequence[str] = ()) -> list[str]:
    """The rows that the page so far calls shown or answered and no test shows any more."""
    was_shown = re.findall(
        rf"^\| (R-\d{{3}}-\d{{3}}) \|.*\| (?:{'|'.join(BY_TESTS)}) \|", before, re.MULTILINE
    )
    held = {row.id for row in evidence.rows if evidence.state(row) in BY_TESTS} | set(given_up)
    return [f"{row} was shown by a test and is no longer" for row in was_shown if row not in held]


def render(evidence: Evidence) -> str:
    """The page."""
    parts = [_HEAD, *_summary(evidence)]
    for seed, title in SEEDS.items():
        rows = [row for row in evidence.rows if row.seed == seed]
        if rows:
            parts += ["", f"## {seed} · {title}", ""]
            parts += ["| id | requirement | state | where |", "|---|---|---|---|"]
            parts += [_line(row, evidence) for row in rows]
    return "\n".join(parts) + "\n"


_HEAD = """\
---
search:
  exclude: true
---
<!-- GENERATED by tools/conformance.py: do not edit. -->
# Conformance

What each row of [the requirement list](spec/requirements.md) rests on: **shown** by the named
tests, **overruled** by a decision record, or **open** with the reason. A row that only notes a
question of the specification is counted apart: **answered** where the named tests hold the answer.
A row that was shown or answered cannot fall back to open unnoticed: `just check` fails.
"""


def _summary(evidence: Evidence) -> list[str]:
    heads = " | ".join(COUNTED.get(state, state) for state in State)
    lines = [f"| specification | rows | {heads} |", "|---|" + "---:|" * (1 + len(State))]
    by_seed = Counter((row.seed, evidence.state(row)) for row in evidence.rows)
    for seed, title in SEEDS.items():
        counts = [by_seed[seed, state] for state in State]
        if sum(counts):
            lines.append(f"| {seed} · {title} | {sum(counts)} | {_cells(counts)} |")
    total = [sum(by_seed[seed, state] for seed in SEEDS) for state in State]
    return [*lines, f"| **all** | {sum(total)} | {_cells(total)} |"]


def _cells(counts: Iterable[int]) -> str:
    return " | ".join(str(count) for count in counts)


def _line(row: Row, evidence: Evidence) -> str:
    tests = "<br>".join(f"`{test}`" for test in evidence.shown.get(row.id, ()))
    match evidence.state(row):
        case State.OVERRULED:
            overruling = evidence.overruled[row.id]
            link = f"[{Path(overruling.record).stem}]({_from_page(overruling.record)})"
            where = f"{link}: {overruling.ruling}" + (f"<br>{tests}" if tests else "")
        case State.SHOWN | State.ANSWERED:
            where = tests
        case State.OPEN:
            where = evidence.reasons.get(row.id, NOT_YET)
    return f"| {row.id} | {_shorten(row.sentence)} | {evidence.state(row)} | {where} |"


def _from_page(record: str) -> str:
    return Path(record).relative_to(PAGE.parent).as_posix()


def _shorten(sentence: str) -> str:
    if len(sentence) <= SENTENCE_LENGTH:
        return sentence
    cut = sentence[:SENTENCE_LENGTH].rsplit(" ", 1)[0].rstrip(",;: ")
    return cut + ("` …" if cut.count("`") % 2 else " …")  # never leave a code span open


if __name__ == "__main__":
    sys.exit(main())
