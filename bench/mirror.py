"""Measure a mirror of 10,000 files with 10 changes, beside a plain listing of the same folder.

    python -m bench.mirror                      10,000 files, 10 of them edited before each run
    python -m bench.mirror --files 1000 --rounds 3

The listing is `os.scandir` and one `stat` per file, in the same process, right before each run. The
file cache is warm. Every round edits other files, and every edit must become the next version. The
same is measured in a git work tree in which the files are committed.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench import report
from memory_mesh.mirror import Mirror
from memory_mesh.sync import MemoryMesh

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "results" / "benchmarks" / "mirror.json"
CHANGES, SEED = 10, 2026
LIMIT = 3.0  # times the listing
SETTLED = 2.1  # seconds after which a file is not read again
_OLD = 1_700_000_000  # seconds: when the files were last edited


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure with and without git; 1 when a limit is passed or an edit was not taken over."""
    options = _options(arguments)
    os.environ["MEMORY_MESH_EMBEDDER"] = "none"
    figures: dict[str, object] = {**report.stamp(), "files": options.files}
    figures |= {"changes": CHANGES, "limit": LIMIT}
    good = True
    for name in ("plain", "git"):
        with tempfile.TemporaryDirectory(prefix="memory-mesh-bench-") as folder:
            found = measure(Path(folder), options.files, options.rounds, git=name == "git")
        print(f"{name}: {json.dumps(found)}")
        figures[name] = found
        good = good and found["ratio"] <= LIMIT and found["taken"] == found["edited"]
    if options.write:
        RESULT.parent.mkdir(parents=True, exist_ok=True)
        RESULT.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0 if good else 1


def measure(folder: Path, files: int, rounds: int, *, git: bool) -> dict[str, float]:
    """The medians of listing and run in seconds, their ratio, and the edits taken over."""
    vault = folder / "project" / ".rawko" / "memories"
    _make(vault, files)
    if git:
        _commit(folder / "project")
    dice = random.Random(SEED)
    listings: list[float] = []
    runs: list[float] = []
    taken = 0
    with MemoryMesh(db_dir=folder / "store", project="bench") as mesh:
        mirror = Mirror(mesh, vault)
        first = _seconds(mirror.run)
        mirror.run()
        for number in range(-1, rounds):  # the first round loads modules, and is not counted
            time.sleep(SETTLED)
            mirror.run()  # the files of the round before have come to rest
            _edit(vault, dice.sample(range(files), CHANGES), number)
            listings.append(statistics.median(_seconds(lambda: listed(vault)) for _ in range(3)))
            start = time.perf_counter()
            report = mirror.run()
            runs.append(time.perf_counter() - start)
            taken += len(report.changed)
    del listings[0], runs[0]
    return {
        "first_run": round(first, 3),
        "listing": round(statistics.median(listings), 4),
        "run": round(statistics.median(runs), 4),
        "ratio": round(
            statistics.median(run / one for run, one in zip(runs, listings, strict=True)), 2
        ),
        "taken": taken,
        "edited": (rounds + 1) * CHANGES,
    }


def listed(vault: Path) -> int:
    """The number of files, each with its `stat`; the plainest way to see what changed."""
    count, waiting = 0, [str(vault)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    entry.stat(follow_symlinks=False)
                    count += 1
    return count


def _make(vault: Path, files: int) -> None:
    for number in range(files):
        path = _path(vault, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_document(number, "as it was first written"), encoding="utf-8")
        os.utime(path, (_OLD, _OLD))


def _path(vault: Path, number: int) -> Path:
    return vault / f"area-{number % 20}" / f"note-{number}.md"


def _document(number: int, words: str) -> str:
    return (
        f'---\ntitle: "Note {number}"\nwhenToUse:\n  - "note {number}|thing {number}"\n'
        f"tags: [bench, area-{number % 20}]\nimportance: medium\n"
        f"discoveredAt: 2026-01-23T10:30:00Z\ndiscoveredBy: planner\n---\n\n"
        f"# Note {number}\n\nThis note is {words}. Its number is {number}.\n\n"
        f"## Key Points\n\n- Part {number * 7 % 1000} belongs to area {number % 20}.\n"
    )


def _edit(vault: Path, numbers: Sequence[int], round_: int) -> None:
    for number in numbers:
        path = _path(vault, number)
        path.write_text(_document(number, f"edited in round {round_}"), encoding="utf-8")


def _commit(top: Path) -> None:
    for words in (
        ["init", "-q", "-b", "main"],
        ["add", "-A"],
        ["-c", "user.name=bench", "-c", "user.email=bench@example.org", "commit", "-qm", "notes"],
    ):
        subprocess.run(["git", *words], cwd=top, check=True)


def _seconds(work: object) -> float:
    start = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - start


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name}")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
