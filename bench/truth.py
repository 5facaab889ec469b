"""Measure what becomes of true statements and of updates, with the sets of bench/sets/truth.

    python -m bench.truth --half dev              one half; `test` is read only to report it
    python -m bench.truth --half dev --misses     beside it, every case that went wrong

Each pair has a namespace of its own, once alone and once among twenty other statements. Figures go
to results/benchmarks/truth-<half>.json. The model is the one that MEMORY_MESH_MODEL_DIR names;
without it, keywords answer alone.
"""

import argparse
import json
import random
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from memory_mesh.model import Receipt, Status
from memory_mesh.sync import MemoryMesh

ROOT = Path(__file__).resolve().parent.parent
SETS = ROOT / "bench" / "sets" / "truth"
REPORTS = ROOT / "results" / "benchmarks"
OTHERS = 20  # statements that stand beside a pair
SEED = 11
Row = Mapping[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures and write them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--half", choices=("dev", "test"), default="dev")
    parser.add_argument("--misses", action="store_true", help="print every case that went wrong")
    parser.add_argument("--dry", action="store_true", help="write no report")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, MemoryMesh(db_dir=folder) as mesh:
        report, misses = measure(mesh, options.half)
    text = json.dumps(report, indent=2, ensure_ascii=False)
    print(text)
    if options.misses:
        for miss in misses:
            print(json.dumps(miss, ensure_ascii=False))
    if not options.dry:
        path = REPORTS / f"truth-{options.half}.json"
        path.write_text(text + "\n", encoding="utf-8")
    return 0


def measure(mesh: MemoryMesh, half: str) -> tuple[dict[str, object], list[Row]]:
    """The figures of one half, and the cases that went wrong."""
    both, updates = rows(half, "both_true"), rows(half, "updates")
    foreign = rows(half, "other_languages")
    texts = [text for row in (*both, *updates) for text in statements(row)]
    misses: list[Row] = []
    report: dict[str, object] = {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _commit(),
        "command": f"python -m bench.truth --half {half}",
        "seed": SEED,
        "sha256": {
            name: sha256((SETS / half / f"{name}.jsonl").read_bytes()).hexdigest()
            for name in ("both_true", "updates", "other_languages")
        },
    }
    for name, count in (("alone", 0), (f"among {OTHERS} others", OTHERS)):
        asked = Asked(mesh, name, count, texts, misses)
        report[name] = {
            "both true": _share(asked.both_true(row) for row in both),
            "updates": _share(asked.update(row) for row in updates),
            "updates by wording": {
                wording: _share(
                    asked.told[row["id"]] for row in updates if row["wording"] == wording
                )
                for wording in ("same", "near", "far")
            },
            "other languages, both true": _share(
                asked.both_true(row) for row in foreign if row["both_true"]
            ),
            "other languages, updates": _share(
                asked.update(row) for row in foreign if not row["both_true"]
            ),
        }
    return report, misses


class Asked:
    """Stores each pair in a namespace of its own and asks about it."""

    def __init__(
        self, mesh: MemoryMesh, name: str, others: int, texts: Sequence[str], misses: list[Row]
    ) -> None:
        self.told: dict[str, dict[str, bool]] = {}
        self._mesh, self._name, self._others = mesh, name, others
        self._texts, self._misses = texts, misses

    def both_true(self, row: Row) -> dict[str, bool]:
        """Whether both are kept, unlinked, and each is first when it is asked for."""
        view, first, second = self.stored(row)
        found = {
            "hidden": not self._kept(view, first, second),
            "linked": bool(second.newer_than) or self._guessed(view, first, second),
        }
        for ask, wanted in (("ask_first", first), ("ask_second", second)):
            if row[ask] is not None:
                hits = view.search(row[ask], limit=10)
                found[f"{ask.removeprefix('ask_')} first"] = bool(hits) and hits[0].id == wanted.id
        wrong = (
            found["hidden"]
            or found["linked"]
            or not all(right for name, right in found.items() if name.endswith(" first"))
        )
        return self._note(row, found, wrong=wrong)

    def update(self, row: Row) -> dict[str, bool]:
        """Whether the newer is returned above the older."""
        view, older, newer = self.stored(row)
        order = [hit.id for hit in view.search(row["ask"], limit=10)]
        above = newer.id in order and (
            older.id not in order or order.index(newer.id) < order.index(older.id)
        )
        found = {
            "newer above older": above,
            "linked": bool(newer.newer_than),
            "hidden": not self._kept(view, older, newer),
        }
        self.told[row["id"]] = found
        return self._note(row, found, wrong=not above)

    def stored(self, row: Row) -> tuple[MemoryMesh, Receipt, Receipt]:
        """Stores a pair in a namespace of its own, behind other statements."""
        view = self._mesh.view(namespace=f"{row['id']} {self._name}")
        pair = statements(row)
        drawn = random.Random(f"{SEED} {row['id']}")  # no secret
        others = [text for text in drawn.sample(self._texts, self._others + 2) if text not in pair]
        view.add_many(others[: self._others])
        first, second = (view.add(text) for text in pair)
        return view, first, second

    @staticmethod
    def _kept(view: MemoryMesh, *receipts: Receipt) -> bool:
        found = view.get_many([str(each.id) for each in receipts], include=list(Status))
        return len({memory.id for memory in found if memory.status is Status.ACTIVE}) == len(
            receipts
        )

    @staticmethod
    def _guessed(view: MemoryMesh, *receipts: Receipt) -> bool:
        ids = {each.id for each in receipts}
        return any(
            each.is_guess and {each.new, each.existing} <= ids for each in view.review.conflicts()
        )

    def _note(self, row: Row, found: dict[str, bool], *, wrong: bool) -> dict[str, bool]:
        if wrong:
            self._misses.append({"in": self._name, **found, **row})
        return found


def rows(half: str, name: str) -> list[Row]:
    """The lines of one set."""
    text = (SETS / half / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def statements(row: Row) -> tuple[str, str]:
    """The two statements of a pair, the older first."""
    keys = ("first", "second") if "first" in row else ("older", "newer")
    return row[keys[0]], row[keys[1]]


def _share(found: Iterator[Mapping[str, bool]]) -> dict[str, object]:
    """Counts and shares of each figure."""
    told = list(found)
    names = sorted({name for each in told for name in each})
    counts = {name: [each[name] for each in told if name in each] for name in names}
    return {"pairs": len(told)} | {
        name: {
            "count": sum(values),
            "of": len(values),
            "share": round(sum(values) / len(values), 4),
        }
        for name, values in counts.items()
    }


def _commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],  # git of this machine
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main())
