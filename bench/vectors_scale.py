"""The body as the product uses it, beside the exact scan that it replaces, at several sizes.

    OPENBLAS_NUM_THREADS=1 python -m bench.vectors_scale --data DATA --cache CACHE --out OUT

For each size: absorb from nothing and again with a fifth more, recall@10, and the time of a warm
question by exact scan (numpy, one matrix product) and by the body, both fetching 100 rows.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from bench.vectors_index import K, exact, real_vectors, recall
from bench.vectors_report import Figures, median_ms, percentile_ms, rounded, say, write
from memory_mesh.model import Body
from memory_mesh.models.lance.index import LanceIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NAME = ("bench", "scale")
_BATCH = 4_096
_DEPTH = 100  # what a search fetches before it fuses
_TURN = 20
AUDIENCES = 100
Ask: TypeAlias = "Callable[[NDArray[np.float32]], object]"
Spent: TypeAlias = tuple[float, float]  # seconds, CPU seconds


def main() -> None:
    """Measure every size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 25_000, 50_000, 100_000])
    parser.add_argument("--name", default="vectors-scale")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    results = []
    for rows in options.rows:
        vectors, questions = real_vectors(options.data, options.cache, rows)
        results.append(measured(vectors, questions))
        say(f"{results[-1]}")
    if options.out:
        write(options.out / f"{options.name}.json", {"sizes": results})


def measured(vectors: "NDArray[np.float32]", questions: "NDArray[np.float32]") -> Figures:
    """One size."""
    with tempfile.TemporaryDirectory(prefix="vectors-") as folder:
        index = LanceIndex(Path(folder))
        first, built = absorbed(index, vectors, len(vectors) * 5 // 6, None)
        body, grown = absorbed(index, vectors, len(vectors), first)
        cold = time.process_time()
        _near(index, body, questions[0], _DEPTH)
        cold = time.process_time() - cold
        wide = _found(index, body, questions, _DEPTH)
        found = _found(index, body, questions, K)
        truth = exact(vectors, questions)
        by_scan, by_body = _in_turns(
            lambda question: scan(vectors, question, _DEPTH),
            lambda question: _near(index, body, question, _DEPTH),
            questions,
        )
        return {
            "rows": len(vectors),
            "recall_at_10": recall(found, truth),
            "recall_at_10_of_100_fetched": recall([numbers[:K] for numbers in wide], truth),
            "recall_at_100": recall(wide, exact(vectors, questions, _DEPTH)),
            "best_cosine": _cosine(vectors, questions, 1),
            "tenth_cosine": _cosine(vectors, questions, K),
            "first_question_cpu_ms": median_ms([cold]),
            "scan_ms": median_ms([wall for wall, _ in by_scan]),
            "scan_cpu_ms": median_ms([cpu for _, cpu in by_scan]),
            "body_ms": median_ms([wall for wall, _ in by_body]),
            "body_cpu_ms": median_ms([cpu for _, cpu in by_body]),
            "body_p95_ms": percentile_ms([wall for wall, _ in by_body], 0.95),
            "first_absorb_seconds": built[0],
            "first_absorb_cpu_seconds": built[1],
            "next_absorb_seconds": grown[0],
            "next_absorb_cpu_seconds": grown[1],
            "disk_megabytes": rounded(_size(Path(folder)) / 1e6),
            "peak_megabytes": rounded(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        }


def absorbed(
    index: LanceIndex, vectors: "NDArray[np.float32]", last: int, base: Body | None
) -> tuple[Body, tuple[float, float]]:
    """The body after an absorb, and its seconds and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    body = index.absorb(*_NAME, dimension=vectors.shape[1], base=base, rows=_source(vectors, last))
    assert body is not None  # noqa: S101  # there are rows
    return body, (rounded(time.perf_counter() - wall), rounded(time.process_time() - cpu))


def scan(vectors: "NDArray[np.float32]", question: "NDArray[np.float32]", count: int) -> list[int]:
    """Exact, as the ledger does it over its tail."""
    cosines = vectors @ question
    best = np.argpartition(cosines, -count)[-count:]
    ranked: list[int] = best[np.argsort(-cosines[best])].tolist()
    return ranked


def _in_turns(
    first: Ask, second: Ask, questions: "NDArray[np.float32]"
) -> tuple[list[Spent], list[Spent]]:
    """Both, a block of questions at a time: noise meets both, and neither empties the caches."""
    spent: tuple[list[Spent], list[Spent]] = ([], [])
    for start in range(0, len(questions), _TURN):
        for ask, times in zip((first, second), spent, strict=True):
            ask(questions[start])
            for question in questions[start : start + _TURN]:
                wall, cpu = time.perf_counter(), time.process_time()
                ask(question)
                times.append((time.perf_counter() - wall, time.process_time() - cpu))
    return spent


def _source(
    vectors: "NDArray[np.float32]", last: int
) -> Callable[[int], Iterable[Sequence[tuple[int, bytes, int]]]]:
    def above(number: int) -> Iterator[Sequence[tuple[int, bytes, int]]]:
        for start in range(number, last, _BATCH):
            stop = min(last, start + _BATCH)
            yield [(n + 1, vectors[n].tobytes(), n % AUDIENCES) for n in range(start, stop)]

    return above


def _near(index: LanceIndex, body: Body, question: "NDArray[np.float32]", count: int) -> list[int]:
    found = index.near(*_NAME, body=body, vector=question.tobytes(), limit=count) or []
    return [number - 1 for number, _ in found]


def _found(
    index: LanceIndex, body: Body, questions: "NDArray[np.float32]", count: int
) -> list[list[int]]:
    return [_near(index, body, question, count) for question in questions]


def _cosine(vectors: "NDArray[np.float32]", questions: "NDArray[np.float32]", place: int) -> float:
    """How near the row at this place is to a question, on average."""
    return rounded(float(np.mean([np.partition(vectors @ q, -place)[-place] for q in questions])))


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
