"""What an installation brings: distributions and megabytes, ours beside those of others.

    python -m bench.install_sizes [NAME ...]    needs a package index; about three minutes

Each is installed by uv into a new, empty environment. Counted are the distributions and the disk
blocks of all files in site-packages, as `du` counts them, and then once more after the modules are
compiled, which pip does when it installs. One that would bring torch is not installed: its list
of distributions is counted.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench import report
from memory_mesh import __version__

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "results/benchmarks"
COMMAND = "python -m bench.install_sizes"
OWN = "memory-mesh"
MB = 1_000_000
BLOCK = 512  # bytes of one of stat's blocks


@dataclass(frozen=True, slots=True)
class Installed:
    """One installation, counted."""

    name: str
    version: str
    distributions: int
    mb: float | None  # None: not installed, because it brings torch
    mb_compiled: float | None
    most_distributions: int | None = None
    most_mb: float | None = None

    @property
    def is_light_enough(self) -> bool:
        """False where a bar was missed."""
        few = self.most_distributions is None or self.distributions <= self.most_distributions
        return few and (self.most_mb is None or (self.mb or 0) <= self.most_mb)


BARS = {OWN: (14, 45.0), f"{OWN}[local]": (40, 190.0)}
MEASURED = {  # a name for the table -> what pip is asked for
    OWN: [OWN],
    f"{OWN}[local]": [f"{OWN}[local]"],
    "mem0ai": ["mem0ai"],
    "chromadb": ["chromadb"],
    "cognee": ["cognee"],
    "langgraph": ["langgraph"],
    "langgraph + langmem": ["langgraph", "langmem"],
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write `install.json` and `install.md`; 1 if ours are above their bars."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("name", nargs="*", help="only these; nothing is written")
    wanted = parser.parse_args(arguments).name or list(MEASURED)
    facts: dict[str, object] = {"command": COMMAND, **report.code()}
    facts["date"] = datetime.now(UTC).isoformat(timespec="seconds")
    facts["paths"] = ["pyproject.toml"]
    facts["python"] = ".".join(map(str, sys.version_info[:3]))
    with tempfile.TemporaryDirectory() as folder:
        wheel = _built(Path(folder))
        found = []
        for name in wanted:
            found.append(measure(name, MEASURED[name], wheel, Path(folder)))
            print(_row(found[-1]), flush=True)
    if wanted == list(MEASURED):
        facts["installed"] = [asdict(each) for each in found]
        (OUT / "install.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        (OUT / "install.md").write_text(page(facts, found), encoding="utf-8")
    return int(not all(each.is_light_enough for each in found))


def measure(name: str, asked: Sequence[str], wheel: Path, folder: Path) -> Installed:
    """Install into a new environment in `folder` and count."""
    environment = folder / name.replace(" ", "")
    wanted = folder / "wanted.txt"
    texts = [f"{each} @ {wheel.as_uri()}" if each.startswith(OWN) else each for each in asked]
    wanted.write_text("\n".join(texts), encoding="utf-8")
    planned = _run("uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", str(wanted))
    pins = dict(re.findall(r"(?m)^([\w.-]+)(?:\[.*\])?==(\S+)", planned))
    version = pins.get(asked[-1], __version__)
    if "torch" in pins:
        return Installed(name, version, len(pins), None, None)
    _run("uv", "venv", "--quiet", "--python", sys.executable, str(environment))
    python = str(environment / "bin/python")
    _run("uv", "pip", "install", "--quiet", "--python", python, "--requirement", str(wanted))
    site_packages = next(environment.glob("lib/python3*/site-packages"))
    distributions = len(list(site_packages.glob("*.dist-info")))
    mb = megabytes(site_packages)
    _run(python, "-m", "compileall", "-qq", str(site_packages), check=False)  # others' test data
    return Installed(
        name, version, distributions, mb, megabytes(site_packages), *BARS.get(name, (None, None))
    )


def megabytes(folder: Path) -> float:
    """What the folder and everything in it take on the disk."""
    paths = [folder, *folder.rglob("*")]
    return round(sum(path.lstat().st_blocks for path in paths) * BLOCK / MB, 1)


def page(facts: dict[str, object], found: Sequence[Installed]) -> str:
    """The table for readers."""
    return f"""\
# What an installation brings

Written by `{COMMAND}`: each is installed by uv into a new, empty environment
(Python {facts["python"]}), and the distributions and the disk space of site-packages are
counted. pip also compiles the modules that it installs: the last column.

{str(facts["date"])[:10]}, commit {str(facts["commit"])[:10]}.

| installed | version | distributions | MB | MB with compiled modules |
|---|---|---|---|---|
{chr(10).join(map(_row, found))}

Bars, for the files that are installed (column MB): `{OWN}` at most 14 distributions and
45 MB, `{OWN}[local]` at most 40 and 190 MB. `{OWN}[local]` searches by meaning without a
download. The others need a model, a service or both for that, on top of what is counted here.
"""


def _row(each: Installed) -> str:
    shown = f"| {each.name} | {each.version} | {each.distributions} |"
    if each.mb is None:
        return f"{shown} brings torch: not installed | |"
    return f"{shown} {each.mb:.0f} | {each.mb_compiled:.0f} |"


def _built(folder: Path) -> Path:
    _run(
        sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)
    )
    return next(folder.glob("*.whl"))


def _run(*words: str, check: bool = True) -> str:
    return subprocess.run(
        words, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=1800, check=check
    ).stdout


if __name__ == "__main__":
    sys.exit(main())
