"""Reads the files that memories cite, and asks git where a thing went that is no longer there.

A fresh citation costs the reading of one file, and several of one file read it once. Git runs only
for what is not at its place: it names the files that hold a telling word, and what a file was
renamed to. Nothing is read outside of the repository, and nothing in it is run.
"""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from memory_mesh.base.typed import replace
from memory_mesh.evidence.citations import (
    KEY,
    CheckedEvidence,
    Citation,
    CitedCode,
    CodeState,
    Sight,
    SourceText,
    citations_of,
    cited,
    elsewhere,
    holds,
    kept_in,
    rewritten,
    seen,
    worst,
)
from memory_mesh.evidence.definitions import plain
from memory_mesh.model import InvalidInput, Json, Memory
from memory_mesh.model.errors import shown
from memory_mesh.model.why import CheckedMemory
from memory_mesh.platform import git_files

MOST_BYTES = 2 << 20  # of a file that is read
MOST_FILES = 30  # that are looked at for one thing that is gone from its place
GIT_SECONDS = 60.0  # that git may take in all where nobody waits
_COMMITS = 64  # that are looked at for the one that changed something
_SHORT = 12  # digits of a commit


class WorkTree:
    """The work tree of a repository, each file read once."""

    def __init__(self, root: str | os.PathLike[str], seconds: float = GIT_SECONDS) -> None:
        """Read nothing yet; git may take so many seconds in all."""
        self.root: str = os.path.realpath(root)
        self.is_silent: bool = False  # git did not answer a question
        self._seconds = seconds
        self._files: dict[str, SourceText | None] = {}
        self._asked: dict[tuple[str, ...], str] = {}

    @classmethod
    def at(cls, folder: str | os.PathLike[str], seconds: float = GIT_SECONDS) -> "WorkTree | None":
        """The work tree that a folder is in; None outside of any."""
        top = git_files.top(Path(os.path.realpath(folder)))
        return None if top is None else cls(top, seconds)

    def file(self, path: str) -> SourceText | None:
        """A file's text, read once; None where there is none, or it leads out of the repository."""
        if path not in self._files:
            whole = os.path.realpath(f"{self.root}/{path}")
            inside = whole.startswith(f"{self.root}{os.sep}")
            self._files[path] = _read(whole, path) if inside else None
        return self._files[path]

    def holding(self, words: Sequence[str]) -> list[str]:
        """The paths of files that hold one of these words, those with most of them first."""
        counts: dict[str, int] = {}
        for word in words:
            found = self._git("grep", "-lzIFw", "--untracked", "-e", word)
            for path in found.split("\0"):
                if path:
                    counts[path] = counts.get(path, 0) + 1
        return sorted(counts, key=lambda path: -counts[path])

    def files(self) -> list[str]:
        """The paths of all files that git does not ignore."""
        told = self._git("ls-files", "-zco", "--exclude-standard")
        return list(dict.fromkeys(path for path in told.split("\0") if path))

    def renamed(self, path: str, commit: str | None) -> str | None:
        """What git takes a file for that is no longer there, since a commit."""
        if commit is None or not commit.isalnum():
            return None
        how = ("--no-ext-diff", "-M40%", "--diff-filter=R", "--name-status", "-z")
        parts = self._git("diff", *how, commit, "--").split("\0")
        pairs = zip(parts[1::3], parts[2::3], strict=False)
        return next((new for old, new in pairs if old == path), None)

    def earlier(self, citation: Citation, path: str) -> SourceText | None:
        """A file as it was when something was cited; None if git does not know."""
        return self.at_commit(citation.commit).file(path) if citation.commit else None

    def at_commit(self, commit: str) -> "CommitTree":
        """The files as a commit has them."""
        return CommitTree(self, commit)

    def head(self) -> str | None:
        """The commit that is checked out, read from git's files."""
        return git_files.head(Path(self.root))

    def has(self, commit: str | None) -> bool:
        """Whether a commit is one of this repository, as far as git answers."""
        return bool(commit and commit.isalnum()) and bool(self._git("cat-file", "-t", str(commit)))

    def changed_by(self, citation: Citation) -> str | None:
        """The first commit after which the cited text was not there any more; None if unknown."""
        since = f"{citation.commit}..HEAD" if citation.commit else "HEAD"
        told = self._git("log", "--format=%h", f"-n{_COMMITS}", since, "--", citation.path)
        commits = told.split()[::-1]
        first, last = 0, len(commits)  # the first one that changed it is before `last`
        while first < last:
            middle = (first + last) // 2
            file = self.at_commit(commits[middle]).file(citation.path)
            sight = None if file is None else seen(citation, file)
            if sight is not None and sight.same:
                first = middle + 1
            else:
                last = middle
        return commits[first] if first < len(commits) else None

    def parted_from(self, branch: str) -> "CommitTree":
        """The files at the commit that this work tree and a branch have in common."""
        for words in (("merge-base", branch, "HEAD"), ("rev-parse", "--verify", branch)):
            if not branch.startswith("-") and (found := self._git(*words).strip()):
                return CommitTree(self, found)
        raise InvalidInput(f"git knows no branch or commit {shown(branch)} here")

    def _git(self, *words: str) -> str:
        """What git answers; nothing where it fails, takes too long or is not there."""
        if words not in self._asked:
            begun = time.monotonic()
            told = git_files.asked(Path(self.root), words, max(0.001, self._seconds))
            self._seconds -= time.monotonic() - begun
            self.is_silent = self.is_silent or told in {None, git_files.UNKNOWN}
            self._asked[words] = "" if told in {None, git_files.UNKNOWN} else str(told)
        return self._asked[words]


