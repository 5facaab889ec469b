"""One run of a mirror: what both directions share."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from memory_mesh.base.typed import Protocol
from memory_mesh.formats.memory_file import MemoryFile, parse, wiki_links
from memory_mesh.learn.rules import trace_learnings
from memory_mesh.mirror import state
from memory_mesh.mirror.authors import Author
from memory_mesh.mirror.mapping import related_in_file
from memory_mesh.mirror.match_documents import MemoryDocuments, groups, title_key
from memory_mesh.mirror.report import Line, MirrorReport
from memory_mesh.mirror.state import ENDING, HELD, Delta, MirroredDocument, State
from memory_mesh.model import Channel, Memory, Scope, Status, Tier
from memory_mesh.model.ports import Ids
from memory_mesh.sync import MemoryMesh

CHANNELS = {
    Author.USER: Channel.MIRROR,
    Author.DOCUMENT: Channel.FILE,
    Author.AGENT: Channel.ASSISTANT,
}
OUT_OF_USE = {Status.DELETED, Status.SUPERSEDED, Status.ARCHIVED}
SLICE = 200  # documents per step: an interruption repeats at most one step
SEQ = "seq"  # the number of the last write that the folder holds
BLOCK = "block"  # the hash of that write's first block: after a restore it is another one
_PAGE, _AT_ONCE = 1_000, 40
_ID = re.compile(r"\w{1,40}", re.ASCII)
_CONFLICT = b"<<<<<<<"


class Whose(Protocol):
    """Says whose words the files of a folder are."""

    def begin(self, path: str) -> None:
        """Hears of the first file that will be asked about."""

    def expect(self, contents: Mapping[str, bytes]) -> None:
        """Hears of all files that will be asked about."""

    def of(self, path: str, content: bytes) -> Author:
        """The author of a file's present content."""

    def deleted(self, path: str, last_content_hash: str) -> Author:
        """Who removed a file with this SHA-256."""

    def waiting(self, path: str, content: bytes) -> str | None:
        """Why a file should be left alone for now."""

    def of_documents(
        self, path: str, content: bytes, split: Callable[[bytes], Sequence[str]]
    ) -> list[Author]:
        """The author of each document of a file, which `split` takes apart."""

    def baselines(self, path: str) -> Sequence[bytes]:
        """The contents from elsewhere that the user's edits of a file stand on."""


@dataclass(slots=True)
class MirrorRun:
    """The folder, the store and the state of one run, and the report it fills."""

    mesh: MemoryMesh
    folder: Path
    state: State
    report: MirrorReport
    authors: Whose
    ids: Ids
    now: Callable[[], datetime]
    dry: bool = False
    replaces: bool = False  # the store's change replaces a document instead of following it
    deletes: bool = False  # also delete when most documents are gone
    wall_ns: Callable[[], int] = time.time_ns
    root: Path = Path()  # of the project: relative paths in documents start here
    former: tuple[str, ...] = ()  # names of the project, as the store has them
    due: list[str] = field(default_factory=list)  # memories whose documents must be written
    rejected: dict[str, str] = field(default_factory=dict)  # memories, with the proposal
    _views: dict[Channel, MemoryMesh] = field(default_factory=dict)
    _touched: dict[str, str] | None = None
    _whose: dict[str, list[Author]] = field(default_factory=dict)

    @property
    def scope(self) -> Scope:
        """The audience of the memories that are mirrored: the project and nobody in particular."""
        return Scope(self.mesh.config.project or None)

    def view(self, channel: Channel) -> MemoryMesh:
        """The store as one channel writes to it."""
        if channel not in self._views:
            self._views[channel] = self.mesh.view(channel=channel)
        return self._views[channel]

    def write(self, delta: Delta) -> None:
        """Writes the state, unless the run only says what it would do."""
        if not self.dry:
            self.state.apply(delta)

    def latest(self, memory_id: str) -> Memory | None:
        """The last version of a memory, whatever its status; this counts as no use."""
        versions = self.mesh.history(memory_id)
        return versions[-1] if versions else None

    def latest_of(self, ids: Sequence[str]) -> dict[str, Memory]:
        """The last versions of many memories."""
        found: dict[str, Memory] = {}
        statuses = [status for status in Status if status is not Status.EXPIRED]
        for start in range(0, len(ids), _AT_ONCE):
            part = [id_ for id_ in ids[start : start + _AT_ONCE] if _ID.fullmatch(id_)]
            if not part:
                continue
            named = ", ".join(f"'{id_}'" for id_ in part)
            page = self.mesh.get_all(filter=f"id IN ({named})", limit=_PAGE, include=statuses)
            found |= {memory.id: memory for memory in page}
        for id_ in ids:
            if id_ not in found and (memory := self.latest(id_)) is not None:
                found[id_] = memory  # one of another form, or not valid today
        return found

    def linked(self, memory_id: str, held: MirroredDocument | None = None) -> tuple[str, ...]:
        """The memories that a memory is linked to as related.

        Those of a document are known if nothing was written about its memory since the last push.
        """
        if held is not None and held.status == HELD and memory_id not in self.touched():
            return held.ties
        return tuple(
            link.target
            for link in self.mesh.graph.links(memory_id, types=["related"])
            if link.source == memory_id
        )

    def touched(self) -> dict[str, str]:
        """The memories that were written since the last push, with the reason of the last write."""
        if self._touched is None:
            self._touched = {}
            for _, ids, reason in self.changes(int(self.state.value(SEQ) or 0)):
                self._touched |= dict.fromkeys(ids, reason)
        return self._touched

    def related(self, memory: Memory) -> list[str]:
        """What stands under relatedMemories in a memory's document."""
        return names_for(self, memory, related_in_file(memory))

    def mirrors(self, memory: Memory) -> bool:
        """True if a memory belongs into the folder: long-term, active, of this project alone.

        What was read from other files and pages stays there. A lesson, a trace and what was learned
        from traces have files of their own.
        """
        scope = memory.scope
        return (
            memory.status is Status.ACTIVE
            and memory.tier is Tier.LONG_TERM
            and scope.project in {self.scope.project, *self.former}
            and scope.agent is None
            and scope.session is None
            and memory.lesson is None
            and memory.label != "trace"
            and trace_learnings.read(memory) is None
            and memory.source.channel not in {Channel.FILE, Channel.WEB}
        )

    def author(self, group: MemoryDocuments, data: bytes) -> Author:
        """Whose words a document is; git may have mixed those of several in one file."""
        if group.among == 1:
            return self.authors.of(group.path, data)
        if group.path not in self._whose:
            self._whose[group.path] = self.authors.of_documents(
                group.path,
                data,
                lambda content: [
                    one.raw.strip() for one in parse(content.decode("utf-8", "replace")).documents
                ],
            )
        return self._whose[group.path][group.index]

    def waiting(self, path: str, data: bytes) -> str | None:
        """Why a file should be left alone for now: it holds a conflict."""
        return self.authors.waiting(path, data) if _CONFLICT in data else None

    def changes(self, after: int) -> "list[tuple[int, Sequence[str], str]]":
        """Every write after a number: its number, the memories it changed, and its reason."""
        found: list[tuple[int, Sequence[str], str]] = []
        while True:
            blocks = self.mesh.care.blocks(after_seq=after, limit=_PAGE, as_owner=True)
            for block in blocks:
                after = max(after, block.seq or 0)
                why = block.entry.metadata.get("why")
                found.append((after, block.entry.memories, why if isinstance(why, str) else ""))
            if len(blocks) < _PAGE:
                return found

    def block(self, seq: int) -> str | None:
        """The hash of the first block of a write; None if there is no such write."""
        found = self.mesh.care.blocks(after_seq=seq - 1, limit=1, as_owner=True) if seq else []
        return found[0].hash.hex() if found and found[0].seq == seq and found[0].hash else None

    def refuse(self, path: str, title: str, words: str, memory: str | None = None) -> None:
        """Reports what could not be taken over."""
        self.report.refused.append(Line(path, title, memory, words))

    def note(self, path: str, words: str, title: str = "") -> None:
        """Reports something worth knowing about a file or a document."""
        self.report.notes.append(Line(path, title, words=words))


