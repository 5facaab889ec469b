"""What this clone's reflogs say about where its commits came from."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from memory_mesh.mirror.clone import Clone, read_text

_LINE = re.compile(
    r"(?P<old>[0-9a-f]{40,64}) (?P<new>[0-9a-f]{40,64}) .*> (?P<time>\d+) [+-]\d{4}\t(?P<text>.*)"
)
_COMMITTED = re.compile(r"commit(?: \((?P<how>initial|amend|merge|cherry-pick)\))?: ")
_COPIED = re.compile(r"(?:rebase|pull|cherry-pick|revert|merge)\b")
_CONTINUED = re.compile(r"(?:rebase|pull)\b[^:]*\(continue\): ")
_MOVED = re.compile(r"(?:rebase|pull)\b[^:]*\((?:start|finish|abort)\): ")
_MAX_LOGS = 2_000


class Way(StrEnum):
    """How a commit was made in this clone."""

    COMMITTED = "committed"
    AMENDED = "amended"
    MERGED = "merged"  # a merge that the user finished by a commit
    CONTINUED = "continued"  # a rebase or cherry-pick whose conflict the user resolved
    COPIED = "copied"  # a rebase, cherry-pick, revert or merge that git did alone


@dataclass(frozen=True, slots=True)
class Made:
    """A commit that was made in this clone: how, on top of what, and when (seconds)."""

    way: Way
    old: str
    time: int
    order: int


def made_here(clone: Clone) -> dict[str, Made]:
    """The commits made in this clone, in any of its work trees, as far as the reflogs reach."""
    found: dict[str, Made] = {}
    order = 0
    for log in _logs(clone):
        for line in read_text(log).splitlines():
            match = _LINE.fullmatch(line)
            way = _way(match["text"]) if match else None
            if match is None or way is None:
                continue
            order += 1
            known = found.get(match["new"])
            if known is None or known.way is Way.COPIED:
                found[match["new"]] = Made(way, match["old"], int(match["time"]), order)
    return found


def _logs(clone: Clone) -> Iterator[Path]:
    """The logs of every HEAD and every branch; those of fetched branches tell nothing here."""
    yield clone.private / "logs" / "HEAD"
    if clone.shared != clone.private:
        yield clone.shared / "logs" / "HEAD"
    logs = [
        *sorted(clone.shared.glob("worktrees/*/logs/HEAD")),
        *sorted((clone.shared / "logs" / "refs" / "heads").rglob("*")),
    ]
    yield from (log for log in logs[:_MAX_LOGS] if log.is_file())


def _way(text: str) -> Way | None:
    """How the command that wrote this line made a commit; None if it only moved to one."""
    committed = _COMMITTED.match(text)
    if committed:
        how = committed["how"] or "initial"
        return {
            "initial": Way.COMMITTED,
            "amend": Way.AMENDED,
            "merge": Way.MERGED,
            "cherry-pick": Way.CONTINUED,
        }[how]
    if _CONTINUED.match(text):
        return Way.CONTINUED
    if _COPIED.match(text) and not _MOVED.match(text) and "fast-forward" not in text.lower():
        return Way.COPIED
    return None
