"""What it costs to explain a search, beside the search itself.

    python -m bench.explain                        10,000 memories, by words
    python -m bench.explain --meaning --write      with the model of MEMORY_MESH_MODEL_DIR, and
                                                   writes results/benchmarks/explain.json

Each question is asked and explained in turns, without the cache: of its first hit, of its last, of
the first one cut by the limit, and of a memory that is no candidate. The bar is a processor time of
at most twice that of the search.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import corpus, measure, report
from bench.measure import say
from memory_mesh.sync import MemoryMesh

OUT = Path(__file__).resolve().parent.parent / "results" / "benchmarks" / "explain.json"
LIMIT = 10
AT_MOST = 2.0
Figures = dict[str, Any]


def main() -> int:
    """Measure and print, or write; 1 where the bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--meaning", action="store_true", help="by meaning, too")
    parser.add_argument("--write", action="store_true", help="write results/benchmarks")
    options = parser.parse_args()
    if options.meaning and not os.environ.get("MEMORY_MESH_MODEL_DIR"):
        parser.error("set MEMORY_MESH_MODEL_DIR to a model's folder; see memory-mesh models")
    with tempfile.TemporaryDirectory() as folder:
        embedder = "local" if options.meaning else "none"
        with MemoryMesh(db_dir=folder, embedder=embedder, enable_yamo=False) as mesh:
            mesh.add_many(list(corpus.texts(0, options.memories)))
            measured = _measured(mesh, corpus.queries()[: options.questions])
    measured = {
        "command": "python -m bench.explain" + (" --meaning" if options.meaning else ""),
        **report.stamp(),
        "memories": options.memories,
        "questions": options.questions,
        **measured,
    }
    text = json.dumps(measured, indent=2)
    print(text)
    if options.write:
        OUT.write_text(text + "\n", encoding="utf-8")
    return 0 if measured["held"] else 1


def _measured(mesh: MemoryMesh, questions: list[str]) -> Figures:
    """The ratios of each kind of memory, and whether all keep to the bar."""
    asked = [(question, _chosen(mesh, question)) for question in questions]
    figures: Figures = {}
    for kind in ("first", "last", "cut", "no_candidate"):
        pairs = [(question, ids[kind]) for question, ids in asked if kind in ids]
        mesh.explain(pairs[0][1], query=pairs[0][0], limit=LIMIT)  # reads the trees once
        figures[kind] = _ratio(
            len(pairs),
            lambda number, pairs=pairs: mesh.explain(  # type: ignore[misc]
                pairs[number][1], query=pairs[number][0], limit=LIMIT
            ),
            lambda number, pairs=pairs: mesh.search(  # type: ignore[misc]
                pairs[number][0], limit=LIMIT, use_cache=False
            ),
        )
        say(f"  {kind}: {figures[kind]}")
    held = all(each["cpu_ratio_of_medians"] <= AT_MOST for each in figures.values())
    return {**figures, "held": held}


def _chosen(mesh: MemoryMesh, question: str) -> dict[str, str]:
    """Memories of each kind for a question, as far as there are any."""
    hits = mesh.search(question, limit=LIMIT + 1, use_cache=False)
    known = {hit.id for hit in mesh.search(question, limit=1_000, use_cache=False)}
    other = next(
        (memory.id for memory in mesh.get_all(limit=1_000) if memory.id not in known), None
    )
    found = {"first": hits[0].id, "last": hits[:LIMIT][-1].id} if hits else {}
    if len(hits) > LIMIT:
        found["cut"] = hits[LIMIT].id
    return found | ({"no_candidate": other} if other else {})


def _ratio(
    rounds: int, explain: Callable[[int], object], search: Callable[[int], object]
) -> Figures:
    explained, searched = measure.alternate(rounds, explain, search)
    return {
        "explain_p50_ms": measure.median_ms(explained.wall),
        "search_p50_ms": measure.median_ms(searched.wall),
        "cpu_ratio_of_medians": measure.ratio_of_medians(explained.cpu, searched.cpu),
        "cpu_median_ratio": measure.median_ratio(explained.cpu, searched.cpu),
    }


if __name__ == "__main__":
    raise SystemExit(main())
