"""`memory-mesh ingest-dir`."""

import argparse
import hmac
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import islice
from pathlib import Path

from memory_mesh.care.key_file import KeyFile
from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.command_table import Command, argument
from memory_mesh.cli.commands.store import FOR_ALL
from memory_mesh.cli.progress import Counting
from memory_mesh.model import (
    Channel,
    Draft,
    Json,
    Memory,
    NotFound,
    Outcome,
    Receipt,
    Scope,
    Status,
    Wanted,
)
from memory_mesh.platform import git_files
from memory_mesh.platform.projects import identity_of
from memory_mesh.platform.text_files import Skipped, paths, shown, texts
from memory_mesh.privacy import masked
from memory_mesh.sync import MemoryMesh
from memory_mesh.write.rules.drafts import given_key
from memory_mesh.write.rules.receipts import ReceiptCounts

_BATCH = 32  # files per transaction; an interruption repeats at most one batch
_MAX_NAME_CHARS = 512  # characters of a file name that are stored
_NAMED = 20  # file names printed per kind of failure
_DIGITS = 32  # of a digest
_KEY = re.compile(rf"file:(\w{{{_DIGITS}}}):(\w{{{_DIGITS}}}):(\w{{{_DIGITS}}}):(\d{{1,9}})")
_DELETED = {Status.ARCHIVED, Status.DELETED}


@dataclass(slots=True)
class _Tally:
    """Counts of stored, known and refused files."""

    stored: int = 0
    known: int = 0
    empty: list[str] = field(default_factory=list)
    refused: list[tuple[str, Sequence[str]]] = field(default_factory=list)
    more: ReceiptCounts = field(default_factory=ReceiptCounts)

    def count(self, name: str, receipt: Receipt) -> None:
        """Counts one receipt."""
        if not receipt.again:
            self.more.count(receipt)
        if receipt.outcome is Outcome.REFUSED:
            self.refused.append((name, receipt.reasons))
        elif receipt.again or receipt.outcome is Outcome.MERGED:
            self.known += 1
        else:
            self.stored += 1

    @property
    def total(self) -> int:
        """The number of all files."""
        return self.stored + self.known + len(self.refused)


def _run_ingest_dir(options: argparse.Namespace) -> int:
    """Stores every text file; a second run stores only new and changed files."""
    root = Path(options.path)
    if not root.exists():
        raise NotFound(f"the folder or file {root} does not exist")
    endings = [f".{extension.lower().removeprefix('.')}" for extension in options.extension or ()]
    found = texts(root, endings, recursive=options.recursive, documents=True)
    every = paths(root, endings, recursive=options.recursive) if output.at_terminal() else []
    tally, counting = _Tally(), Counting("files", len(every) or None)
    with cli_options.opened(options, meaning=True, channel=Channel.FILE) as (mesh, reader):
        scope = Scope(None if options.for_all else reader.project, None, None)
        folder = _IngestedFolder(mesh, root, scope, {"type": options.type} if options.type else {})
        drafts = (folder.draft(*each) for each in _with_text(found.found, tally.empty))
        while batch := list(islice(drafts, _BATCH)):
            for draft, receipt in zip(batch, mesh.add_many(batch), strict=True):
                tally.count(str(draft.source.ref), receipt)
            counting(tally.total)
        gone = [] if found.skipped.unreadable else folder.gone()
    return _report(tally, found.skipped, gone, as_json=options.json)


def _with_text(found: Iterator[tuple[Path, str]], empty: list[str]) -> Iterator[tuple[Path, str]]:
    """Yields the files that hold a text; `empty` gets the names of the others."""
    for path, text in found:
        if text.strip():
            yield path, text
        else:
            empty.append(shown(path))


@dataclass(frozen=True, slots=True)
class _Version:
    """A text that a file had: digests of its path, of the folder it was found in and of itself."""

    path: str
    folder: str
    text: str
    number: int
    key: str
    memory: str
    status: Status


