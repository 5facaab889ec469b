"""From the folder to the store: read what changed, find out what each document is, and apply it.

::

    list, stat ─▶ read the changed files ─▶ documents ─▶ which memory is each? ─▶ apply_document.py
                                                                             └──▶ a new memory

The state is written after each step, so an interrupted run repeats at most one step. A file that
could not be taken as it is stays unread in the state, and every run says so again.

The id of a new memory is noted before the memory is stored. If a run is killed in between, the next
one finds the memory under that id, or stores the document anew.
"""

import dataclasses
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from contextlib import suppress

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.formats.memory_file import MemoryFile, parse, wiki_links
from memory_mesh.formats.memory_file_reading import refusal
from memory_mesh.mirror import apply_document, mapping, state
from memory_mesh.mirror.authors import Author
from memory_mesh.mirror.match_documents import (
    MemoryDocuments,
    Paired,
    by_file,
    moved,
    pair,
    rewritten,
    title_key,
)
from memory_mesh.mirror.report import Line
from memory_mesh.mirror.run import (
    CHANNELS,
    SLICE,
    MirrorRun,
    document_named,
    grouped,
    named_in,
    present,
)
from memory_mesh.mirror.state import COMING, ENDING, GONE, HELD, Delta, MirroredDocument
from memory_mesh.model import Channel, Draft, InvalidInput, MeshError, NotFound, Outcome, Receipt

_REASON = "named in the memory's document"

YOUNG_NS = 300_000_000  # a program may still be writing a file that is newer
_MOST, _MANY = 2, 10  # more than one in two, and at least so many: somebody must say so
_KEPT = "kept"  # memories that are not deleted though their documents are gone
_NO_NAME = "the name of the file is not UTF-8; rename it"
_UNREAD = ""  # the hash of a file that is taken apart at every run


@dataclasses.dataclass(slots=True)
class ChangedFiles:
    """The changed files as they were read, and their documents."""

    texts: dict[str, state.FileText] = dataclasses.field(default_factory=dict)
    groups: dict[str, list[MemoryDocuments]] = dataclasses.field(default_factory=dict)
    faulty: set[str] = dataclasses.field(default_factory=set)


def pull(run: MirrorRun) -> None:
    """Brings the store up to the folder."""
    finish(run)
    apply_document.look(run)
    listed = state.listing(run.folder)
    run.report.files = len(listed)
    for place in listed.unreadable:
        run.note(place, "this folder cannot be read; its files are left as they were")
    differing = state.changes(listed.stamps, run.state.stamps())
    gone = [] if listed.unreadable else differing.gone
    open_ = {one.path for one in run.state.disagreeing()}
    if not differing.changed and not gone and not open_:
        return
    if differing.changed:
        run.authors.begin(differing.changed[0])
    found = _read(run, differing.changed, {path for path in open_ if path in listed})
    gone = [*gone, *sorted(path for path in open_ - {*gone} if path not in listed)]
    plan = _planned(run, found, run.state.in_files([*found.groups, *gone]))
    missing = _deletable(run, found, plan.missing, _kept(run, plan, listed))
    touched = _apply(run, found, plan)
    _delete(run, found, missing)
    join(run, touched)
    _remember(run, found, gone if len(missing) == len(plan.missing) else [])


def _read(run: MirrorRun, paths: Sequence[str], again: AbstractSet[str]) -> ChangedFiles:
    """Reads the files whose stamp is another one, and takes apart those whose bytes are.

    Files in which something disagrees (`again`) are taken apart every time.
    """
    found = ChangedFiles()
    for path in sorted({*paths, *again}):
        if (shown := path.encode("utf-8", "backslashreplace").decode()) != path:
            run.refuse(shown, "", "its name is not UTF-8; rename it")
            continue
        try:
            path.encode()
            text = state.read(run.folder, path)
        except FileNotFoundError:
            continue  # removed since it was listed: the next run sees that
        except UnicodeEncodeError:
            run.refuse(os.fsencode(path).decode(errors="replace"), "", _NO_NAME)
            continue
        except (OSError, ValueError) as error:
            run.refuse(path, "", str(error))
            continue
        run.report.read += 1
        found.texts[path] = text
        if path in again or text.hash != run.state.hash_of(path):
            _take_apart(run, path, text, found)
    return found


