"""What the default of `min_relevance` keeps: by words, by static vectors and by a model.

    python -m bench.threshold --data FOLDER --work DIR [--split dev] [--out results/benchmarks]

Of the questions whose first hit is right it counts those whose first hit reaches the default. The
sets are LoCoMo (in FOLDER) and our own notes, personal facts and documents in stores of 20 and 200;
of a split at most 600 questions of each set are asked. The default is chosen on `dev`.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from bench import wild_sets
from bench.abstention import Measured, _opened
from bench.report import stamp
from memory_mesh.config import load as configured
from memory_mesh.evaluation import all_questions, results, suite, whole_run
from memory_mesh.evaluation.one_question import QuestionResult
from memory_mesh.evaluation.records import EvaluationQuestion
from memory_mesh.evaluation.vector_cache import KeptVectors
from memory_mesh.model.ports import Embedder
from memory_mesh.models.embedders import embedder_of
from memory_mesh.platform.ids import SystemClock
from memory_mesh.search.ranking.profiles import MIN_RELEVANCE

MODES = ("words", "static", "model")
MOST, SHOWN = 600, 10


def main() -> int:
    """Measure every mode on every set, print the table and write the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--split", default=suite.TEST)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    for name in wild_sets.SETS:
        wild_sets.build(name, options.work / "sets")
    found = {mode: _mode(mode, options) for mode in MODES}
    text = json.dumps(
        stamp() | {"split": options.split, "min_relevance": MIN_RELEVANCE, "kept": found}, indent=2
    )
    print(text)
    if options.out is not None:
        (options.out / "threshold.json").write_text(f"{text}\n", encoding="utf-8")
    return 0


def _mode(mode: str, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """The share that is kept of each set, and of all together."""
    stated = {"embedder": "static", "model_dir": None} if mode == "static" else {}
    chain = embedder_of(configured(stated), SystemClock(), alone=True)
    if chain is None:
        raise SystemExit("there is no model: set MEMORY_MESH_MODEL_DIR")
    folder = options.work / mode
    folder.mkdir(parents=True, exist_ok=True)
    kept = KeptVectors(chain, folder / "vectors.db")
    counts = dict[str, tuple[int, int]]()
    for name in ("locomo", *(str(options.work / "sets" / each) for each in wild_sets.SETS)):
        one = _opened(name, options.data)
        rows = _rows(one, _asked(one, options.split), mode, folder, kept)
        scores = [row.scores[0] for row in rows if row.ranked and row.ranked[0] in set(row.gold)]
        counts[one.name] = (len(scores), sum(score >= MIN_RELEVANCE for score in scores))
    kept.release()
    counts["all"] = (
        sum(right for right, _ in counts.values()),
        sum(reach for _, reach in counts.values()),
    )
    return {
        name: {"right_first": right, "share_kept": round(reach / right, 4)}
        for name, (right, reach) in counts.items()
    }


def _asked(one: Measured, split: str) -> Sequence[EvaluationQuestion]:
    parts = suite.split(one.suite, one.data.questions)
    asked = parts.get(split, parts[suite.ALL])
    if one.name in wild_sets.SETS:
        asked = [
            each
            for each in asked
            if each.tenant.startswith(split) and f"-{wild_sets.LARGE}" not in each.tenant
        ]
    return asked[:: len(asked) // MOST + 1]


def _rows(
    one: Measured, asked: Sequence[EvaluationQuestion], mode: str, work: Path, embedder: Embedder
) -> list[QuestionResult]:
    told = {**one.suite.options("keyword" if mode == "words" else "mesh"), "limit": SHOWN}
    space = embedder.embed(["a"]).space
    key = results.digest([one.data.digest, whole_run.code_digest(), space, mode])
    job = all_questions.AnswerJob(
        one.suite, {mode: told}, {}, work / one.name, key, embedder, _quiet
    )
    with whole_run.alone(work / one.name):
        return all_questions.answer(job, one.data, asked).rows[mode]


def _quiet(*_: object) -> None:
    """Tells nothing on the way."""


if __name__ == "__main__":
    raise SystemExit(main())
