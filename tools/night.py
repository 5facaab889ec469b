"""Run what is too long for the gate: every fault suite in full, and all tests with more examples.

    python tools/night.py             all of it; an interrupted run of this commit goes on
    python tools/night.py --only fork as-of
    python tools/night.py --list      what there is
    python tools/night.py --again 10  the tests of the gate, ten times: do they say the same?

Every second one of those ten runs beside two busy processes. The seed is the date of the night.
Each step leaves its output in build/night (build/again), and `report.md` there says what held, with
the command that repeats it. Exit 1 where something did not hold.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.faults import suites  # noqa: E402  # found from the root

FOLDER = ROOT / "build" / "night"
TESTS, AGAIN, BUSY = "tests", "again", "busy"
STEP_SECONDS = 3 * 60 * 60


def main(arguments: Sequence[str] | None = None, folder: Path = FOLDER) -> int:
    """Do every step that this commit has not done yet, and write the report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="STEP", choices=[TESTS, *suites.SUITES])
    parser.add_argument("--list", action="store_true", help="print the steps and do nothing")
    parser.add_argument("--again", type=int, metavar="RUNS", help="run the gate's tests so often")
    options = parser.parse_args(arguments)
    steps = options.only or [TESTS, *suites.SUITES]
    if options.again:
        steps, folder = repetitions(options.again), folder.with_name(AGAIN)
    if options.list:
        print("\n".join(steps))
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    night = resumed(folder, commit())
    for number, step in enumerate(steps, 1):
        if step in night["done"]:
            print(f"[{number}/{len(steps)}] {step}: done before")
            continue
        print(f"[{number}/{len(steps)}] {step}", flush=True)
        night["done"][step] = _run(step, night["seed"], folder)
        (folder / "state.json").write_text(json.dumps(night, indent=1), encoding="utf-8")
        (folder / "report.md").write_text(report(night, steps), encoding="utf-8")
    print(report(night, steps))
    return int(not all(night["done"][step]["held"] for step in steps))


def repetitions(runs: int) -> list[str]:
    """The names of so many runs of the gate's tests; every second one has company."""
    return [f"{AGAIN}-{run}" + (f"-{BUSY}" if run % 2 == 0 else "") for run in range(1, runs + 1)]


def resumed(folder: Path, now: str) -> dict[str, Any]:
    """What an earlier run of this commit has done; else a new night, with today as its seed."""
    try:
        night: dict[str, Any] = json.loads((folder / "state.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        night = {}
    if night.get("commit") == now:
        return night
    return {"commit": now, "seed": int(f"{datetime.now(UTC):%Y%m%d}"), "done": {}}


def report(night: dict[str, Any], steps: Sequence[str]) -> str:
    """What held and what did not, a line for each step."""
    done = night["done"]
    broken = [step for step in steps if step in done and not done[step]["held"]]
    rows = [
        f"| {step} | {'held' if done[step]['held'] else '**broken**'} | {done[step]['seconds']} | "
        f"`{done[step]['command']}` |"
        for step in steps
        if step in done
    ]
    head = f"Commit {night['commit']}, seed {night['seed']}: {len(rows)} of {len(steps)} steps done"
    return "\n".join(
        [
            f"{head}, {len(broken)} broken.",
            "",
            "| step | | seconds | command |",
            "|---|---|---|---|",
            *rows,
            *(f"\n{step}:\n\n```text\n{done[step]['end']}\n```" for step in broken),
            "",
        ]
    )


def commit() -> str:
    """The commit that is tried, marked where the tree differs from it."""
    command = ["git", "describe", "--always", "--abbrev=40", "--dirty"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _run(step: str, seed: int, folder: Path) -> dict[str, object]:
    """One step in processes of its own; its output goes to a file."""
    if step == TESTS:
        words = ["just", "test-all", f"--junitxml={folder / 'tests.xml'}"]
        stated = {"HYPOTHESIS_PROFILE": "night", "FAULT_SEED": str(seed)}
    elif step.startswith(AGAIN):
        words = ["just", "test-all", f"--junitxml={folder / f'{step}.xml'}"]
        stated = {"HYPOTHESIS_PROFILE": "gate"}
    else:
        words = ["python", "tools/prove.py", step, "--seed", str(seed), "--to", str(folder)]
        stated = {}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    begun, log = time.monotonic(), folder / f"{step}.log"
    with log.open("wb") as output, company(2 if step.endswith(BUSY) else 0):
        try:
            code = subprocess.call(
                words, cwd=ROOT, env={**os.environ, **stated, "PATH": path},
                stdout=output, stderr=subprocess.STDOUT, timeout=STEP_SECONDS,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            code = -1
    told = [*(f"{name}={value}" for name, value in stated.items()), *words]
    return {
        "held": code == 0,
        "seconds": round(time.monotonic() - begun),
        "command": " ".join(told).replace(str(ROOT), "."),
        "end": log.read_text(encoding="utf-8", errors="replace")[-3000:] if code else "",
    }


@contextmanager
def company(count: int) -> Iterator[None]:
    """So many processes that do nothing but keep a core busy."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
