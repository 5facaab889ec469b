"""Learn which sentences of a prompt last, and whose they are (lasting.bin, of_person.bin).

    python -m bench.training.lasting             print what folds of the sets reach
    python -m bench.training.lasting --write     fit on all of it and write the weights

The sets are bench/sets/capture/sentences_*.jsonl: prompts, each sentence with 0 (it passes), 1 (it
lasts, for the project) or 2 (it lasts, for the person), written and judged without sight of the
rules; and the sentences in tests/corpora/statements_*.txt. Two logistic regressions with one
penalty; the same input gives the same files. Needs bench/training/requirements.txt.
"""

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

from memory_mesh.learn.rules import lasting

ROOT = Path(__file__).resolve().parents[2]
SETS = ROOT / "bench" / "sets" / "capture"
STATEMENTS = ROOT / "tests" / "corpora"
OUT = Path(lasting.__file__).parent
PASSES, PROJECT, PERSON = 0, 1, 2
PENALTY, FOLDS, SEED = 16.0, 8, 5
PAIRS, PAIRS_WEIGHT = "_2", 0.4  # sets of near pairs count less: people rarely speak so
SHOWN = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9)


class Judged(NamedTuple):
    """One sentence, the prompt it stands in, and what was judged."""

    lang: str
    prompt: str
    text: str
    label: int


def judged() -> Iterator[Judged]:
    """All sentences of the sets."""
    for path in sorted(SETS.glob("sentences_*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            prompt = json.loads(line)
            for text, label in prompt["sentences"]:
                yield Judged(prompt["lang"], f"{path.stem} {number}", text, label)
    for name, label in (("person", PERSON), ("project", PROJECT), ("passing", PASSES)):
        path = STATEMENTS / f"statements_{name}.txt"
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.strip() and not line.startswith("#"):
                yield Judged("en", line, line.strip(), label)


def matrix(rows: Sequence[Judged]) -> csr_matrix:
    """The marks of each sentence, each as much as it counts."""
    each = [sorted(lasting.marks(row.text)) for row in rows]
    values = np.concatenate([np.full(len(one), 1 / math.sqrt(len(one))) for one in each])
    return csr_matrix(
        (values, np.concatenate(each), np.cumsum([0, *map(len, each)])),
        shape=(len(each), lasting.PLACES),
    )


def fitted(x: csr_matrix, y: np.ndarray, weights: np.ndarray) -> LogisticRegression:
    """One regression; liblinear gives the same answer each time."""
    return LogisticRegression(C=PENALTY, max_iter=1_000, solver="liblinear", random_state=SEED).fit(
        x, y, weights
    )


def folded(x: csr_matrix, y: np.ndarray, weights: np.ndarray, prompts: Sequence[str]) -> np.ndarray:
    """The odds of each sentence by a fit that has not seen its prompt."""
    odds = np.zeros(len(y))
    for train, test in GroupKFold(FOLDS).split(x, y, prompts):
        odds[test] = fitted(x[train], y[train], weights[train]).predict_proba(x[test])[:, 1]
    return odds


def report(name: str, rows: Sequence[Judged], y: np.ndarray, odds: np.ndarray) -> None:
    """What is found, and how much of it is wrong, from some odds on; by language."""
    print(f"{name}: {len(y)} sentences, {y.mean():.2f} yes, AUC {roc_auc_score(y, odds):.3f}")
    for odd in SHOWN:
        said = odds >= odd
        wrong = ((1 - y) & said).sum() / max(1, said.sum())
        print(f"  odds {odd:.2f}: found {(y & said).sum() / y.sum():.2f}, wrong {wrong:.3f}")
    for lang in sorted({row.lang for row in rows}):
        own = np.array([row.lang == lang for row in rows])
        right = ((odds[own] >= SHOWN[0]) == y[own]).mean()
        print(f"  {lang}: {own.sum()} sentences, right at {SHOWN[0]}: {right:.2f}")


def write(name: str, model: LogisticRegression) -> None:
    """Writes the weights as whole numbers of a byte; the first is what all begin with."""
    scaled = [*model.intercept_, *model.coef_[0][1:]]
    kept = np.clip(np.round(np.array(scaled) * lasting.SCALE), -127, 127).astype(np.int8)
    (OUT / f"{name}.bin").write_bytes(kept.tobytes())


def main() -> None:
    """Print the figures, or write the weights."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    every = list(judged())
    last = [row for row in every if row.label != PASSES]
    for name, rows in (("lasting", every), ("of_person", last)):
        x = matrix(rows)
        wanted = PERSON if rows is last else PROJECT
        y = np.array([int(row.label >= wanted) for row in rows])
        weights = np.array([PAIRS_WEIGHT if PAIRS in row.prompt else 1.0 for row in rows])
        report(name, rows, y, folded(x, y, weights, [row.prompt for row in rows]))
        if options.write:
            write(name, fitted(x, y, weights))


if __name__ == "__main__":
    main()
