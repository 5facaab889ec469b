"""Apply one document to its memory: the next version, a proposal, a delete, or a disagreement.

A change by the user is the next version. What came by git, or from an agent's tool, changes a
memory that is trusted no more than itself; for the user's own it is a proposal. The reason of a
change ends in the digest of its document: an interrupted run knows its own work by that.
"""

from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import dataclass, replace
from memory_mesh.formats.memory_file import parse
from memory_mesh.mirror import mapping
from memory_mesh.mirror.authors import Author
from memory_mesh.mirror.match_documents import MemoryDocuments, title_key
from memory_mesh.mirror.report import Line
from memory_mesh.mirror.run import CHANNELS, OUT_OF_USE, MirrorRun
from memory_mesh.mirror.state import GONE, HELD, Delta, MirroredDocument, hashed
from memory_mesh.model import Memory, MeshError, NotFound, Proposal, Status
from memory_mesh.rules.trust import ceiling, may_change

# Decide what a document and its memory should become, from what both sides last agreed on.
#
# ::
#
#     file \ store      unchanged         changed            gone
#     unchanged         nothing           take the store     remove the document
#     changed           take the file     agree | disagree   disagree
#     gone              delete            disagree           forget
#
# Both changed is an agreement only if both now say the same. Pure: no I/O.


class Act(Enum):
    """What to do with one document and its memory."""

    NOTHING = "nothing"
    AGREE = "agree"  # both say the same: remember that
    TAKE_FILE = "take the file"
    TAKE_STORE = "take the store"
    DELETE_MEMORY = "delete the memory"
    REMOVE_DOCUMENT = "remove the document"
    DISAGREE = "disagree"
    FORGET = "forget"  # both are gone


@dataclass(frozen=True, slots=True)
class Sides:
    """Digests of a document and of its memory; None where a side is gone."""

    file: str | None
    store: str | None


def decide(base: Sides | None, now: Sides, *, same: bool = False) -> Act:
    """The act for one document; without a base both sides must say the same.

    `same` is True if the document says what the memory says.
    """
    if now.file is None and now.store is None:
        return Act.FORGET
    file_changed = base is None or now.file != base.file
    store_changed = base is None or now.store != base.store
    if not file_changed:
        if not store_changed:
            return Act.NOTHING
        return Act.REMOVE_DOCUMENT if now.store is None else Act.TAKE_STORE
    if not store_changed:
        return Act.DELETE_MEMORY if now.file is None else Act.TAKE_FILE
    return Act.AGREE if same and None not in {now.file, now.store} else Act.DISAGREE


_MOST_BYTES = 10_000_000
_GONE = ""  # the digest of no file

_MOST = 1_000

_BOTH = "both changed: the file and the memory in the store"
_GONE_HERE = "the document is gone from the file, and the memory was changed in the store"
_GONE_THERE = "the document was changed in the file, and the memory is gone from the store"
_REJECTED = "the document was edited, and a change in it was rejected"
_GONE_REJECTED = "the document is gone from the file, and a change in it was rejected"
_OVERWRITTEN = "a document that the mirror wrote is gone from the file; an older one is left"


@dataclass(frozen=True, slots=True)
class AppliedDocument:
    """A document that was taken over, and what is known of it."""

    group: MemoryDocuments
    entry: MirroredDocument


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one document."""

    group: MemoryDocuments
    entry: MirroredDocument
    taken: bool = False  # its memory says now what it says
    faulty: bool = False  # it could not be taken over; the next run tries again


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a memory that is ready to be made."""

    group: MemoryDocuments
    held: MirroredDocument
    memory: Memory
    change: mapping.MemoryUpdate
    author: Author

    @property
    def plain(self) -> dict[str, object]:
        """The change as `update_many` takes it."""
        change = self.change
        said = {"content": change.content, "metadata": change.metadata}
        given = {name: value for name, value in said.items() if value is not None}
        return {"id": self.memory.id, "reason": self.reason, **given, **change.details}

    @property
    def reason(self) -> str:
        """Why the memory changes; it ends in the digest of its document."""
        return f"{_EDITED[self.author]} in {self.group.path} {mark(self.group.doc)}"


