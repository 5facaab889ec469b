"""From the store to the folder: a changed memory's document is appended, replaced or removed.

A file that was changed since it was read is left alone: the next run reads it first.
"""

import dataclasses
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from memory_mesh.base.typed import replace
from memory_mesh.formats import memory_file
from memory_mesh.formats.file_names import file_name, safe_path
from memory_mesh.mirror import apply_document, mapping, state
from memory_mesh.mirror.match_documents import MemoryDocuments, title_key
from memory_mesh.mirror.report import Line
from memory_mesh.mirror.run import BLOCK, OUT_OF_USE, SEQ, MirrorRun, group_of, grouped, present
from memory_mesh.model import InvalidInput, Memory, MeshError
from memory_mesh.platform.durable_files import (
    append_locked,
    exchanged,
    opened_locked,
    short,
    sync_folder,
    written_beside,
)

KEPT = ".mirror-replaced"  # a folder beside the files: not listed, because its name is hidden

_CHANGED = "the file was changed meanwhile; run the mirror again"
_PAGE = 200


def push(run: MirrorRun) -> None:
    """Brings the folder up to the store."""
    for name in late_writes(run.folder, dry=run.dry):
        run.note(
            f"{KEPT}/{name}",
            "a program wrote to this file after the mirror had replaced it; what it wrote is here",
        )
    last, block = run.state.value(SEQ), run.state.value(BLOCK)
    if last and block and run.block(int(last)) != block:
        last = None  # the store was restored: its writes since then have numbers of lost ones
    changes = run.changes(int(last or 0))
    seq = changes[-1][0] if changes else int(last or 0)
    memories = _all(run) if last is None else _changed(run, changes)
    left = _undecided(run)
    apply_document.look(run)
    done: set[str] = set()
    for memory in itertools.chain(run.latest_of(run.due).values(), memories):
        if memory.id not in done:
            left = not _tried(_write, run, memory) or left
            done.add(memory.id)
    if not left and str(seq) != last:
        run.write(state.Delta(values={SEQ: str(seq), BLOCK: run.block(seq) or ""}))


def _changed(run: MirrorRun, changes: Sequence[tuple[int, Sequence[str], str]]) -> Iterator[Memory]:
    """The memories that were written since the last push, without those this mirror wrote."""
    reasons: dict[str, list[str]] = {}
    for _, ids, reason in changes:
        for id_ in ids:
            reasons.setdefault(id_, []).append(reason)
    for id_, said in reasons.items():
        held = run.state.of_memory(id_)
        own = (
            held is not None and len(said) == 1 and said[0].endswith(apply_document.mark(held.doc))
        )
        memory = None if own else run.latest(id_)
        if memory is not None:
            yield memory


def _undecided(run: MirrorRun) -> bool:
    """Writes the documents of memories that a rejected proposal would have deleted."""
    gone = [held for held in run.state.waiting() if held.status == state.GONE]
    if not gone:
        return False
    still_open = {proposal.id for proposal in apply_document.proposals(run)}
    left = False
    for held in gone:
        memory = run.latest(held.memory)
        if held.waits not in still_open and memory is not None and run.mirrors(memory):
            left = not _tried(create, run, memory) or left
    return left


def _all(run: MirrorRun) -> Iterator[Memory]:
    """Every active memory that the run's reader sees, the oldest of each page first."""
    cursor: str | None = None
    while True:
        page = run.mesh.get_all(limit=_PAGE, cursor=cursor)
        yield from page
        cursor = page.cursor
        if cursor is None:
            return


def _tried(act: Callable[[MirrorRun, Memory], bool], run: MirrorRun, memory: Memory) -> bool:
    """Writes one memory's document; a file that cannot be written does not stop the others."""
    try:
        return act(run, memory)
    except (MeshError, OSError) as error:
        held = run.state.of_memory(memory.id)
        path = "." if held is None else held.path
        run.refuse(path, mapping.document_of(memory).title, f"it cannot be written: {error}")
        return False


def _write(run: MirrorRun, memory: Memory) -> bool:
    """Brings one memory's document up to date; False if the next run must try again."""
    held = run.state.of_memory(memory.id)
    if held is None:
        return not run.mirrors(memory) or create(run, memory)
    if held.status == state.GONE:
        return True if not run.mirrors(memory) or held.waits else create(run, memory)
    gone = memory.status in OUT_OF_USE
    store = None if gone else mapping.digest_of(memory, run.linked(memory.id))
    if (
        apply_document.decide(
            apply_document.agreed_sides(run, held), apply_document.Sides(held.doc, store)
        )
        is apply_document.Act.NOTHING
    ):
        return True
    text, group = present(run, held)
    if text is None or group is None or group.doc != held.doc:
        met = held.note is not None or _met(run, held)
        if not met:
            run.note(held.path, _CHANGED)
        return met  # a disagreement waits for a person, not for a run
    return remove(run, held, text) if gone else rewrite(run, held, memory, text, group)


