"""Learn the order of candidates from what `gather` wrote; write `policy/ranking/_forest_model.py`.

    python bench/training/train.py FOLDER [--report FILE] [--ablate]

Runs in an environment of its own (requirements.txt beside this file): the product needs none of it.
Every set counts the same, however many questions it has. Figures are of conversations that the
model of their fold has not seen; the table that is written is learned from all of them. One seed,
one thread: the same input gives the same table.
"""

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np

OUT = Path(__file__).resolve().parents[2] / "src" / "memory_mesh" / "policy" / "learned.py"
COUNTS = {
    "locomo": 10, "beam100k": 10, "realmem": 5, "mab_conflict": 1, "precisionmembench": 5,
    "languages": 1, "aliases": 1, "temporal": 5,
}  # fmt: skip
SETS = tuple(COUNTS)
WEIGHTS = {
    "locomo": 1.5, "mab_conflict": 0.3, "precisionmembench": 0.2, "languages": 0.4, "aliases": 0.2,
    "temporal": 0.3,
}  # small or easy: less  # fmt: skip
GROWING = (
    "keyword", "covered_before", "covered_around", "pairs", "meaning", "meaning_mixed", "opening",
    "cosine", "speaker", "role", "dated", "in_period", "tagged", "session", "recency",
    "time_words", "keyword_rank", "meaning_rank",
)  # fmt: skip
SHRINKING = ("other_speaker",)
ABSOLUTE = (
    "cosine", "covered", "covered_around", "pairs", "tagged", "in_period", "speaker",
)  # fmt: skip
GROUPS = {
    "words around": ("keyword_before", "keyword_after", "covered_before", "covered_around"),
    "meaning around": ("meaning_mixed", "meaning_before", "meaning_after"),
    "all of the neighbours": ("keyword", "keyword_rank", "keyword_before", "keyword_after",
                              "covered_before", "covered_around", "meaning_mixed", "meaning_rank",
                              "meaning_before", "meaning_after"),
    "how it begins": ("opening",),
    "speaker": ("speaker", "other_speaker"),
    "role": ("role",),
    "session": ("session",),
    "length": ("length",),
    "recency": ("recency",),
    "time": ("dated", "time_words", "in_period"),
    "ranks": ("keyword_rank", "meaning_rank"),
    "pairs": ("pairs",),
    "meaning at all": ("meaning", "meaning_mixed", "meaning_before", "meaning_after", "cosine",
                       "meaning_rank", "opening"),
}  # fmt: skip
ROUNDS, LEAVES, RATE, FOLDS, SEED = 120, 8, 0.08, 4, 1


@dataclass
class Asked:
    """One question with its candidates."""

    set: str
    fold: int
    rows: Any
    right: Any
    unit: Any
    gold: int

    def recall(self, margins: Any) -> float:  # noqa: ANN401  # numpy, untyped here
        """The share of what answers it among the first of its set's k."""
        order = np.argsort(-margins, kind="stable")
        first = list(dict.fromkeys(self.unit[order].tolist()))[: COUNTS[self.set]]
        right = set(self.unit[self.right > 0].tolist())
        return len(right.intersection(first)) / self.gold


def main() -> int:
    """Measure, learn, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--ablate", action="store_true", help="measure without each group too")
    options = parser.parse_args()
    report: dict[str, Any] = {}
    written = {}
    for mode, name in (("hybrid", "by_meaning"), ("keyword", "by_words")):
        names, asked = load(options.folder, mode)
        told = [
            name
            for name in names
            if mode == "hybrid" or not name.startswith(("mean", "cos", "opening"))
        ]
        found, margins = folded(names, told, asked)
        report[mode] = {"all": found}
        print(mode, found, flush=True)
        if options.ablate:
            for group, members in GROUPS.items():
                kept = [name for name in told if name not in members]
                if len(kept) < len(told):
                    report[mode][f"without {group}"] = folded(names, kept, asked)[0]
                    print(mode, "without", group, report[mode][f"without {group}"], flush=True)
        written[f"margin_{name}"] = (names, told, learn(names, told, asked))
        judged = ["margin", *ABSOLUTE]
        written[f"odds_{name}"] = (judged, judged, judge(names, asked, margins))
    OUT.write_text(source(written), encoding="utf-8")
    if options.report:
        options.report.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def load(folder: Path, mode: str) -> tuple[list[str], list[Asked]]:
    """All questions of all sets; a fold holds whole conversations."""
    asked, names = [], []
    for name in SETS:
        file = folder / f"{name}.{mode}.npz"
        if not file.is_file():
            continue
        with np.load(file) as opened:
            held = {key: opened[key] for key in opened.files}  # each is unpacked once
        names = held["names"].tolist()
        tenants = sorted(set(held["tenants"].tolist()))
        ends = np.cumsum(held["sizes"])
        for at, (stop, size) in enumerate(zip(ends, held["sizes"], strict=True)):
            fold = tenants.index(held["tenants"][at]) if len(tenants) > 1 else at
            part = slice(stop - size, stop)
            asked.append(
                Asked(name, fold % FOLDS, held["matrix"][part], held["answers"][part],
                      held["units"][part], int(held["gold"][at]))
            )  # fmt: skip
    return names, asked


def folded(
    names: list[str], told: list[str], asked: Sequence[Asked]
) -> tuple[dict[str, float], list[Any]]:
    """Recall by set, and every question's margins from the model that has not seen it."""
    columns = [names.index(name) for name in told]
    margins: list[Any] = [None] * len(asked)
    for fold in range(FOLDS):
        model = learn(names, told, [each for each in asked if each.fold != fold])
        for at, each in enumerate(asked):
            if each.fold == fold:
                margins[at] = model.predict(each.rows[:, columns])
    found: dict[str, list[float]] = {}
    for each, scored in zip(asked, margins, strict=True):
        if each.gold:
            found.setdefault(each.set, []).append(each.recall(scored))
    return {name: round(100 * float(np.mean(values)), 2) for name, values in found.items()}, margins