def settle(
    run: MirrorRun,
    group: MemoryDocuments,
    held: MirroredDocument,
    memory: Memory | None,
    data: bytes,
) -> Done | Edit | None:
    """Brings one document and its memory together, or returns the edit that will.

    None if there is no such memory any more: the document is a new one.
    """
    if group.path != held.path and held.doc:
        run.report.moved.append(Line(group.path, group.document.title, held.memory, held.path))
    known = replace(held, path=group.path, title=group.title, status=HELD)
    if memory is not None and held.status == GONE:
        memory = _restored(run, group, memory, data)
    if memory is None:  # it was erased, or may not come back
        return None
    act = _act(run, group, held, memory)
    if act is Act.TAKE_FILE:
        return edit(run, group, known, memory, run.author(group, data))
    if act is Act.DISAGREE:
        return Done(group, _disagreeing(run, group, held, memory))
    if act is Act.AGREE:
        run.report.agreed.append(Line(group.path, group.document.title, memory.id))
        return Done(group, agreed(run, group, memory, known), taken=True)
    if act is Act.NOTHING:
        return Done(group, replace(known, count=len(group.documents), note=None))
    run.due.append(memory.id)  # the store's side is newer: the push writes it
    return Done(group, replace(known, count=len(group.documents)))


def edit(
    run: MirrorRun, group: MemoryDocuments, held: MirroredDocument, memory: Memory, author: Author
) -> Done | Edit:
    """The edit that lets a memory say what its document says; what may not be made is proposed."""
    kind = ceiling(CHANNELS[author])
    dropped = set(held.stated) - set(mapping.stated(group.document))
    try:
        change = mapping.change_of(
            group.document, memory, dropped, worded=group.body != held.body, kind=kind
        )
        if change == mapping.MemoryUpdate():
            return Done(group, agreed(run, group, memory, held), taken=True)
        if may_change(kind, memory.source):
            return Edit(group, held, memory, change, author)
        return Done(group, _proposed(run, group, held, change, author))
    except MeshError as error:
        run.refuse(group.path, group.document.title, str(error), memory.id)
        return Done(group, held, faulty=True)


def make(run: MirrorRun, edits: Sequence[Edit]) -> list[Done]:
    """Makes the edits: those of one author together, or if that is refused one by one."""
    done: list[Done] = []
    for author in Author:
        mine = [one for one in edits if one.author is author]
        if not mine:
            continue
        view = run.view(CHANNELS[author])
        try:
            after = (
                [one.memory for one in mine]
                if run.dry
                else view.update_many([one.plain for one in mine])
            )
        except MeshError:
            done += [_made_alone(run, one) for one in mine]
        else:
            done += [_made(run, one, new) for one, new in zip(mine, after, strict=True)]
    return done


def _made_alone(run: MirrorRun, one: Edit) -> Done:
    try:
        (after,) = run.view(CHANNELS[one.author]).update_many([one.plain])
    except MeshError as error:
        run.refuse(one.group.path, one.group.document.title, str(error), one.memory.id)
        return Done(one.group, one.held, faulty=True)
    return _made(run, one, after)


def _made(run: MirrorRun, one: Edit, after: Memory) -> Done:
    run.report.changed.append(Line(one.group.path, one.group.document.title, after.id))
    return Done(one.group, agreed(run, one.group, after, one.held), taken=True)


def delete(run: MirrorRun, held: MirroredDocument, data: bytes | None, delta: Delta) -> None:
    """Deletes the memory of a document that is gone, or proposes that."""
    memory = run.latest(held.memory)
    if memory is None or memory.status in OUT_OF_USE:
        delta.forgotten.append(held.memory)
        return
    line = Line(held.path, mapping.document_of(memory).title, held.memory)
    now = Sides(None, mapping.digest_of(memory, run.linked(memory.id, held)))
    if decide(agreed_sides(run, held), now) is Act.DISAGREE:
        words = _GONE_REJECTED if refused(run, held) else _GONE_HERE
        run.report.disagreements.append(replace(line, words=words))
        delta.entries.append(replace(held, note=words))
        return
    author = _remover(run, held, data)
    reason = f"deleted from the file {held.path}"
    channel = CHANNELS[author]
    if may_change(ceiling(channel), memory.source):
        if not run.dry:
            run.view(channel).delete(held.memory, reason=reason)
        run.report.deleted.append(line)
        delta.entries.append(replace(held, status=GONE, note=None, waits=None))
        return
    waits = None
    if not run.dry:
        waits = run.view(channel).review.propose_delete(held.memory, reason=reason).id
    run.report.proposed.append(replace(line, words=f"to delete it, by {author.value}"))
    delta.entries.append(replace(held, waits=waits, status=GONE))


