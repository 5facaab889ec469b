"""Fit the weights of the order and of the relevance from what `gather` wrote.

    python -m bench.training.fit FOLDER [--report FILE]

Writes `search/ranking/_weights.py`. The order: the weights by which what answers a question gets
the largest share of all candidates (softmax over the candidates of a question). The relevance: a
logistic regression of whether a candidate answers. A weight that would speak against its sign is 0.
Every set counts by SHARES, however many questions it has. Figures are of conversations and
questions that the weights of their fold have not seen; the weights written are of all of them.
"""

import argparse
import json
import math
import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memory_mesh.search.ranking import order as ranking
from memory_mesh.search.ranking.features import NAMES, FeatureTable
from memory_mesh.search.ranking.profiles import MIN_RELEVANCE

OUT = Path(ranking.__file__).parent / "_weights.py"
SHARES = {
    "locomo": 6.0, "everyday": 3.0, "notes": 2.0, "personal": 2.0, "documents": 2.0,
    "beam100k": 1.5, "realmem": 0.5, "temporal": 0.3,
}  # fmt: skip
CHANCE_SHARES = {"notes": 2.0, "everyday": 5.0, "personal": 2.0}  # for the relevance; else 1
WILD = ("notes", "personal", "documents")
COUNTS = {"locomo": 10, "beam100k": 10, "realmem": 5, "temporal": 5}  # else the first
MODES = {"hybrid": "meaning", "static": "static", "keyword": "words"}
WORDS = (
    "keyword", "keyword_turn", "keyword_long", "covered_around", "covered_passage", "exact",
    "speaker", "role", "dated", "in_period", "time_words", "session", "guessed",
)  # fmt: skip
MEANING = (*(name for name in WORDS if name != "keyword"), "cosine", "cosine_mixed", "meaning")
SHRINKING = (
    "guessed",
    "lacking",
    "texts",
)  # more of it never helps; more of all others never hurts
CHANCE_OF_WORDS = ("sum", "lead", "covered_passage", "exact", "speaker", "lacking", "texts")
CHANCE = (*CHANCE_OF_WORDS, "cosine", "best_cosine")
EITHER_WAY = ("always", "in_session")
SCALE = 3.0  # a margin is this part of a logarithm of odds: votes of use weigh against it
CANDIDATES, ROUNDS, RIDGE, FOLDS = 40, 250, 1e-3, 4
KEPT = 0.95  # of right first answers that MIN_RELEVANCE keeps
ENOUGH = 30  # right first answers of a set that says where the threshold lies
JUDGED = 10  # hits of a question that the relevance is fitted on
Floats: TypeAlias = NDArray[np.float64]


@dataclass
class Asked:
    """One question with its candidates."""

    set: str
    tenant: str
    fold: int
    rows: Floats
    right: NDArray[np.bool_]
    unit: NDArray[np.int32]
    gold: int
    texts: int

    @property
    def shown(self) -> str:
        """Under which name it is reported; nothing for what only trains."""
        if self.set not in (*WILD, "everyday"):
            return self.set
        part, size, *_ = self.tenant.split("-")
        return f"{self.set} {size}" if part == "dev" else ""

    def recall(self, margins: Floats) -> float:
        """The share of what answers it among the first of its set's k."""
        order = np.argsort(-margins, kind="stable")
        first = list(dict.fromkeys(self.unit[order].tolist()))[: COUNTS.get(self.set, 1)]
        return len(set(self.unit[self.right].tolist()).intersection(first)) / self.gold


