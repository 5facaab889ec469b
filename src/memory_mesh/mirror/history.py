"""Which commit brought each content of a folder, and which of these commits were made here."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from memory_mesh.mirror.clone import Clone
from memory_mesh.mirror.git import Git, GitFailed
from memory_mesh.mirror.reflog import Made, Way, made_here

MAX_STEPS = 1_000_000
_FORMAT = "commit %H%x09%ct%x09%P%x09%an <%ae> %at"
_LOG = ["log", "--stdin", "--ignore-missing", "--exclude=refs/stash", "--all", "--full-history"]
_SHAPE = ["-c", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv"]
_QUIET = ["--no-show-signature", "--no-notes", "--no-color", "--no-decorate", "--no-mailmap"]


@dataclass(frozen=True, slots=True)
class Step:
    """One commit's change of one file: from these contents to a new one; "" is no file."""

    commit: str
    path: str
    olds: tuple[str, ...]
    new: str
    time: int
    writer: str  # author and time of authorship, which a rebase keeps
    way: Way | None  # None: not made in this clone
    order: int = 0

    @property
    def own(self) -> bool:
        """The user's commit made this change by hand, and no merge was involved."""
        return self.way in {Way.COMMITTED, Way.AMENDED}


class History:
    """The changes of a folder in every branch and every commit that the reflogs know."""

    def __init__(self, steps: list[Step]) -> None:
        self._by_content: dict[str, list[Step]] = defaultdict(list)
        self._by_path: dict[str, list[Step]] = defaultdict(list)
        self._by_writer: dict[tuple[str, str], list[Step]] = defaultdict(list)
        for step in steps:
            self._by_content[step.new].append(step)
            self._by_path[step.path].append(step)
            self._by_writer[step.writer, step.path].append(step)

    def brought(self, content: str) -> list[Step]:
        """The changes that led to this content, at any path."""
        return self._by_content.get(content, [])

    def of_path(self, path: str) -> list[Step]:
        """The changes of one file."""
        return self._by_path.get(path, [])

    def latest_own(self, path: str) -> Step | None:
        """The user's last change of a file."""
        own = [step for step in self.of_path(path) if step.own]
        return max(own, key=lambda step: (step.time, step.order), default=None)

    def originals(self, copy: Step) -> list[Step]:
        """The changes of which a rebased or picked one is a copy."""
        same = self._by_writer.get((copy.writer, copy.path), [])
        return [step for step in same if step.commit != copy.commit]


def read_history(git: Git, clone: Clone, folder: str) -> History:
    """Reads it by one git process; the reflogs are read twice, for a commit made meanwhile."""
    heads = [*clone.heads, *made_here(clone), *(made.old for made in made_here(clone).values())]
    roots = "".join(f"{head}\n" for head in dict.fromkeys(heads) if head.strip("0"))
    words = [*_LOG, *_SHAPE, *_QUIET, f"--format={_FORMAT}"]
    limit = ["--", folder] if folder else []
    printed = git.run([*words, *limit], given=roots.encode("ascii"))
    return History(list(_placed(git, list(_steps(printed)), made_here(clone))))


@dataclass(frozen=True, slots=True)
class _Change:
    """A change as git printed it, with its commit's parents."""

    step: Step
    parents: tuple[str, ...]


def _steps(printed: bytes) -> Iterator[_Change]:
    """Reads git's raw format: a header for each commit, then pairs of a change and a path."""
    tokens = iter(printed.decode("utf-8", "surrogateescape").split("\0"))
    commit, time, parents, writer = "", 0, tuple[str, ...](), ""
    count = 0
    for token in tokens:
        text = token.lstrip("\n")
        if text.startswith("commit "):
            commit, when, above, writer = _header(text)
            time, parents = int(when), tuple(above.split())
        elif text.startswith(":"):
            count += 1
            if count > MAX_STEPS:
                raise GitFailed("the folder's history is too long to be read")
            *olds, new = _contents(text)
            path = next(tokens, "")
            if new not in olds:  # else only the file's mode changed
                step = Step(commit, path, tuple(olds), new, time, writer, None)
                yield _Change(step, parents)


def _header(text: str) -> tuple[str, str, str, str]:
    """The id of a commit, its time, its parents, and who wrote it when."""
    words = text.removeprefix("commit ").split("\t", 3)
    if len(words) != 4 or not words[1].isdecimal():  # noqa: PLR2004  # as _FORMAT says
        raise GitFailed("a commit has no time")
    return words[0], words[1], words[2], words[3]


def _contents(text: str) -> list[str]:
    """The object ids of a raw line, the new one last; "" stands for no file."""
    sides = len(text) - len(text.lstrip(":")) + 1
    words = text.lstrip(":").split(" ")
    return [word if word.strip("0") else "" for word in words[sides : 2 * sides]]


def _placed(git: Git, changes: list[_Change], made: dict[str, Made]) -> Iterator[Step]:
    """States for each change how its commit was made; what an amended one repeats is left out."""
    by_commit: dict[str, dict[str, Step]] = defaultdict(dict)
    for change in changes:
        by_commit[change.step.commit][change.step.path] = change.step
    for change in changes:
        step, known = change.step, made.get(change.step.commit)
        if known is None or not _plausible(known, change.parents):
            yield step
        elif known.way is not Way.AMENDED:
            time = step.time if known.way is Way.COPIED else known.time
            yield replace(step, way=known.way, time=time, order=known.order)
        elif known.old not in by_commit and git.read(known.old) is None:
            yield step  # what was amended is gone: nothing tells which part is new
        elif (before := by_commit.get(known.old, {}).get(step.path)) is None:
            yield replace(step, way=Way.AMENDED, time=known.time, order=known.order)
        elif before.new != step.new:
            changed = replace(step, olds=(before.new,), way=Way.AMENDED)
            yield replace(changed, time=known.time, order=known.order)
    yield from _taken_back(by_commit, made)


def _plausible(known: Made, parents: tuple[str, ...]) -> bool:
    """The reflog and the commit agree; they do not where a shallow clone cut the history."""
    if known.way in {Way.COMMITTED, Way.MERGED}:
        return (known.old if known.old.strip("0") else "") == (parents[0] if parents else "")
    return True


def _taken_back(by_commit: dict[str, dict[str, Step]], made: dict[str, Made]) -> Iterator[Step]:
    """The changes that the user took out of a commit by amending it."""
    for commit, known in made.items():
        if known.way is not Way.AMENDED:
            continue
        kept = by_commit.get(commit, {})
        for path, step in by_commit.get(known.old, {}).items():
            if path not in kept and len(step.olds) == 1:
                back = replace(step, commit=commit, olds=(step.new,), new=step.olds[0])
                yield replace(back, way=Way.AMENDED, time=known.time, order=known.order)
