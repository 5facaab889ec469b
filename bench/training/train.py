"""Learn the order of candidates from what `gather` wrote; write `search/ranking/_forest_by_….py`.

    python -m bench.training.train FOLDER [--report FILE] [--ablate] [--leave-out]
    python -m bench.training.train FOLDER --pairs FILE

Runs in an environment of its own (requirements.txt beside this file): the product needs none of it.
Every set counts the same, however many questions it has. Figures are of conversations or questions
that the model of their fold has not seen, or with `--leave-out` of sets that it has not seen; the
trees that are written are learned from all of them. One seed, one thread: the same input gives the
same trees. With `--pairs` each tree asks at most two features, no module is written, and FILE gets
the tables that such trees collapse into (`shapes`): an order that one can read.
"""

import argparse
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np

from bench.training import shapes

OUT = Path(__file__).resolve().parents[2] / "src" / "memory_mesh" / "search" / "ranking"
COUNTS = {
    "locomo": 10, "beam100k": 10, "realmem": 5, "mab_conflict": 1, "precisionmembench": 5,
    "languages": 1, "aliases": 1, "temporal": 5, "notes": 1, "personal": 1, "documents": 1,
}  # fmt: skip
SETS = tuple(COUNTS)
WILD = ("notes", "personal", "documents")  # one question is asked at three sizes: one fold
WEIGHTS = {
    "locomo": 1.5, "mab_conflict": 0.3, "precisionmembench": 0.2, "languages": 0.4, "aliases": 0.2,
    "temporal": 0.3, "notes": 2.0,
}  # small or easy: less  # fmt: skip
ODDS_WEIGHTS = {
    "languages": 0.3, "aliases": 0.1, "precisionmembench": 0.1, "temporal": 0.2,
    "mab_conflict": 0.1, "notes": 2.0, "personal": 1.5,
}  # fmt: skip
MODES = {"hybrid": "meaning", "static": "static", "keyword": "words"}
VECTORS = ("cosine", "cosine_mixed", "nearest", "nearest_mixed", "meaning")
SHRINKING = ("guessed", "other_speaker")  # more of it never helps; more of all others never hurts
JUDGED = (
    "cosine", "cosine_mixed", "covered", "covered_before", "covered_around", "covered_passage",
    "pairs", "exact", "in_period", "speaker", "other_speaker",
)  # fmt: skip
TOP = ("cosine", "covered_passage")
GROUPS = {
    "words around": ("keyword_share_before", "covered_before", "covered_around"),
    "meaning around": ("cosine_mixed", "nearest_mixed", "meaning"),
    "passages": ("covered_passage", "covered_section"),
    "exact": ("exact",),
    "guessed": ("guessed",),
    "shares": ("keyword_share", "keyword_share_before"),
    "relative words": ("keyword", "keyword_own"),
    "relative meaning": ("nearest", "nearest_mixed", "meaning"),
    "speaker": ("speaker", "other_speaker"),
    "role": ("role",),
    "session": ("session",),
    "time": ("dated", "time_words", "in_period"),
    "pairs": ("pairs",),
    "meaning at all": VECTORS,
}  # fmt: skip
LINE = ("covered_passage", "cosine_mixed")  # as in search/ranking/forest.py
SUMS = {
    "half BM25, half cosine": ("keyword_own", "meaning"),
    "half coverage, half cosine": ("covered", "cosine"),
}
ROUNDS, LEAVES, RATE, FOLDS, SEED = 300, 4, 0.08, 4, 1
FREE = {"num_leaves": LEAVES}
TWO_FEATURES = {"num_leaves": 3, "max_depth": 2, "max_bin": 63}
CANDIDATES = 60  # of a question that teach: the best by a plain sum, and what answers


