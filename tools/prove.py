"""Run the fault suites with their full counts and write what they showed to results/proof/.

    python tools/prove.py                 every suite
    python tools/prove.py fork as-of      these two
    python tools/prove.py service         those whose names begin with `service-`
    python tools/prove.py --resume        what this commit and seed have not shown yet
    python tools/prove.py --to FOLDER     write there instead
    python tools/prove.py --sample NAME   as much as the gate runs, written to build/sample

A suite writes its file when it is done, so an interrupted run loses one suite at most.
"""

import argparse
import json
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.faults import suites  # noqa: E402  # they are found from the root
from tests.faults.processes import ChildFailed  # noqa: E402
from tests.faults.report import Report  # noqa: E402
from tests.faults.suites import SUITES  # noqa: E402

PROOF = ROOT / "results" / "proof"
SEED = 2026
Source = tuple[str | None, str | None]  # the commit, and what differs from it


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen suites one after another; 1 when a promise was broken."""
    options = _options(arguments)
    os.environ["MEMORY_MESH_EMBEDDER"] = "none"  # the suites about meaning bring their own
    source, broken = _source(), []
    for name in options.suites or SUITES:
        if options.resume and _shown(options.to / f"{name}.json", options.seed):
            print(f"== {name}: shown before by this commit and seed")
            continue
        print(f"== {name}", flush=True)
        proof = prove(name, options.seed, source, sample=options.sample)
        path = options.to / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(proof, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        if not proof["held"]:
            broken.append(name)
            print(json.dumps(proof["failures"], indent=2), file=sys.stderr)
        print(f"   {'held' if proof['held'] else 'BROKEN'} in {proof['seconds']} s", flush=True)
    if broken:
        print(f"broken: {', '.join(broken)}", file=sys.stderr)
    return 1 if broken else 0


def prove(name: str, seed: int, source: Source, *, sample: bool = False) -> dict[str, object]:
    """One suite's figures, with all that is needed to repeat it."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="memory-mesh-proof-") as folder:
        try:
            report = suites.full(name, Path(folder), seed, _show, sample=sample)
        except (AssertionError, ChildFailed) as error:  # the other suites still run
            report = Report(failures=[str(error) or repr(error)])
            print(error, *getattr(error, "__notes__", ()), sep="\n", file=sys.stderr)
        if report.figures.get("acknowledged") == 0:
            report.failures.append("nothing was acknowledged: this run proves nothing")
        failures = [failure.replace(folder, "STORE") for failure in report.failures]
    return {
        "suite": name,
        "held": not failures,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": source[0],
        "dirty": bool(source[1]) or _source() != source,  # at the start, or changed since
        "seed": seed,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
        "seconds": round(time.monotonic() - begun, 1),
        "figures": report.figures,
        "failures": failures,
    }


def _shown(path: Path, seed: int) -> bool:
    """True when the suite's file says that this very commit and seed have held."""
    try:
        proof = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return False
    now = _git("rev-parse", "HEAD")
    whole = bool(proof["held"]) and not proof["dirty"]
    return whole and (proof["commit"], proof["seed"]) == (now, seed)


def _source() -> Source:
    """What is proved: the modules were loaded when the run began."""
    return _git("rev-parse", "HEAD"), _git("status", "--porcelain", "--", "src", "tests", "tools")


def _git(*command: str) -> str | None:
    done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def _show(line: str) -> None:
    print(f"   {line}", flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--resume", action="store_true", help="leave out what was shown already")
    parser.add_argument("--to", type=Path, metavar="FOLDER")
    parser.add_argument("--sample", action="store_true", help="as much as the gate runs")
    options = parser.parse_args(arguments)
    options.to = options.to or (ROOT / "build" / "sample" if options.sample else PROOF)
    named = {name: [name] for name in SUITES}
    for name in options.suites:
        family = [each for each in SUITES if each.startswith(f"{name}-")]
        if not named.setdefault(name, family):
            parser.error(f"there is no suite {name!r}; choose of: {', '.join(SUITES)}")
    options.suites = [each for name in options.suites for each in named[name]]
    return options


if __name__ == "__main__":
    sys.exit(main())
