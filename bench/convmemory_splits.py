"""Learn an order from half of the LoCoMo conversations and measure it on the others, five times.

`bench.convmemory` runs this in the environment of bench/training:

    .venv-training/bin/python -m bench.convmemory_splits GATHERED --out FILE

Writes one line for each question of each test half: seed, tenant, id, category, recall.
"""

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.training import train
from bench.training.train import Asked

SEEDS = (7, 11, 23, 31, 47)


def main() -> int:
    """All seeds, one after another."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mode", default="hybrid")
    parser.add_argument("--others", nargs="*", default=(), help="sets to learn from as well")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    _, gathered = train.load(options.folder / "others", options.mode)
    others = [each for each in gathered if each.set in options.others]
    held: dict[str, list[tuple[Asked, dict[str, str]]]] = {}
    names: list[str] = []
    for place in sorted((options.folder / "conversations").iterdir()):
        names, listed = train.load(place, options.mode)
        told = json.loads((place / "questions.json").read_text(encoding="utf-8"))
        held[place.name] = list(zip(listed, told, strict=True))
    rows: list[dict[str, Any]] = []
    for seed in SEEDS:
        dev, test = split(list(held), seed)
        taught = [asked for tenant in dev for asked, _ in held[tenant]]
        model = train.learn(names, names, [*taught, *others])
        for tenant in test:
            for asked, told in held[tenant]:
                recall = asked.recall(train.margin(names, list(range(len(names))), model, asked))
                rows.append({"seed": seed, "tenant": tenant, **told, "recall": recall})
        print(f"seed {seed}: learned from {', '.join(dev)}", flush=True)
    options.out.write_text(json.dumps(rows), encoding="utf-8")
    return 0


def split(conversations: Sequence[str], seed: int) -> tuple[list[str], list[str]]:
    """The halves of a seed, as ConvMemory makes them."""
    ids = sorted(conversations)
    random.Random(seed).shuffle(ids)
    half = len(ids) // 2
    return ids[:half], ids[half:]


if __name__ == "__main__":
    raise SystemExit(main())
