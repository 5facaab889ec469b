"""Store documents that are no memory yet.

The id of a new memory is noted before the memory is stored. If a run is killed in between, the next
one finds the memory under that id, or stores the document anew.
"""

from collections.abc import Mapping, Sequence

from memory_mesh.base.fastdataclass import dataclass, replace
from memory_mesh.formats.memory_file_reading import refusal
from memory_mesh.mirror import mapping
from memory_mesh.mirror.applying import AppliedDocument, agreed
from memory_mesh.mirror.authors import Author
from memory_mesh.mirror.matching import MemoryDocuments
from memory_mesh.mirror.report import Line
from memory_mesh.mirror.run import CHANNELS, MirrorRun
from memory_mesh.mirror.state import COMING, GONE, HELD, Delta, MirroredDocument
from memory_mesh.model import Draft, Outcome, Receipt
from memory_mesh.model.errors import InvalidInput, MeshError


def meant(run: MirrorRun, group: MemoryDocuments) -> MirroredDocument | None:
    """The memory that a new document means: one deleted with it, or one of ours that it names."""
    for one in run.state.titled(group.title, GONE):
        return one
    id_ = group.document.memory_id
    if id_ is None or run.state.of_memory(id_) is not None:
        return None
    memory = run.latest(id_)
    if memory is None or not run.mirrors(memory):
        return None
    return MirroredDocument(id_, group.path, group.title, "", "")


def finish(run: MirrorRun) -> None:
    """Ends what an interrupted run began: its new memories are known, or forgotten."""
    delta = Delta()
    for held in run.state.with_status(COMING):
        memory = run.latest(held.memory)
        if memory is None:
            delta.forgotten.append(held.memory)
        else:
            ties = run.linked(memory.id)
            digest = mapping.digest_of(memory, ties)
            delta.entries.append(replace(held, store=digest, ties=ties, joined=False, status=HELD))
    if delta.forgotten or delta.entries:
        run.write(delta)


def store(
    run: MirrorRun, found: Sequence[MemoryDocuments], data: Mapping[str, bytes]
) -> tuple[list[AppliedDocument], set[str]]:
    """Stores documents as new memories; returns those stored and the files of those refused."""
    refused: set[str] = set()
    ready: list[_Ready] = []
    for group in found:
        author = run.author(group, data[group.path])
        again = run.state.same_text(group.body) or (
            sum(other.body == group.body for other in found) > 1
        )
        try:
            ready.append(_drafted(run, group, author, again=again))
        except MeshError as error:
            run.refuse(group.path, group.document.title, str(error))
            refused.add(group.path)
    run.write(Delta(entries=[one.held for one in ready]))
    taken: list[AppliedDocument] = []
    delta = Delta(forgotten=[one.held.memory for one in ready])
    for author in Author:
        mine = [one for one in ready if one.author is author]
        receipts = _added(run, [one.draft for one in mine], author)
        for one, receipt in zip(mine, receipts, strict=True):
            entry = _entered(run, one, receipt)
            if entry is None:
                refused.add(one.group.path)
            else:
                taken.append(AppliedDocument(one.group, entry))
                delta.entries.append(entry)
    run.write(delta)
    return taken, refused


@dataclass(frozen=True, slots=True)
class _Ready:
    """A document that is about to be stored."""

    group: MemoryDocuments
    held: MirroredDocument
    draft: Draft
    author: Author


def _drafted(run: MirrorRun, group: MemoryDocuments, author: Author, *, again: bool) -> _Ready:
    """The document as a memory to be stored; `again` if its text is stored for another document."""
    document = group.document
    if (why := refusal(document)) is not None:
        raise InvalidInput(why)
    if not document.body.strip():
        raise InvalidInput("the document has no text below its frontmatter")
    id_ = run.ids.draw("mem")
    draft = mapping.draft_of(document, id_, run.scope, CHANNELS[author], run.now())
    held = MirroredDocument(
        id_, group.path, group.title, group.doc, group.body, len(group.documents),
        stated=mapping.stated(document), status=COMING,
    )  # fmt: skip
    return _Ready(group, held, replace(draft, allow_duplicate=again), author)


def _added(run: MirrorRun, drafts: Sequence[Draft], author: Author) -> list[Receipt]:
    if not drafts:
        return []
    if run.dry:
        origins = [draft.origin for draft in drafts]
        return [
            Receipt(None if one is None else one.id, "", {}, None, Outcome.STORED)
            for one in origins
        ]
    return run.view(CHANNELS[author]).add_many(drafts)


def _entered(run: MirrorRun, one: _Ready, receipt: Receipt) -> MirroredDocument | None:
    """The entry of a stored document; None if it was refused."""
    path, title = one.group.path, one.group.document.title
    into = receipt.merged_into or receipt.id
    if into is None:
        run.refuse(path, title, "; ".join(receipt.reasons))
        return None
    known = None if into == one.held.memory else run.state.of_memory(into)
    if known is not None:
        run.refuse(path, title, f"the same text is in {known.path}; change one of them")
        return None
    waits = receipt.outcome is Outcome.QUARANTINED
    words = "; ".join(receipt.reasons) if waits else ""
    run.report.added.append(Line(path, title, into, words))
    memory = None if run.dry else run.latest(into)
    if memory is None:
        return one.held if run.dry else None
    own = into == one.held.memory  # else it was stored before, with links of its own
    held = replace(one.held, memory=into, status=HELD if own else COMING)
    return agreed(run, one.group, memory, held)
