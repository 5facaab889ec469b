"""What a pack holds of the evidence, beside plain top-k in the same budget and rendering.

    python -m bench.packing --data FOLDER --vectors FILE --work DIR [--out FILE]

FOLDER holds the set `locomo`; the dev conversations are asked, without their adversarial questions.
The constants of context/packing were chosen on conv-26 and conv-30; conv-41 and conv-42 are the
half that they were not chosen on. Top-k takes the hits in their order until the next does not fit;
`skip` goes on with smaller ones. Both are asked without a floor and with the default one. The cost
is the CPU time of `context` over that of the search that it contains, in the same run; the vectors
of the questions are known to both, so the model's time hides nothing.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import report as report_of
from bench.meaning import model
from memory_mesh.context.pack import MOST_HITS
from memory_mesh.context.packing import choice, token_budget
from memory_mesh.context.packing.token_budget import PackEntry, PackLayout
from memory_mesh.evaluation import all_questions, records, suite
from memory_mesh.evaluation.one_question import RecordNames
from memory_mesh.evaluation.records import EvaluationQuestion
from memory_mesh.evaluation.vector_cache import KeptVectors
from memory_mesh.model import Hit
from memory_mesh.search.ranking.profiles import FURTHER_SHARE, MIN_RELEVANCE
from memory_mesh.sync import MemoryMesh

BUDGETS = (500, 1_000, 2_000)
TUNED_ON = ("conv-26", "conv-30")
FLOORS = {"no floor": 0.0, "default floor": MIN_RELEVANCE}
TIMED = 60  # questions whose cost is measured
ACROSS = ("session",)


@dataclass
class Figures:
    """Shares of evidence by half, floor, budget and way."""

    shares: dict[tuple[str, str, int, str], list[float]] = field(default_factory=dict)

    def add(self, key: tuple[str, str, int, str], gold: set[str], found: set[str]) -> None:
        """Adds one question."""
        self.shares.setdefault(key, []).append(len(gold & found) / len(gold))

    def table(self) -> dict[str, Any]:
        """The mean of each, as JSON."""
        told: dict[str, Any] = {}
        for (half, floor, budget, way), found in self.shares.items():
            row = told.setdefault(half, {}).setdefault(floor, {}).setdefault(str(budget), {})
            row[way] = round(statistics.mean(found), 4)
            row["questions"] = len(found)
        return told


def main() -> int:
    """Ask, count and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/packing.json"))
    options = parser.parse_args()
    code, embedder = report_of.code(), model()
    kept = KeptVectors(embedder, options.vectors)
    asked = suite.load("locomo")
    read = records.read(options.data / "locomo", asked.records)
    dev = [one for one in suite.split(asked, read.questions)["dev"] if one.gold]
    job = all_questions.AnswerJob(asked, {}, {}, options.work, "packing", kept, lambda *_: None)
    figures, costs = Figures(), list[tuple[float, float]]()
    for mesh, question, names in all_questions.steps(job, read, dev):
        ask(mesh, question, names, figures)
    for mesh, question, _ in all_questions.steps(job, read, dev[:: max(1, len(dev) // TIMED)]):
        costs.append(cost(mesh, question.text))
    report = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **code,
        "shares": figures.table(),
        "cost": _cost_told(costs),
    }
    options.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=1))
    kept.release()
    return 0


def ask(
    mesh: MemoryMesh, question: EvaluationQuestion, names: RecordNames, figures: Figures
) -> None:
    """Puts one question in every way."""
    gold = set(names.gold(question))
    half = "tuned on" if question.tenant in TUNED_ON else "not tuned on"
    found = mesh.search(question.text, limit=MOST_HITS, across=ACROSS)
    for floor, least in FLOORS.items():
        hits = _above(found, least)
        for budget in BUDGETS:
            pack = mesh.context(
                question.text,
                max_tokens=budget,
                min_relevance=least,
                across=ACROSS,
                record=False,
            )
            ways = {
                "pack": [item.id for item in pack],
                "top-k": top_k(hits, budget),
                "skip": top_k(hits, budget, skip=True),
            }
            for way, ids in ways.items():
                shown = {names.of_memory(id_) for id_ in ids}
                for part in (half, "all"):
                    figures.add((part, floor, budget, way), gold, shown)


def _above(hits: Sequence[Hit], least: float) -> list[Hit]:
    """The hits that `search` shows with this threshold."""
    if not hits or max(hit.score for hit in hits) < least:
        return []
    return [hit for hit in hits if hit.score >= least * FURTHER_SHARE]


def top_k(hits: Sequence[Hit], budget: int, *, skip: bool = False) -> list[str]:
    """The ids of the first hits whose rendering keeps to the budget."""
    layout, ids = PackLayout(), list[str]()
    left = budget - choice.token_bound(token_budget.frame(layout))
    for hit in hits:
        memory = hit.memory
        date = f"{memory.occurred_at or memory.created:%Y-%m-%d}"
        entry = PackEntry(memory.id, memory.text, date, memory.speaker)
        spent = choice.token_bound(token_budget.entry_text(len(ids) + 1, entry, layout))
        if spent <= left:
            left -= spent
            ids.append(memory.id)
        elif not skip:
            break
    return ids


def cost(mesh: MemoryMesh, question: str) -> tuple[float, float]:
    """CPU seconds of the search and of the pack that contains it; the vector is known."""
    search = _spent(mesh, lambda: mesh.search(question, limit=MOST_HITS, across=ACROSS))
    pack = _spent(mesh, lambda: mesh.context(question, across=ACROSS, min_relevance=0.0))
    return search, pack


def _spent(mesh: MemoryMesh, call: Callable[[], object]) -> float:
    least = float("inf")
    for _ in range(3):
        mesh.clear_cache()
        start = time.process_time()
        call()
        least = min(least, time.process_time() - start)
    return least


def _cost_told(costs: Sequence[tuple[float, float]]) -> dict[str, float]:
    search = statistics.median(one for one, _ in costs)
    pack = statistics.median(other for _, other in costs)
    return {
        "search_ms": round(1_000 * search, 2),
        "context_ms": round(1_000 * pack, 2),
        "ratio": round(pack / search, 3),
        "questions": len(costs),
    }


if __name__ == "__main__":
    raise SystemExit(main())
