"""What the modules of the package import of each other: circles, and the figures of the house.

python tools/house_imports.py    how many files, imports inside functions, names used twice
"""

import ast
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "memory_mesh"
SMALL = 100  # lines of a file that its one importer could hold


def main() -> None:
    """Print the figures."""
    trees = parsed(PACKAGE)
    graph = imports(trees)
    importers = Counter(found for targets in graph.values() for found in targets)
    crumbs = [
        name
        for name in trees
        if importers[name] == 1 and _lines(name) < SMALL and _path(name).stem != "__init__"
    ]
    print(f"{len(trees)} files")
    print(f"{len(circles(trees))} circles of imports")
    print(f"{count_late(trees)} imports of ours inside functions")
    print(f"{len(names_used_twice(trees))} class names used twice")
    print(f"{len(crumbs)} files under {SMALL} lines with one importer")


def circles(trees: dict[str, ast.Module]) -> list[list[str]]:
    """The first circle of imports, if there is one; imports for type checkers do not count."""
    try:
        TopologicalSorter(imports(trees)).prepare()
    except CycleError as error:
        return [list(error.args[1])]
    return []


def names_used_twice(trees: dict[str, ast.Module]) -> dict[str, list[str]]:
    """The public class names that several places define, and the modules that do."""
    modules: dict[str, list[str]] = {}
    for module, tree in trees.items():
        for node in statements(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules.setdefault(node.name, []).append(module)
    return {name: where for name, where in modules.items() if len(where) > 1}


def count_late(trees: dict[str, ast.Module]) -> int:
    """How many imports of ours stand inside functions."""
    return sum(1 for tree in trees.values() for _ in _late(tree))


def modules(package: Path) -> list[Path]:
    """The files of all modules of a package, in the order of `parsed`."""
    return sorted(package.rglob("*.py"))


def parsed(package: Path) -> dict[str, ast.Module]:
    """The trees of all modules of a package by their dotted names."""
    found = {}
    for path in modules(package):
        parts = path.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imports(trees: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Which modules each module imports, at its top and inside functions."""
    return {
        name: {
            found
            for node in _run(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for found in _targets(node, trees)
            if found != name
        }
        for name, tree in trees.items()
    }


def _targets(node: ast.Import | ast.ImportFrom, known: dict[str, ast.Module]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in known)
    elif node.module in known:
        for alias in node.names:
            inside = f"{node.module}.{alias.name}"
            yield inside if inside in known else node.module


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement below a node; what they are made of is most of a tree, and is not walked."""
    for child in _bodies(node):
        yield child
        yield from statements(child)


def _bodies(node: ast.AST) -> Iterator[ast.AST]:
    for block in ("body", "handlers", "cases", "orelse", "finalbody"):
        found = getattr(node, block, ())
        yield from found if isinstance(found, list) else ()  # else of an expression


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement but what is for type checkers alone."""
    for child in _bodies(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            for other in child.orelse:
                yield other
                yield from _run(other)
            continue
        yield child
        yield from _run(child)


def _late(node: ast.AST, *, inside: bool = False) -> Iterator[ast.AST]:
    """The imports of ours that stand inside a function."""
    for child in _bodies(node):
        if inside and isinstance(child, ast.ImportFrom):
            yield from [child] if (child.module or "").startswith(PACKAGE.name) else []
        within = inside or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from _late(child, inside=within)


def _path(name: str) -> Path:
    inside = PACKAGE.parent / name.replace(".", "/")
    return inside / "__init__.py" if inside.is_dir() else inside.with_suffix(".py")


def _lines(name: str) -> int:
    return len(_path(name).read_text(encoding="utf-8").splitlines())


if __name__ == "__main__":
    main()
