"""240 texts in which a secret stands beside another number, and 240 with harmless numbers alone.

They were written without a look at any rule. `dev` may be tuned on, `held_out` is only reported.
Each line of `numbers_beside_secrets` has `text`, `kind` (card, phone, private_key) and `secret`,
which must not survive; a line of `numbers_harmless` has a `text` that should not change.
"""

import json
from pathlib import Path
from typing import Literal

Half = Literal["dev", "held_out"]

FOLDER = Path(__file__).parent


def beside_secrets(half: Half) -> list[tuple[str, str]]:
    """Each text with its secret."""
    return [(row["text"], row["secret"]) for row in _rows(f"numbers_beside_secrets_{half}")]


def harmless(half: Half) -> list[str]:
    """Texts that hold nothing to hide."""
    return [row["text"] for row in _rows(f"numbers_harmless_{half}")]


def _rows(name: str) -> list[dict[str, str]]:
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]
