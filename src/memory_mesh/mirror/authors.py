"""Whose words the edits in a mirror folder are: the user's, a document's or an agent's.

What the user edits by hand or commits in this clone is the user's. What came by clone, fetch, merge
or checkout is a document's, as is everything that cannot be told. What an agent's edit tool wrote,
and marked, is the agent's, and so is what would be the user's where an agent's shell runs the
mirror. SECURITY.md says what cannot be told apart.

No git runs until there is a question. Then each clone takes at most five processes of it, whatever
the number of files: two that answer for single files; two where a commit has to be judged, for the
branches and the commits that are new since the last run; one where a file was removed.
"""

import os
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from types import TracebackType

from memory_mesh.base.typed import Self
from memory_mesh.mirror.clone import Clone, clone_of
from memory_mesh.mirror.git import GitFailed
from memory_mesh.mirror.judge import Judge
from memory_mesh.mirror.origin import Author, Verdict
from memory_mesh.mirror.state import AgentEdits
from memory_mesh.model.ports import Clock
from memory_mesh.platform.agent_shell import agent_variables

FILE = ".rawko/mirror.toml"
_MAX_BYTES = 100_000
_VALUES = {"user": False, "document": True}  # whether it lowers

__all__ = ["Author", "Authors", "Verdict"]

_OUTSIDE = Verdict(Author.DOCUMENT, "its path does not lie in the folder")


