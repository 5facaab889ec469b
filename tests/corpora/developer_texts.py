"""150 texts as developers write them, with and without secrets, and 24 for the opt-in kinds.

They were written by hand, before the rules they measure and without a look at any rule. Every kind
is dealt out in turn: `dev` may be tuned on, `held_out` is only reported. Each line of the files has
`id`, `kind`, `lang`, `text` and `secrets`: the exact strings that must not survive, none in a text
that must come out as it went in. `keeps` must survive beside a secret. `opt_in` texts stay as they
are by default; their `secrets` go when the kind (street_address, birth_date) is turned on, and
opt_in_clean stays even then. `note` says what is hard about a text. A ¦ stands inside each token
that a scanner for leaked keys might take for a real one; reading drops it. All values are invented.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Half = Literal["dev", "held_out"]

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class DeveloperText:
    """One text and what must be gone from it."""

    id: str
    kind: str
    lang: str
    text: str
    secrets: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    opt_in: bool = False
    note: str = ""


def developer_texts(half: Half) -> tuple[DeveloperText, ...]:
    """All texts of one half, the opt-in ones last."""
    lines = (FOLDER / f"developer_texts_{half}.jsonl").read_text(encoding="utf-8").split("\n")
    return tuple(_read(line) for line in lines if line)


def _read(line: str) -> DeveloperText:
    row = json.loads(line.replace("¦", ""))
    row |= {name: tuple(row.get(name, ())) for name in ("secrets", "keeps")}
    return DeveloperText(**row)