class CommitTree:
    """The files of a repository as a commit has them."""

    def __init__(self, tree: WorkTree, commit: str) -> None:
        self._tree, self._commit = tree, commit

    def file(self, path: str) -> SourceText | None:
        """A file's text at the commit."""
        place = f"{self._commit}:{path}"
        told = self._tree._git("cat-file", "blob", place)  # noqa: SLF001  # of this module
        return SourceText(path, told) if told else None


def cite(folder: str, given: object) -> list[dict[str, Json]]:
    """Evidence as a caller wrote it, with what stands there now or stood at the commit it names.

    A path counts from the folder, else from the top of its work tree; what is in no work tree
    stays as it was written.
    """
    citations = citations_of(given if isinstance(given, str | Mapping) else list(given))  # type: ignore[call-overload]  # checked there
    tree = WorkTree.at(folder)
    found = citations if tree is None else _cited(tree, folder, citations)
    return [one.as_json() for one in found]


def doubts(folder: str, extra: Mapping[str, Json], *, for_all: bool) -> list[str]:
    """What a writer is told of evidence that nothing can be held against later."""
    citations = kept_in(extra)
    missing = sum(one.hash is None for one in citations)
    if missing:
        why = "no such file, symbol or lines in this repository"
        if WorkTree.at(folder) is None:
            why = "this folder is in no repository"
        some = f"{missing} of {len(citations)} places of " if len(citations) > 1 else ""
        return [f"{why}: {some}its evidence cannot be checked"]
    if for_all and citations and all(one.commit is None for one in citations):
        return ["nothing is committed here: the evidence of a memory for all projects needs it"]
    return []


def _cited(tree: WorkTree, folder: str, citations: Sequence[Citation]) -> list[Citation]:
    head = tree.head()
    short = None if head is None else head[:_SHORT]
    found: list[Citation] = []
    for one in citations:
        if one.hash is None:
            one = replace(one, path=_relative(tree, folder, one.path))  # noqa: PLW2901
            at = tree if one.commit is None else tree.at_commit(one.commit)
            one = cited(one, at.file(one.path), (one.commit or short or "")[:_SHORT] or None)  # noqa: PLW2901
        found.append(one)
    return found


def check(tree: WorkTree, citations: Iterable[Citation]) -> list[CitedCode]:
    """What became of each citation."""
    return [_checked(tree, one) for one in citations]


def checked(tree: WorkTree, extra: Mapping[str, Json]) -> CheckedEvidence | None:
    """What became of a memory's evidence; None if it cites nothing."""
    if KEY not in extra:
        return None
    findings = tuple(check(tree, kept_in(extra)))
    return CheckedEvidence(worst([one.verdict for one in findings]), findings) if findings else None


def is_of_here(tree: WorkTree, extra: Mapping[str, Json]) -> bool:
    """Whether what a memory for all projects cites is to be checked in this repository.

    Git is asked for its commit only where something does not stand at its place.
    """
    citations = [one for one in kept_in(extra) if one.hash is not None]
    return not all(_stands(tree, one) for one in citations) and any(
        tree.has(one.commit) for one in citations
    )


def _stands(tree: WorkTree, citation: Citation) -> bool:
    file = tree.file(citation.path)
    sight = None if file is None else seen(citation, file)
    return sight is not None and sight.same and sight.symbol is None


def changed_since(
    tree: WorkTree, extra: Mapping[str, Json], base: CommitTree | None
) -> CheckedEvidence | None:
    """What moved, changed or is gone of a memory's evidence, since a commit or at all."""
    found = checked(tree, extra)
    if found is None or found.verdict in (CodeState.FRESH, CodeState.UNCHECKED):
        return None
    if base is None:
        return found
    for one in found.findings:
        file = base.file(one.citation.path)
        stood = None if file is None else seen(one.citation, file)
        if stood and stood.same and one.verdict not in (CodeState.FRESH, CodeState.UNCHECKED):
            return found
    return None


