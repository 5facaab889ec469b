"""Check, without a network, that `requirements/lock.txt` is a whole and clean lock of pyproject.

Every requirement that pyproject names is locked at a version it accepts, every locked line carries
a hash, and no line names a host or a path of the machine that made it.
"""

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCK = Path("requirements/lock.txt")
FOREIGN = re.compile(r"://|^\s*-(?!-hash=)| @ |(?:^|\s)/\w")  # a URL, an option, a path


def main() -> int:
    """Print what is wrong with the lock, or how much it holds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lock = (ROOT / LOCK).read_text(encoding="utf-8")
    faults = find_faults(project, lock)
    for fault in faults:
        print(f"{LOCK}: {fault}", file=sys.stderr)
    if faults:
        print("Run `just lock` and commit the result.", file=sys.stderr)
        return 1
    print(f"{LOCK}: {len(parse_lock(lock))} distributions, all hashed, pyproject satisfied")
    return 0


def find_faults(project: Mapping[str, Any], lock: str) -> list[str]:
    """Everything that keeps this lock from being the lock of this project."""
    locked = parse_lock(lock)
    faults = [f"line names a host or a path: {line.strip()}" for line in _foreign_lines(lock)]
    faults += [f"{name} has no hash" for name in sorted(_without_hash(lock))]
    for requirement in named_requirements(project):
        versions = locked.get(canonicalize_name(requirement.name), [])
        if not versions:
            faults.append(f"{requirement} is not locked")
        faults += [
            f"{requirement.name} is locked at {version}, pyproject wants {requirement.specifier}"
            for version in versions
            if not requirement.specifier.contains(version, prereleases=True)
        ]
    return faults


def named_requirements(project: Mapping[str, Any]) -> list[Requirement]:
    """What pyproject asks for: to build, to run, with each extra, and to develop."""
    texts: list[str] = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    for extra in project["project"].get("optional-dependencies", {}).values():
        texts += extra
    for group in project.get("dependency-groups", {}).values():
        texts += [entry for entry in group if isinstance(entry, str)]
    own = canonicalize_name(project["project"]["name"])
    requirements = [Requirement(text) for text in texts]
    return [each for each in requirements if canonicalize_name(each.name) != own]


def parse_lock(lock: str) -> dict[str, list[str]]:
    """The locked versions by name; one name may have several, told apart by their markers."""
    found: dict[str, list[str]] = {}
    for name, version, _ in _entries(lock):
        found.setdefault(name, []).append(version)
    return found


def _entries(lock: str) -> Iterator[tuple[str, str, Sequence[str]]]:
    for line in lock.replace("\\\n", " ").splitlines():
        if match := re.match(r"([A-Za-z0-9][\w.-]*)==(\S+)(.*)", line):
            name, version, rest = match.groups()
            yield canonicalize_name(name), version, re.findall(r"--hash=sha256:[0-9a-f]{64}", rest)


def _without_hash(lock: str) -> set[str]:
    return {name for name, _, hashes in _entries(lock) if not hashes}


def _foreign_lines(lock: str) -> list[str]:
    return [line for line in lock.splitlines() if FOREIGN.search(line)]


if __name__ == "__main__":
    sys.exit(main())