@dataclass
class Asked:
    """One question with its candidates."""

    set: str
    tenant: str
    fold: int
    rows: Any
    right: Any
    unit: Any
    gold: int

    @property
    def shown(self) -> str:
        """Under which name it is reported; nothing for what only trains."""
        if self.set not in WILD:
            return self.set
        part, size, *_ = self.tenant.split("-")
        return f"{self.set} {size}" if part == "dev" else ""

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
    parser.add_argument("--leave-out", action="store_true", help="measure on sets never seen too")
    parser.add_argument("--modes", nargs="+", default=tuple(MODES), choices=tuple(MODES))
    parser.add_argument(
        "--pairs", type=Path, help="learn trees of two features, write their tables"
    )
    options = parser.parse_args()
    if options.pairs:
        return write_tables(options.folder, options.modes, options.pairs)
    report: dict[str, Any] = {}
    for mode in options.modes:
        called = MODES[mode]
        names, asked = load(options.folder, mode)
        if not asked:
            continue
        told = [name for name in names if mode != "keyword" or name not in VECTORS]
        margins = folded(names, told, asked)
        report[mode] = {"all": figures(asked, margins)}
        report[mode] |= {
            name: figures(asked, _sum(names, pair, asked)) for name, pair in SUMS.items()
        }
        print(mode, report[mode], flush=True)
        if options.leave_out:
            report[mode]["each set left out"] = left_out(names, told, asked)
            print(mode, "left out", report[mode]["each set left out"], flush=True)
        for group, members in GROUPS.items() if options.ablate else ():
            kept = [name for name in told if name not in members]
            if kept and len(kept) < len(told):
                found = figures(asked, folded(names, kept, asked))
                report[mode][f"without {group}"] = found
                print(mode, "without", group, found, flush=True)
        trees = names, told, learn(names, told, asked)
        judged = [
            "margin",
            "top",
            "behind",
            *JUDGED,
            *(f"top_{name}" for name in TOP),
            "in_session",
        ]
        odds = judged, judged, judge(names, asked, margins)
        file = OUT / f"_forest_by_{called}.py"
        file.write_text(source(called, {"margin": trees, "odds": odds}), encoding="utf-8")
    if options.report:
        options.report.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def write_tables(folder: Path, modes: Sequence[str], file: Path) -> int:
    """Measure trees of at most two features, and write the tables that they are the sum of."""
    found: dict[str, list[dict[str, Any]]] = {}
    for mode in modes:
        names, asked = load(folder, mode)
        told = [name for name in names if mode != "keyword" or name not in VECTORS]
        if asked:
            measured = figures(asked, folded(names, told, asked, TWO_FEATURES))
            trees = [
                each["tree_structure"] for each in _trees(learn(names, told, asked, TWO_FEATURES))
            ]
            found[MODES[mode]] = [asdict(table) for table in shapes.tables(trees, told)]
            print(mode, measured, len(found[MODES[mode]]), "tables", flush=True)
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def load(folder: Path, mode: str) -> tuple[list[str], list[Asked]]:
    """All questions of all sets; a fold holds whole conversations, or questions of any size."""
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
            tenant = str(held["tenants"][at])
            fold = tenants.index(tenant) if len(tenants) > 1 else at
            if name in WILD:
                fold = zlib.crc32(str(held["questions"][at]).split("/")[-1].encode())
            part = slice(stop - size, stop)
            asked.append(
                Asked(name, tenant, fold % FOLDS, held["matrix"][part], held["answers"][part],
                      held["units"][part], int(held["gold"][at]))
            )  # fmt: skip
    return names, asked


def figures(asked: Sequence[Asked], margins: Sequence[Any]) -> dict[str, float]:
    """Recall by set, of questions that have an answer."""
    found: dict[str, list[float]] = {}
    for each, scored in zip(asked, margins, strict=True):
        if each.gold and each.shown and scored is not None:
            found.setdefault(each.shown, []).append(each.recall(scored))
    return {name: round(100 * float(np.mean(values)), 1) for name, values in found.items()}


def folded(
    names: list[str], told: list[str], asked: Sequence[Asked], form: Mapping[str, int] = FREE
) -> list[Any]:
    """Every question's margins from the model that has not seen it."""
    columns = [names.index(name) for name in told]
    margins: list[Any] = [None] * len(asked)
    for fold in range(FOLDS):
        model = learn(names, told, [each for each in asked if each.fold != fold], form)
        for at, each in enumerate(asked):
            if each.fold == fold:
                margins[at] = margin(names, columns, model, each)
    return margins


def margin(names: list[str], columns: list[int], model: Any, each: Asked) -> Any:  # noqa: ANN401
    """The sum of the trees, and a straight line that tells apart what the trees see as equal."""
    line = sum(each.rows[:, names.index(name)] for name in LINE)
    return model.predict(each.rows[:, columns]) + line


def left_out(names: list[str], told: list[str], asked: Sequence[Asked]) -> dict[str, float]:
    """Recall on each set by the model that was learned from all the others."""
    columns = [names.index(name) for name in told]
    found: dict[str, float] = {}
    for name in SETS:
        tested = [each for each in asked if each.set == name]
        if tested:
            model = learn(names, told, [each for each in asked if each.set != name])
            found |= figures(tested, [margin(names, columns, model, each) for each in tested])
    return found


