"""Is a leg deep enough? Conversations among a hundred thousand other memories, at several depths.

    python -m bench.depth --data FOLDER --vectors FILE [--rows 100000] [--out FILE]

FOLDER holds the sets by name. The dev conversations of LoCoMo lie in one namespace with every
record of the other sets and made-up facts up to the number of rows; questions are asked as always,
with each leg looking 100, 200 and 400 deep. Costs grow with the depth, not with the rows.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import corpus, report as report_of
from bench.meaning import Synthetic, model
from memory_mesh.evaluation import load_records, records, suite
from memory_mesh.evaluation.records import EvaluationQuestion, EvaluationRecord
from memory_mesh.evaluation.vector_cache import KeptVectors
from memory_mesh.model import Embedding
from memory_mesh.search.ranking import profiles
from memory_mesh.sync import MemoryMesh

OTHERS = ("realmem", "beam100k", "mab_conflict")
DEPTHS = (100, 200, 400)
_BATCH = 4_096
_LONG = 1_200  # characters: long messages of the other sets are cut, they only stand in the way


class Mixed:
    """Real vectors for real texts, synthetic ones for made-up facts."""

    def __init__(self, kept: KeptVectors) -> None:
        self._kept = kept
        self._synthetic = Synthetic(kept.embed(["a"], query=True).space)
        self.real = True

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """As the texts that are stored just now want it."""
        return (self._kept if self.real or query else self._synthetic).embed(texts, query=query)

    def close(self) -> None:
        """The kept vectors are released by whoever made them."""


def main() -> int:
    """Store, ask at each depth, write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/depth.json"))
    options = parser.parse_args()
    code, kept = report_of.code(), KeptVectors(model(), options.vectors)
    with tempfile.TemporaryDirectory() as folder:
        mixed = Mixed(kept)
        with MemoryMesh(
            db_dir=folder, custom_embedder=mixed, settings={"read_claims": False}
        ) as mesh:
            questions, names = _filled(mesh, mixed, options.data, options.rows)
            found = [_asked(mesh, questions, names, depth) for depth in DEPTHS]
            rows = mesh.stats().memories
    report = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **code,
        "rows": rows,
        "questions": len(questions),
        "by_depth": found,
    }
    options.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    kept.release()
    return 0


def _filled(
    mesh: MemoryMesh, mixed: Mixed, data: Path, rows: int
) -> tuple[list[EvaluationQuestion], dict[str, str]]:
    """The dev questions, and which memory each of their records became."""
    asked = suite.load("locomo")
    read = records.read(data / "locomo", asked.records)
    questions = [
        question for question in suite.split(asked, read.questions)["dev"] if question.gold
    ]
    names: dict[str, str] = {}
    for _, listed in read.tenants({question.tenant for question in questions}):
        names |= load_records.store(mesh, listed).memories
    done = len(names)
    for batch in _others(data):
        kept = [record for record in batch if len(record.text) <= _LONG][: rows - done]
        load_records.store(mesh, kept)
        done += len(kept)
        print(f"{done:,} of {rows:,} memories", flush=True)
    mixed.real = False
    while done < rows:
        more = list(corpus.texts(done, min(rows, done + _BATCH)))
        mesh.add_many(more)
        done += len(more)
        print(f"{done:,} of {rows:,} memories", flush=True)
    mixed.real = True
    return questions, names


def _others(data: Path) -> Iterator[list[EvaluationRecord]]:
    for name in OTHERS:
        read = records.read(data / name, suite.load(name).records)
        tenants = {question.tenant for question in read.questions}
        for _, listed in read.tenants(tenants):
            yield listed


def _asked(
    mesh: MemoryMesh, questions: Sequence[EvaluationQuestion], names: dict[str, str], depth: int
) -> dict[str, Any]:
    profiles.LEG_DEPTH = profiles.LARGE_LEG_DEPTH = depth
    recalls, spent = list[float](), list[float]()
    for question in questions:
        start = time.perf_counter()
        hits = mesh.search(question.text, across=("session",), use_cache=False)
        spent.append(1_000 * (time.perf_counter() - start))
        gold = {names[record] for record in question.gold}
        recalls.append(len(gold.intersection(hit.id for hit in hits)) / len(gold))
    found = {
        "depth": depth,
        "R@10": round(statistics.mean(recalls), 4),
        "p50_ms": round(statistics.median(spent), 1),
    }
    print(found, flush=True)
    return found


if __name__ == "__main__":
    raise SystemExit(main())
