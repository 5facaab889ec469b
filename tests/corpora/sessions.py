"""120 short coding sessions as hooks see them, and what should be kept of each.

They were invented and labelled by hand from the description of capture alone, before its rules
existed and without a look at any detector; names, hosts and keys are made up. Each category
(the first part of `id`) was dealt out at random: `dev` may be tuned on, `held_out` is only
reported. The set shows whether rules carry over to sentences they were not written for, not how
often each case occurs. Each line has `id`, `about` (why it is here), `events`, and:

- `keep`: what anybody would want remembered. An entry is met by one stored memory that holds all of
  `must_contain`, has a project or not as `project` says, is of `kind` (null: any), and is the
  user's word or not as `by_user` says.
- `never`: phrases that no memory which a recall may give holds; private text and secrets in none.
- `at_most`: the most memories a sensible detector stores.

A successful tool call is not seen; that a failure was fixed shows only in a later message.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Half = Literal["dev", "held_out"]

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing to keep."""

    must_contain: tuple[str, ...]
    project: bool
    kind: str | None
    by_user: bool


@dataclass(frozen=True, slots=True)
class SessionCase:
    """One session and what should become of it."""

    id: str
    about: str
    events: tuple[dict[str, Any], ...]
    keep: tuple[Wanted, ...]
    never: tuple[str, ...]
    at_most: int


def session_cases(half: Half) -> tuple[SessionCase, ...]:
    """All sessions of one half."""
    lines = (FOLDER / f"sessions_{half}.jsonl").read_text(encoding="utf-8").split("\n")
    return tuple(_read(json.loads(line)) for line in lines if line)


def _read(row: dict[str, Any]) -> SessionCase:
    keep = tuple(
        Wanted(**one | {"must_contain": tuple(one["must_contain"])}) for one in row["keep"]
    )
    return SessionCase(
        **row | {"events": tuple(row["events"]), "keep": keep, "never": tuple(row["never"])}
    )
