"""Real hosts remember across sessions; the rounds are in tests/agents."""

from pathlib import Path

from tests.agents import real_claude, real_hosts, remembering
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


def checked(folder: Path, *, count: int, seed: int, progress: Progress) -> Report:
    """So many sessions beside code that changed, and a call that a lesson warns of, with each."""
    report = Report()
    for name, path in real_claude.binaries().items():
        part = remembering.code_rounds(
            folder / name, path, count=count, seed=seed, progress=progress
        )
        report.figures[name] = dict(part.figures)
        report.failures += part.failures
    return report


def hosts_are_there() -> bool:
    """Whether every host that runs offline is installed."""
    return is_there() and all(real_hosts.binary_of(host) for host in real_hosts.PLACES)


def hosts_remembered(folder: Path, *, count: int, seed: int, progress: Progress) -> Report:
    """So many rounds with each host, and with pairs of two that share a store."""
    report = Report()
    for hosts in (*((host,) for host in real_hosts.PLACES), *PAIRS):
        name = " and ".join(hosts)
        part = real_hosts.rounds(folder / name, hosts, count=count, seed=seed, progress=progress)
        report.figures[name] = dict(part.figures)
        report.failures += part.failures
    return report


PAIRS = (("codex", "claude-code"), ("claude-code", "codex"))
