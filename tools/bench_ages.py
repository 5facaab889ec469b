"""List published figures whose code changed since they were measured.

A figure file in results/benchmarks, or each part in it, has the `commit` it was measured on and
the `paths` it depends on; results/benchmarks/paths.toml has the paths of files that do not carry
them, and names the files that record an experiment of their time.

    python tools/bench_ages.py            warn in two lines; always exits 0
    python tools/bench_ages.py --why      say of each what changed
    python tools/bench_ages.py --strict   the same, and exit 1 if one is old or its age unknown
"""

import argparse
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FIGURES = Path("results/benchmarks")
PATHS = "paths.toml"
SHOWN = 3  # changed files named in a line
FRESH, OLD, UNKNOWN = "fresh", "old", "unknown"
_MEANING = {OLD: "older than the code they measure", UNKNOWN: "of unknown age"}


@dataclass(frozen=True, slots=True)
class Age:
    """What is known of one figure file, or of one part of it."""

    figure: str
    state: str
    why: str = ""


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Print every figure that is not known to be fresh."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--strict", action="store_true", help="fail if a figure is not fresh")
    parser.add_argument("--why", action="store_true", help="say what changed since")
    options = parser.parse_args(arguments)
    strict = options.strict
    if _git(root, "rev-parse", "--verify", "HEAD^{commit}") is None:
        print("the ages of figures cannot be told: this is no git checkout")
        return int(strict)
    found = list(ages(root))
    doubtful = [age for age in found if age.state != FRESH]
    for age in doubtful if strict or options.why else ():
        print(f"{age.state:<8} {age.figure}: {age.why}")
    for state in (OLD, UNKNOWN):
        number = sum(age.state == state for age in found)
        if number:
            print(f"warning: {number} of {len(found)} published figures are {_MEANING[state]}")
    if doubtful and not (strict or options.why):
        print("python tools/bench_ages.py --why lists them")
    return int(strict and bool(doubtful))


def ages(root: Path) -> Iterator[Age]:
    """The age of every published figure, in the order of their names."""
    listed = _listed(root)
    for file in sorted((root / FIGURES).glob("*.json")):
        if _is_in(file.name, listed.get("experiments", ())):
            continue
        content = json.loads(file.read_text(encoding="utf-8"))
        groups = [group for group in listed.get("group", ()) if _is_in(file.name, group["files"])]
        usual = [path for group in groups for path in group["paths"]]
        for name, part in _parts(file.name, content):
            yield _age(root, name, part, part.get("paths") or usual)


def _parts(name: str, content: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:  # noqa: ANN401
    """The file as one figure, or each part that was measured on its own."""
    if not isinstance(content, dict):
        yield name, {}
        return
    parts = {key: part for key, part in content.items() if isinstance(part, dict)}
    if "commit" not in content and parts and all("commit" in part for part in parts.values()):
        for key, part in parts.items():
            yield f"{name} {key}", part
        return
    yield name, content


def _age(root: Path, figure: str, part: Mapping[str, Any], paths: Sequence[str]) -> Age:
    commit = part.get("commit")
    if not commit:
        return Age(figure, UNKNOWN, "it carries no commit; measure it again")
    if not paths:
        return Age(figure, UNKNOWN, f"it carries no paths, and {FIGURES / PATHS} has none")
    if _git(root, "cat-file", "-e", f"{commit}^{{commit}}") is None:
        return Age(figure, UNKNOWN, f"commit {commit[:10]} is not in this clone")
    if part.get("dirty"):
        return Age(figure, OLD, f"measured on uncommitted changes to {commit[:10]}")
    changed = _changed(root, commit, tuple(paths))
    if not changed:
        return Age(figure, FRESH)
    named = ", ".join(changed[:SHOWN]) + (" …" if len(changed) > SHOWN else "")
    files = "1 file" if len(changed) == 1 else f"{len(changed)} files"
    return Age(figure, OLD, f"{files} changed since {commit[:10]}: {named}")


@cache
def _changed(root: Path, commit: str, paths: tuple[str, ...]) -> list[str]:
    """The files under these paths that differ between a commit and HEAD."""
    found = _git(root, "diff", "--name-only", commit, "HEAD", "--", *paths)
    return (found or "").splitlines()


def _is_in(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _listed(root: Path) -> dict[str, Any]:
    file = root / FIGURES / PATHS
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def _git(root: Path, *arguments: str) -> str | None:
    """The output of a git command; None if it failed or git is missing."""
    try:
        ran = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return None
    return ran.stdout if ran.returncode == 0 else None


if __name__ == "__main__":
    sys.exit(main())
