"""Count the hand-written statements in src, per package and in total.

`--compare REV` counts the same folder of a git revision beside it; `--ceiling` fails where there
are more, without docstrings, than `pyproject.toml` allows. A statement is an `ast.stmt` node. A
file that a tool of ours writes, with GENERATED near its top, is not counted.
"""

import argparse
import ast
import io
import subprocess
import sys
import tarfile
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.house_imports import statements  # noqa: E402  # found from the root

FOLDER = "src"
# A generated file says so within this many characters.
HEAD = 300


@dataclass(frozen=True, slots=True)
class Count:
    """How many files and statements there are, and how many statements are no docstring."""

    files: int = 0
    statements: int = 0
    without_docstrings: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(
            self.files + other.files,
            self.statements + other.statements,
            self.without_docstrings + other.without_docstrings,
        )

    def __str__(self) -> str:
        return f"{self.files:>6} {self.statements:>11} {self.without_docstrings:>19}"


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Print one table, or with --compare that of the revision first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--compare", metavar="REV", help="count this git revision too")
    parser.add_argument("--ceiling", action="store_true", help="fail above the ceiling")
    options = parser.parse_args(arguments)
    if options.ceiling:
        return _held_to_ceiling(root)
    revision = options.compare
    if revision is None:
        _show("working tree", count_packages(_working_tree(root)))
        return 0
    before = count_packages(_revision(root, revision))
    after = count_packages(_working_tree(root))
    _show(revision, before)
    _show("working tree", after)
    change = _total(after).without_docstrings - _total(before).without_docstrings
    print(f"change without docstrings: {change:+}")
    return 0


def _held_to_ceiling(root: Path) -> int:
    """1 where there are more statements than allowed; says so too where the ceiling can fall."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    ceiling: int = settings["tool"]["memory-mesh"]["statements"]
    found = _total(count_packages(_working_tree(root))).without_docstrings
    print(f"{found} statements in {FOLDER}, of {ceiling} allowed")
    if found > ceiling:
        print(
            f"TOO MANY: take {found - ceiling} out; the ceiling in pyproject.toml only falls",
            file=sys.stderr,
        )
    elif found < ceiling:
        print(f"lower `statements` in pyproject.toml to {found}")
    return int(found > ceiling)


def count_packages(files: Iterable[tuple[str, str]]) -> dict[str, Count]:
    """The count of each package, from the path and the text of every file below src."""
    packages: dict[str, Count] = defaultdict(Count)
    for path, source in files:
        if "GENERATED" not in source[:HEAD]:
            packages[_package(path)] += count(source)
    return dict(packages)


def count(source: str) -> Count:
    """The count of one file."""
    found = [node for node in statements(ast.parse(source)) if isinstance(node, ast.stmt)]
    docstrings = sum(map(_is_docstring, found))
    return Count(1, len(found), len(found) - docstrings)


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _package(path: str) -> str:
    parts = PurePosixPath(path).parts
    return parts[1] if len(parts) > 2 else parts[0]


def _working_tree(root: Path) -> Iterator[tuple[str, str]]:
    folder = root / FOLDER
    for path in sorted(folder.rglob("*.py")):
        yield path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8")


def _revision(root: Path, revision: str) -> Iterator[tuple[str, str]]:
    command = ["git", "archive", "--format=tar", revision, FOLDER]
    archive = subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            content = files.extractfile(member) if member.name.endswith(".py") else None
            if content is not None:
                yield member.name.removeprefix(f"{FOLDER}/"), content.read().decode()


def _show(title: str, packages: dict[str, Count]) -> None:
    print(f"{title:<24} {'files':>6} {'statements':>11} {'without docstrings':>19}")
    for package, amount in sorted(packages.items()):
        print(f"  {package:<22} {amount}")
    print(f"  {'total':<22} {_total(packages)}")


def _total(packages: dict[str, Count]) -> Count:
    return sum(packages.values(), Count())


if __name__ == "__main__":
    sys.exit(main())
