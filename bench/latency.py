"""The default search among 100,000 memories beside its bare parts: embed, FTS5, vector search.

python -m bench.latency [--memories 100000] [--work DIR] [--out FILE]
"""

import argparse
import json
import tempfile
from pathlib import Path

from bench import meaning, report

OUT = Path(__file__).resolve().parents[1] / "results" / "benchmarks" / "latency.json"


def main() -> int:
    """Load, measure side by side, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--work", type=Path, help="keep the store here (default: temporary)")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    code, embedder = report.code(), meaning.model()
    with tempfile.TemporaryDirectory() as folder:
        space = embedder.embed(["a"], query=True).space
        store = meaning.loaded(options.work or Path(folder), options.memories, space)
        figures = meaning.searches(store, embedder)
    found = report.stamped(figures, {"memories": options.memories}, code)
    options.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
