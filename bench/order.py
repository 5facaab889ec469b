"""Measure the order and the scores of search, and what is read as a contradiction, on written sets.

    python -m bench.order                        the open halves, in every mode that is here
    python -m bench.order --half held_out        read once, to report it

The sets are in tests/corpora: everyday memories, questions in other words, questions that no memory
answers, pairs of statements, ten languages. A question is put to the twenty memories of its topic,
to the 200 of its half, and to those among 4,800 others. A mode is `words`, `static` or `model` (the
one that MEMORY_MESH_MODEL_DIR names). R@1, R@5 and MRR stand with a bootstrap interval over
questions. Figures go to results/benchmarks/order-<half>.json; with `--dry` they are only printed.
"""

import argparse
import json
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from memory_mesh.config import load as configured
from memory_mesh.config.tables import Settings
from memory_mesh.evaluation import whole_run
from memory_mesh.evaluation.vector_cache import KeptVectors
from memory_mesh.model import Status
from memory_mesh.model.ports import Embedder
from memory_mesh.models.embedders import embedder_of
from memory_mesh.platform.ids import SystemClock
from memory_mesh.search.ranking.profiles import MIN_RELEVANCE
from memory_mesh.sync import MemoryMesh
from tests.corpora import everyday

REPORTS = Path(__file__).resolve().parent.parent / "results" / "benchmarks"
CORPORA = Path(everyday.__file__).parent
OPEN, HELD_OUT = "open", "held_out"
MODES = {"words": "none", "static": "static", "model": None}
SIZES = (20, 200, 5_000)
ON, OFF = "on_topic", "off_topic"
SHOWN, RESAMPLES, SEED = 10, 2_000, 11
KEPT = 5  # percent of right first answers that a threshold may lose


@dataclass
class Store:
    """One store: its memories by id, and what is asked of it: text, ids that answer, kind."""

    size: int
    memories: list[tuple[str, str]]
    asked: list[tuple[str, set[str], str]] = field(default_factory=list)


@dataclass
class Answers:
    """What became of the questions of one size: place of the first right hit, best score."""

    places: list[int] = field(default_factory=list)  # 0 for none among the first ten
    scores: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures and write them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--half", choices=(OPEN, HELD_OUT), default=OPEN)
    parser.add_argument("--modes", nargs="+", choices=tuple(MODES), default=tuple(MODES))
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--dry", action="store_true", help="write no report")
    options = parser.parse_args(arguments)
    report: dict[str, Any] = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": whole_run.commit()[0],
        "paths": ["src/memory_mesh/search/ranking", "src/memory_mesh/write/claims"],
        "command": f"python -m bench.order --half {options.half}",
    }
    with tempfile.TemporaryDirectory() as folder:
        for mode in options.modes:
            embedder = chosen(mode, Path(folder))
            report[mode] = measured(embedder, options.half, options.sizes)
            report[mode]["claims"] = claims(embedder, options.half)
            report[mode]["ten languages"] = languages(embedder, options.half)
            print(json.dumps({mode: report[mode]}, indent=2), flush=True)
    if not options.dry:
        file = REPORTS / f"order-{options.half}.json"
        file.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def chosen(mode: str, folder: Path) -> Embedder | None:
    """The embedder of a mode, each text once; None for words."""
    named = MODES[mode]
    chain = embedder_of(configured({"embedder": named}), SystemClock())
    return None if chain is None else KeptVectors(chain, folder / f"{mode}.db")


def stores(half: everyday.Half, sizes: Sequence[int] = SIZES) -> Iterator[Store]:
    """The everyday memories of a half at each size, with the questions that are put to them."""
    questions = everyday.questions(half)
    topics = list(dict.fromkeys(question.topic for question in questions))
    for size in sizes:
        small = size == everyday.TOPIC_SIZE
        for place, topic in enumerate(topics if small else [""]):
            memories = everyday.store(half, size, topic)
            store = Store(size, [(memory.id, memory.text) for memory in memories])
            for question in questions:
                if not small or question.topic == topic:
                    store.asked.append((question.text, set(question.answers), "answered"))
            for number, question in enumerate(everyday.unanswerable(half)):
                if not small or number % len(topics) == place:
                    store.asked.append((question.text, set(), question.topic))
            yield store


@contextmanager
def opened(embedder: Embedder | None) -> Iterator[MemoryMesh]:
    """An empty store that searches with an embedder, or by words."""
    how: Settings = {"keep": ["ip", "email", "phone"]}
    if embedder is None:
        how["embedder"] = "none"
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryMesh(db_dir=folder, settings=how, custom_embedder=embedder) as mesh,
    ):
        yield mesh