def _remover(run: MirrorRun, held: MirroredDocument, data: bytes | None) -> Author:
    """Who took a document away: with its file, or out of the file that has these bytes now.

    One that is not in the content from elsewhere on which the user's edits stand was removed there.
    """
    if data is None:
        return run.authors.deleted(held.path, run.state.hash_of(held.path) or "")
    author = run.authors.of(held.path, data)
    if author is not Author.USER:
        return author
    bases = [base.decode("utf-8", "replace") for base in run.authors.baselines(held.path)]
    kept = all(
        held.title in {title_key(one.title) for one in parse(base).documents} for base in bases
    )
    return author if kept else Author.DOCUMENT


def agreed(
    run: MirrorRun, group: MemoryDocuments, memory: Memory, held: MirroredDocument
) -> MirroredDocument:
    """What to remember when document and memory say the same."""
    ties = run.linked(memory.id, held)
    return replace(
        held,
        path=group.path,
        title=group.title,
        doc=group.doc,
        body=group.body,
        count=len(group.documents),
        store=mapping.digest_of(memory, ties),
        ties=ties,
        joined=not (held.links or group.document.related or "[[" in group.document.body),
        stated=mapping.stated(group.document),
        named=mapping.document_of(memory).title,
        sources=tuple(sources(memory, run.root).items()),
        note=None,
        waits=None,
        status=HELD,
    )


def _act(run: MirrorRun, group: MemoryDocuments, held: MirroredDocument, memory: Memory) -> Act:
    """What the two sides and what they last agreed on call for."""
    gone = memory.status in OUT_OF_USE
    store = None if gone else mapping.digest_of(memory, run.linked(memory.id, held))
    act = decide(agreed_sides(run, held) if held.doc else None, Sides(group.doc, store))
    if act is Act.DISAGREE and not gone and _same(run, group, memory):
        return Act.AGREE
    if act is Act.TAKE_FILE and held.written and len(group.documents) < held.count:
        return Act.DISAGREE  # the mirror's document was overwritten or removed
    return act


def _same(run: MirrorRun, group: MemoryDocuments, memory: Memory) -> bool:
    """True if the document says what the memory says, or the memory was changed by this document.

    The last block of the memory tells the latter: a run was interrupted after its change.
    """
    shown = mapping.document_of(memory, run.related(memory), title=group.document.title)
    return mapping.same(group.document, shown) or run.touched().get(memory.id, "").endswith(
        mark(group.doc)
    )


def _proposed(
    run: MirrorRun,
    group: MemoryDocuments,
    held: MirroredDocument,
    change: mapping.MemoryUpdate,
    author: Author,
) -> MirroredDocument:
    """The entry of a document whose change waits for a decision; the base of the store stays."""
    waits = None
    if not run.dry:
        details = {name: value for name, value in change.details.items() if name != "source_kind"}
        waits = (
            run.view(CHANNELS[author])
            .review.propose_update(
                held.memory,
                change.content,
                change.metadata,
                reason=f"{_EDITED[author]} in {group.path} {mark(group.doc)}",
                **details,
            )
            .id
        )
    line = Line(group.path, group.document.title, held.memory, f"by {author.value}")
    run.report.proposed.append(line)
    return replace(
        held, doc=group.doc, body=group.body, count=len(group.documents), waits=waits,
        stated=mapping.stated(group.document), note=None,
    )  # fmt: skip


def _restored(run: MirrorRun, group: MemoryDocuments, memory: Memory, data: bytes) -> Memory | None:
    """The memory whose document came back; None if the document is to be a memory of its own."""
    if memory.status is not Status.DELETED:
        return memory
    author = run.author(group, data)
    if not may_change(ceiling(CHANNELS[author]), memory.source):
        return None
    line = Line(group.path, group.document.title, memory.id)
    try:
        after = memory if run.dry else run.view(CHANNELS[author]).restore(memory.id)
    except (MeshError, NotFound):
        return None
    run.report.restored.append(line)
    return after


def _disagreeing(
    run: MirrorRun, group: MemoryDocuments, held: MirroredDocument, memory: Memory
) -> MirroredDocument:
    words = _GONE_THERE if memory.status in OUT_OF_USE else _BOTH
    if refused(run, held):
        words = _REJECTED
    elif held.written and len(group.documents) < held.count:
        words = _OVERWRITTEN
    line = Line(group.path, group.document.title, memory.id, words)
    run.report.disagreements.append(line)
    return replace(held, path=group.path, note=words, status=HELD)


def mark(doc: str) -> str:
    """What the reason of a change ends in: a short digest of its document."""
    return f"({doc[:12]})"