def main() -> int:
    """Fit, measure by folds, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--report", type=Path)
    options = parser.parse_args()
    margin, chance = dict[str, dict[str, float]](), dict[str, dict[str, float]]()
    report, doubt = dict[str, Any](), dict[str, float]()
    for mode, called in MODES.items():
        asked = load(options.folder, mode)
        names = WORDS if mode == "keyword" else MEANING
        answered = [one for one in asked if one.gold]
        report[called] = figures(answered, by_folds(answered, names))
        margin[called] = weights(answered, names)
        chance[called] = chances(asked, called, margin[called])
        doubt[called] = doubts(asked, margin[called], chance[called])
        print(called, report[called], margin[called], chance[called], sep="\n", flush=True)
    OUT.write_text(source(margin, chance, doubt), encoding="utf-8")
    if options.report:
        options.report.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def load(folder: Path, mode: str) -> list[Asked]:
    """The questions of all sets that were gathered."""
    found: list[Asked] = []
    for name in SHARES:
        file = folder / f"{name}.{mode}.npz"
        if not file.is_file():
            continue
        held = np.load(file)
        if tuple(held["names"]) != NAMES:
            raise SystemExit(f"{file} has other features: gather it anew")
        stop = 0
        parts = ("tenants", "questions", "sizes", "gold", "texts")
        rows, right, unit = held["matrix"].astype(np.float64), held["answers"] > 0, held["units"]
        for tenant, question, size, gold, texts in zip(
            *(held[part] for part in parts), strict=True
        ):
            start, stop = stop, stop + int(size)
            # A question of notes is asked at three sizes of the store: one fold.
            whole = question.rpartition("/")[2] if name in (*WILD, "everyday") else tenant
            at = slice(start, stop)
            fold = zlib.crc32(str(whole).encode()) % FOLDS
            found.append(
                Asked(name, str(tenant), fold, rows[at], right[at], unit[at], int(gold), int(texts))
            )
    return found


def by_folds(asked: Sequence[Asked], names: Sequence[str]) -> list[Floats]:
    """The margins of each question, by weights that have not seen it."""
    fitted = [weights([one for one in asked if one.fold != fold], names) for fold in range(FOLDS)]
    return [margins(one, fitted[one.fold]) for one in asked]


def margins(one: Asked, weighed: dict[str, float]) -> Floats:
    """The weighted sum of the features of each candidate."""
    columns = [NAMES.index(name) for name in weighed]
    return np.asarray(one.rows[:, columns] @ np.array(list(weighed.values())))


def weights(asked: Sequence[Asked], names: Sequence[str]) -> dict[str, float]:
    """The weights that give what answers the largest share of the candidates of its question."""
    columns = [NAMES.index(name) for name in names]
    counts = _counts(asked)
    taught = [(one, _few(one)) for one in asked if one.right.any()]
    x = np.concatenate([one.rows[few][:, columns] for one, few in taught])
    right = np.concatenate([one.right[few] for one, few in taught]).astype(float)
    sizes = np.array([len(few) for _, few in taught])
    of = np.repeat(np.arange(len(sizes)), sizes)
    start = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    share = np.array([SHARES[one.set] / counts[one.set] for one, _ in taught])
    share = (share / share.sum())[of]
    alike = right / np.add.reduceat(right, start)[of]
    signs = np.array([-1.0 if name in SHRINKING else 1.0 for name in names])
    found, first, second = (np.zeros(len(names)) for _ in range(3))
    for round_ in range(1, ROUNDS + 1):
        power = x @ found
        power = np.exp(power - np.maximum.reduceat(power, start)[of])
        chance = power / np.add.reduceat(power, start)[of]
        told = np.maximum(np.add.reduceat(chance * right, start), 1e-12)[of]
        wanted = (chance * right / told + alike) / 2  # of several answers one is enough, or all
        slope = x.T @ (share * (chance - wanted)) + RIDGE * found
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        step = first / (1 - 0.9**round_) / (np.sqrt(second / (1 - 0.99**round_)) + 1e-9)
        found -= (0.15 if round_ < 0.7 * ROUNDS else 0.03) * step
        found = signs * np.maximum(found * signs, 0.0)
    return _written(names, found / SCALE)


def chances(asked: Sequence[Asked], called: str, weighed: dict[str, float]) -> dict[str, float]:
    """The weights of the relevance: whether a hit of this order answers the question."""
    names = (*EITHER_WAY, *(CHANCE_OF_WORDS if called == "words" else CHANCE))
    rows, right, share = list[list[float]](), list[float](), list[float]()
    counts = _counts(asked)
    for one in asked:
        found = margins(one, weighed)
        table = FeatureTable((), tuple(map(tuple, one.rows)), texts=one.texts)
        order = np.argsort(-found, kind="stable")[:JUDGED].tolist()
        ranked = [(float(found[at]), at, at) for at in order]
        for place, at in enumerate(order):
            told = ranking.evidence(table, ranked, place, weighed)
            rows.append([told[name] for name in names])
            right.append(float(one.right[at] and one.gold > 0))
            own = (5.0 if place == 0 else 0.3) * CHANCE_SHARES.get(one.set, 1.0)
            share.append(own / counts[one.set])
    x, y, w = np.array(rows), np.array(right), np.array(share)
    w /= w.sum()
    kept = list(range(len(names)))
    while True:
        found = _logistic(x[:, kept], y, w)
        signs = [-1 if names[at] in SHRINKING else 1 for at in kept]
        wrong = [
            at
            for at, sign, value in zip(kept, signs, found, strict=True)
            if sign * value < 0 and names[at] not in EITHER_WAY
        ]
        if not wrong:
            return _written([names[at] for at in kept], found)
        kept = [at for at in kept if at not in wrong]


def doubts(asked: Sequence[Asked], weighed: dict[str, float], judged: dict[str, float]) -> float:
    """By what odds below even are multiplied, so that the threshold keeps 95 % of right answers.

    Every set counts alike, if it has enough of them.
    """
    odds: dict[str, list[float]] = defaultdict(list)
    for one in (each for each in asked if each.gold and each.set != "beam100k"):
        found = margins(one, weighed)
        order = np.argsort(-found, kind="stable")[:2].tolist()
        if one.right[order[0]]:
            table = FeatureTable((), tuple(map(tuple, one.rows)), texts=one.texts)
            told = ranking.evidence(table, [(0.0, at, at) for at in order], 0, weighed)
            odds[one.set].append(sum(weight * told[name] for name, weight in judged.items()))
    sets = [own for own in odds.values() if len(own) >= ENOUGH]
    pairs = sorted((value, 1 / len(own) / len(sets)) for own in sets for value in own)
    reached = np.cumsum([share for _, share in pairs])
    least = pairs[int(np.searchsorted(reached, 1 - KEPT))][0]
    threshold = math.log(MIN_RELEVANCE / (1 - MIN_RELEVANCE))
    return round(threshold / float(least), 3)


def _logistic(x: Floats, y: Floats, w: Floats) -> Floats:
    """Newton's steps."""
    found = np.zeros(x.shape[1])
    for _ in range(40):
        chance = 1 / (1 + np.exp(-x @ found))
        slope = x.T @ (w * (chance - y)) + 1e-4 * found
        bend = (x * (w * chance * (1 - chance))[:, None]).T @ x + 1e-4 * np.eye(len(found))
        found -= np.linalg.solve(bend, slope)
    return found


