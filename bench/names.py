"""Whether the names of the user are taken out of a text, and nothing else.

    python -m bench.names --half dev|test [--show]

Recall is the share of `spans` that no longer occur, precision the share of replaced stretches that
touch no `keep` string; kept is the share of `keep` strings that still occur. Writes nothing.
`bench/sets/names/test.jsonl` is held out: measure on it, do not tune on it.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memory_mesh.privacy import NamespaceRedactor
from memory_mesh.privacy.private_names import Person, rules

SETS = Path(__file__).resolve().parent / "sets" / "names"
KEY = b"a key that is no secret: bench  "


@dataclass
class Counts:
    """What was measured."""

    texts: int = 0
    spans: int = 0
    replaced: int = 0
    keep: int = 0
    kept: int = 0
    touched: int = 0  # stretches that were replaced
    wrongly: int = 0  # of these, inside of a string that must stay
    faults: list[str] = field(default_factory=list)

    def figures(self) -> dict[str, float | int]:
        """Recall, precision and the counts behind them."""
        return {
            "texts": self.texts,
            "spans": self.spans,
            "recall": round(self.replaced / self.spans, 4) if self.spans else 1.0,
            "precision": round(1 - self.wrongly / self.touched, 4) if self.touched else 1.0,
            "keep": self.keep,
            "kept": round(self.kept / self.keep, 4) if self.keep else 1.0,
        }


def main() -> int:
    """Measure one half and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=("dev", "test"), required=True)
    parser.add_argument("--show", action="store_true", help="print what was missed (dev only)")
    options = parser.parse_args()
    counts = measure(options.half)
    if options.show and options.half == "dev":
        print(*counts.faults, sep="\n", file=sys.stderr)
    print(json.dumps({"half": options.half} | counts.figures()))
    return 0


def measure(half: str) -> Counts:
    """Counts over one half of the set."""
    counts = Counts()
    for line in (SETS / f"{half}.jsonl").read_text(encoding="utf-8").splitlines():
        _count(json.loads(line), counts)
    return counts


def _count(row: dict[str, Any], counts: Counts) -> None:
    text, spans, keep = row["text"], row["spans"], row["keep"]
    redactor = NamespaceRedactor(KEY, "bench", names=rules([person_of(row["names"])]))
    after = redactor.text(text)
    counts.texts += 1
    counts.spans += len(spans)
    counts.replaced += sum(span not in after for span in spans)
    counts.keep += len(keep)
    counts.kept += sum(part in after for part in keep)
    held = [place for part in keep for place in _places(text, part)]
    for found in redactor.find(text):
        counts.touched += 1
        counts.wrongly += any(found.start < stop and start < found.stop for start, stop in held)
    wrong = [f"missed {span!r}" for span in spans if span in after]
    wrong += [f"lost {part!r}" for part in keep if part not in after]
    if wrong:
        counts.faults.append(f"{', '.join(wrong)}: {text!r} -> {after!r}")


def _places(text: str, part: str) -> Iterator[tuple[int, int]]:
    at = text.find(part)
    while at >= 0:
        yield at, at + len(part)
        at = text.find(part, at + 1)


def person_of(names: dict[str, str]) -> Person:
    """The person whom a line of the set is about."""
    return Person(
        accounts=(names["account"],), full_names=(names["git_author"],), homes=(names["home"],)
    )


if __name__ == "__main__":
    sys.exit(main())