def _take_apart(run: MirrorRun, path: str, text: state.FileText, found: ChangedFiles) -> None:
    if (why := run.waiting(path, text.data)) is not None:
        run.refuse(path, "", why)
        found.faulty.add(path)
        return
    parsed = parse(text.text, name=path.rpartition("/")[2].removesuffix(state.ENDING))
    whole = bool(parsed.documents) and all(one.readable for one in parsed.documents)
    for fault in parsed.faults:
        words = f"line {fault.line}: {fault.message}"
        if whole:
            run.note(path, words)
        else:
            run.refuse(path, "", words)
    if whole:
        found.groups[path] = grouped(run, path, parsed.documents)
        return
    if not parsed.documents:
        run.note(path, "the file is empty; delete it if you want to delete its memories")
    found.faulty.add(path)


def _planned(run: MirrorRun, found: ChangedFiles, held: Sequence[MirroredDocument]) -> Paired:
    """Brings documents and memories together, first in each file, then across files."""
    known: list[tuple[MemoryDocuments, MirroredDocument]] = []
    new: list[MemoryDocuments] = []
    missing: list[MirroredDocument] = []
    alone: set[str] = set()
    mine = by_file(one for one in held if one.status not in {COMING, GONE})
    for path, parts in found.groups.items():
        here = mine.pop(path, [])
        named = named_in(run, [one.document for one in parts])
        paired = pair(parts, here, named - {one.memory for one in here})
        known += paired.known
        new += paired.new
        missing += paired.missing
        if len(paired.new) == len(paired.missing) == 1:
            alone.add(path)
    missing += [one for rest in mine.values() for one in rest]
    across = moved(new, missing)
    last = rewritten(across.new, across.missing, alone)
    known += across.known + last.known
    unknown: list[MemoryDocuments] = []
    for group in last.new:
        copy = meant(run, group)
        if copy is None:
            unknown.append(group)
        else:
            known.append((group, copy))
    return Paired(known, unknown, last.missing)


def _deletable(
    run: MirrorRun, found: ChangedFiles, missing: Sequence[MirroredDocument], kept: AbstractSet[str]
) -> list[MirroredDocument]:
    """The memories to delete because their documents are gone; none if some are `kept`."""
    if kept:
        run.note(
            ".",
            f"{len(kept)} of {run.state.counts()[1]} documents are gone, so nothing was deleted. "
            "If you mean it, run: memory-mesh mirror pull --deletes. If all are gone, "
            "memory-mesh mirror init writes them again.",
        )
        found.faulty |= {one.path for one in missing if one.path in found.texts}
        return []
    return [one for one in missing if not _being_written(run, found, one)]


def _kept(run: MirrorRun, plan: Paired, listed: state.Listing) -> set[str]:
    """The memories that are not deleted without a word, though their documents are gone.

    So many are gone that it looks like another branch or an empty disk: all of several, or most of
    many. They are kept until somebody says so, or they come back, whatever is added meanwhile.
    """
    missing = {one.memory for one in plan.missing}
    before = set(json.loads(run.state.value(_KEPT) or "[]"))
    known = ((id_, run.state.of_memory(id_)) for id_ in before - missing)
    back = {id_ for id_, held in known if held is None or held.path in listed}
    total = run.state.counts()[1] if len(missing) > 1 else 0
    most = len(missing) >= _MANY and len(missing) * _MOST > total
    kept = before - back
    if run.deletes:
        kept -= missing
    elif most or len(missing) == total:
        kept |= missing
    if kept != before:
        run.write(Delta(values={_KEPT: json.dumps(sorted(kept))}))
    return kept & missing


