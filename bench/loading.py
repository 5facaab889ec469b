"""For information: bulk load, many writers at once, verify, and what a memory weighs."""

import subprocess
import sys
import time
from pathlib import Path

from bench import measure, stores
from bench.measure import Figures, seconds

_WRITERS = 8


def weight_and_verify(folder: Path, memories: int) -> Figures:
    """What one memory takes on disk, and how long 100,000 blocks take to verify."""
    with stores.keyword_mesh(folder) as mesh:
        blocks = mesh.stats().blocks
        spent = seconds(mesh.care.verify)
    return {
        "bytes_per_memory": round(stores.file_of(folder).stat().st_size / memories),
        "verify_s_per_100000_blocks": measure.rounded(spent / blocks * 100_000),
    }


def writers(work: Path, adds: int) -> Figures:
    """Adds per second of eight processes, on one namespace and each on its own."""
    shared = _together(work / "writers-shared", ["default"] * _WRITERS, adds)
    apart = _together(work / "writers-apart", [f"own-{n}" for n in range(_WRITERS)], adds)
    return {"writers_one_namespace_per_s": shared, "writers_own_namespaces_per_s": apart}


def _together(folder: Path, namespaces: list[str], adds: int) -> float:
    """All start at the same line; the last one to finish stops the clock."""
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "bench.worker", str(folder), name, str(n * adds), str(adds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n, name in enumerate(namespaces)
    ]
    for worker in workers:
        worker.stdout.readline()  # type: ignore[union-attr]  # a pipe, as asked for
    start = time.perf_counter()
    for worker in workers:
        worker.stdin.write("go\n")  # type: ignore[union-attr]  # a pipe, as asked for
        worker.stdin.flush()  # type: ignore[union-attr]  # a pipe, as asked for
    for worker in workers:
        worker.stdout.readline()  # type: ignore[union-attr]  # a pipe, as asked for
    spent = time.perf_counter() - start
    for worker in workers:
        worker.communicate()
    return measure.rounded(len(workers) * adds / spent)