_EDITED = {
    Author.USER: "edited by hand",
    Author.DOCUMENT: "changed by git",
    Author.AGENT: "edited by an agent",
}


# What became of the changes that the mirror proposed: still open, approved, or rejected.
#
# A rejected change leaves the file with words that the store does not want. Then the store's side
# counts as the newer one: a push writes its words, and an edit of the document is a disagreement.


def look(run: MirrorRun) -> None:
    """Finds the documents whose proposed change was decided, so that the push writes them."""
    asked = [held for held in run.state.waiting() if held.status == HELD]
    still_open = {proposal.id for proposal in proposals(run)} if asked else set()
    if len(still_open) == _MOST:  # there may be more, so nothing is known of the others
        return
    decided = [held for held in asked if held.waits not in still_open]
    memories = run.latest_of([held.memory for held in decided])
    for held in decided:
        memory = memories.get(held.memory)
        if memory is None or memory.status in OUT_OF_USE:
            continue
        if mapping.digest_of(memory, run.linked(memory.id, held)) == held.store:
            run.rejected[held.memory] = held.waits or ""
        run.due.append(held.memory)


def refused(run: MirrorRun, held: MirroredDocument) -> bool:
    """True if the document holds a change that was proposed and rejected."""
    return held.waits is not None and run.rejected.get(held.memory) == held.waits


def agreed_sides(run: MirrorRun, held: MirroredDocument) -> Sides:
    """What both sides last agreed on; after a rejected change the store's side is newer."""
    return Sides(held.doc, None if refused(run, held) else held.store)


def report(run: MirrorRun) -> None:
    """Reports the proposals that wait for a decision about a memory of the folder."""
    for proposal in proposals(run):
        held = run.state.of_memory(proposal.memory)
        if held is not None:
            words = f"decide with: memory-mesh review --id {proposal.id}"
            run.report.proposed.append(Line(held.path, held.named, held.memory, words))


def proposals(run: MirrorRun) -> list[Proposal]:
    """The proposals that wait for a decision, the newest first."""
    return run.mesh.review.proposals(limit=_MOST)


# Which memories describe files that have changed since.
#
# A memory's `source` or `discoveredIn` may name a file of the project. Its digest is remembered
# when
# the document is written or read; a memory is stale once the file is another one, or gone. Editing
# the document says that its memory is right again.


@dataclass(frozen=True, slots=True)
class StaleMemory:
    """A memory whose source file changed or is gone."""

    memory: str
    path: str  # of its document
    source: str  # of the file that it is about
    words: str


def sources(memory: Memory, root: Path) -> dict[str, str]:
    """The project's files that a memory comes from, each with its digest; of no file: empty."""
    found: dict[str, str] = {}
    for name in _names(memory):
        path = _inside(root, name)
        found[name] = _GONE if path is None else _digest(path)
    return found


def differing(known: dict[str, str], root: Path) -> Iterator[tuple[str, str]]:
    """The files whose digest is another one than the known one, and what happened to each."""
    for name, before in known.items():
        path = _inside(root, name)
        now = _GONE if path is None else _digest(path)
        if now == _GONE:
            yield name, "is gone" if before else "was not there when this was written"
        elif now != before:
            yield name, "has changed" if before else "is there again"


def project_root(folder: Path) -> Path:
    """The folder that relative paths start from: the work tree, or the one above `.rawko`."""
    for place in (folder, *folder.parents):
        if (place / ".git").exists():
            return place
    return folder.parent.parent if folder.parent.name.startswith(".") else folder


def _names(memory: Memory) -> list[str]:
    aside = memory.extra.get("frontmatter")
    said = dict(aside) if isinstance(aside, dict) else {}
    stated = (said.get("source"), said.get("discoveredIn"), memory.source.ref)
    names = (_path().fullmatch(text.strip()) for text in stated if isinstance(text, str))
    return list(dict.fromkeys(match["path"] for match in names if match))


def _inside(root: Path, name: str) -> Path | None:
    """The file of this name if it lies in the project and may be read."""
    path = (root / name).resolve()
    return path if path.is_relative_to(root.resolve()) and path.is_file() else None


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashed(file.read(_MOST_BYTES))
    except OSError:
        return _GONE


# A relative path with a folder or an ending, with or without a line number.
_path = lazy_pattern(
    r"(?:file:)?(?:\./)?(?P<path>[^\s/:\\][^\s:\\]*(?:/[^\s:\\]+|\.\w{1,10}))(?::\d+(?:-\d+)?)?"
)
