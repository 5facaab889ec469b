"""What a host's session was given and has said: one file per session, shared by its processes.

::

    <store>/agents/sessions/<digest>.jsonl      0600; one appending write for each line
        {"given":["mem_…"],"line":true}     ids in the prompt so far, whether the line was shown
        {"reset":true}                      the host forgot: after /clear, after a compaction
        {"words":"9f3c…","whole":[[0,5]]}   a prompt: its words under the store's key, not the text,
                                            and which of them count only together
        {"parents":[4711]}                  the processes above the hook, the host among them
        {"stored":["mem_…"],"notice":"…"}   what this session stored; a line for its user
        {"hidden":"77ab…"}                  words that were marked as private, under the key
        {"chose":"9c01…","ids":["mem_…"]}   what a request was about to change

Any number of processes may append at once. A damaged line is left out. Above its size a file takes
no more prompts, and above twice that nothing: a memory is then given once more, at worst.
"""

import os
import time

from memory_mesh.agents import journal, request
from memory_mesh.base.typed import TYPE_CHECKING, Any, Self
from memory_mesh.platform import system

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FOLDER = "sessions"
MOST_BYTES = 512 * 1024  # of prompts' words in a file
MOST_WORDS = 2_000  # of a prompt
LEAST_WORDS = 3  # of a text that is looked for in prompts
LEAST_LETTERS = 4  # of a word that is kept from being repeated
KEPT_DAYS = 30
_DIGITS = 12  # of a word under the key: 48 bits
_NEAREST = 2  # processes above a front or a hook that may be the host: it, or a shell and it
_LOOKED_AT = 64  # of the newest sessions, for the one of a host


