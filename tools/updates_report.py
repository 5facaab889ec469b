"""Is the newest fact above every stale one? Facts stored in order through the real write path.

    python tools/updates_report.py --facts FOLDER [--model FOLDER] [--out FILE]

FOLDER holds `corpus.jsonl` and `queries.jsonl` of MemoryAgentBench's fact consolidation; nothing of
it is kept. Each tenant is a namespace of its own. A question counts when it has a stale rival; it
is right when the gold fact is found and no stale one stands above it.
"""

import argparse
import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory_mesh.model import Receipt
from memory_mesh.sync import MemoryMesh

Row = dict[str, Any]
ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "benchmarks" / "updates.json"
TEST = ("64k", "262k")
DEEP = 100  # answers looked at


def main() -> int:
    """Store, ask, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--facts", type=Path, required=True)
    parser.add_argument("--model", type=Path, help="search by meaning too, with this model")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    tenants = dict(_tenants(options.facts))
    found = {name: _tenant(name, *given, options.model) for name, given in tenants.items()}
    test = [figures for name, figures in found.items() if name.endswith(TEST)]
    right, asked = (sum(each[key] for each in test) for key in ("right", "asked"))
    report = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "search": "hybrid" if options.model else "keyword only",
        "tenants": found,
        "test": {"right": right, "asked": asked, "share": round(right / asked, 4)},
        "superseded": sum(each["superseded"] for each in found.values()),
    }
    print(json.dumps(report, indent=2))
    options.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def _tenants(folder: Path) -> Iterator[tuple[str, tuple[list[Row], list[Row]]]]:
    facts, queries = (_lines(folder / name) for name in ("corpus.jsonl", "queries.jsonl"))
    for name in dict.fromkeys(fact["tenant"] for fact in facts):
        mine = sorted((f for f in facts if f["tenant"] == name), key=lambda fact: fact["ord"])
        yield name, (mine, [q for q in queries if q["tenant"] == name and q["stale"]])


def _tenant(name: str, facts: list[Row], queries: list[Row], model: Path | None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        embedder = None if model else "none"
        with MemoryMesh(db_dir=folder, model_dir=model, embedder=embedder) as mesh:
            receipts = mesh.add_many(fact["text"] for fact in facts)
            ids = {fact["id"]: done.id or "" for fact, done in zip(facts, receipts, strict=True)}
            misses = [_miss(mesh, query, ids) for query in queries]
            findings = mesh.verify().findings
    kinds = Counter(miss for miss in misses if miss)
    superseded = sum(len(receipt.superseded) for receipt in receipts)
    print(f"{name}: {len(queries) - sum(kinds.values())} of {len(queries)}", flush=True)
    return {
        "facts": len(facts),
        "findings": len(findings),
        "asked": len(queries),
        "right": len(queries) - sum(kinds.values()),
        "misses": dict(kinds),
        "superseded": superseded,
        "outcomes": dict(Counter(receipt.outcome.value for receipt in receipts)),
        "flagged": sum(_flagged(receipt) for receipt in receipts),
    }


def _miss(mesh: MemoryMesh, query: Row, ids: dict[str, str]) -> str | None:
    """Why a question is not answered right, or None."""
    order = [hit.id for hit in mesh.search(query["text"], limit=DEEP)]
    gold = [order.index(ids[id_]) for id_ in query["gold"] if ids[id_] in order]
    if not gold:
        return "the newest is not found"
    stale = [order.index(ids[id_]) for id_ in query["stale"] if ids[id_] in order]
    return "a stale one is above" if stale and min(stale) < min(gold) else None


def _flagged(receipt: Receipt) -> int:
    return len(receipt.conflicts) - len(receipt.superseded)


def _lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main())