def _being_written(run: MirrorRun, found: ChangedFiles, held: MirroredDocument) -> bool:
    """True if the document's file is so new that its end may not be written yet."""
    text = found.texts.get(held.path)
    if text is None:
        return False
    young = text.stamp + YOUNG_NS - run.wall_ns()
    if young > 0:
        time.sleep(min(young, YOUNG_NS) / 1e9)
    try:
        changed = state.read(run.folder, held.path).hash != text.hash
    except (OSError, ValueError):
        changed = True
    if changed:
        found.faulty.add(held.path)
    return changed


def _apply(
    run: MirrorRun, found: ChangedFiles, plan: Paired
) -> list[apply_document.AppliedDocument]:
    """Takes over every document; returns those whose links may be others now."""
    touched: list[apply_document.AppliedDocument] = []
    for start in range(0, len(plan.known), SLICE):
        part = plan.known[start : start + SLICE]
        memories = run.latest_of([held.memory for _, held in part])
        run.authors.expect({group.path: found.texts[group.path].data for group, _ in part})
        settled = [
            apply_document.settle(
                run, group, held, memories.get(held.memory), found.texts[group.path].data
            )
            for group, held in part
        ]
        lost = [pair for pair, one in zip(part, settled, strict=True) if one is None]
        delta = Delta(forgotten=[held.memory for _, held in lost])
        plan.new.extend(group for group, _ in lost)
        done = [one for one in settled if isinstance(one, apply_document.Done)]
        done += apply_document.make(
            run, [one for one in settled if isinstance(one, apply_document.Edit)]
        )
        delta.entries += [one.entry for one in done if not one.faulty]
        run.write(delta)
        found.faulty |= {one.group.path for one in done if one.faulty}
        touched += [
            apply_document.AppliedDocument(one.group, one.entry) for one in done if one.taken
        ]
    for start in range(0, len(plan.new), SLICE):
        news = plan.new[start : start + SLICE]
        data = {group.path: found.texts[group.path].data for group in news}
        run.authors.expect(data)
        stored, refused = store(run, news, data)
        touched += stored
        found.faulty |= refused
    return touched


def _delete(run: MirrorRun, found: ChangedFiles, missing: Sequence[MirroredDocument]) -> None:
    delta = Delta()
    for held in missing:
        text = found.texts.get(held.path)
        apply_document.delete(run, held, None if text is None else text.data, delta)
    run.write(delta)


def _remember(run: MirrorRun, found: ChangedFiles, gone: Sequence[str]) -> None:
    """Writes down what was read, so that it is not read again."""
    now, delta = run.wall_ns(), Delta()
    for path, text in found.texts.items():
        if path in found.faulty:
            delta.files[path] = (state.NO_STAMP, _UNREAD)
        else:
            delta.files[path] = (state.settled(text.stamp, now), text.hash)
    for path in gone:
        delta.files[path] = None
    run.write(delta)


# Links between memories from relatedMemories and [[wiki links]], and back to names of files.
#
# A name is the path or name of a file, with or without its ending, or the title of a memory. A name
# that leads nowhere yet is remembered until a memory of that name comes.


def join(run: MirrorRun, taken: Sequence[apply_document.AppliedDocument]) -> None:
    """Links the memories of documents that were taken over to those that they name.

    Those that an interrupted run left are linked too.
    """
    waiting = _waiting(run, [one.entry for one in taken])
    names = {one.entry.memory: names_in(one.group.document) for one in taken}
    unjoined = run.state.unjoined()
    for start in range(0, len(unjoined), SLICE):
        delta = Delta()
        for held in unjoined[start : start + SLICE]:
            _link(run, held, names.get(held.memory) or _names_read(run, held), delta)
        run.write(delta)
    delta = Delta()
    for memory in waiting:
        wishing = run.state.of_memory(memory)
        if wishing is not None and wishing.status == HELD:
            _link(run, wishing, _names_read(run, wishing), delta, more=True)
    run.write(delta)


def names_in(document: MemoryFile) -> list[str]:
    """The names that a document links to."""
    return [*document.related, *wiki_links(document.body)]


def _names_read(run: MirrorRun, held: MirroredDocument) -> list[str]:
    """The names in a document that is not at hand."""
    _, group = present(run, held)
    return [] if group is None else names_in(group.document)