class _IngestedFolder:
    """A folder, and what the store knows of its files: the texts that each had, in their keys.

    The path of a file is the same in another clone of its repository; outside of repositories it is
    the real path. A key holds keyed digests: who has only the store cannot test guesses of a path
    or a text.
    """

    def __init__(
        self, mesh: MemoryMesh, root: Path, scope: Scope, metadata: Mapping[str, object]
    ) -> None:
        self._mesh, self._root, self._scope, self._metadata = mesh, root, scope, metadata
        self._secret = KeyFile.of(mesh.folder).keys()[0].secret  # a rotation does not change it
        self._channel = mesh._channel  # noqa: SLF001
        self._identity = cache(identity_of)
        self._folder = self._place(root.parent if root.is_file() else root)
        self._read: dict[str, str] = {}  # the files of this run: digests of path and text

    def draft(self, path: Path, text: str) -> Draft:
        """The text of a file as a memory, which supersedes that of its earlier text."""
        name = shown(path.relative_to(self._root).as_posix() if path != self._root else path.name)
        place, said = self._place(path), self._digest(text.encode())
        if place in self._read:  # another clone of the same repository lies in this folder
            place = self._place(path, lasting=False)
        known = self._versions(f"{place}:")
        own = known.get(place, [])
        self._read[place] = said
        key, earlier = self._key_of(own, said) if own else self._key_before(name, text), None
        if key is None:
            key = f"file:{place}:{self._folder}:{said}:{own[-1].number + 1 if own else 1}"
            earlier = next((each for each in reversed(own) if each.status is Status.ACTIVE), None)
        details = {"scope": self._scope, "source_ref": name[-_MAX_NAME_CHARS:], "key": key}
        draft = self._mesh._draft(text, self._metadata, details)  # noqa: SLF001
        if earlier is None or self._is_held(earlier, known):
            return draft
        return replace(draft, supersedes=(earlier.memory,))

    def gone(self) -> list[Memory]:
        """The memories of files that are no longer in the folder, where no other file has the text.

        One that the user has pinned or said, too, is none of them.
        """
        newest = {path: versions[-1] for path, versions in self._versions("").items()}
        left = {path for path, each in newest.items() if not self._is_there(each)}
        held = {each.memory for path, each in newest.items() if path not in left}
        return [
            memory
            for memory in self._memories(*sorted({newest[path].memory for path in left} - held))
            if memory.status is Status.ACTIVE
            and memory.source.channel is self._channel
            and not memory.pinned
        ]

    def _key_of(self, own: Sequence[_Version], said: str) -> str | None:
        """The key of the text that a file still has; None if the text is to be stored.

        An earlier text is stored again, but never what was deleted. What another file's version
        superseded while this file was away is stored again, too.
        """
        same = [each for each in own if each.text == said]
        if not same or same[-1].status in _DELETED:
            return same[-1].key if same else None
        if same[-1] is not own[-1]:
            return None
        (memory,) = self._memories(same[-1].memory)
        later = () if memory.successor is None else self._memories(memory.successor)
        return None if any(each.source.channel is self._channel for each in later) else own[-1].key

    def _key_before(self, name: str, text: str) -> str | None:
        """The key that earlier versions gave a file, where its memory is no longer active."""
        message = f"{self._scope.project}\n{name}\n{text}".encode()
        key = f"file:{hmac.digest(self._secret, message, 'sha256').hex()}"
        with self._mesh._read() as snapshot:  # noqa: SLF001
            found = snapshot.keyed(f'["{key}"')
        return key if any(status is not Status.ACTIVE for _, _, status in found) else None

    def _is_held(self, earlier: _Version, known: Mapping[str, Sequence[_Version]]) -> bool:
        """Whether another file has the text of this version."""
        if earlier.text in self._read.values():
            return True
        others = (path for path in known if path not in self._read)
        newest = (self._versions(f"{path}:")[path][-1] for path in others)
        return any(each.text == earlier.text and self._is_there(each) for each in newest)

    def _is_there(self, version: _Version) -> bool:
        """Whether a file is there; one of another folder may be."""
        return (
            version.folder != self._folder
            or self._root.is_file()
            or version.path in self._read
            or version.path in self._present
        )

    @cached_property
    def _present(self) -> frozenset[str]:
        """The files that lie in the folder, whatever was to be read of them."""
        every = paths(self._root, recursive=True)
        return frozenset(
            self._place(path, lasting=each) for path in every for each in (True, False)
        )

    def _versions(self, beginning: str) -> dict[str, list[_Version]]:
        """The versions of the files whose paths have a digest that begins so, oldest first.

        Those of other files that are in the same memories are among them.
        """
        with self._mesh._read() as snapshot:  # noqa: SLF001
            found = snapshot.keyed(f'["file:{beginning}')
        versions: dict[str, list[_Version]] = {}
        for owned, memory, status in found:
            if parts := _KEY.fullmatch(key := given_key(owned)):
                path, folder, text, number = parts.groups()
                version = _Version(path, folder, text, int(number), key, memory, status)
                versions.setdefault(path, []).append(version)
        return versions

    def _memories(self, *ids: str) -> Sequence[Memory]:
        with self._mesh._read() as snapshot:  # noqa: SLF001
            found = snapshot.standing(Wanted(ids=ids)).memories
        return [found[id_] for id_ in ids if id_ in found]

    def _place(self, path: Path, *, lasting: bool = True) -> str:
        """A digest of the path of a file or folder."""
        real = Path(os.path.realpath(path))
        top = git_files.top(real) if lasting else None
        identity = None if top is None else self._identity(str(top))
        if top is None or identity is None:
            return self._digest(b"", os.fsencode(real.as_posix()))
        return self._digest(identity.name.encode(), os.fsencode(real.relative_to(top).as_posix()))

    def _digest(self, *parts: bytes) -> str:
        owner = f"{self._channel}\n{self._scope.project}".encode()
        return hmac.digest(self._secret, b"\0".join((owner, *parts)), "sha256").hex()[:_DIGITS]