def _met(run: MirrorRun, held: state.MirroredDocument) -> bool:
    """True if this run read the document's change; the state of a dry run does not know it."""
    lines = (*run.report.disagreements, *run.report.agreed, *run.report.changed)
    return run.dry and any(line.memory == held.memory for line in lines)


def create(run: MirrorRun, memory: Memory) -> bool:
    """Writes a new document: a file of its own, or appended where the file's name is taken."""
    document = mapping.document_of(memory, run.related(memory))
    title = title_key(document.title)
    taken: list[str] = []
    while True:
        path = file_name(document.title, taken)
        safe_path("", path)
        others = [one for one in run.state.in_files([path]) if one.status == state.HELD]
        if not any(one.title == title for one in others) and _usable(run, path):
            break
        taken.append(path)
    line = Line(path, document.title, memory.id)
    if run.dry:
        run.report.written.append(line)
        return True
    if not _appended(run, path, document, memory, None):
        run.note(path, _CHANGED, document.title)
        return False
    run.report.written.append(line)
    return True


def _usable(run: MirrorRun, path: str) -> bool:
    """False if a folder, a link or a file that is not understood has the name."""
    place = run.folder / path
    if place.is_symlink() or (place.exists() and not place.is_file()):
        return False
    if run.state.hash_of(path):
        return True
    try:
        text = state.read(run.folder, path).text
    except FileNotFoundError:
        return True
    except ValueError:
        return False
    return all(one.readable for one in memory_file.parse(text).documents)


def rewrite(
    run: MirrorRun,
    held: state.MirroredDocument,
    memory: Memory,
    text: state.FileText,
    group: MemoryDocuments,
) -> bool:
    """Writes what the memory says now: behind the document that is there, or in its place."""
    document = mapping.document_of(memory, run.related(memory), title=group.document.title)
    if document.title == held.named:  # the store's title did not change: the file's stays
        document = dataclasses.replace(document, title=group.document.title)
    line = Line(held.path, document.title, memory.id)
    if mapping.same(group.document, document):
        run.write(state.Delta(entries=[apply_document.agreed(run, group, memory, held)]))
        return True
    run.report.written.append(line)
    if run.dry:
        return True
    known = title_key(document.title) == held.title or group.document.memory_id == memory.id
    follows = not run.replaces and known  # or the two would not be one memory
    done = (
        _appended(run, held.path, document, memory, text)
        if follows
        else _replaced(run, document, memory, text, group)
    )
    if not done:
        run.report.written.remove(line)
        run.note(held.path, _CHANGED, document.title)
    return done


def remove(run: MirrorRun, held: state.MirroredDocument, text: state.FileText) -> bool:
    """Takes the documents of a memory that is no longer in use out of their file."""
    run.report.removed.append(Line(held.path, memory=held.memory))
    if run.dry:
        return True
    rest = _without(run, text.text, held)
    path = run.folder / held.path
    if rest.strip():
        done = replace_file(path, text.hash, rest.encode(), root=run.folder)
    else:
        done = remove_file(path, text.hash, root=run.folder)
    if not done:
        run.report.removed.pop()
        run.note(held.path, _CHANGED)
        return False
    delta = state.Delta(forgotten=[held.memory])
    delta.files[held.path] = (state.NO_STAMP, state.hashed(rest)) if rest.strip() else None
    run.write(delta)
    return True


def _appended(
    run: MirrorRun,
    path: str,
    document: memory_file.MemoryFile,
    memory: Memory,
    expected: state.FileText | None,
) -> bool:
    """Appends a document under the file's lock; False if the file is not as it was read."""
    known = run.state.hash_of(path) if expected is None else expected.hash

    def unchanged(before: bytes) -> bool:
        fresh = not before and not known  # no file, or one that never held anything
        return fresh or state.hashed(before) == known

    whole = append(run.folder / path, document, expected=unchanged)
    if whole is None:
        return False
    _note_written(run, path, whole, memory, document)
    return True


def _replaced(
    run: MirrorRun,
    document: memory_file.MemoryFile,
    memory: Memory,
    text: state.FileText,
    group: MemoryDocuments,
) -> bool:
    """Puts a document in the place of the one that is there."""
    if group.document.memory_id is None:
        document = dataclasses.replace(document, memory_id=None)  # a person wrote it without one
    whole = memory_file.replace_document(text.text, group.index, document).encode()
    if not replace_file(run.folder / group.path, text.hash, whole, root=run.folder):
        return False
    _note_written(run, group.path, whole, memory, document)
    return True


def _note_written(
    run: MirrorRun, path: str, whole: bytes, memory: Memory, document: memory_file.MemoryFile
) -> None:
    """Remembers a document that was written; its file is read once more at the next run."""
    title = title_key(document.title)
    group = group_of(run, whole.decode(), path, memory.id, title)
    if group is None:  # what was written is found again: formats/memory_file.py promises it
        raise AssertionError(path)
    held = run.state.of_memory(memory.id) or state.MirroredDocument(memory.id, path, title, "", "")
    delta = state.Delta(
        entries=[replace(apply_document.agreed(run, group, memory, held), written=True)]
    )
    delta.files[path] = (state.NO_STAMP, state.hashed(whole))
    run.write(delta)


