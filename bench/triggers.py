"""How well triggers call up a memory for the tasks a developer expects, and for no others.

    python -m bench.triggers --half dev            needs MEMORY_MESH_MODEL_DIR
    python -m bench.triggers --half test --write   and writes results/benchmarks/triggers-test.json

Measured on bench/sets/triggers: `dev` is for tuning, `test` is not. Matching counts the tasks that
call their memory up (of `called_by` and of `not_called_by`); searching asks for the memory of each
task of `called_by` among all memories of the half, with and without what triggers add (decision
0037).
"""

import argparse
import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import report
from memory_mesh.model.trigger import MatchContext, Triggered
from memory_mesh.search.ranking import profiles
from memory_mesh.search.triggers import patterns, selection
from memory_mesh.sync import MemoryMesh

ROOT = Path(__file__).resolve().parent.parent
SET = ROOT / "bench" / "sets" / "triggers"
OUT = ROOT / "results" / "benchmarks"
SIMILARITY = 0.4  # of the setting trigger_min_similarity, where it is measured
MIN_RELEVANCE = profiles.MIN_RELEVANCE
Rows = Sequence[Mapping[str, Any]]
Figures = dict[str, Any]


def main() -> int:
    """Measure one half and print it, or write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--half", choices=("dev", "test"), required=True)
    parser.add_argument("--write", action="store_true", help="write results/benchmarks")
    options = parser.parse_args()
    if not os.environ.get("MEMORY_MESH_MODEL_DIR"):
        parser.error("set MEMORY_MESH_MODEL_DIR to a model's folder; see memory-mesh models")
    measured = measure(options.half)
    text = json.dumps(report.stamp() | measured, indent=2)
    print(text)
    if options.write:
        (OUT / f"triggers-{options.half}.json").write_text(text + "\n", encoding="utf-8")
    return 0


def measure(half: str) -> Figures:
    """All figures of one half."""
    lines = (SET / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()
    rows: Rows = [json.loads(line) for line in lines]
    return {
        "command": f"python -m bench.triggers --half {half}",
        "memories": len(rows),
        "matching": _matching(rows),
        "searching": _searching(rows),
    }


def as_the_seed(pattern: str, text: str) -> bool:
    """Returns whether a pattern matches by the code of specification 001 itself."""
    normal, text = pattern.lower().strip(), text.lower()
    if "|" in normal:
        return any(part.strip() in text for part in normal.split("|"))
    if "*" in normal:
        return re.search(normal.replace("*", ".*"), text) is not None
    return normal in text


def _matching(rows: Rows) -> Figures:
    return {
        "seed": _counts(rows, lambda memory, task: any(
            as_the_seed(pattern, task) for pattern in memory["whenToUse"])),
        "matched": _counts(rows, lambda memory, task: _strength(memory, task) > 0),
        "called": _counts(rows, _called),
        f"called, or meant at {SIMILARITY}": _meant(rows),
    }  # fmt: skip


def _counts(rows: Rows, test: Callable[[Mapping[str, Any], str], bool]) -> Figures:
    """How many tasks of each kind pass a test."""
    right = [test(row["memory"], task) for row in rows for task in row["called_by"]]
    wrong = [test(row["memory"], task) for row in rows for task in row["not_called_by"]]
    return {
        "called_by": sum(right), "of": len(right), "not_called_by": sum(wrong),
        "precision": round(sum(right) / max(1, sum(right) + sum(wrong)), 3),
    }  # fmt: skip


def _strength(memory: Mapping[str, Any], task: str) -> int:
    there = patterns.situation(MatchContext(task))
    met = patterns.match_any(memory["whenToUse"], there)
    return 0 if met is None else int(met.strength)


def _called(memory: Mapping[str, Any], task: str) -> bool:
    given = Triggered(0, tuple(memory["whenToUse"]), memory["importance"])
    return selection.called(given, patterns.situation(MatchContext(task))) is not None


def _meant(rows: Rows) -> Figures:
    """The same through the store, with the setting trigger_min_similarity."""
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryMesh(db_dir=folder, settings={"trigger_min_similarity": SIMILARITY}) as mesh,
    ):
        ids = dict(zip(_stored(mesh, rows), rows, strict=True))
        titles = {row["memory"]["title"]: id_ for id_, row in ids.items()}

        def found(memory: Mapping[str, Any], task: str) -> bool:
            answer = mesh.find_relevant_memories(task, max_memories=1_000)
            return titles[memory["title"]] in {each.id for each in answer}

        return _counts(rows, found)


def _searching(rows: Rows) -> Figures:
    """The rank of a task's memory in a search, without triggers, with them, and by them alone."""
    with tempfile.TemporaryDirectory() as folder, MemoryMesh(db_dir=folder) as mesh:
        ids = _stored(mesh, rows)
        told = {
            "mesh": _asked(mesh, ids, rows, "mesh"),
            "points": _asked(mesh, ids, rows, "points"),
        }
        for id_ in ids:
            mesh.update(id_, triggers=[])
        return {"mesh without triggers": _asked(mesh, ids, rows, "mesh"), **told}


def _asked(mesh: MemoryMesh, ids: Sequence[str], rows: Rows, profile: str) -> Figures:
    ranks, foreign, sure, unsure = [], [], 0, 0
    for id_, row in zip(ids, rows, strict=True):
        for task in (*row["called_by"], *row["not_called_by"]):
            hits = mesh.search(task, limit=len(rows), profile=profile)
            place = next((at for at, hit in enumerate(hits, 1) if hit.id == id_), None)
            reached = place is not None and hits[place - 1].score >= MIN_RELEVANCE
            if task in row["called_by"]:
                ranks.append(place)
                sure += reached
            else:
                foreign.append(place)
                unsure += reached
    found = [1 / place for place in ranks if place]
    return {
        "first": _share(ranks, 1), "first five": _share(ranks, 5),
        "mrr": round(sum(found) / len(ranks), 3),
        f"score at least {MIN_RELEVANCE}": sure,
        "not called, but first": sum(place == 1 for place in foreign),
        "not called, but in the first five": sum(bool(place and place <= 5) for place in foreign),
        f"not called, but a score of at least {MIN_RELEVANCE}": unsure,
    }  # fmt: skip


def _share(ranks: Sequence[int | None], at_most: int) -> float:
    return round(sum(bool(place and place <= at_most) for place in ranks) / len(ranks), 3)


def _stored(mesh: MemoryMesh, rows: Rows) -> list[str]:
    """The memories of the set, each with its title as its text."""
    stored = []
    for row in rows:
        memory = row["memory"]
        done = mesh.add(
            memory["title"],
            tags=memory["tags"],
            importance=memory["importance"],
            triggers=memory["whenToUse"],
        )
        assert done.id is not None  # noqa: S101  # a title is never refused
        stored.append(done.id)
    return stored


if __name__ == "__main__":
    raise SystemExit(main())