def _report(tally: _Tally, skipped: Skipped, gone: Sequence[Memory], *, as_json: bool) -> int:
    named = {
        "binary": skipped.binary,
        "empty": tally.empty,
        "not UTF-8": skipped.not_utf8,
        "too large": skipped.too_large,
        "no plain file": skipped.special,
        "unreadable": skipped.unreadable,
        "unread": [f"{name}: {why}" for name, why in skipped.documents],
    }
    failed = any(names for what, names in named.items() if what not in {"binary", "empty"})
    if as_json:
        output.say_json(_plain(tally, skipped, gone))
        return int(failed or bool(tally.refused))
    output.progress("")
    output.say(
        f"[MemoryMesh] Ingested {output.counted(tally.stored, 'file')}, "
        f"{tally.known} already known."
    )
    left = {
        "ignored": skipped.ignored,
        "links": skipped.links,
        **{what: len(names) for what, names in named.items()},
        "refused": len(tally.refused),
    }
    parts = [f"{count} {what}" for what, count in left.items() if count]
    if skipped.folders:
        parts.append(f"{output.counted(skipped.folders, 'subfolder')} (--recursive reads them)")
    if said := ", ".join(parts):
        output.say(f"[MemoryMesh] Skipped: {said}.")
    output.tell(tally.more.sentences())
    named["refused"] = [f"{name}: {'; '.join(reasons)}" for name, reasons in tally.refused]
    named["gone"] = [
        f"{each.source.ref}; memory-mesh delete {each.id} deletes what is stored of it"
        for each in gone
    ]
    for what, names in named.items():
        _name(what, names)
    return int(failed or bool(tally.refused))


def _plain(tally: _Tally, skipped: Skipped, gone: Sequence[Memory]) -> dict[str, Json]:
    """The report as JSON values."""
    return {
        "ingested": tally.stored,
        "known": tally.known,
        "refused": [
            {"file": masked(name), "reasons": list(reasons)} for name, reasons in tally.refused
        ],
        "binary": len(skipped.binary),
        "ignored": skipped.ignored,
        "links": skipped.links,
        "subfolders": skipped.folders,
        "too_large": len(skipped.too_large),
        "unreadable": [masked(name) for name in skipped.unreadable],
        "skipped": {
            "documents": [{"file": masked(name), "reason": why} for name, why in skipped.documents],
            "binary": [masked(name) for name in skipped.binary],
            "empty": [masked(name) for name in tally.empty],
            "not_utf8": [masked(name) for name in skipped.not_utf8],
            "too_large": [masked(name) for name in skipped.too_large],
            "no_plain_file": [masked(name) for name in skipped.special],
        },
        "gone": [{"file": masked(str(each.source.ref)), "id": each.id} for each in gone],
        **tally.more.plain(),
    }


def _name(what: str, files: Sequence[str]) -> None:
    """Prints the first files of a kind, and how many more there are."""
    title = what[0].upper() + what[1:]
    for text in files[:_NAMED]:
        output.say(f"[MemoryMesh] {title}: {output.unbroken(masked(text))}.")
    output.say_more(len(files), _NAMED, what)


INGEST_DIR = Command(
    "memory-mesh import folder docs --extension .md --recursive",
    (
        argument("path", help="a folder, or a single file"),
        argument(
            "--extension",
            metavar="EXT",
            action="append",
            help="only files with this extension; may be repeated",
        ),
        argument("--type", metavar="TYPE", help="type of the memories"),
        argument("--recursive", action="store_true", help="also read subfolders"),
        FOR_ALL,
    ),
    _run_ingest_dir,
)
