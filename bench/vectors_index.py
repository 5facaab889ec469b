"""Index types and parameters on real vectors: recall@10 against an exact scan, build cost, speed.

    python -m bench.vectors_index --data DATA --cache CACHE --rows 100000 --out results/benchmarks

The cache is filled by bench.vectors_corpus. Questions are those of the sets, never a stored text.
Every type is built once and then asked with every setting.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.vectors_corpus import load, sample, texts
from bench.vectors_extend import extended
from bench.vectors_report import Figures, median_ms, percentile_ms, rounded, say, write

if TYPE_CHECKING:
    from lance import LanceDataset
    from numpy.typing import NDArray

K = 10
QUESTIONS = 200
_WARM = 20  # questions before the clock counts
_ROWS_A_PARTITION = 2_000
_SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)  # of the partitions, to be looked at
_FETCHES = ((10, 1), (10, 2), (100, 1), (100, 2))  # rows, refine factor
_EFFORTS = (50, 100, 200, 400)  # of a graph search


@dataclass(frozen=True)
class Kind:
    """An index type with a rule for its partitions, and how much of it is looked at."""

    type: str
    partitions: Callable[[int], int] = isqrt
    options: Mapping[str, Any] = field(default_factory=dict)
    graph: bool = False

    def settings(self, partitions: int) -> Iterator[dict[str, int]]:
        """Every setting worth asking with."""
        for fetch, refine in _FETCHES:
            if self.graph:
                for effort in _EFFORTS:
                    if effort >= fetch * refine:
                        wanted = {"k": fetch, "refine_factor": refine}
                        yield {"nprobes": partitions, "ef": effort, **wanted}
            else:
                for share in _SHARES:
                    probes = max(1, round(share * partitions))
                    yield {"nprobes": probes, "k": fetch, "refine_factor": refine}


KINDS = {
    "flat": Kind("IVF_FLAT"),
    "sq": Kind("IVF_SQ"),
    "pq": Kind("IVF_PQ", options={"num_sub_vectors": 96}),
    "rq": Kind("IVF_RQ"),
    "rq-coarse": Kind("IVF_RQ", lambda rows: max(1, rows // _ROWS_A_PARTITION)),
    "sq-coarse": Kind("IVF_SQ", lambda rows: max(1, rows // _ROWS_A_PARTITION)),
    "graph": Kind("IVF_HNSW_SQ", lambda _: 1, {"m": 16, "ef_construction": 100}, graph=True),
}


def main() -> None:
    """Measure every type."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    options = parser.parse_args()
    vectors, questions = real_vectors(options.data, options.cache, options.rows)
    truth = {count: exact(vectors, questions, count) for count in (10, 100)}
    for name in options.kinds:
        with tempfile.TemporaryDirectory(prefix="vectors-") as folder:
            dataset = written(vectors, Path(folder) / "body.lance")
            results = measured(dataset, name, questions, truth)
        if options.out:
            write(options.out / f"vectors-index-{options.rows}-{name}.json", {"settings": results})


def real_vectors(
    data: Path, cache: Path, rows: int, count: int | None = None
) -> tuple["NDArray[np.float32]", "NDArray[np.float32]"]:
    """Stored vectors, all or `count` real ones made as many as wanted, and the questions."""
    stored = texts(data, "corpus")
    asked = [text for text in texts(data, "queries") if text not in set(stored)]
    chosen = np.random.default_rng(3).permutation(len(asked))[:QUESTIONS]
    real = load(sample(stored, count), cache)
    say(f"{len(real)} real vectors, {len(chosen)} questions")
    return extended(real, rows, cache), load([asked[i] for i in chosen], cache)


def exact(
    vectors: "NDArray[np.float32]", questions: "NDArray[np.float32]", count: int = K
) -> list[set[int]]:
    """The true nearest of every question."""
    found = []
    for question in questions:
        cosines = vectors @ question
        found.append(set(np.argpartition(cosines, -count)[-count:].tolist()))
    return found


def recall(found: list[list[int]], truth: list[set[int]]) -> float:
    """The share of the true ones that were found."""
    hits = sum(len(true & set(numbers)) for numbers, true in zip(found, truth, strict=True))
    return round(hits / sum(map(len, truth)), 4)


def written(vectors: "NDArray[np.float32]", path: Path) -> "LanceDataset":
    """The vectors as a dataset without an index."""
    import lance
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    table = pa.table({"number": np.arange(len(vectors)), "vector": column})
    return lance.write_dataset(table, str(path))


def measured(
    dataset: "LanceDataset",
    name: str,
    questions: "NDArray[np.float32]",
    truth: dict[int, list[set[int]]],
) -> list[Figures]:
    """One type, built once and asked with every setting."""
    kind = KINDS[name]
    partitions = kind.partitions(dataset.count_rows())
    wall, cpu = time.perf_counter(), time.process_time()
    dataset.create_index(
        "vector", kind.type, metric="cosine", num_partitions=partitions, **kind.options
    )
    built: Figures = {
        "kind": name,
        "partitions": partitions,
        "build_seconds": rounded(time.perf_counter() - wall),
        "build_cpu_seconds": rounded(time.process_time() - cpu),
        "index_megabytes": rounded(_size(Path(dataset.uri) / "_indices") / 1e6),
    }
    say(f"{built}")
    results = []
    for asked in kind.settings(partitions):
        found = recall_and_speed(dataset, questions, truth, asked)
        results.append({**built, **asked, **found})
        say(f"  {asked}: {found}")
    return results


def recall_and_speed(
    dataset: "LanceDataset",
    questions: "NDArray[np.float32]",
    truth: dict[int, list[set[int]]],
    asked: dict[str, int],
) -> Figures:
    """How many of the true ten are found, and how long one question takes when warm."""
    everything, times, cpu = list[list[int]](), list[float](), time.process_time()
    for number in (*range(_WARM), *range(len(questions))):
        start = time.perf_counter()
        found = dataset.to_table(
            columns=["number", "_distance"],
            nearest={"column": "vector", "q": questions[number], **asked},
        )
        times.append(time.perf_counter() - start)
        everything.append(found["number"].to_pylist())
    cpu = (time.process_time() - cpu) / len(times)
    everything, times = everything[_WARM:], times[_WARM:]
    return {
        "recall_at_10": recall([numbers[:K] for numbers in everything], truth[K]),
        "recall_at_100": recall(everything, truth[100]) if asked["k"] == 100 else None,
        "p50_ms": median_ms(times),
        "p95_ms": percentile_ms(times, 0.95),
        "cpu_ms": rounded(1e3 * cpu),
    }


def _size(folder: Path) -> int:
    return sum(
        (Path(here) / name).stat().st_size for here, _, files in os.walk(folder) for name in files
    )


if __name__ == "__main__":
    main()
