"""docs/support.md says what the code, the classifiers and the workflows say."""

import re
import tomllib
from pathlib import Path

import yaml

from memory_mesh.care import manifest
from memory_mesh.formats import archive
from memory_mesh.ledgers.sqlite import schema

ROOT = Path(__file__).parent.parent.parent
ROWS = dict(re.findall(r"(?m)^\| ([^|]+?) \| (.+) \|$", (ROOT / "docs/support.md").read_text()))


def test_the_versions_of_python_are_those_of_the_classifiers_and_workflows() -> None:
    said = set(re.findall(r"3\.\d+", ROWS["Python"]))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    prefix = "Programming Language :: Python :: 3."
    assert said == {
        line.rpartition(" ")[2] for line in project["classifiers"] if line.startswith(prefix)
    }
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    gate = [step.get("with", {}).get("python-version") for step in jobs["gate"]["steps"]]
    others = jobs["versions"]["strategy"]["matrix"]["python"]
    assert said == {version for version in [*gate, *others] if version}
    assert min(said) == project["requires-python"].removeprefix(">=")


def test_sqlite_stores_and_copies_are_those_of_the_code() -> None:
    lowest = ".".join(map(str, schema.LOWEST_SQLITE[:2]))
    assert ROWS["SQLite"].startswith(f"{lowest} or newer")
    assert ROWS["stores"].startswith(f"schema 1 to {schema.NEWEST}:")
    copies = ROWS["archives and backups"]
    assert copies.startswith(
        f"archives: format {archive.FORMAT}; backups: format {manifest.FORMAT}, "
    )
