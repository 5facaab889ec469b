"""The body asked for some audiences only, beside the same question for all rows.

    python -m bench.vectors_audiences --data DATA --cache CACHE --out results/benchmarks

100,000 rows: one audience with 0.3 % of them, one with 1 %, one with 10 %, one with 50 %; the rest
belongs to 10,000 small ones, which are asked for as lists. For each: recall@10 against an exact
scan of just those rows, and the CPU time of a warm question, over that of one for all rows. The
questions for all rows and for some are asked in turns.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench.vectors_index import K, exact, real_vectors, recall
from bench.vectors_report import Figures, rounded, say, write
from memory_mesh.model import Body
from memory_mesh.models.lance.index import LanceIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NAME = ("bench", "audiences")
_SHARES = {1: 0.003, 2: 0.01, 3: 0.1, 4: 0.5}
_SMALL = range(1_000, 11_000)
_LISTS = (10, 100, 1_000)  # scattered small audiences in one question
_DEPTH = 200  # what a search of a large store fetches before it fuses
_BATCH = 4_096


def main() -> None:
    """Measure every set of audiences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--texts", type=int, help="so many real texts are in the cache")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    vectors, questions = real_vectors(options.data, options.cache, options.rows, options.texts)
    whose = drawn(options.rows)
    results = []
    with tempfile.TemporaryDirectory(prefix="vectors-") as folder:
        index = LanceIndex(Path(folder))
        body = index.absorb(
            *_NAME, dimension=vectors.shape[1], base=None, rows=_source(vectors, whose)
        )
        assert body is not None  # noqa: S101  # there are rows
        for name, audiences in asked_for().items():
            found = measured(index, body, (vectors, questions, whose), audiences)
            results.append({"audiences": name, **found})
            say(f"{results[-1]}")
    if options.out:
        write(options.out / "vectors-audiences.json", {"rows": options.rows, "sets": results})


def drawn(rows: int) -> "NDArray[np.int64]":
    """The audience of every row."""
    chance = np.random.default_rng(11)
    whose = chance.choice(np.array(_SMALL), rows)
    order, start = chance.permutation(rows), 0
    for audience, share in _SHARES.items():
        whose[order[start : start + round(share * rows)]] = audience
        start += round(share * rows)
    return whose


def asked_for() -> dict[str, Collection[int]]:
    """The sets of audiences, by what they are."""
    chance = np.random.default_rng(12)
    large: dict[str, Collection[int]] = {f"{_SHARES[one]:.1%}": [one] for one in _SHARES}
    lists = {
        f"{n} small": chance.choice(np.array(_SMALL), n, replace=False).tolist() for n in _LISTS
    }
    return large | lists | {"10,000 in a row": _SMALL}


def measured(
    index: LanceIndex,
    body: Body,
    world: tuple["NDArray[np.float32]", "NDArray[np.float32]", "NDArray[np.int64]"],
    audiences: Collection[int],
) -> Figures:
    """One set of audiences."""
    vectors, questions, whose = world
    seen = np.flatnonzero(np.isin(whose, list(audiences)))
    truth = [
        {int(seen[place]) for place in places}
        for places in exact(vectors[seen], questions, min(K, len(seen)))
    ]
    spent: dict[bool, list[float]] = {True: [], False: []}
    found = []
    for question in (questions[0], *questions):
        for some in (True, False):
            start = time.process_time()
            near = index.near(
                *_NAME,
                body=body,
                vector=question.tobytes(),
                limit=_DEPTH,
                audiences=audiences if some else None,
            )
            spent[some].append(time.process_time() - start)
            if some:
                found.append([number - 1 for number, _ in near or ()][:K])
    few, every = (1e3 * statistics.median(spent[which][1:]) for which in (True, False))
    return {
        "rows_seen": len(seen),
        "recall_at_10": recall(found[1:], truth),
        "cpu_ms": rounded(few),
        "all_rows_cpu_ms": rounded(every),
        "over_all_rows": rounded(few / every),
    }


def _source(
    vectors: "NDArray[np.float32]", whose: "NDArray[np.int64]"
) -> Callable[[int], Iterator[Sequence[tuple[int, bytes, int]]]]:
    def above(number: int) -> Iterator[Sequence[tuple[int, bytes, int]]]:
        for start in range(number, len(vectors), _BATCH):
            stop = min(len(vectors), start + _BATCH)
            yield [(n + 1, vectors[n].tobytes(), int(whose[n])) for n in range(start, stop)]

    return above


if __name__ == "__main__":
    main()