def figures(asked: Sequence[Asked], found: Sequence[Floats]) -> dict[str, float]:
    """Recall in percent for each set and size."""
    told: dict[str, list[float]] = defaultdict(list)
    for one, own in zip(asked, found, strict=True):
        told[one.shown].append(one.recall(own))
    return {name: round(100 * float(np.mean(some)), 1) for name, some in told.items() if name}


def _counts(asked: Sequence[Asked]) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for one in asked:
        found[one.set] += 1
    return found


def _few(one: Asked) -> NDArray[np.intp]:
    """The candidates that teach most: the best by a plain sum, and what answers."""
    plain = {"keyword": 1.0, "meaning": 1.0, "cosine": 0.5, "covered_around": 1.0, "session": 0.5}
    first = np.argsort(-margins(one, plain), kind="stable")[:CANDIDATES]
    return np.union1d(first, np.nonzero(one.right)[0])


def _written(names: Sequence[str], found: Floats) -> dict[str, float]:
    pairs = zip(names, found, strict=True)
    return {name: round(float(value), 3) for name, value in pairs if abs(value) >= 0.0005}


def source(
    margin: dict[str, dict[str, float]],
    chance: dict[str, dict[str, float]],
    doubt: dict[str, float],
) -> str:
    """The file of the weights."""
    head = (
        "# GENERATED by bench/training/fit.py; do not edit.\n"
        '"""Weights of the features, by order: in the margin, and in the odds of an answer."""\n'
    )
    parts = [head]
    for name, weighed in (("MARGIN", margin), ("ODDS", chance)):
        parts.append(f"\n{name} = {{\n")
        for called, own in weighed.items():
            lines = "".join(f'        "{feature}": {value},\n' for feature, value in own.items())
            parts.append(f'    "{called}": {{\n{lines}    }},\n')
        parts.append("}\n")
    lines = "".join(f'    "{called}": {value},\n' for called, value in doubt.items())
    return "".join((*parts, f"\nDOUBT = {{\n{lines}}}\n"))


if __name__ == "__main__":
    raise SystemExit(main())
