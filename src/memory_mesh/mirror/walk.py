"""Walks a folder's history with git, and keeps what it saw: the next run walks new commits only."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from memory_mesh import log
from memory_mesh.mirror.clone import Clone, read_text
from memory_mesh.mirror.git import Git
from memory_mesh.mirror.history import History, noted
from memory_mesh.mirror.reflog import Way, made_here
from memory_mesh.process.durable_files import write_atomically
from memory_mesh.process.private import make_folder

MAX_COMMITS = 2_000  # of a first walk: the newest ones
MAX_KEPT_BYTES = 50_000_000
_VERSION = "memory-mesh walk 1"
_FORMAT = "commit%x09%H%x09%ct%x09%P%x09%an <%ae> %at"
_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REFS = ["for-each-ref", "--format=%(refname) %(objectname)"]
_LOG = ["log", "--stdin", "--ignore-missing", "--full-history"]
_SHAPE = ["-c", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv"]
_QUIET = ["--no-show-signature", "--no-notes", "--no-color", "--no-decorate", "--no-mailmap"]


@dataclass(frozen=True, slots=True)
class Walk:
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
        known = Walk(tuple(tips), fresh + known.noted, cut)
        _keep(file, known)
    edge = set(read_text(clone.shared / "shallow").split())  # their parents are cut off
    made = {name: one for name, one in made_here(clone).items() if name not in edge}
    amended = {one.old for one in made.values() if one.way is Way.AMENDED}
    return History(known.noted, made, [name for name in amended if _unknown(git, known, name)])


def _unknown(git: Git, walk: Walk, commit: str) -> bool:
    """Whether a commit may have changed the folder without having been seen."""
    if f"C {commit} ".encode("ascii") in walk.noted:
        return False
    return walk.cut or git.read(commit) is None


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
    output = git.run(words, given="".join(f"{start}\n" for start in starts).encode("ascii"))
    return noted(output)


def _file(clone: Clone, folder: str, state_dir: Path) -> Path:
    """One file for each clone and folder; another one when a shallow clone's edge has moved."""
    edge = read_text(clone.shared / "shallow")
    named = "\0".join((str(clone.shared), folder, edge))
    digest = hashlib.sha256(named.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return state_dir / f"{digest}.walk"


def _kept(file: Path) -> Walk:
    try:
        version, extent, tips, rest = file.read_bytes().split(b"\n", 3)
    except (OSError, ValueError):
        return Walk()
    names = tips.decode("ascii", "replace").split()
    if version.decode("ascii", "replace") != _VERSION or not all(map(_NAME.fullmatch, names)):
        return Walk()
    return Walk(tuple(names), rest, extent != b"all")


def _keep(file: Path, walk: Walk) -> None:
    """Keeps it for the next run; without it, that one walks again."""
    head = f"{_VERSION}\n{'cut' if walk.cut else 'all'}\n{' '.join(walk.tips)}\n".encode("ascii")
    if len(walk.noted) > MAX_KEPT_BYTES:
        return
    try:
        make_folder(file.parent)
        write_atomically(file, head + walk.noted, private=True)
    except OSError as error:
        log.info("walk not kept", reason=type(error).__name__)
