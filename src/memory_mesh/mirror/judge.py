"""Whose words the files of one clone are."""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memory_mesh.mirror.clone import Clone, read_text
from memory_mesh.mirror.git import Git, GitFailed
from memory_mesh.mirror.history import History, HistoryStep, Way, made_here, noted, path_key
from memory_mesh.mirror.origin import Author, Origins, Verdict
from memory_mesh.platform import telemetry
from memory_mesh.platform.durable_files import write_atomically
from memory_mesh.platform.system import make_folder

MAX_COMMITS = 2_000  # of a first walk: the newest ones
MAX_KEPT_BYTES = 50_000_000
_VERSION = "memory-mesh walk 1"
_FORMAT = "commit%x09%H%x09%ct%x09%P%x09%an <%ae> %at"
_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REFS = ["for-each-ref", "--format=%(refname) %(objectname)"]
_LOG = ["log", "--stdin", "--ignore-missing", "--full-history"]
_SHAPE = ["-c", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv"]
_QUIET = ["--no-show-signature", "--no-notes", "--no-color", "--no-decorate", "--no-mailmap"]

_CONFLICT = re.compile(rb"^<{7}(?: .*)?$(?s:.*?)^>{7}(?: .*)?$", re.MULTILINE)
_IDENT = re.compile(rb"\$Id:[^$\n]*\$")
_EDITED = Verdict(Author.USER, "it is edited and not committed")
_STAGED = Verdict(Author.USER, "it is staged or stashed, and in no commit")


class Judge:
    """Answers for the files of one clone; paths are relative to the clone's top."""

    def __init__(self, clone: Clone, folder: str, state_dir: Path) -> None:
        self._clone = clone
        self._folder = folder
        self._state_dir = state_dir
        self._hash_name = clone.hash_name
        self.git: Git = Git(clone.top)
        self._head: str | None = None
        self._loaded: tuple[History, Origins] | None = None
        self._hidden: set[str] | None = None
        self._folders: dict[str, bytes] = {}

    def of(self, path: str, content: bytes) -> Verdict:
        """Whose words this content of a file is; a document's if git gives no answer."""
        try:
            return self._of(path, content)
        except GitFailed as error:
            return _unknown(error)

    def expect(self, contents: Mapping[str, bytes]) -> None:
        """Reads together what `of` will ask of git for each of these files."""
        try:
            folders = {path.rpartition("/")[0] for path in contents}
            self._committed(next(iter(contents)))
            if self._head:
                self.git.read_ahead(f"{self._head}:{folder}" for folder in sorted(folders))
            committed = {path: self._committed(path) for path in contents}
            self.git.read_ahead(
                name
                for path, content in contents.items()
                for name in (committed[path], f":0:{path}", *self._names(content))
                if name is not None
            )
        except GitFailed:
            return  # `of` asks again, and says so

    def deleted(self, path: str, sha256: str) -> Verdict:
        """Who removed a file that had a content with this SHA-256."""
        try:
            return self._deleted(path, sha256)
        except GitFailed as error:
            return _unknown(error)

    def conflict(self, path: str, content: bytes) -> bool:
        """Whether the file holds a conflict that git wrote and nobody has resolved."""
        if not _CONFLICT.search(content):
            return False
        try:
            return any(self.git.read(f":{stage}:{path}") for stage in (1, 2, 3))
        except GitFailed:
            return True

    def baselines(self, path: str) -> list[bytes]:
        """The contents from elsewhere that the file, as it is now, was made from."""
        try:
            committed = self._committed(path)
            origins = self._history[1]
            ids = origins.from_elsewhere(path_key(path), committed) if committed else []
            for commit in self._clone.merging:
                merging = self.git.read(f"{commit}:{path}")
                ids += origins.from_elsewhere(path_key(path), merging[0]) if merging else []
            return [self._read(one) for one in dict.fromkeys(ids)]
        except GitFailed:
            return []

    def sides(self, path: str, content: bytes) -> tuple[list[bytes], list[bytes]]:
        """The user's and the others' contents that a merge or rebase mixed into this one."""
        try:
            committed = self._committed(path)
            if committed is None or not self._is(committed, content):
                return [], []
            origin = self._history[1].of(path_key(path), committed)
            if origin is None:
                return [], []
            others = (self._read(one) for one in origin.below if one)
            return [self._read(one) for one in origin.own], list(others)
        except GitFailed:
            return [], []

    def _of(self, path: str, content: bytes) -> Verdict:
        if self.conflict(path, content):
            return Verdict(Author.DOCUMENT, "it holds a conflict that is not resolved")
        committed = self._committed(path)
        if committed and self._is(committed, content):
            return self._of_committed(path, committed)
        staged = self.git.read(f":0:{path}")
        if staged and staged[0] != committed and self._is(staged[0], content):
            return self._of_object(path, staged[0])
        if (committed or staged) and (attribute := self.git.converted(path)):
            reason = f"git converts it (attribute {attribute}), so an edit cannot be told apart"
            return Verdict(Author.DOCUMENT, reason)
        return next(
            (
                self._of_object(path, name)
                for name in self._names(content)
                if self.git.read(name) is not None
            ),
            _EDITED,
        )

    def _of_committed(self, path: str, name: str) -> Verdict:
        origin = self._history[1].of(path_key(path), name)
        if origin is None:
            return Verdict(Author.DOCUMENT, "its commit lies further back than is looked at")
        return origin.verdict

    def _of_object(self, path: str, name: str) -> Verdict:
        """Whose a content is that git has stored."""
        origin = self._history[1].of(path_key(path), name)
        if origin is not None:
            return origin.verdict
        if under_way := self._clone.under_way:
            return Verdict(Author.DOCUMENT, f"{under_way} is not finished here")
        return _STAGED

    def _deleted(self, path: str, sha256: str) -> Verdict:
        if self._committed(path) is not None:
            if path in self._not_checked_out:
                return Verdict(Author.DOCUMENT, "a sparse checkout leaves it out")
            if not all(self.git.read(f"{commit}:{path}") for commit in self._clone.merging):
                return Verdict(Author.DOCUMENT, "a merge that is not finished here removes it")
            return Verdict(Author.USER, "it is removed, and the removal is not committed")
        history, _ = self._history
        steps = history.of_path(path_key(path))
        if not steps:
            return self._never_committed(path)
        last = history.latest_own(path_key(path))
        others = any(step.way is None and not step.new for step in steps)
        if last and not last.new and (not others or self._had(last, sha256)):
            return Verdict(Author.USER, "you committed its removal in this clone")
        return Verdict(Author.DOCUMENT, "a merge, pull, checkout or reset took it away")

    def _never_committed(self, path: str) -> Verdict:
        if any(self.git.read(f"refs/stash{part}:{path}") for part in ("", "^3")):
            return Verdict(Author.DOCUMENT, "a stash keeps it")
        return Verdict(Author.USER, "it is removed, and it was never committed")

    def _had(self, removal: HistoryStep, sha256: str) -> bool:
        """Whether the file had this content before it was removed."""
        before = (self._read(old) for old in removal.olds if old)
        return any(hashlib.sha256(content).hexdigest() == sha256 for content in before)

    def _committed(self, path: str) -> str | None:
        """The object id of the file in the current commit."""
        if self._head is None:
            found = self.git.read("HEAD^{commit}")
            if found is None and not self._clone.unborn:
                raise GitFailed("the current commit cannot be read")
            self._head = found[0] if found else ""
        if not self._head:
            return None
        folder, _, name = path.rpartition("/")
        if folder not in self._folders:
            found = self.git.read(f"{self._head}:{folder}")
            self._folders[folder] = found[1] if found else b""
        return _entry(self._folders[folder], os.fsencode(name), len(self._head) // 2)

    def _is(self, name: str, content: bytes) -> bool:
        """Whether a stored content is this one, but for what git itself changes."""
        return name in self._names(content) or _plain(self._read(name)) == _plain(content)

    @property
    def _not_checked_out(self) -> set[str]:
        """The paths that a sparse checkout keeps out of the work tree."""
        if self._hidden is None:
            limit = ["--", self._folder] if self._folder else []
            printed = self.git.run(["ls-files", "-t", "-z", "--full-name", *limit])
            lines = printed.decode("utf-8", "surrogateescape").split("\0")
            self._hidden = {line[2:] for line in lines if line.startswith("S ")}
        return self._hidden

    @property
    def _history(self) -> tuple[History, Origins]:
        if self._loaded is None:
            history = read_history(self.git, self._clone, self._folder, self._state_dir)
            self._loaded = history, Origins(history, self._read)
        return self._loaded

    def _read(self, name: str) -> bytes:
        found = self.git.read(name)
        if found is None:
            raise GitFailed("an object is missing")
        return found[1]

    def _names(self, content: bytes) -> list[str]:
        """The object ids that git may give this content, with and without its line ends."""
        contents = dict.fromkeys((content, _plain(content)))
        return [_object_id(one, self._hash_name) for one in contents]


def _unknown(error: GitFailed) -> Verdict:
    return Verdict(Author.DOCUMENT, f"where it came from is not known: {error}")


def _entry(tree: bytes, name: bytes, width: int) -> str | None:
    """The id of a file in a folder, as git stores one: mode, space, name, NUL, id."""
    for mode in (b"100644 ", b"100755 ", b"100664 ", b"120000 "):
        sought = mode + name + b"\0"
        at = tree.find(sought)
        if at >= 0:
            return tree[at + len(sought) :][:width].hex()
    return None


def _plain(content: bytes) -> bytes:
    """The content without what git itself changes when it writes a file."""
    return _IDENT.sub(b"$Id$", content.replace(b"\r\n", b"\n"))


def _object_id(content: bytes, kind: str) -> str:
    made = hashlib.new(kind, usedforsecurity=False)
    made.update(b"blob %d\0" % len(content))
    made.update(content)
    return made.hexdigest()


# Walks a folder's history with git, and keeps what it saw: the next run walks new commits only.


@dataclass(frozen=True, slots=True)
class CommitWalk:
    """What was walked: from these commits down, with what was seen."""

    tips: tuple[str, ...] = ()
    noted: bytes = b""
    cut: bool = False  # there is more behind it


def read_history(git: Git, clone: Clone, folder: str, state_dir: Path) -> History:
    """Returns the folder's history in every branch and every commit that the reflogs know.

    Git is asked for the branches, and walks where there are new ones. The reflogs are read again
    at the end, for a commit that was made meanwhile.
    """
    file = _file(clone, folder, state_dir)
    known = _kept(file)
    tips = _tips(git, clone)
    if set(tips) - set(known.tips):
        fresh = _walked(git, folder, tips, known.tips)
        cut = known.cut or fresh.count(b"C ") >= MAX_COMMITS
        known = CommitWalk(tuple(tips), fresh + known.noted, cut)
        _keep(file, known)
    edge = set(read_text(clone.shared / "shallow").split())  # their parents are cut off
    made = {name: one for name, one in made_here(clone).items() if name not in edge}
    amended = {one.old for one in made.values() if one.way is Way.AMENDED}
    return History(
        known.noted, made, [name for name in amended if _unknown_author(git, known, name)]
    )


def _unknown_author(git: Git, walk: CommitWalk, commit: str) -> bool:
    """Whether a commit may have changed the folder without having been seen."""
    return f"C {commit} ".encode("ascii") not in walk.noted and (
        walk.cut or git.read(commit) is None
    )


def _tips(git: Git, clone: Clone) -> list[str]:
    """The commits from which the walk starts; a stash is the user's and no history."""
    lines = git.run(_REFS).decode("utf-8", "surrogateescape").splitlines()
    refs = (line.rpartition(" ") for line in lines)
    tips = [name for ref, _, name in refs if ref != "refs/stash"]
    made = made_here(clone)
    head = git.read("HEAD^{commit}")
    tips += [head[0]] if head else []
    tips += [*clone.heads, *made, *(one.old for one in made.values())]
    return [tip for tip in dict.fromkeys(tips) if tip.strip("0")]


def _walked(git: Git, folder: str, tips: list[str], known: tuple[str, ...]) -> bytes:
    words = [
        *_LOG,
        f"--max-count={MAX_COMMITS}",
        *_SHAPE,
        *_QUIET,
        f"--format={_FORMAT}",
        *(["--", folder] if folder else []),
    ]
    starts = [*tips, *(f"^{tip}" for tip in known)]
    return noted(git.run(words, given="".join(f"{start}\n" for start in starts).encode("ascii")))


def _file(clone: Clone, folder: str, state_dir: Path) -> Path:
    """One file for each clone and folder; another one when a shallow clone's edge has moved."""
    edge = read_text(clone.shared / "shallow")
    named = "\0".join((str(clone.shared), folder, edge))
    digest = hashlib.sha256(named.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return state_dir / f"{digest}.walk"


def _kept(file: Path) -> CommitWalk:
    try:
        version, extent, tips, rest = file.read_bytes().split(b"\n", 3)
    except (OSError, ValueError):
        return CommitWalk()
    names = tips.decode("ascii", "replace").split()
    if version.decode("ascii", "replace") != _VERSION or not all(map(_NAME.fullmatch, names)):
        return CommitWalk()
    return CommitWalk(tuple(names), rest, extent != b"all")


def _keep(file: Path, walk: CommitWalk) -> None:
    """Keeps it for the next run; without it, that one walks again."""
    head = f"{_VERSION}\n{'cut' if walk.cut else 'all'}\n{' '.join(walk.tips)}\n".encode("ascii")
    if len(walk.noted) > MAX_KEPT_BYTES:
        return
    try:
        make_folder(file.parent)
        write_atomically(file, head + walk.noted, private=True)
    except OSError as error:
        telemetry.info("walk not kept", reason=type(error).__name__)
