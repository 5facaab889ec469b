"""Fit the weights by which a newer hit stands above an older one (search/ranking/updates.py).

    python -m bench.training.updates --rows FILE     FILE keeps the searches; made if it is missing

Every pair of bench/sets/truth/dev is stored alone and among twenty other statements and asked for,
by meaning and by words alone. A pair of hits is a row: to be turned around if the newer one is what
was asked for. Other hits that stand beside the right answer are rows that must not be turned. The
fit is a logistic regression with a penalty; folds by pair tell how it does on pairs it has not
seen. It writes _update_weights.py and results/benchmarks/updates.json.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import truth
from memory_mesh.search.ranking import updates
from memory_mesh.sync import MemoryMesh

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "src" / "memory_mesh" / "search" / "ranking" / "_update_weights.py"
REPORT = ROOT / "results" / "benchmarks" / "updates.json"
PENALTY = 3.0
FOLDS = 10
WEIGHT = {"first": 3.0, "second": 1.0, "update": 1.0, "other": 0.5}
BESIDE = 3  # other hits of an answer that are rows
Row = dict[str, Any]
Numbers = NDArray[np.float64]


def main(arguments: Sequence[str] | None = None) -> int:
    """Search, fit, report, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=Path, required=True)
    options = parser.parse_args(arguments)
    if not options.rows.exists():
        options.rows.write_text(json.dumps(searched()), encoding="utf-8")
    rows = [row for found in json.loads(options.rows.read_text()) for row in pairs_of(found)]
    names = sorted(rows[0]["features"])
    table = np.array([[row["features"][name] for name in names] for row in rows])
    wanted = np.array([float(row["turn"]) for row in rows])
    weights = np.array([WEIGHT[row["kind"]] for row in rows])
    odds = _across_folds(rows, table, wanted, weights)
    report = {
        "command": "python -m bench.training.updates --rows FILE",
        "rows": len(rows),
        "folds by pair": {
            f"turned above {limit}": _shares(rows, odds > limit) for limit in (-0.5, 0, 0.5, 1, 1.5)
        },
    }
    REPORT.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=2))
    bias, fitted = _unscaled(_fit(table, wanted, weights))
    OUT.write_text(_module(bias, dict(zip(names, fitted, strict=True))), encoding="utf-8")
    return 0


def searched() -> list[Row]:
    """Every question of the dev half with its hits."""
    both, newer = truth.rows("dev", "both_true"), truth.rows("dev", "updates")
    texts = [text for row in (*both, *newer) for text in truth.statements(row)]
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, MemoryMesh(db_dir=folder) as mesh:
        for others in (0, truth.OTHERS):
            asked = truth.Asked(mesh, f"among {others}", others, texts, [])
            for row in (*both, *newer):
                view, old, new = asked.stored(row)
                for kind in ("ask_first", "ask_second", "ask"):
                    if row.get(kind) is None:
                        continue
                    for words_only in (False, True):
                        hits = view.search(row[kind], limit=10, keyword_only=words_only)
                        found.append(
                            {
                                "id": row["id"],
                                "kind": {"ask": "update"}.get(kind, kind.removeprefix("ask_")),
                                "question": row[kind],
                                "old": old.id,
                                "new": new.id,
                                "hits": [(hit.id, hit.content, dict(hit.parts)) for hit in hits],
                            }
                        )
    return found


def pairs_of(found: Row) -> list[Row]:
    """The rows of one answer."""
    question = updates.asked(found["question"])
    hits = {id_: updates.answer(question, text, parts) for id_, text, parts in found["hits"]}
    old, new = hits.get(found["old"]), hits.get(found["new"])
    rows = []
    if old and new:
        turn = found["kind"] != "first"
        told = updates.features(question, old, new)
        rows.append({"id": found["id"], "kind": found["kind"], "turn": turn, "features": told})
    answer = old if found["kind"] == "first" else new
    others = [hit for id_, hit in hits.items() if id_ not in (found["old"], found["new"])]
    for other in others[:BESIDE]:
        if answer is None:
            break
        told = updates.features(question, answer, other)
        rows.append({"id": found["id"], "kind": "other", "turn": False, "features": told})
    return rows


def _fit(table: Numbers, wanted: Numbers, weights: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Mean, spread and weights; the first weight is the bias."""
    mean, spread = table.mean(0), table.std(0) + 1e-9
    scaled = np.c_[np.ones(len(table)), (table - mean) / spread]
    fitted = np.zeros(scaled.shape[1])
    penalty = PENALTY * np.eye(len(fitted))
    penalty[0, 0] = 0
    for _ in range(60):
        share = 1 / (1 + np.exp(-scaled @ fitted))
        slope = scaled.T @ (weights * (share - wanted)) + penalty @ fitted
        bend = (scaled * (weights * share * (1 - share))[:, None]).T @ scaled + penalty
        fitted = fitted - np.linalg.solve(bend, slope)
    return mean, spread, fitted


def _across_folds(
    rows: Sequence[Row], table: Numbers, wanted: Numbers, weights: Numbers
) -> Numbers:
    ids = sorted({row["id"] for row in rows})
    np.random.default_rng(truth.SEED).shuffle(ids)
    fold = {id_: at % FOLDS for at, id_ in enumerate(ids)}
    folds = np.array([fold[row["id"]] for row in rows])
    odds = np.zeros(len(rows))
    for at in range(FOLDS):
        known = folds != at
        mean, spread, fitted = _fit(table[known], wanted[known], weights[known])
        odds[~known] = fitted[0] + ((table[~known] - mean) / spread) @ fitted[1:]
    return odds


def _shares(rows: Sequence[Row], turned: NDArray[np.bool_]) -> dict[str, float]:
    """The share of each kind that is turned around."""
    kinds = np.array([row["kind"] for row in rows])
    return {kind: round(float(turned[kinds == kind].mean()), 3) for kind in WEIGHT}


def _unscaled(found: tuple[Numbers, Numbers, Numbers]) -> tuple[float, Numbers]:
    mean, spread, fitted = found
    weights = fitted[1:] / spread
    return float(fitted[0] - mean @ weights), weights


def _module(bias: float, weights: dict[str, float]) -> str:
    lines = "\n".join(f'    "{name}": {value:.4f},' for name, value in weights.items())
    return (
        '"""Weights of search/ranking/updates.py, written by bench/training/updates.py."""\n\n'
        f"BIAS = {bias:.4f}\nWEIGHTS = {{\n{lines}\n}}\n"
    )


if __name__ == "__main__":
    raise SystemExit(main())