def told(tree: WorkTree, memory: Memory, found: CheckedEvidence) -> CheckedMemory:
    """What a person is told of a memory whose evidence changed."""
    places: list[dict[str, Json]] = []
    for one in found.findings:
        is_here = one.verdict in (CodeState.FRESH, CodeState.UNCHECKED, CodeState.MOVED)
        places.append(
            {
                "place": str(one.citation),
                "verdict": one.verdict.value,
                "now": str(one.now) if one.now and str(one.now) != str(one.citation) else None,
                "commit": None if is_here else tree.changed_by(one.citation),
            }
        )
    return CheckedMemory(memory.id, memory.text, found.verdict.value, tuple(places))


def _checked(tree: WorkTree, citation: Citation) -> CitedCode:
    if citation.hash is None:
        return CitedCode(citation, CodeState.UNCHECKED)
    file = tree.file(citation.path)
    sight = None if file is None else seen(citation, file)
    if file is None or sight is None or _was_there(tree, citation, file, sight):
        return _looked_for(tree, citation, file)
    return _found(citation, file, sight)


def _looked_for(tree: WorkTree, citation: Citation, own: SourceText | None) -> CitedCode:
    """What became of something that is gone from its file."""
    renamed = tree.renamed(citation.path, citation.commit) if own is None else None
    names = [citation.word, (citation.symbol or "").rpartition(".")[2]]
    known = [path for path in (citation.earlier, renamed) if path]
    paths = known.copy()
    paths += tree.holding([name for name in names if name])
    best: tuple[SourceText, Sight] | None = None
    for path in list(dict.fromkeys(paths))[:MOST_FILES]:
        file = tree.file(path) if path != citation.path else None
        is_it = own is None and (path in known or _name(path) == _name(citation.path))
        sight = None if file is None else elsewhere(citation, file, renamed=is_it)
        if file is None or sight is None:
            continue
        if sight.same and (is_it or not _was_there(tree, citation, file, sight)):
            return _found(citation, file, sight)
        is_better = not sight.same and (best is None or sight.share > best[1].share)
        if is_better and (is_it or not _was_there(tree, citation, file, sight)):
            best = file, sight
    if best is None and own is not None:
        sight = rewritten(citation, tree.earlier(citation, citation.path), own)
        best = None if sight is None else (own, sight)
    if best is None:
        return CitedCode(citation, CodeState.DRIFTED if tree.is_silent else CodeState.ORPHANED)
    return _found(citation, *best)


def _was_there(tree: WorkTree, citation: Citation, file: SourceText, sight: Sight) -> bool:
    """Whether what looks like the cited thing stood beside it all the time: another thing."""
    if sight.same and citation.symbol is None and file.path != citation.path:
        then = tree.earlier(citation, file.path)
        return then is not None and holds(citation, then)
    if sight.same or sight.symbol is None:
        return False
    if file.path == citation.path and plain(sight.symbol) == plain(citation.symbol or ""):
        return False
    then = tree.earlier(citation, file.path)
    return then is not None and any(
        plain(one.name) == plain(sight.symbol) for one in then.definitions
    )


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _found(citation: Citation, file: SourceText, sight: Sight) -> CitedCode:
    """The finding for text that stands somewhere, and the citation as it would be made there."""
    there = replace(
        citation,
        path=file.path,
        lines=sight.lines,
        symbol=sight.symbol or citation.symbol,
        earlier=citation.earlier if file.path == citation.path else citation.path,
    )
    if not sight.same:
        return CitedCode(citation, CodeState.DRIFTED, cited(there, file, citation.commit))
    if file.path == citation.path and sight.symbol is None:
        return CitedCode(citation, CodeState.FRESH, there)
    return CitedCode(citation, CodeState.MOVED, cited(there, file, citation.commit))


def _relative(tree: WorkTree, folder: str, path: str) -> str:
    """A path from the top of the work tree, however it was written."""
    here = os.path.join(os.path.realpath(folder), path)  # noqa: PTH118  # an absolute path stays
    if os.path.isabs(path) or os.path.lexists(here):  # noqa: PTH117
        path = os.path.relpath(here, tree.root)
    return os.path.normpath(path).replace(os.sep, "/")


def _read(whole: str, path: str) -> SourceText | None:
    try:
        with open(whole, "rb") as file:  # noqa: PTH123  # a Path costs more than the reading
            data = file.read(MOST_BYTES + 1)
    except OSError:
        return None
    if len(data) > MOST_BYTES or b"\0" in data[:8192]:
        return None
    return SourceText(path, data.decode("utf-8", "replace"))
