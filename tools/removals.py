"""Take statements, or what a requirement asks for, out of src and see whether a test notices.

    python tools/removals.py choose            writes tests/removals.json: statements drawn by a
                                               seed
    python tools/removals.py probe CLONE       puts a probe before each of them in another checkout;
                                               its tests then write to CLONE/probes.txt which of
                                               them reached which statement
    python tools/removals.py run CLONE PROBES  takes them out of CLONE one by one, runs the tests
                                               that PROBES names, prints which test failed first
    python tools/removals.py draw SEED COUNT   prints shown rows of the requirement list, drawn by
                                               the seed
    python tools/removals.py rows CLONE        makes the changes of tests/removals_of_rows.json in
                                               CLONE one by one, and runs the tests that
                                               docs/conformance.md names for the row alone

`choose` looks at the source alone, never at the tests; so did who wrote the changes of the rows,
three for each, before a test was touched. CLONE is another checkout with a .venv of its own.
"""

import argparse
import ast
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src") / "memory_mesh"
LIST = ROOT / "tests" / "removals.json"
OF_ROWS = ROOT / "tests" / "removals_of_rows.json"
TABLE = Path("docs") / "conformance.md"
SEED = 33
WANTED = 5  # of each package
DRAWN = 12  # candidates of each package, in the order of the draw
SMALLEST = 2_000  # statements are drawn from packages with at least so many lines
SHIPPED_FOR_OTHERS = {"testing"}  # contract suites: no code of the product
SECONDS = 900  # for the tests of one removal
FEW = 60  # tests that are tried before whole files
QUICK = ("-n0", "--assert=plain", "-p", "no:langsmith_plugin", "-p", "no:faker")  # one process

PROBE = '''"""Notes which test reaches a probe."""

import os

_seen = set()


def reached(number):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" (")[0]
    if (number, test) not in _seen:
        _seen.add((number, test))
        file = os.open({path!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.write(file, f"{{number}}\\t{{test}}\\n".encode())
        os.close(file)
'''


@dataclass(frozen=True, slots=True)
class Removal:
    """One statement of one function, found again by its text."""

    package: str
    path: str
    function: str
    statement: str


@dataclass(frozen=True, slots=True)
class Change:
    """A text of one file, and what stands in its place without a part of what a row asks for."""

    path: str
    old: str
    new: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the first word says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["choose", "probe", "run", "draw", "rows"])
    parser.add_argument("clone", nargs="?", type=Path, help="another checkout; of draw the seed")
    parser.add_argument("probes", nargs="?", type=Path, help="of draw how many rows")
    parser.add_argument("--only", nargs="*", help="numbers of removals, or rows")
    options = parser.parse_args(arguments)
    if options.what == "draw":
        print("\n".join(draw(int(str(options.clone)), int(str(options.probes)))))
        return 0
    if options.what == "choose":
        chosen = [asdict(removal) for removal in choose(ROOT)]
        LIST.write_text(json.dumps(chosen, indent=1) + "\n", encoding="utf-8")
        print(f"{len(chosen)} statements in {LIST.relative_to(ROOT)}")
        return 0
    if options.clone is None or options.clone.resolve() == ROOT:
        parser.error("name another checkout: its source is changed")
    if options.what == "rows":
        return run_rows(options.clone.resolve(), options.only)
    if options.what == "probe":
        probe(options.clone.resolve(), _listed())
        return 0
    if options.probes is None:
        parser.error("name the file of probes")
    numbers = None if options.only is None else [int(number) for number in options.only]
    return run(options.clone.resolve(), _listed(), options.probes, numbers)


def choose(root: Path) -> Iterator[Removal]:
    """Statements of every large package, drawn by the seed."""
    for folder in sorted((root / PACKAGE).iterdir()):
        files = sorted(folder.rglob("*.py")) if folder.is_dir() else []
        texts = {path: path.read_text(encoding="utf-8") for path in files}
        written = {path: text for path, text in texts.items() if "GENERATED" not in text[:300]}
        lines = sum(text.count("\n") for text in written.values())
        if lines < SMALLEST or folder.name in SHIPPED_FOR_OTHERS:
            continue
        found = [
            Removal(folder.name, path.relative_to(root).as_posix(), name, ast.unparse(node))
            for path, text in written.items()
            for name, node in _statements(text)
        ]
        yield from random.Random(f"{SEED} {folder.name}").sample(found, DRAWN)  # noqa: S311


