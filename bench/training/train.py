"""Fit the order of candidates to what `gather` wrote; write `search/ranking/scales.json`.

    python -m bench.training.train FOLDER [--report FILE] [--leave-out] [--modes hybrid ...]

Runs in an environment of its own (requirements.txt beside this file): the product needs none of it.
Trees that ask one feature each are summed up to one scale for each feature (`shapes`). A set counts
by its weight, however many questions it has. Figures are of conversations or questions that the fit
of their fold has not seen, or with `--leave-out` of sets that it has not seen; the scales that are
written are fitted to all of them. One seed, one thread: the same input gives the same scales.
"""

import argparse
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np

from bench.training import shapes

FILE = Path(__file__).resolve().parents[2] / "src/memory_mesh/search/ranking/scales.json"
COUNTS = {
    "locomo": 10, "beam100k": 10, "realmem": 5, "mab_conflict": 1, "precisionmembench": 5,
    "languages": 1, "aliases": 1, "temporal": 5, "notes": 1, "personal": 1, "documents": 1,
    "everyday": 1,
}  # fmt: skip
SETS = tuple(COUNTS)
WILD = ("notes", "personal", "documents")  # one question is asked at three sizes: one fold
WEIGHTS = {
    "locomo": 10.0, "everyday": 2.0, "mab_conflict": 0.3, "precisionmembench": 0.2,
    "languages": 0.4, "aliases": 0.2, "temporal": 0.3, "notes": 2.0,
}  # conversations most: little else moves when they count more  # fmt: skip
ODDS_WEIGHTS = {
    "languages": 0.3, "aliases": 0.1, "precisionmembench": 0.1, "temporal": 0.2,
    "mab_conflict": 0.1, "notes": 2.0, "personal": 1.5, "everyday": 2.0,
}  # fmt: skip
MODES = {"hybrid": "meaning", "static": "static", "keyword": "words"}
VECTORS = ("cosine", "cosine_mixed", "nearest", "nearest_mixed", "meaning")
SHRINKING = ("guessed", "other_speaker")  # more of it never helps; more of all others never hurts
JUDGED = (
    "cosine", "cosine_mixed", "covered", "covered_before", "covered_around", "covered_passage",
    "exact", "in_period", "speaker", "other_speaker",
)  # fmt: skip
TOP = ("cosine", "covered_passage")
ORDERED_BY = (
    "keyword", "keyword_own", "covered_before", "covered_around", "exact", "nearest",
    "nearest_mixed", "cosine_mixed", "meaning", "other_speaker", "role", "dated", "in_period",
    "time_words", "session",
)  # fmt: skip
LINE = ("covered_passage", "cosine_mixed")  # as in search/ranking/scales.py
SUMS = {
    "half BM25, half cosine": ("keyword_own", "meaning"),
    "half coverage, half cosine": ("covered", "cosine"),
}
ROUNDS, RATE, FOLDS, SEED = 300, 0.08, 4, 1
SHOWN = ("locomo", *WILD, "everyday")
FEWEST = 20  # right answers of a set that say something
THRESHOLD = 0.08  # MIN_RELEVANCE of the product
SMALL = {"num_leaves": 3, "max_bin": 63}
DIGITS, FINE = 4, 6  # decimals of what is written, and of its limits
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
    """Measure, fit, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--leave-out", action="store_true", help="measure on sets never seen too")
    parser.add_argument("--modes", nargs="+", default=tuple(MODES), choices=tuple(MODES))
    options = parser.parse_args()
    report: dict[str, Any] = {}
    written = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}
    for mode in options.modes:
        names, asked = load(options.folder, mode)
        if not asked:
            continue
        told = [name for name in ORDERED_BY if mode != "keyword" or name not in VECTORS]
        margins = folded(names, told, asked)
        report[mode] = {"all": figures(asked, margins)}
        report[mode] |= {
            name: figures(asked, _sum(names, pair, asked)) for name, pair in SUMS.items()
        }
        print(mode, report[mode], flush=True)
        if options.leave_out:
            report[mode]["each set left out"] = left_out(names, told, asked)
            print(mode, "left out", report[mode]["each set left out"], flush=True)
        judged = ["margin", "top", "behind", *JUDGED, *(f"top_{name}" for name in TOP)]
        written[MODES[mode]] = levelled(
            names,
            asked,
            {
                "margin": written_as(learn(names, told, asked), told),
                "odds": written_as(judge(names, asked, margins), [*judged, "in_session"]),
            },
        )
        FILE.write_text(_lines(written), encoding="utf-8")
    if options.report:
        options.report.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def written_as(model: Any, names: Sequence[str]) -> dict[str, Any]:  # noqa: ANN401
    """The scales that the trees of a model are the sum of, with few digits."""
    trees = [tree["tree_structure"] for tree in model.dump_model()["tree_info"]]
    found: dict[str, Any] = {}
    for name, scale in shapes.scales(trees, names).items():
        steps: dict[float, float] = {}  # each number up to its last limit
        for limit, number in zip((*scale.limits, math.inf), scale.added, strict=True):
            steps[round(number, DIGITS)] = limit
        # Rounded down: the best of a question has 1.0, and must stay above a limit just below it.
        limits = [math.floor(limit * 10**FINE) / 10**FINE for limit in [*steps.values()][:-1]]
        found[name] = [limits, list(steps)]
    return found


def levelled(names: list[str], asked: Sequence[Asked], order: dict[str, Any]) -> dict[str, Any]:
    """The scales, with all odds raised until of every set 95 % of right first answers are shown."""
    reached: dict[str, list[float]] = {}
    for each in asked:
        known = dict(zip(names, each.rows.T, strict=True))
        line = [name for name in LINE if name in order["margin"] or name not in VECTORS]
        margins = sum(known[name] for name in line) + _added(order["margin"], known)
        first = int(np.argmax(margins))
        if each.right[first] and each.set in SHOWN:
            own = {name: column[first : first + 1] for name, column in known.items()}
            top = margins[first : first + 1]
            own |= {"margin": top, "top": top, "behind": 0 * top, "in_session": own["session"] > 0}
            own |= {f"top_{name}": known[name].max(keepdims=True) for name in TOP}
            reached.setdefault(each.set, []).append(float(_added(order["odds"], own)[0]))
    kept = [np.percentile(odds, 5) for odds in reached.values() if len(odds) >= FEWEST]
    more = max(0.0, math.log(THRESHOLD / (1 - THRESHOLD)) - min(kept))
    limits, added = order["odds"]["margin"]
    raised = {"margin": [limits, [round(number + more, DIGITS) for number in added]]}
    return {"margin": order["margin"], "odds": order["odds"] | raised}


def _added(scales: Mapping[str, Any], columns: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """What scales add for each candidate."""
    return sum(
        np.array(added)[np.searchsorted(np.array(limits), columns[name], "left")]
        for name, (limits, added) in scales.items()
    )


def _lines(written: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """One scale a line."""
    orders = []
    for order, kinds in written.items():
        told = [
            f' "{kind}": {{\n'
            + ",\n".join(f'  "{name}": {json.dumps(scale)}' for name, scale in each.items())
            + "\n }"
            for kind, each in kinds.items()
        ]
        orders.append(f'"{order}": {{\n' + ",\n".join(told) + "\n}")
    return "{\n" + ",\n".join(orders) + "\n}\n"


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
            if name in (*WILD, "everyday"):
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


def folded(names: list[str], told: list[str], asked: Sequence[Asked]) -> list[Any]:
    """Every question's margins from the model that has not seen it."""
    columns = [names.index(name) for name in told]
    margins: list[Any] = [None] * len(asked)
    for fold in range(FOLDS):
        model = learn(names, told, [each for each in asked if each.fold != fold])
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


