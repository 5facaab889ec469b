"""Claude Code remembers across sessions; the rounds are in tests/agents/remembering.py."""

from pathlib import Path

from tests.agents import real_claude, remembering
from tests.faults.report import Progress, Report


def is_there() -> bool:
    """Whether a Claude Code is installed."""
    return bool(real_claude.binaries())


def remembered(folder: Path, *, count: int, seed: int, progress: Progress) -> Report:
    """So many rounds with each one that is installed."""
    report = Report()
    for name, path in real_claude.binaries().items():
        part = remembering.rounds(folder / name, path, count=count, seed=seed, progress=progress)
        report.figures[name] = dict(part.figures)
        report.failures += part.failures
    return report