def _statements(text: str) -> Iterator[tuple[str, ast.stmt]]:
    """Each statement whose removal leaves a program: conditions, loops, calls, raises, stores."""
    for name, function in _functions(ast.parse(text), ""):
        seen = set[str]()
        for node in _inside(function):
            stores = isinstance(node, ast.Assign | ast.AugAssign) and not isinstance(
                node.targets[0] if isinstance(node, ast.Assign) else node.target, ast.Name
            )
            calls = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
            if stores or calls or isinstance(node, ast.If | ast.For | ast.While | ast.Raise):
                source = ast.unparse(node)
                if source not in seen:  # found again by its text
                    seen.add(source)
                    yield name, node


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.AST]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield name, child
            yield from _functions(child, f"{name}.")
        else:
            yield from _functions(child, prefix)


def _inside(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if isinstance(child, ast.stmt):
                yield child
            yield from _inside(child)


def probe(clone: Path, removals: Sequence[Removal]) -> None:
    """Write a probe before each statement; the ones of one file from its end upwards."""
    module = clone / PACKAGE / "_removal_probe.py"
    module.write_text(PROBE.format(path=str(clone / "probes.txt")), encoding="utf-8")
    places = defaultdict[str, list[tuple[int, int]]](list)
    for number, removal in enumerate(removals):
        node = _found(clone, removal)
        if node is None:
            print(f"{number}: no longer there: {removal.path} {removal.function}")
            continue
        places[removal.path].append((node.lineno, number))
    for path, found in places.items():
        lines = (clone / path).read_text(encoding="utf-8").splitlines(keepends=True)
        for line, number in sorted(found, reverse=True):
            text = lines[line - 1]
            indent = text[: len(text) - len(text.lstrip())]
            name = "__import__('memory_mesh._removal_probe')._removal_probe.reached"
            if text.lstrip().startswith("elif"):
                lines[line - 1] = text.replace("elif ", f"elif {name}({number}) or ", 1)
            else:
                lines.insert(line - 1, f"{indent}{name}({number})\n")
        (clone / path).write_text("".join(lines), encoding="utf-8")


def run(clone: Path, removals: Sequence[Removal], probes: Path, only: list[int] | None) -> int:
    """Five of each package that a test notices, and every one that none notices."""
    reached = defaultdict[int, set[str]](set)
    for line in probes.read_text(encoding="utf-8").splitlines():
        probe_number, _, test = line.partition("\t")
        reached[int(probe_number)].add(test)
    noticed = defaultdict[str, int](int)
    missed = 0
    for number, removal in enumerate(removals):
        if number not in only if only else noticed[removal.package] >= WANTED:
            continue
        tests = sorted(reached[number] - {""})
        if not tests or _found(clone, removal) is None:
            why = "it is no longer there" if tests else "only child processes reach it, or nothing"
            print(f"{number}\t{removal.path}\t{removal.function}\tleft out: {why}", flush=True)
            continue
        begun = time.monotonic()
        failed = _first_failure(clone, removal, tests)
        noticed[removal.package] += failed is not None
        missed += failed is None
        print(
            f"{number}\t{removal.path}\t{removal.function}\t{len(tests)} tests\t"
            f"{failed or 'NOT NOTICED'}\t{time.monotonic() - begun:.0f} s",
            flush=True,
        )
    print(f"noticed {sum(noticed.values())}, not noticed {missed}")
    return 0


def _first_failure(clone: Path, removal: Removal, tests: Sequence[str]) -> str | None:
    """The first test that fails without the statement: a few that reach it, then their files."""
    node, path = _found(clone, removal), clone / removal.path
    if node is None:
        return None
    whole = path.read_text(encoding="utf-8")
    lines = whole.splitlines(keepends=True)
    first = lines[node.lineno - 1]
    indent = first[: len(first) - len(first.lstrip())]
    word = "elif False:\n" + indent + "    pass" if first.lstrip().startswith("elif") else "pass"
    lines[node.lineno - 1 : node.end_lineno] = [f"{indent}{word}\n"]
    ordered = sorted(tests, key=lambda test: ("/unit/" not in test, "/faults/" in test, test))
    files = list(dict.fromkeys(test.partition("::")[0] for test in ordered))
    spread = ordered[:: max(1, len(ordered) // FEW)]
    try:
        path.write_text("".join(lines), encoding="utf-8")
        return _failed(clone, spread) or _failed(clone, files)
    finally:
        path.write_text(whole, encoding="utf-8")


def draw(seed: int, count: int) -> list[str]:
    """Rows that the table of conformance has as shown, drawn by the seed."""
    return random.Random(seed).sample(sorted(_shown(ROOT)), count)  # noqa: S311


def run_rows(clone: Path, only: Sequence[str] | None) -> int:
    """Makes each change alone, runs the marked tests of its row, and says which were noticed."""
    shown, caught, made = _shown(clone), 0, 0
    wanted = {
        row: changes for row, changes in _changes_of_rows().items() if only is None or row in only
    }
    tests = list(dict.fromkeys(test for row in wanted for test in shown[row]))
    failed = _failed(clone, tests, *QUICK)
    if failed is not None:
        raise RuntimeError(f"a test fails without any change: {failed}")
    for row, changes in wanted.items():
        for number, change in enumerate(changes, start=1):
            begun = time.monotonic()
            failed = _changed(clone, change, shown[row])
            made, caught = made + 1, caught + (failed is not None)
            print(
                f"{row}\t{number}\t{change.path}\t{failed or 'NOT NOTICED'}\t"
                f"{time.monotonic() - begun:.0f} s",
                flush=True,
            )
    print(f"noticed {caught} of {made}")
    return 0


def _changed(clone: Path, change: Change, tests: Sequence[str]) -> str | None:
    """The first of the tests that fails with a change."""
    path = clone / change.path
    whole, written = path.read_text(encoding="utf-8"), path.stat().st_mtime_ns
    if whole.count(change.old) != 1:
        raise RuntimeError(f"{change.path} has {whole.count(change.old)} times {change.old!r}")
    try:
        path.write_text(whole.replace(change.old, change.new), encoding="utf-8")
        return _failed(clone, tests, *QUICK)
    finally:
        path.write_text(whole, encoding="utf-8")
        os.utime(path, ns=(time.time_ns(), written))  # or what was compiled may stand for it


def _shown(root: Path) -> dict[str, list[str]]:
    """The tests that the table of conformance names for each row that is shown."""
    found: dict[str, list[str]] = {}
    for line in (root / TABLE).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
        if len(cells) > 4 and cells[1].startswith("R-") and cells[3] == "shown":
            found[cells[1]] = re.findall(r"`([^`]+)`", cells[4])
    return found


def _changes_of_rows() -> dict[str, list[Change]]:
    """The changes of each row, of every draw."""
    draws = json.loads(OF_ROWS.read_text(encoding="utf-8"))
    return {
        row: [Change(**change) for change in changes]
        for drawn in draws
        for row, changes in drawn["rows"].items()
    }


def _failed(clone: Path, tests: Sequence[str], *more: str) -> str | None:
    """The first of these tests that fails."""
    listed = clone / "build" / "tests-of-a-removal.txt"
    listed.parent.mkdir(exist_ok=True)
    listed.write_text("\n".join(tests), encoding="utf-8")
    python = str(clone / ".venv" / "bin" / "python")
    command = [python, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *more, f"@{listed}"]
    try:
        done = subprocess.run(
            command,
            cwd=clone,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},  # each run would compile all anew
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode not in {0, 1, 2}:  # passed, failed, or the code cannot even be imported
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
    lines = (line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR")))
    return next(lines, None)


def _found(clone: Path, removal: Removal) -> ast.stmt | None:
    path = clone / removal.path
    if not path.exists():
        return None
    for name, node in _statements(path.read_text(encoding="utf-8")):
        if name == removal.function and ast.unparse(node) == removal.statement:
            return node
    return None


def _listed() -> list[Removal]:
    return [Removal(**entry) for entry in json.loads(LIST.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    sys.exit(main())