def _without(run: MirrorRun, text: str, held: state.MirroredDocument) -> str:
    """The file without the documents of one memory; all others keep their bytes."""
    documents = memory_file.parse(text).documents
    found = grouped(run, held.path, documents)
    mine = next(
        (one for one in found if one.document.memory_id == held.memory),
        next((one for one in found if one.title == held.title), None),
    )
    if mine is None:
        return text
    spans = sorted((one.start, one.stop) for one in mine.documents)
    return memory_file.cut(text, documents, spans)


# Append a document to a memory file that others may append to at the same time.


def append(
    path: Path,
    document: memory_file.MemoryFile,
    *,
    expected: Callable[[bytes], bool] = lambda _before: True,
) -> bytes | None:
    """Appends a document under the file's lock by one write; returns the whole file.

    The file and its folder are made where they are missing. If the file is not as `expected`,
    nothing is appended and None is returned.
    """
    memory_file.render(document)  # what no file can show leaves no empty file
    path.parent.mkdir(parents=True, exist_ok=True)
    whole: list[bytes] = []

    def addition(before: bytes) -> bytes:
        if not expected(before):
            return b""
        more = memory_file.addition(before.decode(), document).encode()
        whole.append(before + more)
        return more

    append_locked(path, addition)
    return whole[0] if whole else None


# Replace or remove a file that a person may be editing, without losing what they save.
#
# The new file takes the place of the old one in one step, and the old one is looked at only after
# that: if it is not what was expected, the two change places again (`durable_files.exchanged`).
# Where
# the system cannot do that, the file is compared directly before a rename.
#
# A program that opened the old file earlier may still write to it. So it is kept in a hidden folder
# until the next run has seen that nobody did (`late_writes`).


def replace_file(path: Path, expected: str, data: bytes, *, root: Path) -> bool:
    """Replaces the file if its hash is still the expected one; False if it is not."""
    keep = _place(path, root, expected)
    with suppress(FileNotFoundError), opened_locked(path, 0):
        draft = written_beside(path, data)
        with opened_locked(draft, 0):  # nobody of ours appends to it before it is settled
            if _put(draft, path, expected, keep):
                sync_folder(path.parent)
                return True
            _settle(draft, state.hashed(data), _place(path, root, state.hashed(data)))
    return False


def _put(draft: Path, path: Path, expected: str, keep: Path) -> bool:
    """Puts the draft in the file's place and keeps the file; False if it is another one."""
    if exchanged(draft, path):
        if _hash(draft) == expected:
            draft.rename(keep)
            return True
        exchanged(draft, path)  # what was saved a moment ago is back in its place
        return False
    if not path.exists() or _hash(path) != expected:  # no exchange here: look, then rename
        return False
    os.link(path, keep)
    draft.replace(path)
    return True


def remove_file(path: Path, expected: str, *, root: Path) -> bool:
    """Removes the file if its hash is still the expected one; False if it is not."""
    keep = _place(path, root, expected)
    with suppress(FileNotFoundError), opened_locked(path, 0):
        aside = path.with_name(f".{short(path.stem)}.{os.urandom(4).hex()}")
        path.rename(aside)
        if _hash(aside) == expected:
            aside.rename(keep)
            sync_folder(path.parent)
            return True
        try:
            os.link(aside, path)  # unless somebody made a new one meanwhile
            aside.unlink()
        except FileExistsError:
            aside.rename(path.with_name(f"{short(path.stem)}-{os.urandom(2).hex()}{path.suffix}"))
    return False


def late_writes(root: Path, *, dry: bool = False) -> list[str]:
    """Names of kept files that were written to after they were replaced.

    The others are removed, unless the run is `dry`.
    """
    folder = root / KEPT
    if folder.is_symlink() or not folder.is_dir():
        return []
    late: list[str] = []
    for kept in sorted(folder.glob("[!.]*")):
        if kept.is_symlink() or not kept.is_file():
            continue
        if _hash(kept) != kept.name.rpartition(".")[2]:
            late.append(kept.name)
        elif not dry:
            kept.unlink()
    return late


def _place(path: Path, root: Path, hash_: str) -> Path:
    """A name to keep a file under; it ends in the hash that the file has if nobody wrote to it."""
    folder = root / KEPT
    if folder.is_symlink():
        raise InvalidInput(f"{folder} is a link; remove it: links are not followed")
    if not folder.is_dir():
        folder.mkdir(exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    return folder / f"{short(path.stem.lstrip('.'))}.{os.urandom(4).hex()}.{hash_}"


def _settle(draft: Path, own: str, keep: Path) -> None:
    """Removes our draft after a second exchange; what a person saved between the two is kept."""
    if _hash(draft) == own:
        draft.unlink()
    else:
        draft.rename(keep)


def _hash(path: Path) -> str:
    return state.hashed(path.read_bytes())
