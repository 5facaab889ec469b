"""Apply one document to its memory: the next version, a proposal, a delete, or a disagreement.

A change by the user is the next version. What came by git, or from an agent's tool, changes a
memory that is trusted no more than itself; for the user's own it is a proposal. The reason of a
change ends in the digest of its document: an interrupted run knows its own work by that.
"""

from collections.abc import Sequence

from memory_mesh.errors import MeshError, NotFound
from memory_mesh.fastdataclass import dataclass, replace
from memory_mesh.formats.memory_file import parse
from memory_mesh.mirror import mapping, stale, waiting
from memory_mesh.mirror.authors import Author
from memory_mesh.mirror.matching import Group, title_key
from memory_mesh.mirror.merging import Act, Sides, decide
from memory_mesh.mirror.report import Line
from memory_mesh.mirror.run import CHANNELS, OUT_OF_USE, Run
from memory_mesh.mirror.state import GONE, HELD, Delta, Held
from memory_mesh.model import Memory, Status
from memory_mesh.policy.writing.trust import ceiling, may_change

_BOTH = "both changed: the file and the memory in the store"
_GONE_HERE = "the document is gone from the file, and the memory was changed in the store"
_GONE_THERE = "the document was changed in the file, and the memory is gone from the store"
_REJECTED = "the document was edited, and a change in it was rejected"
_GONE_REJECTED = "the document is gone from the file, and a change in it was rejected"
_OVERWRITTEN = "a document that the mirror wrote is gone from the file; an older one is left"


@dataclass(frozen=True, slots=True)
class Taken:
    """A document that was taken over, and what is known of it."""

    group: Group
    entry: Held


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one document."""

    group: Group
    entry: Held
    taken: bool = False  # its memory says now what it says
    faulty: bool = False  # it could not be taken over; the next run tries again


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a memory that is ready to be made."""

    group: Group
    held: Held
    memory: Memory
    change: mapping.Change
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
    run: Run, group: Group, held: Held, memory: Memory | None, data: bytes
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


def edit(run: Run, group: Group, held: Held, memory: Memory, author: Author) -> Done | Edit:
    """The edit that lets a memory say what its document says; what may not be made is proposed."""
    kind = ceiling(CHANNELS[author])
    dropped = set(held.stated) - set(mapping.stated(group.document))
    try:
        change = mapping.change_of(
            group.document, memory, dropped, worded=group.body != held.body, kind=kind
        )
        if change == mapping.Change():
            return Done(group, agreed(run, group, memory, held), taken=True)
        if may_change(kind, memory.source):
            return Edit(group, held, memory, change, author)
        return Done(group, _proposed(run, group, held, change, author))
    except MeshError as error:
        run.refuse(group.path, group.document.title, str(error), memory.id)
        return Done(group, held, faulty=True)


def make(run: Run, edits: Sequence[Edit]) -> list[Done]:
    """Makes the edits: those of one author together, or if that is refused one by one."""
    done: list[Done] = []
    for author in Author:
        mine = [one for one in edits if one.author is author]
        if not mine:
            continue
        view = run.view(CHANNELS[author])
        try:
            after = [one.memory for one in mine] if run.dry else view.update_many(_plain(mine))
        except MeshError:
            done += [_made_alone(run, one) for one in mine]
        else:
            done += [_made(run, one, new) for one, new in zip(mine, after, strict=True)]
    return done


def _plain(edits: Sequence[Edit]) -> list[dict[str, object]]:
    return [one.plain for one in edits]


def _made_alone(run: Run, one: Edit) -> Done:
    try:
        (after,) = run.view(CHANNELS[one.author]).update_many([one.plain])
    except MeshError as error:
        run.refuse(one.group.path, one.group.document.title, str(error), one.memory.id)
        return Done(one.group, one.held, faulty=True)
    return _made(run, one, after)


def _made(run: Run, one: Edit, after: Memory) -> Done:
    line = Line(one.group.path, one.group.document.title, after.id)
    run.report.changed.append(line)
    return Done(one.group, agreed(run, one.group, after, one.held), taken=True)


def delete(run: Run, held: Held, data: bytes | None, delta: Delta) -> None:
    """Deletes the memory of a document that is gone, or proposes that."""
    memory = run.latest(held.memory)
    if memory is None or memory.status in OUT_OF_USE:
        delta.forgotten.append(held.memory)
        return
    line = Line(held.path, mapping.document_of(memory).title, held.memory)
    now = Sides(None, mapping.digest_of(memory, run.linked(memory.id, held)))
    if decide(waiting.base(run, held), now) is Act.DISAGREE:
        words = _GONE_REJECTED if waiting.refused(run, held) else _GONE_HERE
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
        waits = run.view(channel).propose_delete(held.memory, reason=reason).id
    run.report.proposed.append(replace(line, words=f"to delete it, by {author.value}"))
    delta.entries.append(replace(held, waits=waits, status=GONE))


def _remover(run: Run, held: Held, data: bytes | None) -> Author:
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


def agreed(run: Run, group: Group, memory: Memory, held: Held) -> Held:
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
        sources=tuple(stale.sources(memory, run.root).items()),
        note=None,
        waits=None,
        status=HELD,
    )


def _act(run: Run, group: Group, held: Held, memory: Memory) -> Act:
    """What the two sides and what they last agreed on call for."""
    gone = memory.status in OUT_OF_USE
    store = None if gone else mapping.digest_of(memory, run.linked(memory.id, held))
    base = waiting.base(run, held) if held.doc else None
    now = Sides(group.doc, store)
    act = decide(base, now)
    if act is Act.DISAGREE and not gone and _same(run, group, memory):
        return Act.AGREE
    if act is Act.TAKE_FILE and held.written and len(group.documents) < held.count:
        return Act.DISAGREE  # the mirror's document was overwritten or removed
    return act


def _same(run: Run, group: Group, memory: Memory) -> bool:
    """True if the document says what the memory says, or the memory was changed by this document.

    The last block of the memory tells the latter: a run was interrupted after its change.
    """
    shown = mapping.document_of(memory, run.related(memory), title=group.document.title)
    return mapping.same(group.document, shown) or run.touched().get(memory.id, "").endswith(
        mark(group.doc)
    )


def _proposed(run: Run, group: Group, held: Held, change: mapping.Change, author: Author) -> Held:
    """The entry of a document whose change waits for a decision; the base of the store stays."""
    waits = None
    if not run.dry:
        details = {name: value for name, value in change.details.items() if name != "source_kind"}
        waits = (
            run.view(CHANNELS[author])
            .propose_update(
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


def _restored(run: Run, group: Group, memory: Memory, data: bytes) -> Memory | None:
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


def _disagreeing(run: Run, group: Group, held: Held, memory: Memory) -> Held:
    words = _GONE_THERE if memory.status in OUT_OF_USE else _BOTH
    if waiting.refused(run, held):
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