def _link(
    run: MirrorRun,
    held: MirroredDocument,
    names: Iterable[str],
    delta: Delta,
    *,
    more: bool = False,
) -> None:
    """Links a memory to the named ones; takes away links whose names are gone, unless `more`."""
    found, wishes = _looked_up(run, held, names)
    targets = list(dict.fromkeys([*(held.links if more else ()), *found]))
    linked = run.linked(held.memory) if targets else ()
    news = [id_ for id_ in targets if id_ not in linked]
    olds = [id_ for id_ in held.links if id_ not in targets]
    if not run.dry:
        _change(run, held.memory, news, olds)
    if wishes or not more:
        delta.wishes[held.memory] = tuple(wishes)
    run.report.linked += [Line(held.path, memory=held.memory, words=id_) for id_ in news]
    memory = run.latest(held.memory) if news or olds else None
    if memory is None:
        known = replace(held, links=tuple(targets), joined=True)
        delta.entries += [] if held == known else [known]
        return
    ties = run.linked(memory.id)
    store = mapping.digest_of(memory, ties)
    known = replace(held, links=tuple(targets), ties=ties, store=store, joined=True)
    delta.entries.append(known)


def _looked_up(
    run: MirrorRun, held: MirroredDocument, names: Iterable[str]
) -> tuple[list[str], list[str]]:
    """The memories that names lead to, and the names that lead nowhere yet."""
    targets: list[str] = []
    wishes: list[str] = []
    for name in dict.fromkeys(names):
        found = document_named(run, name)
        if found is None:
            wishes.append(_key(name))
        elif found.memory != held.memory:
            targets.append(found.memory)
    return targets, wishes


def _change(run: MirrorRun, memory: str, news: Sequence[str], olds: Sequence[str]) -> None:
    view = run.view(Channel.MIRROR)
    for id_ in news:
        with suppress(NotFound):  # the other memory was deleted meanwhile
            view.graph.link(memory, id_, reason=_REASON)
    for id_ in olds:
        with suppress(NotFound):
            view.graph.unlink(memory, id_, reason=_REASON)


def _waiting(run: MirrorRun, entries: Sequence[MirroredDocument]) -> list[str]:
    """The memories whose documents named one of these before it existed."""
    names: list[str] = []
    for held in entries:
        stem = held.path.removesuffix(ENDING)
        names += [held.title, title_key(stem), title_key(stem.rpartition("/")[2])]
    return run.state.wishing(dict.fromkeys(names))


def _key(name: str) -> str:
    plain = name.strip().removeprefix("[[").removesuffix("]]").split("|")[0]
    return title_key(plain.removesuffix(ENDING))


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
) -> tuple[list[apply_document.AppliedDocument], set[str]]:
    """Stores documents as new memories; returns those stored and the files of those refused."""
    refused: set[str] = set()
    ready: list[_Ready] = []
    for group in found:
        author = run.author(group, data[group.path])
        again = run.state.same_text(group.body) or _repeats(group, found)
        try:
            ready.append(_drafted(run, group, author, again=again))
        except MeshError as error:
            run.refuse(group.path, group.document.title, str(error))
            refused.add(group.path)
    run.write(Delta(entries=[one.held for one in ready]))
    taken: list[apply_document.AppliedDocument] = []
    delta = Delta(forgotten=[one.held.memory for one in ready])
    for author in Author:
        mine = [one for one in ready if one.author is author]
        receipts = _added(run, [one.draft for one in mine], author)
        for one, receipt in zip(mine, receipts, strict=True):
            entry = _entered(run, one, receipt)
            if entry is None:
                refused.add(one.group.path)
            else:
                taken.append(apply_document.AppliedDocument(one.group, entry))
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


def _repeats(group: MemoryDocuments, found: Sequence[MemoryDocuments]) -> bool:
    """True if another of these documents has the same text: both are kept, apart."""
    return sum(other.body == group.body for other in found) > 1


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
    return apply_document.agreed(run, one.group, memory, held)