class Authors:
    """Answers for the files of one folder during one run; paths are relative to the folder."""

    def __init__(self, folder: Path, state_dir: Path, *, clock: Clock | None = None) -> None:
        self._is_agents = bool(agent_variables(os.environ))
        self._folder = Path(os.path.realpath(folder))
        self._state_dir = state_dir
        self._marks = AgentEdits(state_dir, clock=clock)
        self._clones: dict[Path, Clone | str | None] = {}
        self._judges: dict[Path, Judge] = {}
        self._lowered: str | None = None
        self._asked_lowered = False

    @classmethod
    def of_folder(cls, folder: Path, state_dir: Path, *, clock: Clock | None = None) -> "Authors":
        """Returns the authors of a folder; `state_dir` has agents' marks and the walked history."""
        return cls(folder, state_dir, clock=clock)

    def of(self, path: str, content: bytes) -> Author:
        """Returns whose words this content of a file is."""
        return self.verdict(path, content).author

    def begin(self, path: str) -> None:
        """Starts git for the clone of a file that will be asked about, if it is in one."""
        if self._ruled_out(path) is None:
            with suppress(GitFailed):
                self._judge(path).git.begin()

    def expect(self, contents: Mapping[str, bytes]) -> None:
        """Asks git at once about all files that `of` will be asked about."""
        by_judge: dict[Judge, dict[str, bytes]] = {}
        for path, content in contents.items():
            if self._ruled_out(path) is None:
                by_judge.setdefault(self._judge(path), {})[self._in_clone(path)] = content
        for judge, mine in by_judge.items():
            judge.expect(mine)

    def why(self, path: str, content: bytes) -> str:
        """Returns the reason for `of` in plain words."""
        return self.verdict(path, content).reason

    def verdict(self, path: str, content: bytes) -> Verdict:
        """Returns the author and the reason."""
        marked = self._marks.written(content)
        if marked is not None:
            return Verdict(Author.AGENT, f"an agent's edit tool wrote it ({marked})")
        found = self._ruled_out(path) or self._judge(path).of(self._in_clone(path), content)
        return self._as_run(found)

    def of_documents(
        self, path: str, content: bytes, split: Callable[[bytes], Sequence[str]]
    ) -> list[Author]:
        """Returns whose words each document of a file is; `split` cuts a content into documents.

        One that stands unchanged in a content from elsewhere came from there, though the user
        edited the file; one of the user's stays the user's, though git merged others into the file.
        """
        whole, documents = self.of(path, content), split(content)
        if len(documents) <= 1 or self._is_agents or whole is Author.AGENT or self._ruled_out(path):
            return [whole] * len(documents)
        if whole is Author.USER:
            others = {one for base in self.baselines(path) for one in split(base)}
            return [Author.DOCUMENT if one in others else whole for one in documents]
        sides = self._judge(path).sides(self._in_clone(path), content)
        own, others = ({one for side in some for one in split(side)} for some in sides)
        return [Author.USER if one in own - others else whole for one in documents]

    def deleted(self, path: str, last_content_hash: str) -> Author:
        """Returns who removed a file; the hash is the SHA-256 (hex) of its last known content."""
        return self.deletion(path, last_content_hash).author

    def deletion(self, path: str, last_content_hash: str) -> Verdict:
        """Returns who removed a file, and the reason."""
        if self._marks.removed(self._folder / path, last_content_hash):
            return Verdict(Author.AGENT, "an agent's edit tool removed it")
        ruled_out = self._ruled_out(path)
        return self._as_run(
            ruled_out or self._judge(path).deleted(self._in_clone(path), last_content_hash)
        )

    def waiting(self, path: str, content: bytes) -> str | None:
        """Returns why a file should be left alone for now: its conflict is not resolved."""
        if self._ruled_out(path) is None and self._judge(path).conflict(
            self._in_clone(path), content
        ):
            return "git wrote a conflict into it; resolve it, then mirror again"
        return None

    def baseline(self, path: str) -> bytes | None:
        """Returns the committed content from elsewhere that the user's edits stand on, if any."""
        return next(iter(self.baselines(path)), None)

    def baselines(self, path: str) -> list[bytes]:
        """Returns all of them: after a merge there may be several.

        In a file of several documents, one that stands unchanged in a baseline came from elsewhere.
        """
        if self._ruled_out(path) is not None:
            return []
        return self._judge(path).baselines(self._in_clone(path))

    @property
    def processes(self) -> int:
        """The git processes that were started so far."""
        return sum(judge.git.started for judge in self._judges.values())

    def close(self) -> None:
        """Stops the git processes."""
        for judge in self._judges.values():
            judge.git.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _as_run(self, found: Verdict) -> Verdict:
        """The answer; in an agent's shell what the user did cannot be told from what it did."""
        if self._is_agents and found.author is Author.USER:
            return Verdict(Author.AGENT, "an agent's shell ran the mirror")
        return found

    def _ruled_out(self, path: str) -> Verdict | None:
        """The answer where no clone has to be asked."""
        parts = PurePosixPath(path).parts
        if not parts or ".." in parts or path.startswith("/") or "\0" in path:
            return _OUTSIDE
        if not self._asked_lowered:
            self._lowered = lowered_by(self._folder)
            self._asked_lowered = True
        if self._lowered is not None:
            return Verdict(Author.DOCUMENT, self._lowered)
        clone = self._clone(path)
        if clone is None:
            return Verdict(Author.USER, "the folder is not under version control")
        if isinstance(clone, str):
            reason = f"the folder is under a version control system that is not read ({clone})"
            return Verdict(Author.DOCUMENT, reason)
        return None

    def _judge(self, path: str) -> Judge:
        clone = self._clone(path)
        if not isinstance(clone, Clone):
            raise TypeError(path)  # `_ruled_out` has answered for such a path
        if clone.top not in self._judges:
            inside = self._folder.is_relative_to(clone.top)
            folder = self._folder.relative_to(clone.top).as_posix() if inside else "."
            self._judges[clone.top] = Judge(clone, "" if folder == "." else folder, self._state_dir)
        return self._judges[clone.top]

    def _in_clone(self, path: str) -> str:
        """The path as git names it: relative to the clone's top."""
        clone = self._clone(path)
        top = clone.top if isinstance(clone, Clone) else self._folder
        return (self._folder / path).relative_to(top).as_posix()

    def _clone(self, path: str) -> Clone | str | None:
        """The clone that a file lies in: a submodule in the folder is one of its own."""
        return clone_of((self._folder / path).parent, self._clones)


# A repository's own word that nothing in its mirror folder speaks for the user.


def lowered_by(folder: Path) -> str | None:
    """Returns why all edits in a folder count as a document's, or None if they do not.

    `.rawko/mirror.toml` in the folder, or above it up to the top of its clone, says so with
    `trust = "document"`. One that cannot be understood says so too.
    """
    for place in _places(folder):
        reason = _read(place / FILE)
        if reason is not None:
            return reason
    return None


def _places(folder: Path) -> Iterator[Path]:
    """The folder and those above it, up to the clone's top; two above where there is no clone."""
    above = (folder, *folder.parents)
    top = next((at for at, place in enumerate(above) if (place / ".git").exists()), 2)
    yield from above[: top + 1]


def _read(file: Path) -> str | None:
    try:
        kind = file.stat()
    except OSError:
        return None
    try:
        if not stat.S_ISREG(kind.st_mode) or kind.st_size > _MAX_BYTES:
            return f"{FILE} cannot be read; it may say so"
        value = tomllib.loads(file.read_text(encoding="utf-8")).get("trust", "user")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return f"{FILE} cannot be read ({error}); it may say so"
    if _VALUES.get(value if isinstance(value, str) else "", True):
        known = value == "document"
        return f'{FILE} says trust = "document"' if known else f"{FILE} has an unknown trust"
    return None
