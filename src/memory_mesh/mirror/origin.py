"""Whose text a committed content is: the user's own, or one that came from elsewhere."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memory_mesh.mirror.history import History, HistoryStep, Way

_MAX_DEPTH = 50  # merges of merges
_MARKERS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")


class Author(StrEnum):
    """Whose words an edit is."""

    USER = "user"
    DOCUMENT = "document"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class Verdict:
    """An author and a reason in plain words."""

    author: Author
    reason: str


@dataclass(frozen=True, slots=True)
class ContentOrigin:
    """Whose content it is; the contents it was made from, and those of them that are the user's."""

    author: Author
    reason: str
    below: tuple[str, ...] = ()
    own: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The answer without its evidence."""
        return Verdict(self.author, self.reason)


class Origins:
    """Decides it from the folder's history; `read` returns a content by its object id.

    A path is given by its key in the history.
    """

    def __init__(self, history: History, read: Callable[[str], bytes]) -> None:
        self._history = history
        self._read = read
        self._known: dict[tuple[str, str], ContentOrigin | None] = {}

    def of(self, path: str, content: str, depth: int = 0) -> ContentOrigin | None:
        """Returns the origin of a content at a path, or None if no commit brought it."""
        key = (path, content)
        if key not in self._known:
            if depth > _MAX_DEPTH:
                return ContentOrigin(
                    Author.DOCUMENT, "it went through too many merges to be followed"
                )
            self._known[key] = ContentOrigin(Author.DOCUMENT, "its history leads back to itself")
            self._known[key] = self._decide(path, content, depth)
        return self._known[key]

    def from_elsewhere(self, path: str, content: str) -> list[str]:
        """Returns the contents from elsewhere that the user's edits stand on, nearest first."""
        found: list[str] = []
        waiting, seen = [content], {content}
        while waiting:
            one = waiting.pop()
            origin = self.of(path, one)
            if origin is None or origin.author is not Author.USER:
                found.append(one)
                continue
            fresh = [old for old in origin.below if old and old not in seen]
            seen.update(fresh)
            waiting += fresh
        return found

    def _decide(self, path: str, content: str, depth: int) -> ContentOrigin | None:
        steps = self._history.brought(content)
        if not steps:
            return None
        if any(step.own for step in steps):
            return self._committed(path, steps)
        here = [step for step in steps if step.path == path] or steps
        elsewhere = [step for step in here if step.way is None and len(step.olds) <= 1]
        if elsewhere:
            return ContentOrigin(Author.DOCUMENT, "it came by clone, fetch, merge or checkout")
        step = max(here, key=lambda step: step.time)
        if len(step.olds) > 1:
            return self._merged(path, step, depth)
        return self._copied(path, step, depth)

    def _committed(self, path: str, steps: Sequence[HistoryStep]) -> ContentOrigin:
        """A commit of this clone brought it; but perhaps it was known from elsewhere before."""
        own = [step for step in steps if step.own]
        first = min(step.time for step in own)
        elsewhere = [step for step in steps if step.way is None]
        copied = [step for step in steps if step.way is Way.COPIED]
        if any(step.time <= first for step in elsewhere) or any(
            step.time < first for step in copied
        ):
            return ContentOrigin(
                Author.DOCUMENT, "you committed it, but the same content came from elsewhere before"
            )
        newest = [step for step in own if self._history.latest_own(step.path) == step]
        if elsewhere and not newest:
            return ContentOrigin(Author.DOCUMENT, "an older text of yours came back from elsewhere")
        at_path = [step for step in own if step.path == path] or own
        last = max(at_path, key=lambda step: (step.time, step.order))
        return ContentOrigin(Author.USER, "you committed it in this clone", below=last.olds)

    def _merged(self, path: str, step: HistoryStep, depth: int) -> ContentOrigin:
        """A merge made a content that none of its sides had."""
        own = self._own(path, step.olds, depth)
        rest = tuple(old for old in step.olds if old not in own)
        if step.way is not None and not any(rest):
            return ContentOrigin(Author.USER, "it is a merge of your own commits", below=step.olds)
        if step.way is Way.MERGED and self._by_hand(step.new, step.olds):
            reason = "you resolved the merge conflict by hand in this clone"
            return ContentOrigin(Author.USER, reason, below=rest, own=own)
        return ContentOrigin(
            Author.DOCUMENT, "a merge mixed it with text from elsewhere", rest, own
        )

    def _copied(self, path: str, step: HistoryStep, depth: int) -> ContentOrigin:
        """A rebase, cherry-pick or revert made it."""
        originals = self._history.originals(step)
        own = tuple(dict.fromkeys(one.new for one in originals if one.own and one.new))
        rest = tuple(old for old in step.olds if old not in self._own(path, step.olds, depth))
        if own and not any(rest):
            return ContentOrigin(Author.USER, "it is your commit, rebased", below=step.olds)
        sources = [*step.olds, *(one.new for one in originals)]
        if step.way is Way.CONTINUED and originals and self._by_hand(step.new, sources):
            reason = "you resolved the conflict of a rebase or cherry-pick by hand in this clone"
            return ContentOrigin(Author.USER, reason, below=rest, own=own)
        return ContentOrigin(
            Author.DOCUMENT, "a rebase, cherry-pick or revert put it there", below=rest, own=own
        )

    def _own(self, path: str, contents: Iterable[str], depth: int) -> tuple[str, ...]:
        """Those of some contents that are the user's."""
        origins = ((one, self.of(path, one, depth + 1)) for one in contents if one)
        return tuple(one for one, origin in origins if origin and origin.author is Author.USER)

    def _by_hand(self, content: str, sources: Iterable[str]) -> bool:
        """Some line stands in none of the sources: git alone does not write new lines."""
        known: set[bytes] = set()
        for source in sources:
            known |= _lines(self._read(source)) if source else set()
        return not _lines(self._read(content)) <= known


def _lines(content: bytes) -> set[bytes]:
    """The lines that say something, without the marks of a conflict."""
    lines = (line.strip() for line in content.splitlines())
    markers = tuple(marker.encode() for marker in _MARKERS)
    return {line for line in lines if line and not line.startswith(markers)}