def grouped(run: MirrorRun, path: str, documents: Sequence[MemoryFile]) -> list[MemoryDocuments]:
    """The memories of a file; those that the mirror knows apart stay apart."""
    return groups(path, documents, named_in(run, documents))


def named_in(run: MirrorRun, documents: Sequence[MemoryFile]) -> set[str]:
    """The memories that documents name and the mirror knows."""
    ids = {one.memory_id for one in documents if one.memory_id is not None}
    return {id_ for id_ in ids if run.state.of_memory(id_) is not None}


def present(
    run: MirrorRun, held: MirroredDocument
) -> tuple[state.FileText | None, MemoryDocuments | None]:
    """The file of a document as it is now, and the document in it."""
    try:
        text = state.read(run.folder, held.path)
    except (OSError, ValueError):
        return None, None
    return text, group_of(run, text.text, held.path, held.memory, held.title)


def group_of(
    run: MirrorRun, text: str, path: str, memory: str, title: str
) -> MemoryDocuments | None:
    """The document of a memory in a file's text: by its id, else by its title."""
    name = path.rpartition("/")[2].removesuffix(state.ENDING)
    found = grouped(run, path, parse(text, name=name).documents)
    named = next((group for group in found if group.document.memory_id == memory), None)
    return named or next((group for group in found if group.title == title), None)


def names_for(run: MirrorRun, memory: Memory, stated: Sequence[str]) -> list[str]:
    """The relatedMemories of a memory: those stated and still linked, then those linked since."""
    linked = set(run.linked(memory.id))
    kept: list[str] = []
    for name in stated:
        found = document_named(run, name)
        if found is None or found.memory in linked:
            kept.append(name)
            linked -= set() if found is None else {found.memory}
    inside = {one.memory for name in wiki_links(memory.text) if (one := document_named(run, name))}
    others = (run.state.of_memory(id_) for id_ in sorted(linked - inside))
    return kept + [held.path for held in others if held is not None and held.status == HELD]


def document_named(run: MirrorRun, name: str) -> MirroredDocument | None:
    """The document that a name means: a path, a file's name, or a title."""
    plain = name.strip().removeprefix("[[").removesuffix("]]").split("|")[0].strip()
    path = plain if plain.endswith(ENDING) else plain + ENDING
    found = run.state.at(path) or run.state.titled(title_key(plain))
    return found[0] if found else None
