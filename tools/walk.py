"""Walk one real `add`, `search` and `context`: which files, functions and SQL statements run.

    python tools/walk.py                   the walks, keyword search only
    python tools/walk.py --model FOLDER    the walks with the local model of that folder
    python tools/walk.py --calls           every call instead of one line per file
    python tools/walk.py --summary         the counts only; of another tree with PYTHONPATH=TREE/src
    python tools/walk.py --write-docs      write the walks into docs/reference/walk.md
    python tools/walk.py --check           exit 1 when docs/reference/walk.md has other walks

What is counted, in the second use of a process (everything is imported, the store is open):

- a file: a file of the package in which at least one function was called;
- a function: a named function or lambda of the package; comprehensions count as their function;
- a statement: one top-level SQL statement that SQLite ran, BEGIN and COMMIT included;
- a read transaction: BEGIN to COMMIT; a write transaction: BEGIN IMMEDIATE to COMMIT.

The check: a function never calls a function of a higher layer (the layers are those of the import
contract in pyproject.toml). The only exceptions are the callbacks in `CALLBACKS`: functions that a
higher layer handed down. The tool exits 1 where another call goes up.
"""

import argparse
import gc
import logging
import re
import sqlite3
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import memory_mesh
from memory_mesh.platform import telemetry
from memory_mesh.sync import MemoryMesh

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs/reference/walk.md"
BEGIN_MARK, END_MARK = "<!-- walk: begin -->", "<!-- walk: end -->"
KNOWN = (
    "The user prefers dark themes.",
    "Deploys of the API go through staging first.",
    "The office is in Hamburg.",
)
ADDED, ASKED = "Alice lives in Berlin.", "How are deploys of the API done?"
WARM_UP = ("Bob lives in Bremen.", "How are tests of the CLI done?")
CALLBACKS = {
    "write/add.py _remember_slice.<locals>.<lambda>": "decides inside the write transaction",
    "write/late_vectors.py _commit.<locals>.<lambda>": "decides inside the write transaction",
    "search/rank.py body_search.<locals>.ask": "asks the index inside the read",
    "privacy/redactor.py StoreRedactor.text": "redacts each text that the scrubber uncovers",
    "privacy/gate.py _suspicious": "is asked of a word that is not known yet",
    "privacy/gate.py Hints._within": "is asked of a word that is not known yet",
    "mesh/operations/projects.py code_of.<locals>.check": "says whether cited code still stands",
    "context/packing/choice.py <lambda>": "prices a word that is not known yet",
    "context/packing/choice.py _of_part": "prices a word that is not known yet",
    "care/store_keys.py Sealer.__call__": "seals a record under the key of the store",
    "mesh/store.py OpenStore.existing_index": "opens the index at its first use",
}
EVERYWHERE = 4  # a file that this many others call is listed once, at the end
SHOWN_FUNCTIONS = 3  # of one file on one line
SQL_CHARS = 60


@dataclass(slots=True)
class Node:
    """One file, as entered from the file above it."""

    file: str
    functions: dict[str, None] = field(default_factory=dict)
    statements: list[tuple[str, str]] = field(default_factory=list)  # transaction, SQL
    children: "dict[str, Node]" = field(default_factory=dict)


@dataclass(slots=True)
class Walk:
    """What ran, in order."""

    name: str
    root: Node = field(default_factory=lambda: Node(""))
    calls: list[tuple[int, str, str]] = field(default_factory=list)  # depth, file, function or SQL
    ups: dict[tuple[str, str], str] = field(default_factory=dict)  # (caller, callee) -> why allowed
    statements: int = 0
    transactions: dict[str, int] = field(default_factory=lambda: {"read": 0, "write": 0})
    functions: set[tuple[str, str]] = field(default_factory=set)
    callers: dict[str, set[str]] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """The counts on one line."""
        files = {file for file, _ in self.functions}
        return (
            f"{len(files)} files, {len(self.functions)} functions, {self.statements} statements, "
            f"read transactions: {self.transactions['read']}, "
            f"write transactions: {self.transactions['write']}"
        )

    @property
    def broken(self) -> list[str]:
        """Calls that go up and are no known callback."""
        return [f"{a} calls {b}" for (a, b), why in self.ups.items() if not why]


