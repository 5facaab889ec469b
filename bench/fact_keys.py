"""Do facts help to find the text they come from? Questions in other words, with facts and without.

    python -m bench.fact_keys                 results/benchmarks/fact-keys.json
    python -m bench.fact_keys --mode words    one of words, static, model

Twenty notes, chats and mails and a hundred texts beside them are stored twice: as they are, and
with the facts that a model is scripted to find in them. A text is found if it, or a fact that
quotes it, is among the first five memories. Facts that extraction refuses are not stored.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import say
from memory_mesh.sync import MemoryMesh

ROOT = Path(__file__).resolve().parent.parent
SET = ROOT / "tests" / "corpora" / "fact_questions.jsonl"
OUT = ROOT / "results" / "benchmarks" / "fact-keys.json"
FIRST = 5
MODES = {"words": "none", "static": "static", "model": "local"}
SAMPLES = 2_000


class Reader:
    """A model that answers with the facts of the text that it is shown."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._facts = [row["facts"] for row in rows if row["kind"] == "passage"]

    def complete(self, prompt: str, *, max_tokens: int | None = None) -> str:
        """The facts of the first text whose quotes the prompt has."""
        del max_tokens
        shown = (each for each in self._facts if any(fact["quote"] in prompt for fact in each))
        return json.dumps({"facts": next(shown, [])})


def main() -> None:
    """Print the figures of each mode; of all modes, write them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--mode", choices=MODES, action="append")
    given = parser.parse_args()
    rows = [json.loads(line) for line in SET.read_text(encoding="utf-8").splitlines()]
    figures = [measured(mode, rows) for mode in given.mode or MODES]
    for row in figures:
        say(json.dumps(row))
    if not given.mode:
        OUT.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def measured(mode: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The share of questions whose text is found, without facts and with them."""
    without, _ = found(mode, rows, facts=False)
    with_facts, stored = found(mode, rows, facts=True)
    gains = np.array(with_facts, float) - np.array(without, float)
    samples = np.random.default_rng(1).choice(gains, (SAMPLES, len(gains))).mean(axis=1)
    low, high = np.quantile(samples, [0.025, 0.975])
    return {
        "mode": mode,
        "questions": len(gains),
        "facts": sum(len(row.get("facts", ())) for row in rows),
        "facts_stored": stored,
        "without": round(float(np.mean(without)), 3),
        "with": round(float(np.mean(with_facts)), 3),
        "gain": [round(float(value), 3) for value in (gains.mean(), low, high)],
    }


def found(mode: str, rows: list[dict[str, Any]], *, facts: bool) -> tuple[list[bool], int]:
    """For each question whether its text is found; and how many facts were stored."""
    questions = [row for row in rows if row["kind"] == "question"]
    place: dict[str | None, str] = {}
    with MemoryMesh(enable_memory=False, embedder=MODES[mode], custom_llm=Reader(rows)) as mesh:
        for row in rows:
            if row["kind"] == "question":
                continue
            place[mesh.add(row["text"]).id] = row["id"]
            if facts and row["kind"] == "passage":
                kept = mesh.learn.extract(row["text"], ref=row["id"])
                place |= dict.fromkeys((one.id for one in kept.receipts), row["id"])
        stored = len(place) - len(rows) + len(questions)
        hits = [mesh.search(question["text"], limit=FIRST) for question in questions]
    told = [
        any(place[hit.id] == question["passage"] for hit in each)
        for question, each in zip(questions, hits, strict=True)
    ]
    return told, stored


if __name__ == "__main__":
    main()