def learn(
    names: list[str], told: list[str], asked: Sequence[Asked], form: Mapping[str, int] = FREE
) -> Any:  # noqa: ANN401
    """LambdaMART with many small trees; a good feature never counts against a candidate."""
    columns = [names.index(name) for name in told]
    taught = [_few(names, each) for each in asked if each.right.sum() > 0]
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
        "objective": "lambdarank", **form, "learning_rate": RATE,
        "min_data_in_leaf": 60, "lambda_l2": 5.0, "lambdarank_truncation_level": 20, "seed": SEED,
        "deterministic": True, "force_row_wise": True, "num_threads": 1, "verbosity": -1,
        "monotone_constraints": [-1 if name in SHRINKING else 1 for name in told],
    }  # fmt: skip
    return lightgbm.train(settings, data, ROUNDS)


def judge(names: list[str], asked: Sequence[Asked], margins: Sequence[Any]) -> Any:  # noqa: ANN401
    """Trees for the chance that a candidate answers, from its margin and what it is in itself.

    Of a question its first hit counts most. More of anything that speaks for a candidate never
    makes it less likely. The sets of facts share their facts: there a question of another tenant
    has an answer, and is left out.
    """
    kept = [
        (each, scored)
        for each, scored in zip(asked, margins, strict=True)
        if each.gold or each.set != "mab_conflict"
    ]
    counts = {name: sum(each.set == name for each, _ in kept) for name in SETS}
    rows, right, weight = [], [], []
    for each, scored in kept:
        first = np.argsort(-scored, kind="stable")[:30]
        rows.append(_judged(names, each, scored, first))
        right.append(each.right[first])
        place = np.arange(len(first))
        share = np.where(place < 1, 5.0, np.where(place < 10, 1.0, 0.1))
        weight.append(share * ODDS_WEIGHTS.get(each.set, 1.0) / counts[each.set])
    signs = [-1 if name in SHRINKING else 1 for name in JUDGED]
    settings = {
        "objective": "binary", "num_leaves": 6, "learning_rate": 0.1, "min_data_in_leaf": 100,
        "lambda_l2": 5.0, "seed": SEED, "deterministic": True, "force_row_wise": True,
        "num_threads": 1, "verbosity": -1,
        "monotone_constraints": [1, 1, 1, *signs, *(1 for _ in TOP), 0],
    }  # fmt: skip
    share = np.concatenate(weight)
    data = lightgbm.Dataset(
        np.concatenate(rows), np.concatenate(right), weight=share / share.mean()
    )
    return lightgbm.train(settings, data, 80)


def _judged(names: list[str], each: Asked, margins: Any, first: Any) -> Any:  # noqa: ANN401
    top = margins[first[0]]
    own = each.rows[first][:, [names.index(name) for name in JUDGED]]
    best = [np.full(len(first), each.rows[:, names.index(name)].max()) for name in TOP]
    in_session = each.rows[first][:, names.index("session")] > 0
    ours = margins[first]
    return np.column_stack([ours, np.full(len(first), top), ours - top, own, *best, in_session])


def _few(names: list[str], each: Asked) -> Asked:
    """The question with the candidates that teach most."""
    parts = {"keyword": 1.0, "meaning": 1.0, "covered": 0.5, "cosine": 0.5,
             "covered_section": 0.5, "speaker": 0.5}  # fmt: skip
    scored = sum(share * each.rows[:, names.index(name)] for name, share in parts.items())
    first = np.argsort(-scored, kind="stable")[:CANDIDATES]
    kept = np.union1d(first, np.nonzero(each.right)[0])
    return Asked(each.set, each.tenant, each.fold, each.rows[kept], each.right[kept],
                 each.unit[kept], each.gold)  # fmt: skip


def _sum(names: list[str], pair: Sequence[str], asked: Sequence[Asked]) -> list[Any]:
    columns = [names.index(name) for name in pair]
    return [each.rows[:, columns].sum(axis=1) for each in asked]


_HEAD = '''\
# GENERATED by bench/training/train.py; do not edit.
# ruff: noqa: ARG001, E501, PLR0915, PLR0917, PLR2004
# fmt: off
"""Sums of small decision trees, one tree a line: the order by {called}.

A margin orders the candidates of a question. Odds are the logarithm of the odds that a candidate
answers it, and can be compared between questions.
"""
'''


def source(called: str, written: dict[str, tuple[list[str], list[str], Any]]) -> str:
    """The module of one order: two functions that add up their trees."""
    parts = [_HEAD.format(called=called)]
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