class Recorder:
    """Follows the calls of this thread and the statements of every connection."""

    def __init__(self, package: Path, layers: dict[str, int]) -> None:
        """Know the package's folder, and the rank of each of its parts, 0 for the highest."""
        self._package, self._layers = f"{package}/", layers
        self._walk: Walk | None = None
        self._stack: list[tuple[str, str, Node]] = []

    @contextmanager
    def tracing_sql(self) -> Iterator[None]:
        """Every connection that is opened inside tells its statements."""
        connect = sqlite3.connect

        def traced(*args: object, **named: object) -> sqlite3.Connection:
            db: sqlite3.Connection = connect(*args, **named)  # type: ignore[call-overload]
            transaction = _Transaction(self)
            db.set_trace_callback(transaction.statement)
            return db

        sqlite3.connect = traced  # type: ignore[assignment]
        try:
            yield
        finally:
            sqlite3.connect = connect

    @contextmanager
    def recording(self, name: str) -> Iterator[Walk]:
        """Everything that runs inside, as one walk: no garbage is collected, no log record made."""
        self._walk = walk = Walk(name)
        self._stack = [("", "", walk.root)]
        with _no_collection(), _no_listener():
            sys.setprofile(self._profile)
            try:
                yield walk
            finally:
                sys.setprofile(None)
                self._walk = None

    def begun(self, kind: str) -> str:
        """The name of a new transaction, such as `read 2`."""
        if self._walk is None:
            return ""
        self._walk.transactions[kind] += 1
        return f"{kind} {self._walk.transactions[kind]}"

    def ran(self, sql: str, transaction: str) -> None:
        """One statement, and the transaction it belongs to."""
        if self._walk is None:
            return
        self._walk.statements += 1
        self._stack[-1][2].statements.append((transaction, sql))
        self._walk.calls.append((len(self._stack), f"SQL {transaction}:", sql))

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event not in {"call", "return"} or not code.co_filename.startswith(self._package):
            return
        if event == "return":
            if len(self._stack) > 1:
                self._stack.pop()
            return
        self._enter(code.co_filename.removeprefix(self._package), code.co_qualname)

    def _enter(self, file: str, function: str) -> None:
        caller_file, caller, node = self._stack[-1]
        if function.endswith(("comp>", "genexpr>", "module>")):  # part of the function around it
            self._stack.append((file, caller if file == caller_file else function, node))
            return
        assert self._walk is not None  # noqa: S101  # the profiler runs only while recording
        if file != caller_file:
            node = node.children.setdefault(file, Node(file))
            self._walk.callers.setdefault(file, set()).add(caller_file)
            self._note_up(f"{caller_file} {caller}", f"{file} {function}")
        node.functions[function] = None
        self._walk.functions.add((file, function))
        self._walk.calls.append((len(self._stack), file, function))
        self._stack.append((file, function, node))

    def _note_up(self, caller: str, callee: str) -> None:
        above, below = self._rank(callee), self._rank(caller)
        if above is not None and below is not None and above < below and self._walk:
            self._walk.ups[caller, callee] = CALLBACKS.get(callee, "")

    def _rank(self, place: str) -> int | None:
        return self._layers.get(re.split(r"[/. ]", place, maxsplit=1)[0])


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keeps the garbage collector out: it runs the last calls of stores that nobody closed."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@contextmanager
def _no_listener() -> Iterator[None]:
    """Keeps records out: whoever listens to the log makes a walk longer."""
    logger = logging.getLogger(telemetry.NAME)
    disabled, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = disabled


class _Transaction:
    """Tells the recorder the statements of one connection, and where a transaction starts."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder, self._name = recorder, "alone"

    def statement(self, sql: str) -> None:
        """SQLite reports statements that run inside another as comments: these are left out."""
        if sql.startswith("--"):
            return
        sql = " ".join(sql.split())
        if sql.startswith("BEGIN"):
            self._name = self._recorder.begun("write" if sql == "BEGIN IMMEDIATE" else "read")
        self._recorder.ran(sql, self._name)
        if sql in {"COMMIT", "ROLLBACK"}:
            self._name = "alone"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the walks, or write them into the documentation."""
    options = _options(arguments)
    walks = walk_all(options.model)
    if options.write_docs or options.check:
        return _docs(walks, write=options.write_docs)
    for walk in walks:
        print(f"{walk.name}: {walk.summary}")
        if not options.summary:
            print("\n".join(_every_call(walk) if options.calls else folded(walk)), end="\n\n")
    broken = [] if options.summary else [line for walk in walks for line in walk.broken]
    for line in broken:
        print(f"GOES UP: {line}", file=sys.stderr)
    return 1 if broken else 0