class Session:
    """One session of a host."""

    def __init__(
        self, store: str, name: str, environment: "Mapping[str, str] | None" = None
    ) -> None:
        self._store, self._name, self._environment = store, name, environment
        self._id: str | None = None
        self.path: str = f"{_folder(store)}/{name}.jsonl"

    @classmethod
    def of(
        cls,
        store: str | os.PathLike[str],
        host: str,
        session_id: str,
        environment: "Mapping[str, str] | None" = None,
    ) -> Self:
        """The session that a host names; the environment says where the store's key lies."""
        name = _digest(f"{host}\0{session_id}".encode("utf-8", "surrogatepass"), size=16)
        session = cls(os.fspath(store), name.hex(), environment)
        session._id = session_id
        return session

    @property
    def id(self) -> str:
        """The session's name at its host; empty if its file does not tell."""
        if self._id is None:
            told = [line["id"] for line in self._lines() if isinstance(line.get("id"), str)]
            self._id = told[-1] if told else ""
        return self._id

    def given(self) -> set[str]:
        """The ids of the memories that are in the conversation: given to it, or stored from it."""
        found: set[str] = set()
        for line in self._lines():
            if line.get("reset") is True:
                found.clear()
            found.update(_texts(line.get("given")), _texts(line.get("stored")))
        return found

    def give(self, ids: "Iterable[str]") -> None:
        """Records that memories stand in the prompt now."""
        self.record(given=sorted(set(ids)))

    def reset(self) -> None:
        """Records that the host forgot what it was given."""
        self.record(reset=True)

    def line_shown(self) -> bool:
        """Whether the visible line was shown in this session."""
        return any(line.get("line") is True for line in self._lines())

    def saw(self, prompt: str) -> None:
        """Records the user's own words of a prompt, each under the store's key."""
        if self._size() > MOST_BYTES:
            return
        from memory_mesh.learn.rules.own_words import pieces

        words: list[str] = []
        whole: list[tuple[int, int]] = []
        for piece in pieces(prompt):
            words += _words(piece.opening)
            begin = len(words)
            words += _words(piece.text)
            if piece.is_whole and len(words) > begin:
                whole.append((begin, len(words)))
            if len(words) >= MOST_WORDS:
                break
        words = words[:MOST_WORDS]
        if words:
            self.record(words="".join(self._sealed(words)), whole=whole)

    def has_seen(self, text: str) -> bool:
        """Whether a text of three words or more stands in one piece in a prompt of this session.

        What the user pasted or quoted does not count, nor a part of a sentence that says something
        else as a whole.
        """
        words = _words(text)
        if not LEAST_WORDS <= len(words) <= MOST_WORDS:
            return False
        wanted = "".join(self._sealed(words))
        for line in self._lines():
            seen = line.get("words")
            if isinstance(seen, str) and _holds(seen, wanted, _ranges(line.get("whole"))):
                return True
        return False

    def stored(self, ids: "Iterable[str]") -> None:
        """Records what this session stored."""
        self.record(stored=sorted(set(ids)))

    def hide(self, words: "Iterable[str]") -> None:
        """Records words that were marked as private, each under the store's key."""
        told = [word for text in words for word in _words(text) if len(word) >= LEAST_LETTERS]
        if told and self._size() <= MOST_BYTES:
            self.record(hidden="".join(self._sealed(sorted(set(told))[:MOST_WORDS])))

    def hides(self, text: str) -> bool:
        """Whether a text has a word that was marked as private in this session."""
        hidden: set[str] = set()
        for line in self._lines():
            sealed = line.get("hidden")
            if isinstance(sealed, str):
                hidden |= {sealed[at : at + _DIGITS] for at in range(0, len(sealed), _DIGITS)}
        if not hidden:
            return False
        words = [word for word in _words(text) if len(word) >= LEAST_LETTERS]
        return not hidden.isdisjoint(self._sealed(words))

    def chosen(self, key: str, ids: "Iterable[str]") -> list[str]:
        """The ids that were chosen under a key before, else these, from now on.

        A request that is repeated after a crash changes what it would have changed, and no more.
        """
        for line in self._lines():
            if line.get("chose") == key:
                return _texts(line.get("ids"))
        found = list(ids)
        self.record(chose=key, ids=found)
        return found

    def notices(self) -> list[str]:
        """Lines for the user that were not shown yet."""
        found: list[str] = []
        for line in self._lines():
            shown = line.get("shown")
            if isinstance(shown, int):
                del found[:shown]
            if isinstance(line.get("notice"), str):
                found.append(line["notice"])
        return found

    def parents(self) -> list[list[int]]:
        """The processes above each hook of this session that said so, the nearest first."""
        found = [line.get("parents") for line in self._lines()]
        return [[pid for pid in one if type(pid) is int] for one in found if isinstance(one, list)]

    def record(self, **facts: object) -> None:
        """Appends one line with all of the facts; never raises."""
        told = {name: value for name, value in facts.items() if value}
        if not told or self._size() > 2 * MOST_BYTES:
            return
        try:
            line = request.dumps(told).encode("ascii") + b"\n"
            # A line that a full disk cut short ends at the next one's first byte.
            journal.append(self.path, b"\n" + line)
        except (OSError, ValueError, TypeError):
            return

    def _lines(self) -> "Iterable[dict[str, Any]]":
        return journal.lines(self.path, most=4 * MOST_BYTES)

    def _size(self) -> int:
        try:
            return os.stat(self.path).st_size  # noqa: PTH116
        except OSError:
            return 0

    def _sealed(self, words: "Sequence[str]") -> list[str]:
        """Each word under a key of this session's own, made of the store's."""
        from pathlib import Path

        from memory_mesh.care.key_file import key_for
        from memory_mesh.platform.store_urls import SERVERS

        folder = Path(self._store)
        if folder.parent.name == SERVERS:  # a database gets its key from who sets it up
            from memory_mesh.care.key_file import need_key

            need_key(folder, os.environ if self._environment is None else self._environment)
        store_key = key_for(folder, self._environment)
        key = _digest(f"words of a session\0{self._name}".encode(), key=store_key, size=32)
        known = {
            word: _digest(word.encode("utf-8", "surrogatepass"), key=key, size=_DIGITS // 2).hex()
            for word in set(words)
        }
        return [known[word] for word in words]


def session_of_parents(
    store: str | os.PathLike[str],
    parents: "Sequence[int]",
    environment: "Mapping[str, str] | None" = None,
) -> Session | None:
    """The session of the host above a front; of several the nearest, then the latest.

    A session that was last heard of before the process began was another one's of that number.
    """
    folder = os.fspath(store)
    nearest = [(pid, system.process_began(pid)) for pid in parents[:_NEAREST] if pid > 1]
    best: tuple[int, Session] | None = None
    for name, changed in _newest(folder):
        session = Session(folder, name, environment)
        above = {pid for each in session.parents() for pid in each[:_NEAREST]}
        fits = (at for at, (pid, began) in enumerate(nearest) if pid in above and began <= changed)
        place = next(fits, None)
        if place is not None and (best is None or place < best[0]):
            best = (place, session)
    return None if best is None else best[1]


def remove_old(store: str | os.PathLike[str], *, days: float = KEPT_DAYS) -> int:
    """Removes the files of sessions without a line for so many days; how many."""
    before, removed = time.time() - days * 86_400, 0
    for path, changed in _files(os.fspath(store)):
        if changed < before:
            try:
                os.unlink(path)  # noqa: PTH108
            except OSError:
                continue
            removed += 1
    return removed


def _newest(store: str) -> list[tuple[str, float]]:
    """The names of the sessions that were last written to, and when; the latest first."""
    found = sorted(_files(store), key=lambda one: -one[1])[:_LOOKED_AT]
    return [
        (os.path.basename(path).removesuffix(".jsonl"), changed)  # noqa: PTH119
        for path, changed in found
    ]


def _files(store: str) -> list[tuple[str, float]]:
    try:
        with os.scandir(_folder(store)) as entries:
            return [
                (entry.path, entry.stat(follow_symlinks=False).st_mtime)
                for entry in entries
                if entry.name.endswith(".jsonl")
            ]
    except OSError:
        return []


def _folder(store: str) -> str:
    return f"{store}/{journal.FOLDER}/{FOLDER}"


def _holds(seen: str, wanted: str, whole: "Sequence[tuple[int, int]]") -> bool:
    """Whether the sealed words stand in the others, word at word, and tear no range apart."""
    at = seen.find(wanted)
    while at >= 0:
        begin, rest = divmod(at, _DIGITS)
        end = begin + len(wanted) // _DIGITS
        if not rest and all(
            last <= begin or end <= first or (begin <= first and last <= end)
            for first, last in whole
        ):
            return True
        at = seen.find(wanted, at + 1)
    return False


def _ranges(value: object) -> list[tuple[int, int]]:
    """The ranges of words that count only together."""
    pairs = value if isinstance(value, list) else []
    return [(pair[0], pair[1]) for pair in pairs if isinstance(pair, list) and len(pair) == 2]  # noqa: PLR2004


def _words(text: str) -> list[str]:
    """The words of a text without case and punctuation."""
    import re

    return re.findall(r"\w+", text.casefold())


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _digest(data: bytes, *, size: int, key: bytes = b"") -> bytes:
    try:
        from _blake2 import blake2b  # hashlib loads OpenSSL
    except ImportError:  # pragma: no cover  # a Python without it
        from hashlib import blake2b
    return blake2b(data, digest_size=size, key=key).digest()
