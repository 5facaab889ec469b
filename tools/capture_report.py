"""Measure what capture keeps of planted sessions, and write results/benchmarks/capture.json.

    python tools/capture_report.py             both halves: counts, and written
    python tools/capture_report.py dev         the half that rules may be tuned on, with each fault

Each session is played event by event into a store of its own. Kept: an entry of `keep` that one
memory meets. Never: a memory that holds a phrase which none may hold.
"""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from memory_mesh.agents.hook.capture import captured  # noqa: E402
from memory_mesh.agents.sessions import Session  # noqa: E402
from memory_mesh.model import Channel, Kind, Memory, SourceKind, Status  # noqa: E402
from memory_mesh.sync import MemoryMesh  # noqa: E402
from tests.corpora.sessions import (  # noqa: E402
    Half,
    SessionCase,
    Wanted,
    session_cases,
)

REPORT = ROOT / "results" / "benchmarks" / "capture.json"
PROJECT = "example/shop"


@dataclass(frozen=True, slots=True)
class Score:
    """What became of one session."""

    case: SessionCase
    missed: tuple[Wanted, ...]
    never: tuple[str, ...]
    stored: tuple[str, ...]

    @property
    def is_faulty(self) -> bool:
        """True if something is missing, forbidden or too much."""
        return bool(self.missed or self.never) or len(self.stored) > self.case.at_most


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; for `dev` alone also the faults."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given == ["dev"]:
        scores = list(scored("dev"))
        for score in scores:
            if score.is_faulty:
                _show(score)
        print(json.dumps(figures(scores), indent=2))
        return 0
    report = {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _git("rev-parse", "--short", "HEAD"),
        "command": "python tools/capture_report.py",
        "dev, which rules were written with": figures(list(scored("dev"))),
        "held out": figures(list(scored("held_out"))),
    }
    text = json.dumps(report, indent=2, ensure_ascii=False)
    REPORT.write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0


def scored(half: Half) -> Iterator[Score]:
    """Plays every session of a half and scores it."""
    for case in session_cases(half):
        with tempfile.TemporaryDirectory() as folder:
            yield score(case, Path(folder))


def score(case: SessionCase, folder: Path) -> Score:
    """Plays one session into a new store and compares what it holds with what it should."""
    with MemoryMesh(
        db_dir=folder,
        embedder="none",
        project=PROJECT,
        agent_id="claude-code",
        channel=Channel.HOOK,
    ) as mesh:
        session = Session.of(mesh.folder, "claude-code", case.id)
        for number, event in enumerate(case.events):
            captured(mesh, session, event, key=f"{case.id}-{number}")
        held = list(mesh.get_all(include=[Status.QUARANTINED], limit=1000))
    missed = tuple(one for one in case.keep if not any(_meets(memory, one) for memory in held))
    never = tuple(
        phrase
        for phrase in case.never
        if any(phrase.casefold() in memory.text.casefold() for memory in held)
    )
    return Score(case, missed, never, tuple(memory.text for memory in held))


def figures(scores: Sequence[Score]) -> dict[str, Any]:
    """The counts of one half."""
    wanted = [one for score in scores for one in score.case.keep]
    missed = Counter(_category(score) for score in scores for _ in score.missed)
    silent = [score for score in scores if not score.case.keep]
    return {
        "sessions": len(scores),
        "kept": len(wanted) - missed.total(),
        "wanted": len(wanted),
        "missed by category": dict(sorted(missed.items())),
        "never-phrases stored": sum(len(score.never) for score in scores),
        "never-phrases by category": dict(
            sorted(Counter(_category(score) for score in scores for _ in score.never).items())
        ),
        "sessions that should keep nothing": len(silent),
        "of these with more than allowed": sum(
            len(score.stored) > score.case.at_most for score in silent
        ),
        "memories stored in these": sum(len(score.stored) for score in silent),
        "sessions with too many": sum(len(score.stored) > score.case.at_most for score in scores),
        "memories stored": sum(len(score.stored) for score in scores),
        "sessions without a fault": sum(not score.is_faulty for score in scores),
    }


def _meets(memory: Memory, wanted: Wanted) -> bool:
    text = memory.text.casefold()
    if not all(phrase.casefold() in text for phrase in wanted.must_contain):
        return False
    if (memory.scope.project is not None) is not wanted.project:
        return False
    if (memory.source.kind is SourceKind.USER_EXPLICIT) is not wanted.by_user:
        return False
    if wanted.kind == "lesson candidate":
        return memory.status is Status.QUARANTINED and memory.kind in {Kind.LESSON, Kind.LEARNING}
    return wanted.kind is None or memory.kind == wanted.kind


def _category(score: Score) -> str:
    return score.case.id.rpartition("-")[0]


def _show(score: Score) -> None:
    print(f"{score.case.id} ({score.case.about})")
    for one in score.missed:
        print(f"  missed {one}")
    for phrase in score.never:
        print(f"  never  {phrase!r}")
    for text in score.stored:
        print(f"  stored {text!r} (at most {score.case.at_most})")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
