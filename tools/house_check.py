"""Hold every module to the house rules about circles, writes, redaction and SQL; exit 1 if not.

- No module imports itself through others, neither at its top nor inside a function.
- A public class name is defined once.
- There are no more files, and no more imports of ours inside functions, than MOST says.
- `ledger.commit` is called in write/, learn/ and care/ only: there is one write path. Searches and
  packs may note what they showed, and nothing else.
- A redactor is used in write/prepare.py only; mesh/store.py and mesh/view.py hand it over.
- SQL, `.sql` files and sqlite3 stand in ledgers/ and care/sqlite/ only. Three modules have a SQLite
  file that is no ledger: the importer of a foreign store, the vector cache of an evaluation, and a
  mirror's state.
"""

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.house_imports import circles, count_late, modules, names_used_twice, parsed

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "memory_mesh"
COMMITTING = ("write/", "learn/", "care/", "ledgers/", "models/lance/")
NOTING = (*COMMITTING, "search/", "context/")
REDACTING = (
    "write/prepare.py",
    "privacy/",
)
HANDING_OVER = (*REDACTING, "mesh/store.py", "mesh/view.py")
LEDGERS = "ledgers/"
MOST = {"files": 570, "imports of ours inside functions": 260}  # what is reached; it only falls
SPEAKING_SQL = (
    LEDGERS,
    "care/sqlite/",
    "compat/lane/import_.py",
    "evaluation/vector_cache.py",
    "care/other_tools.py",  # databases of other tools
    "mirror/state.py",
)
SQL = re.compile(
    r"""\b(
        select\s.+\sfrom\s+\S | insert\s+(or\s+\w+\s+)?into\s+\S | delete\s+from\s+\S
      | update\s+\S+\s+set\s
      | (create|alter|drop)\s+((virtual|temp|unique)\s+)?(table|index|trigger)\s
      | pragma\s+\w+ | begin\s+(immediate|exclusive|deferred)\b | vacuum\s+into\b
    )""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


WRITING = {"commit", "absorbed", "sink_moved"}  # methods of a ledger
NOTES = {"note", "use"}


def main(package: Path = PACKAGE) -> int:
    """Print every breach."""
    trees = parsed(package)
    breaches = [
        f"src/memory_mesh/{place}:{breach}"
        for path, tree in zip(modules(package), trees.values(), strict=True)
        for place in [path.relative_to(package).as_posix()]
        for breach in find_breaches(tree, place)
    ]
    breaches += [f"{path}: SQL outside {LEDGERS}" for path in misplaced_scripts(package)]
    breaches += house_breaches(trees)
    for breach in breaches:
        print(f"HOUSE RULE: {breach}", file=sys.stderr)
    print(f"{len(trees)} modules, {len(breaches)} breaches of a house rule")
    return 1 if breaches else 0


def find_breaches(source: str | ast.Module, place: str) -> list[str]:
    """What one module must not do, each as "line: why"; `place` is its path in the package."""
    nodes = list(ast.walk(ast.parse(source) if isinstance(source, str) else source))
    found: list[tuple[int, str]] = []
    if not place.startswith(COMMITTING):
        why = "only write/, learn/ and care/ may write to a ledger"
        found += ((line, why) for line in _commits(nodes))
    if not place.startswith(NOTING):
        why = "only search/, context/ and those that write may note a use"
        found += ((node.lineno, why) for node in _notes(nodes))
    if not place.startswith(HANDING_OVER):
        found += ((line, "only write/prepare.py may use a redactor") for line in _redactors(nodes))
    if not place.startswith(REDACTING):
        found += ((line, "only write/prepare.py may redact") for line in _redactions(nodes))
    if not place.startswith(SPEAKING_SQL):
        found += ((line, f"only {LEDGERS} may import sqlite3") for line in _sqlite_imports(nodes))
        found += ((line, f"only {LEDGERS} may hold SQL") for line in _sql(nodes))
    return [f"{line}: {why}" for line, why in sorted(set(found))]


def house_breaches(trees: dict[str, ast.Module]) -> list[str]:
    """What the modules of a package must not be together."""
    found = [f"a circle of imports: {' -> '.join(circle)}" for circle in circles(trees)]
    found += [
        f"class {name} is defined in {' and '.join(modules)}"
        for name, modules in names_used_twice(trees).items()
    ]
    amounts = {"files": len(trees), "imports of ours inside functions": count_late(trees)}
    found += [
        f"{amounts[what]} {what}, of {most} allowed"
        for what, most in MOST.items()
        if amounts[what] > most
    ]
    return found


def misplaced_scripts(package: Path) -> list[str]:
    """The `.sql` files that no ledger owns."""
    places = (path.relative_to(package).as_posix() for path in sorted(package.rglob("*.sql")))
    return [place for place in places if not place.startswith(LEDGERS)]


def _commits(nodes: Sequence[ast.AST]) -> Iterator[int]:
    """Calls of `.commit` with arguments, and every writing method of something named a ledger.

    `commit()` without arguments is another thing: a ledger's takes three.
    """
    for node in nodes:
        if isinstance(node, ast.Call) and _attribute(node.func) == "commit":
            yield from [node.lineno] if node.args or node.keywords else []
        elif isinstance(node, ast.Attribute) and _is(node, WRITING, "ledger"):
            yield node.lineno


def _notes(nodes: Sequence[ast.AST]) -> Iterator[ast.Attribute]:
    """Every method of a ledger that records what was shown."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and _is(node, NOTES, "ledger"):
            yield node


def _redactors(nodes: Sequence[ast.AST]) -> Iterator[int]:
    """Every `.redactor` that is read from something."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr.lower().endswith("redactor"):
            yield node.lineno


def _redactions(nodes: Sequence[ast.AST]) -> Iterator[int]:
    """Every `.text` and `.json` of something named a redactor."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and _is(node, {"text", "json"}, "redactor"):
            yield node.lineno


def _sqlite_imports(nodes: Sequence[ast.AST]) -> Iterator[int]:
    for node in nodes:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        if any(name.partition(".")[0] == "sqlite3" for name in names):
            yield getattr(node, "lineno", 0)


def _sql(nodes: Sequence[ast.AST]) -> Iterator[int]:
    """Texts that are SQL statements, f-strings included; a docstring may speak of SQL."""
    prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        text = _text(node) if id(node) not in prose else ""
        if text and SQL.search(text):
            yield getattr(node, "lineno", 0)


def _text(node: ast.AST) -> str:
    """The text of a literal, with a word for each value that an f-string fills in."""
    if isinstance(node, ast.JoinedStr):
        parts = node.values
        return "".join(_text(part) if isinstance(part, ast.Constant) else "value" for part in parts)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is(node: ast.Attribute, attributes: set[str], owner: str) -> bool:
    """Whether one of these attributes is read from something whose name ends in `owner`."""
    return node.attr in attributes and _name(node.value).lower().endswith(owner)


def _attribute(node: ast.AST) -> str:
    """The name after the last dot of an expression, or nothing."""
    return node.attr if isinstance(node, ast.Attribute) else ""


def _name(node: ast.AST) -> str:
    """The last name of an expression: of a variable, an attribute or what is called."""
    if isinstance(node, ast.Call):
        return _name(node.func)
    return node.id if isinstance(node, ast.Name) else _attribute(node)


if __name__ == "__main__":
    sys.exit(main())
