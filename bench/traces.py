"""The query for similar tasks among 100,000 traces beside the search that it stands on.

    python -m bench.traces [--traces 100000] [--work DIR] [--out FILE]

Both ask the same questions in one run and take turns at going first. The question goes through the
real model; the stored vectors are synthetic (bench/meaning.py). `plan` and listing are for
information.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench import corpus, meaning, measure, report
from bench.measure import Figures, say
from memory_mesh.learn.rules.trace_groups import normalised
from memory_mesh.model import Space
from memory_mesh.model.trace import Step, Trace, TraceStatus
from memory_mesh.models.embedders.onnx import OnnxEmbedder
from memory_mesh.sync import MemoryMesh

OUT = Path(__file__).resolve().parents[1] / "results" / "benchmarks" / "traces.json"
MOST = 2.0  # times the search
_STEP = 4_096
_GOAL_WORDS = 14
_QUESTIONS = 100
_FILTER = "type = 'trace'"


def main() -> int:
    """Load, measure side by side, write; exit 1 above the bar."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--work", type=Path, help="keep the store here (default: temporary)")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    code, embedder = report.code(), meaning.model()
    with tempfile.TemporaryDirectory() as folder:
        space = embedder.embed(["a"], query=True).space
        store = loaded(options.work or Path(folder), options.traces, space)
        figures = asked(store, embedder)
    found = report.stamped(figures, {"traces": options.traces}, code)
    options.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=2))
    return int((figures["similar_over_search"] or 0) > MOST)


def loaded(folder: Path, traces: int, space: Space) -> Path:
    """A store with so many traces and vectors; gone on with after a break."""
    with MemoryMesh(db_dir=folder, custom_embedder=meaning.Synthetic(space)) as mesh:
        done = mesh.stats().blocks  # each trace leaves one block
        while done < traces:
            batch = list(made(done, min(traces, done + _STEP)))
            mesh.traces.record_many(batch)
            done += len(batch)
            say(f"  {done:,} of {traces:,} traces")
    return folder


def made(first: int, last: int) -> Iterator[Trace]:
    """Traces number `first` up to and without `last`, the same on every machine."""
    for number, text in enumerate(corpus.texts(first, last), start=first):
        words = text.split()
        yield Trace(
            f"{' '.join(words[:_GOAL_WORDS])} {number}",
            TraceStatus.FAILURE if number % 4 == 0 else TraceStatus.SUCCESS,
            1_000 + number,
            tools_used=("pytest", f"tool{number % 20}"),
            steps=(Step(" ".join(words[-6:])), Step("check it")),
            results=text,
            learnings=(" ".join(words[:6]),),
        )


def asked(folder: Path, embedder: OnnxEmbedder) -> Figures:
    """The bar: a query for similar tasks costs at most twice the search."""
    goals = [normalised(" ".join(text.split()[:8])) for text in corpus.queries()[:_QUESTIONS]]
    with MemoryMesh(db_dir=folder, custom_embedder=embedder) as mesh:
        mesh.search(goals[0], filter=_FILTER, use_cache=False)
        mesh.traces.similar(goals[0], limit=1)
        searched, similar = measure.alternate(
            len(goals) - 1,
            lambda number: mesh.search(
                goals[number + 1], filter=_FILTER, limit=3, include=["archived"], use_cache=False
            ),
            lambda number: mesh.traces.similar(goals[number + 1]),
        )
        plans, pages = measure.alternate(
            20,
            lambda number: mesh.traces.plan(goals[number] + " again"),
            lambda _: mesh.traces(limit=100),
        )
    return {
        "search_p50_ms": measure.median_ms(searched.wall),
        "similar_p50_ms": measure.median_ms(similar.wall),
        "similar_p95_ms": measure.percentile_ms(similar.wall, 0.95),
        "similar_over_search": measure.ratio_of_medians(similar.wall, searched.wall),
        "similar_over_search_cpu": measure.ratio_of_medians(similar.cpu, searched.cpu),
        "plan_p50_ms": measure.median_ms(plans.wall),
        "page_of_100_p50_ms": measure.median_ms(pages.wall),
    }


if __name__ == "__main__":
    raise SystemExit(main())