def learn(names: list[str], told: list[str], asked: Sequence[Asked]) -> Any:  # noqa: ANN401
    """LambdaMART with trees of one feature; more of a good one never takes away."""
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
        "objective": "lambdarank", **SMALL, "learning_rate": RATE,
        "min_data_in_leaf": 60, "lambda_l2": 5.0, "lambdarank_truncation_level": 20, "seed": SEED,
        "deterministic": True, "force_row_wise": True, "num_threads": 1, "verbosity": -1,
        "monotone_constraints": [-1 if name in SHRINKING else 1 for name in told],
        "interaction_constraints": [
            [place] for place in range(len(told))
        ],
    }  # fmt: skip
    return lightgbm.train(settings, data, ROUNDS)


def judge(names: list[str], asked: Sequence[Asked], margins: Sequence[Any]) -> Any:  # noqa: ANN401
    """Scales for the chance that a candidate answers, from its margin and what it is in itself.

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
        "objective": "binary", "num_leaves": 3, "learning_rate": 0.1, "min_data_in_leaf": 100,
        "interaction_constraints": [[place] for place in range(len(JUDGED) + len(TOP) + 4)],
        "lambda_l2": 5.0, "seed": SEED, "deterministic": True, "force_row_wise": True,
        "num_threads": 1, "verbosity": -1,
        "monotone_constraints": [1, 1, 1, *signs, *(1 for _ in TOP), 0],
    }  # fmt: skip
    share = np.concatenate(weight)
    data = lightgbm.Dataset(
        np.concatenate(rows), np.concatenate(right), weight=share / share.mean()
    )
    return lightgbm.train(settings, data, ROUNDS)


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
             "covered_around": 0.5, "speaker": 0.5}  # fmt: skip
    scored = sum(share * each.rows[:, names.index(name)] for name, share in parts.items())
    first = np.argsort(-scored, kind="stable")[:CANDIDATES]
    kept = np.union1d(first, np.nonzero(each.right)[0])
    return Asked(each.set, each.tenant, each.fold, each.rows[kept], each.right[kept],
                 each.unit[kept], each.gold)  # fmt: skip


def _sum(names: list[str], pair: Sequence[str], asked: Sequence[Asked]) -> list[Any]:
    columns = [names.index(name) for name in pair]
    return [each.rows[:, columns].sum(axis=1) for each in asked]


if __name__ == "__main__":
    raise SystemExit(main())
