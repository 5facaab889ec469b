"""What a process pays for the library under the index: pylance against lancedb, same files.

    python -m bench.vectors_library --out results/benchmarks

Each figure is the median over fresh processes: CPU seconds, peak memory and modules of the import,
then CPU seconds until the first answer and the median of warm answers over 20,000 vectors. Linux.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from bench.vectors_report import Figures, rounded, say, write
from memory_mesh.models.lance.index import COMPARED, PROBES, IndexFolder, LanceIndex

ROWS = 20_000
DIMENSION = 384
PROCESSES = 5
_NAME = ("bench", "library")
_OPENING = {
    "numpy": "import numpy",
    "pylance": "import lance",
    "lancedb": "import lancedb",
}
_ASKING = {
    "pylance": """
body = lance.dataset(folder)
def ask(question):
    near = dict(column="vector", q=question, k=10, nprobes=probes, refine_factor=refine)
    return body.to_table(columns=["number", "_distance"], nearest=near)["number"].to_pylist()
""",
    "lancedb": """
from pathlib import Path
body = lancedb.connect(Path(folder).parent).open_table(Path(folder).stem)
def ask(question):
    near = body.search(question).distance_type("cosine").limit(10)
    near = near.nprobes(probes).refine_factor(refine).select(["number", "_distance"])
    return near.to_arrow()["number"].to_pylist()
""",
}
_MEASURE = """
import json, resource, statistics, sys, time
def spent():
    used = resource.getrusage(resource.RUSAGE_SELF)
    lines = dict(line.split(":") for line in open("/proc/self/status"))
    return used.ru_utime + used.ru_stime, int(lines["VmHWM"].split()[0]) / 1024, len(sys.modules)
def told(name, before):
    cpu, memory, modules = spent()
    return {name + "_cpu_seconds": cpu - before[0], name + "_peak_megabytes": memory}
folder, probes, refine = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
start = spent()
OPENING
figures = told("import", start) | {"modules": len(sys.modules) - start[2]}
ASKING
import numpy as np
chance, times = np.random.default_rng(5), []
if "ask" in globals():
    start = spent()
    ask(chance.normal(size=384).astype("f4"))
    figures |= told("first_answer", start)
    for _ in range(60):
        question, begin = chance.normal(size=384).astype("f4"), time.perf_counter()
        ask(question)
        times.append(time.perf_counter() - begin)
    figures["answer_ms"] = 1e3 * statistics.median(times)
print(json.dumps(figures))
"""


def main() -> None:
    """Measure each library in processes of its own, taking turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vectors-") as folder:
        place = _body(Path(folder))
        runs: dict[str, list[Figures]] = {name: [] for name in _OPENING}
        for _ in range(PROCESSES):
            for name, figures in runs.items():
                figures.append(_run(name, place))
    results = {name: _medians(figures) for name, figures in runs.items()}
    for name, medians in results.items():
        say(f"{name}: {medians}")
    if options.out:
        write(options.out / "vectors-library.json", {"medians": results})


def _body(folder: Path) -> str:
    vectors = np.random.default_rng(4).normal(size=(ROWS, DIMENSION)).astype("<f4")

    def rows(_: int) -> Iterator[Sequence[tuple[int, bytes, int]]]:
        yield [(number, vector.tobytes(), 0) for number, vector in enumerate(vectors, start=1)]

    LanceIndex(folder).absorb(*_NAME, dimension=DIMENSION, base=None, rows=rows)
    return IndexFolder(folder, *_NAME).uri


def _run(name: str, place: str) -> Figures:
    code = _MEASURE.replace("OPENING", _OPENING[name]).replace("ASKING", _ASKING.get(name, ""))
    ran = subprocess.run(
        [sys.executable, "-c", code, place, str(PROBES), str(COMPARED // 10)],
        capture_output=True,
        text=True,
        check=True,
    )
    figures: Figures = json.loads(ran.stdout)
    return figures


def _medians(runs: list[Figures]) -> Figures:
    return {
        name: rounded(statistics.median(float(run[name] or 0) for run in runs)) for name in runs[0]
    }


if __name__ == "__main__":
    main()
