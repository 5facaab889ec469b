"""Hold files, functions and classes to the sizes of the house style; exit 1 where one is passed.

A file stops at 800 lines, a function at 60 without its docstring, a class at 15 public methods of
its own, a protocol of ports.py at 10; inherited methods do not count. What a tool of ours writes is
not measured.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.house_imports import statements  # noqa: E402  # found from the root

FOLDERS = ("src", "tests", "tools", "bench")
PORTS = "src/memory_mesh/model/ports.py"
LIMITS = {"file": 800, "function": 60, "class": 15, "protocol": 10}
UNITS = {
    "file": "lines",
    "function": "lines",
    "class": "public methods",
    "protocol": "public methods",
}
WORST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Size:
    """How big one named thing is."""

    kind: str
    place: str
    amount: int

    @property
    def too_big(self) -> bool:
        """It passes the limit of its kind."""
        return self.amount > LIMITS[self.kind]

    @property
    def share(self) -> float:
        """The part of its limit that is used."""
        return self.amount / LIMITS[self.kind]

    def __str__(self) -> str:
        return f"{self.kind} {self.place}: {self.amount} {UNITS[self.kind]} of {LIMITS[self.kind]}"


def main() -> int:
    """Print the five fullest things and every breach."""
    sizes = sorted(measure_all(ROOT), key=lambda size: size.share, reverse=True)
    print(f"{len(sizes)} files, functions and classes; the fullest:")
    for size in sizes[:WORST_SHOWN]:
        print(f"  {size}")
    breaches = [size for size in sizes if size.too_big]
    for size in breaches:
        print(f"TOO BIG: {size}", file=sys.stderr)
    return 1 if breaches else 0


def measure_all(root: Path) -> Iterator[Size]:
    """The size of everything under the checked folders."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if not text.startswith("# GENERATED"):
                yield from measure(text, path.relative_to(root).as_posix())


def measure(source: str, place: str) -> Iterator[Size]:
    """The size of one file and of every function and class in it."""
    yield Size("file", place, len(source.splitlines()))
    for node in statements(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = _lines(node) - (_lines(node.body[0]) if ast.get_docstring(node) else 0)
            yield Size("function", f"{place}:{node.lineno} {node.name}", lines)
        elif isinstance(node, ast.ClassDef):
            kind = "protocol" if place == PORTS else "class"
            yield Size(kind, f"{place}:{node.lineno} {node.name}", _public_methods(node))


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _public_methods(node: ast.ClassDef) -> int:
    names = {
        item.name for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    return sum(not name.startswith(("_", "test_")) for name in names)


if __name__ == "__main__":
    sys.exit(main())
