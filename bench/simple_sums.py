"""Rank by two simple sums that anybody could write, for comparison with the default order.

    python -m bench.simple_sums SUITE --data FOLDER --vectors FILE --out FOLDER

`bm25-cosine` is half BM25 (1 for the best candidate), half cosine (from 0 for the farthest to 1 for
the nearest); `coverage-cosine` is half the weighted share of the question's words, half the cosine
as it is. Both see the candidates that the product sees, the terms that its analyzer makes, and the
same vectors. Writes one file of rankings each, in the form that `memory-mesh eval run --add` reads.
"""

import argparse
import json
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

from memory_mesh.config import load as configured
from memory_mesh.evaluation import all_questions, records, suite
from memory_mesh.evaluation.one_question import search_options
from memory_mesh.evaluation.vector_cache import KeptVectors
from memory_mesh.model import Query
from memory_mesh.model.ports import Embedder
from memory_mesh.models.embedders import embedder_of
from memory_mesh.platform.ids import SystemClock
from memory_mesh.search import recall
from memory_mesh.search.ranking.features import Evidence

SUMS = ("bm25-cosine", "coverage-cosine")
TOLD = ("half BM25, half cosine", "half coverage, half cosine")  # as bench/training names them
K1, B = 1.2, 0.75
SHOWN = 100


def main() -> int:
    """Rank every question of a suite."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--split", default="all")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    chain = embedder_of(configured(), SystemClock())
    if chain is None:
        parser.error("there is no model: set MEMORY_MESH_MODEL_DIR")
    kept = KeptVectors(chain, options.vectors)
    write(options.suite, options.data, options.split, kept, options.out)
    kept.release()
    return 0


def write(name: str, data: Path, split: str, embedder: Embedder, out: Path) -> dict[str, Path]:
    """Write the rankings of both sums; return the files by name."""
    out.mkdir(parents=True, exist_ok=True)
    files = {each: out / f"{name}.{each}.jsonl" for each in SUMS}
    asked = suite.load(name)
    read = records.read(data, asked.records)
    questions = suite.split(asked, read.questions)[split]
    lines: dict[str, list[str]] = {each: [] for each in SUMS}
    with tempfile.TemporaryDirectory() as folder:
        job = all_questions.AnswerJob(asked, {}, {}, Path(folder), "", embedder, lambda *_: None)
        for mesh, question, names in all_questions.steps(job, read, questions):
            told = search_options(asked.options("mesh"), question.scopes)
            lens = mesh._lens(  # noqa: SLF001
                told["scope"], filter=told.get("filter"), across=told["across"]
            )
            query = Query(question.text, lens, 10)
            evidence, memories = recall.looked_at(mesh._access(), query)  # noqa: SLF001
            versions = list(evidence.placed)
            for each, scores in sums(evidence).items():
                best = sorted(zip(scores, versions, strict=True), reverse=True)[:SHOWN]
                ranked = [names.of_memory(memories[version].id) for _, version in best]
                scored = [round(score, 6) for score, _ in best]
                lines[each].append(
                    json.dumps({"id": question.id, "ranked": ranked, "scores": scored})
                )
    for each, file in files.items():
        file.write_text("".join(f"{line}\n" for line in lines[each]), encoding="utf-8")
    return files


def sums(evidence: Evidence) -> dict[str, list[float]]:
    """The two sums of every candidate."""
    rows = list(evidence.placed.values())
    if not rows:
        return {each: [] for each in SUMS}
    held = [row.terms.split() for row in rows]
    average = sum(map(len, held)) / len(held) or 1.0
    bm25, covered, whole = [0.0] * len(rows), [0.0] * len(rows), 0.0
    for term in evidence.reading.terms:
        texts, holding = evidence.matches.rows, evidence.matches.postings.get(term, 0)
        holding = min(holding, texts)
        idf = math.log1p((texts - holding + 0.5) / (holding + 0.5))
        whole += idf
        for at, terms in enumerate(held):
            count = terms.count(term)
            if count:
                norm = K1 * (1 - B + B * len(terms) / average)
                bm25[at] += idf * count * (K1 + 1) / (count + norm)
                covered[at] += idf
    cosine = [0.0 if row.cosine is None else row.cosine for row in rows]
    top, near = max(bm25) or 1.0, _spread(cosine)
    return {
        "bm25-cosine": [a / top / 2 + b / 2 for a, b in zip(bm25, near, strict=True)],
        "coverage-cosine": [
            a / (whole or 1.0) / 2 + b / 2 for a, b in zip(covered, cosine, strict=True)
        ],
    }


def _spread(values: Sequence[float]) -> list[float]:
    low, range_ = min(values), (max(values) - min(values)) or 1.0
    return [(value - low) / range_ for value in values]


if __name__ == "__main__":
    raise SystemExit(main())