def learn(names: list[str], told: list[str], asked: Sequence[Asked]) -> Any:  # noqa: ANN401
    """LambdaMART with few, small trees; a good feature never counts against a candidate."""
    columns = [names.index(name) for name in told]
    taught = [each for each in asked if each.right.sum() > 0]
    sizes = {name: sum(each.set == name for each in taught) for name in SETS}
    weight = [
        np.full(len(each.right), 1_000 * WEIGHTS.get(each.set, 1.0) / sizes[each.set])
        for each in taught
    ]
    data = lightgbm.Dataset(
        np.concatenate([each.rows[:, columns] for each in taught]),
        np.concatenate([each.right for each in taught]),
        weight=np.concatenate(weight),
        group=[len(each.right) for each in taught],
    )
    settings = {
        "objective": "lambdarank", "lambdarank_truncation_level": 20, "num_leaves": LEAVES,
        "learning_rate": RATE, "min_data_in_leaf": 100, "lambda_l2": 5.0, "feature_fraction": 0.6,
        "bagging_fraction": 0.8, "bagging_freq": 1, "seed": SEED, "deterministic": True,
        "force_row_wise": True, "num_threads": 1, "verbosity": -1,
        "monotone_constraints": [
            1 if name in GROWING else -1 if name in SHRINKING else 0 for name in told
        ],
        "monotone_constraints_method": "intermediate",
    }  # fmt: skip
    return lightgbm.train(settings, data, ROUNDS)


def judge(names: list[str], asked: Sequence[Asked], margins: Sequence[Any]) -> Any:  # noqa: ANN401
    """Trees for the chance that a candidate answers, from its margin and what it is in itself.

    Every set counts the same, and of a question mostly its first ten. More of anything that
    speaks for a candidate never makes it less likely. The sets of facts share their facts: there
    a question of another tenant has an answer, and is left out.
    """
    columns = [names.index(name) for name in ABSOLUTE]
    kept = [
        (each, scored)
        for each, scored in zip(asked, margins, strict=True)
        if each.gold or each.set != "mab_conflict"
    ]
    counts = {name: sum(each.set == name for each, _ in kept) for name in SETS}
    rows, right, weight = [], [], []
    for each, scored in kept:
        first = np.argsort(-scored)[:50]
        rows.append(np.column_stack([scored[first], each.rows[first][:, columns]]))
        right.append(each.right[first])
        weight.append(np.where(np.arange(len(first)) < 10, 1.0, 0.05) / counts[each.set])
    settings = {
        "objective": "binary", "num_leaves": 6, "learning_rate": 0.1, "min_data_in_leaf": 200,
        "lambda_l2": 5.0, "seed": SEED, "deterministic": True, "force_row_wise": True,
        "num_threads": 1, "verbosity": -1, "monotone_constraints": [1] * (1 + len(ABSOLUTE)),
    }  # fmt: skip
    share = np.concatenate(weight)
    data = lightgbm.Dataset(
        np.concatenate(rows), np.concatenate(right), weight=share / share.mean()
    )
    return lightgbm.train(settings, data, 40)


_HEAD = '''\
# GENERATED by bench/training/train.py; do not edit.
# ruff: noqa: ARG001, E501, PLR0915, PLR0917, PLR2004
# fmt: off
"""What the dev conversations taught: sums of small decision trees, one tree a line.

A margin orders the candidates of a question. Odds are the logarithm of the odds that a candidate
answers it, and can be compared between questions.
"""
'''


def source(written: dict[str, tuple[list[str], list[str], Any]]) -> str:
    """The module: for either mode two functions that add up their trees."""
    parts = [_HEAD]
    for name, (given, told, forest) in written.items():
        listed = ", ".join(f"{feature}: float" for feature in given)
        trees = "".join(
            f"    total += {_tree(one['tree_structure'], told)}\n" for one in _trees(forest)
        )
        parts.append(
            f"\ndef {name}({listed}) -> float:\n"
            f'    """The sum of all trees."""\n    total = 0.0\n{trees}    return total\n'
        )
    return "\n".join(parts)


def _trees(forest: Any) -> list[dict[str, Any]]:  # noqa: ANN401  # untyped library
    found: list[dict[str, Any]] = forest.dump_model()["tree_info"]
    return [tree for tree in found if "split_feature" in tree["tree_structure"]]


def _tree(node: dict[str, Any], told: list[str]) -> str:
    if "split_feature" not in node:
        return f"{node['leaf_value']:.4f}"
    low, high = (_tree(node[side], told) for side in ("left_child", "right_child"))
    feature, limit = told[node["split_feature"]], node["threshold"]
    limit = math.copysign(max(abs(limit), 1e-5), limit)  # 0 stays on its side of nearly 0
    return f"({low} if {feature} <= {limit:.5f} else {high})"


if __name__ == "__main__":
    raise SystemExit(main())
