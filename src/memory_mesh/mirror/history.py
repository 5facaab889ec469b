"""Which commit brought each content of a folder, and which of these commits were made here."""

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from memory_mesh.mirror.clone import Clone, read_text
from memory_mesh.mirror.git import GitFailed

# What this clone's reflogs say about where its commits came from.


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


_FEW = 100  # lookups that cost less than an index
_CHANGE = re.compile(rb"\n\t([0-9a-f]+)\t([0-9a-f]+) ")


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """One commit's change of one file: from these contents to a new one; "" is no file."""

    commit: str
    path: str  # its key
    olds: tuple[str, ...]
    new: str
    time: int
    writer: str  # stands for the author and the time of authorship, which a rebase keeps
    way: Way | None  # None: not made in this clone
    order: int = 0

    @property
    def own(self) -> bool:
        """The user's commit made this change by hand, and no merge was involved."""
        return self.way in {Way.COMMITTED, Way.AMENDED}


class History:
    """The changes of a folder as a walk noted them; a change is read when it is asked for.

    A commit is a line `C id time writer parents`, and each of its changes a line that starts with
    a tab: the path's key, the new content, the old ones.
    """

    def __init__(self, noted: bytes, made: dict[str, Made], gone: Iterable[str] = ()) -> None:
        self._made = made
        self._gone = set(gone)  # commits that were amended and of which nothing is known
        self._noted = b"\n" + noted
        self._heads = list(_all(self._noted, b"\nC "))
        names = (self._line(head).split(" ", 2)[1] for head in self._heads)
        self._places = {name: place for place, name in enumerate(names)}
        self._sought = 0
        self._index: dict[bytes, list[int]] = {}
        self._taken_back = list(self._find_taken_back())

    def brought(self, content: str) -> list[HistoryStep]:
        """The changes that led to this content, at any path."""
        found = self._steps(f"\t{content} ".encode("ascii"))
        return [*found, *(step for step in self._taken_back if step.new == content)]

    def of_path(self, key: str) -> list[HistoryStep]:
        """The changes of one file."""
        found = self._steps(f"\n\t{key}\t".encode("ascii"))
        return [*found, *(step for step in self._taken_back if step.path == key)]

    def latest_own(self, key: str) -> HistoryStep | None:
        """The user's last change of a file."""
        own = [step for step in self.of_path(key) if step.own]
        return max(own, key=lambda step: (step.time, step.order), default=None)

    def originals(self, copy: HistoryStep) -> list[HistoryStep]:
        """The changes of which a rebased or picked one is a copy."""
        steps = self.of_path(copy.path)
        return [one for one in steps if one.writer == copy.writer and one.commit != copy.commit]

    def _steps(self, words: bytes) -> list[HistoryStep]:
        steps = (self._placed(at) for at in self._found(words))
        return [step for step in steps if step is not None and step.new not in step.olds]

    def _found(self, words: bytes) -> list[int]:
        """Where the words stand; an index is made when many have been looked for."""
        self._sought += 1
        if self._sought <= _FEW:
            return list(_all(self._noted, words))
        if not self._index:
            for match in _CHANGE.finditer(self._noted):
                for part in match.groups():
                    self._index.setdefault(part, []).append(match.start())
        return self._index.get(words.strip(), [])

    def _placed(self, at: int) -> HistoryStep | None:
        """States how the change's commit was made; None if an amended commit only repeats it."""
        head = self._heads[bisect_right(self._heads, at) - 1]
        start = self._noted.rfind(b"\n", 0, at + 1)
        commit = self._line(head).split(" ")
        step, known = _step(commit, self._line(start)), self._made.get(commit[1])
        if known is None or not _plausible(known, commit[4:]):
            return step
        if known.way is not Way.AMENDED:
            time = step.time if known.way is Way.COPIED else known.time
            return replace(step, way=known.way, time=time, order=known.order)
        if known.old in self._gone:
            return step  # nothing tells which part of it is new
        before = self._in_commit(known.old).get(step.path)
        if before is not None and before.new == step.new:
            return None
        olds = step.olds if before is None else (before.new,)
        return replace(step, olds=olds, way=Way.AMENDED, time=known.time, order=known.order)

    def _in_commit(self, name: str) -> dict[str, HistoryStep]:
        """The changes of one commit by the keys of their paths."""
        place = self._places.get(name)
        if place is None:
            return {}
        head, *after = self._heads[place : place + 2]
        block = self._noted[head + 1 : after[0] if after else None].decode("ascii")
        first, *lines = block.splitlines()
        return {step.path: step for step in (_step(first.split(" "), line) for line in lines)}

    def _line(self, at: int) -> str:
        """The line that follows the line break at this place."""
        return self._noted[at + 1 : self._noted.index(b"\n", at + 1)].decode("ascii")

    def _find_taken_back(self) -> Iterator[HistoryStep]:
        """The changes that the user took out of a commit by amending it."""
        for name, known in self._made.items():
            if known.way is not Way.AMENDED:
                continue
            kept = self._in_commit(name)
            for path, step in self._in_commit(known.old).items():
                if path not in kept and len(step.olds) == 1:
                    back = replace(step, commit=name, olds=(step.new,), new=step.olds[0])
                    yield replace(back, way=Way.AMENDED, time=known.time, order=known.order)


def _all(text: bytes, words: bytes) -> Iterator[int]:
    """Every place where some words stand."""
    at = text.find(words)
    while at >= 0:
        yield at
        at = text.find(words, at + 1)


def path_key(path: str) -> str:
    """Stands for a path in a history, so that no name of a file is kept."""
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def noted(printed: bytes) -> bytes:
    """Turns git's raw format (a header for each commit, pairs of a change and a path) into ours."""
    lines: list[str] = []
    tokens = iter(printed.decode("utf-8", "surrogateescape").split("\0"))
    for token in tokens:
        text = token.lstrip("\n")
        if text.startswith(":"):
            words = text.lstrip(":").split(" ")
            sides = len(words) // 2  # as many modes as ids, then the kind of change
            *olds, new = words[sides : 2 * sides]
            lines.append(f"\t{path_key(next(tokens, ''))}\t{new} {' '.join(olds)}")
        elif text:
            lines.append(_header(text))
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def _header(text: str) -> str:
    """A commit's line, with a digest in the place of its author: no name is kept."""
    words = text.split("\t", 4)
    if len(words) != 5 or words[0] != "commit" or not words[2].isdecimal():  # noqa: PLR2004
        raise GitFailed("git answered in a way that is not understood")
    _, name, time, parents, writer = words
    return f"C {name} {time} {path_key(writer)} {parents}".rstrip()


def _step(commit: list[str], line: str) -> HistoryStep:
    """A change from its commit's words and its own line."""
    _, name, time, writer, *_ = commit
    _, key, contents = line.split("\t")
    new, *olds = (word if word.strip("0") else "" for word in contents.split(" "))
    return HistoryStep(name, key, tuple(olds), new, int(time), writer, None)


def _plausible(known: Made, parents: list[str]) -> bool:
    """The reflog and the commit agree; they do not where a shallow clone cut the history."""
    if known.way in {Way.COMMITTED, Way.MERGED}:
        return (known.old if known.old.strip("0") else "") == (parents[0] if parents else "")
    return True