def walk_all(model: Path | None) -> list[Walk]:
    """One add, one search and one pack in a temporary store, where the like was done before."""
    recorder = Recorder(Path(memory_mesh.__file__).parent, layers())
    with recorder.tracing_sql():
        chosen: Any = {"embedder": "local", "model_dir": model} if model else {"embedder": "none"}
        with tempfile.TemporaryDirectory() as folder, MemoryMesh(db_dir=folder, **chosen) as mesh:
            for text in (*KNOWN, WARM_UP[0]):
                mesh.add(text)
                mesh.search(WARM_UP[1])
            mesh.context(KNOWN[0], max_tokens=200)
            with recorder.recording(f'add("{ADDED}")') as add:
                mesh.add(ADDED)
            with recorder.recording(f'search("{ASKED}")') as search:
                mesh.search(ASKED)
            with recorder.recording("the same search again") as cached:
                mesh.search(ASKED)
            with recorder.recording(f'context("{ASKED}")') as context:
                mesh.context(ASKED, max_tokens=200)
    return [add, search, cached, context]


def layers() -> dict[str, int]:
    """The rank of each part of the package, 0 for the highest, from the import contract.

    Parts that must not import each other are ranked as they are written: `write` calls ledgers.
    """
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    ordered = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    ranked = [part for line in ordered for part in line.split("|")]
    return {
        part: rank for rank, line in enumerate(ranked) for part in re.findall(r"\((\w+)\)", line)
    }


def folded(walk: Walk) -> list[str]:
    """One line per file, indented under the file that calls it; what many call comes last."""
    shared = {file for file, callers in walk.callers.items() if len(callers) >= EVERYWHERE}
    lines = list(_tree(walk.root, shared, 0))
    if shared:
        lines += ["", "called from many places: " + ", ".join(sorted(shared))]
    lines += [f"callback: {a} calls {b}: {why}" for (a, b), why in walk.ups.items() if why]
    lines.append("no call goes up but for the callbacks" if not walk.broken else "A CALL GOES UP")
    return lines


def _tree(node: Node, shared: set[str], depth: int) -> Iterator[str]:
    pad = "  " * depth
    for child in node.children.values():
        if child.file in shared and not child.statements and not child.children:
            continue
        names = list(child.functions)
        more = f", {len(names) - SHOWN_FUNCTIONS} more" if len(names) > SHOWN_FUNCTIONS else ""
        yield f"{pad}{child.file}: {', '.join(names[:SHOWN_FUNCTIONS])}{more}"
        yield from (f"{pad}    SQL {line}" for line in _folded_sql(child.statements))
        yield from _tree(child, shared, depth + 1)


def _folded_sql(statements: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Statements in short with their transaction; those that look the same are one line."""
    counts: dict[str, int] = {}
    for transaction, sql in statements:
        short = f"{transaction}: {_short(sql)}"
        counts[short] = counts.get(short, 0) + 1
    yield from (f"{sql} ({count} times)" if count > 1 else sql for sql, count in counts.items())


def _short(sql: str) -> str:
    """The verb and the tables, which is what a reader looks for."""
    written = re.match(r"(?:INSERT.*? INTO|UPDATE|DELETE FROM) \w+", sql)
    if written:
        return written[0]
    tables = dict.fromkeys(re.findall(r"\b(?:FROM|JOIN) ([a-z_]\w*)", sql))
    tables.pop("json_each", None)
    if sql.startswith("SELECT") and tables:
        return f"SELECT from {', '.join(tables)}"
    return sql[:SQL_CHARS]


def _every_call(walk: Walk) -> Iterator[str]:
    """Every call and statement, indented; a line that is repeated at once is printed once."""
    last = ""
    for depth, file, what in walk.calls:
        line = f"{'  ' * (depth - 1)}{file} {what}"
        if line != last:
            yield line
        last = line


def _docs(walks: Sequence[Walk], *, write: bool) -> int:
    """Put the walks between the marks of the documentation, or compare them."""
    *whole, cached = walks
    parts = [
        f"```text\n{walk.name}\n{walk.summary}\n\n" + "\n".join(folded(walk)) + "\n```"
        for walk in whole
    ]
    parts.append(f"```text\n{cached.name}, answered from the cache\n{cached.summary}\n```")
    text = DOCS.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN_MARK)
    _, _, after = rest.partition(END_MARK)
    made = f"{before}{BEGIN_MARK}\n" + "\n\n".join(parts) + f"\n{END_MARK}{after}"
    broken = any(walk.broken for walk in walks)
    if write:
        DOCS.write_text(made, encoding="utf-8")
    elif made != text:
        print(f"{DOCS.name} is old: run `python tools/walk.py --write-docs`", file=sys.stderr)
        return 1
    return 1 if broken else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", type=Path, help="the folder of a local model: hybrid search")
    parser.add_argument("--calls", action="store_true", help="print every call")
    parser.add_argument("--summary", action="store_true", help="print the counts only")
    parser.add_argument("--write-docs", action="store_true", help="write docs/reference/walk.md")
    parser.add_argument("--check", action="store_true", help="compare docs/reference/walk.md")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