def fill(mesh: MemoryMesh, memories: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Store the memories; returns which is which, by id."""
    receipts = mesh.add_many({"content": text, "allow_duplicate": True} for _, text in memories)
    named = zip(receipts, memories, strict=True)
    return {receipt.id: name for receipt, (name, _) in named if receipt.id}


def measured(
    embedder: Embedder | None, half: everyday.Half, sizes: Sequence[int]
) -> dict[str, Any]:
    """The figures of one mode: each size alone, and silence over all of them."""
    found: dict[int, Answers] = defaultdict(Answers)
    for store in stores(half, sizes):
        with opened(embedder) as mesh:
            names = fill(mesh, store.memories)
            for text, gold, kind in store.asked:
                hits = mesh.search(text, limit=SHOWN, min_relevance=0)
                best = hits[0].score if hits else 0.0
                right = [place for place, hit in enumerate(hits, 1) if names[hit.id] in gold]
                answers = found[store.size]
                answers.scores[kind].append(best)
                if gold:
                    answers.places.append(right[0] if right else 0)
                if right[:1] == [1]:
                    answers.scores["right"].append(best)
    return {str(size): figures(answers) for size, answers in found.items()} | {
        "all sizes": silence(list(found.values()))
    }


def figures(answers: Answers) -> dict[str, Any]:
    """R@1, R@5, MRR with intervals, and what the scores tell."""
    places = answers.places
    return {
        "n": len(places),
        "R@1": interval([float(place == 1) for place in places]),
        "R@5": interval([float(1 <= place <= 5) for place in places]),
        "MRR": interval([1 / place if place else 0.0 for place in places]),
        **silence([answers]),
    }


def silence(all_answers: Sequence[Answers]) -> dict[str, Any]:
    """AUC against questions without an answer, and the silence with 95 % of right answers kept."""
    scores: dict[str, list[float]] = defaultdict(list)
    for answers in all_answers:
        for kind, values in answers.scores.items():
            scores[kind] += values
    right = scores["right"]
    least = float(np.percentile(right, KEPT)) if right else 0.0
    told: dict[str, Any] = {
        "right first": len(right),
        "kept": share([score >= MIN_RELEVANCE for score in right]),
        "threshold that keeps 95 %": round(least, 4),
    }
    for kind in (ON, OFF):
        told[f"AUC {kind}"] = auc(scores["answered"], scores[kind])
        told[f"silent {kind}"] = share([score < MIN_RELEVANCE for score in scores[kind]])
        told[f"silent {kind} at 95 %"] = share([score < least for score in scores[kind]])
    return told


def claims(embedder: Embedder | None, half: str) -> dict[str, Any]:
    """Of pairs that are both true those displaced, of updates those with the newer one above."""
    told: dict[str, list[bool]] = defaultdict(list)
    for row in lines("claim_pairs", half):
        with opened(embedder) as mesh:
            first, second = (mesh.add(row[part]) for part in ("first", "second"))
            kept = mesh.get(first.id or "")
            hits = list(mesh.search(row["first"], limit=SHOWN, min_relevance=0))
            order = [hit.id for hit in hits]
            above = second.id in order[: order.index(first.id)] if first.id in order else True
            if row["kind"] == "both":
                hidden = kept is None or kept.status is not Status.ACTIVE or first.id not in order
                told["both true, one hidden"].append(hidden)
                linked = any(hit.newer is not None for hit in hits)
                told["both true, one put below"].append(hidden or linked or above)
            else:
                told["update, newer above"].append(above)
    return {name: interval([float(flag) for flag in flags]) for name, flags in told.items()}


def languages(embedder: Embedder | None, half: str) -> dict[str, Any]:
    """R@1 and R@5 of each language, all memories of a half in one store."""
    rows = lines("ten_languages", half)
    found: dict[str, list[int]] = defaultdict(list)
    with opened(embedder) as mesh:
        names = fill(mesh, [(row["id"], row["memory"]) for row in rows])
        for row in rows:
            hits = mesh.search(row["question"], limit=SHOWN, min_relevance=0)
            order = [names[hit.id] for hit in hits]
            found[row["language"]].append(order.index(row["id"]) + 1 if row["id"] in order else 0)
    places = [place for some in found.values() for place in some]
    return {
        "R@1": interval([float(place == 1) for place in places]),
        "R@5": interval([float(1 <= place <= 5) for place in places]),
        "R@5 of each": {
            language: share([1 <= place <= 5 for place in some]) for language, some in found.items()
        },
    }


def lines(name: str, half: str) -> list[dict[str, Any]]:
    """The lines of one half of a set."""
    written = (CORPORA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, written) if row["half"] == half]


def interval(values: Sequence[float]) -> list[float]:
    """The mean in percent, and the bounds of 95 % of the means of samples drawn anew."""
    if not values:
        return []
    drawn = np.random.default_rng(SEED).choice(np.array(values), (RESAMPLES, len(values)))
    low, high = np.percentile(drawn.mean(axis=1), (2.5, 97.5))
    return [round(100 * float(each), 1) for each in (statistics.fmean(values), low, high)]


def auc(answered: Sequence[float], unanswered: Sequence[float]) -> float | None:
    """How often a question with an answer scores above one without; a tie counts half."""
    if not answered or not unanswered:
        return None
    pairs = [(one > other) + (one == other) / 2 for one in answered for other in unanswered]
    return round(statistics.fmean(pairs), 3)


def share(flags: Sequence[bool]) -> float | None:
    """The share of those that hold, in percent."""
    return round(100 * sum(flags) / len(flags), 1) if flags else None


if __name__ == "__main__":
    raise SystemExit(main())
