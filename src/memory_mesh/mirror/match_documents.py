"""Find out which document of a file is which memory. Pure: no I/O.

Several documents of one title in one file are one memory, and the last of them counts. A document
is known by the memory it names, by its title or by its text. What is left may have moved to another
file. If then one document and one memory of a file are left over, these two belong together.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence

from memory_mesh.base.typed import dataclass, field
from memory_mesh.formats.memory_file import MemoryFile
from memory_mesh.mirror.state import MirroredDocument, hashed


@dataclass(frozen=True, slots=True)
class MemoryDocuments:
    """The documents of one memory in one file; the last one counts."""

    path: str
    documents: tuple[MemoryFile, ...]
    index: int  # of the last one among all documents of the file
    among: int = 1  # documents in the file
    doc: str = ""  # digest of the last one
    body: str = ""  # digest of its text alone
    older: frozenset[str] = field(default_factory=frozenset)  # digests of those before it

    @property
    def document(self) -> MemoryFile:
        """The document that counts."""
        return self.documents[-1]

    @property
    def title(self) -> str:
        """Its title, to compare titles by."""
        return title_key(self.document.title)


@dataclass(frozen=True, slots=True)
class Paired:
    """Documents and what they were known as, new documents, and memories without a document."""

    known: list[tuple[MemoryDocuments, MirroredDocument]]
    new: list[MemoryDocuments]
    missing: list[MirroredDocument]


def title_key(title: str) -> str:
    """A digest of a title without case and spacing: the state holds no words of a document."""
    return hashed(" ".join(title.casefold().split()).encode())


def groups(
    path: str, documents: Sequence[MemoryFile], known: Collection[str] = ()
) -> list[MemoryDocuments]:
    """The memories of a file, in the order of their last documents.

    Documents of one title that name two `known` memories are two memories.
    """
    found: list[list[int]] = []
    for number, document in enumerate(documents):
        mine = next(
            (one for one in found if any(_alike(documents[old], document, known) for old in one)),
            None,
        )
        if mine is None:
            found.append([number])
        else:
            mine.append(number)
    made = [_group(path, documents, numbers) for numbers in found]
    return sorted(made, key=lambda group: group.index)


def pair(
    found: Sequence[MemoryDocuments], held: Sequence[MirroredDocument], others: Collection[str] = ()
) -> Paired:
    """Brings together the documents and the memories of one file.

    A document that names one of the `others`, memories of other files, is none of this file's.
    """
    known: list[tuple[MemoryDocuments, MirroredDocument]] = []
    new, missing = list(found), list(held)
    _match(new, missing, known, lambda group: group.document.memory_id, lambda held: held.memory)
    foreign = [group for group in new if group.document.memory_id in others]
    new = [group for group in new if group.document.memory_id not in others]
    _match(new, missing, known, lambda group: group.title, lambda held: held.title)
    _match(new, missing, known, lambda group: group.doc, lambda held: held.doc)
    _match(new, missing, known, lambda group: group.body, lambda held: held.body)
    return Paired(known, new + foreign, missing)


def moved(new: Sequence[MemoryDocuments], missing: Sequence[MirroredDocument]) -> Paired:
    """Brings together new documents and memories that are missing in their file."""
    known: list[tuple[MemoryDocuments, MirroredDocument]] = []
    news, gone = list(new), list(missing)
    _match(news, gone, known, lambda group: group.document.memory_id, lambda held: held.memory)
    _match(news, gone, known, lambda group: group.doc, lambda held: held.doc)
    _match(news, gone, known, lambda group: group.title, lambda held: held.title)
    _match(news, gone, known, lambda group: group.body, lambda held: held.body)
    return Paired(known, news, gone)


def rewritten(
    new: Sequence[MemoryDocuments], missing: Sequence[MirroredDocument], alone: Collection[str]
) -> Paired:
    """Brings together what is left in files that had one document and one memory left over."""
    known: list[tuple[MemoryDocuments, MirroredDocument]] = []
    at = {held.path: held for held in missing if held.path in alone}
    news: list[MemoryDocuments] = []
    for group in new:
        held = at.pop(group.path, None)
        if held is None:
            news.append(group)
        else:
            known.append((group, held))
    taken = {held.memory for _, held in known}
    return Paired(known, news, [held for held in missing if held.memory not in taken])


def _match(
    new: list[MemoryDocuments],
    missing: list[MirroredDocument],
    known: list[tuple[MemoryDocuments, MirroredDocument]],
    of_group: Callable[[MemoryDocuments], Hashable],
    of_held: Callable[[MirroredDocument], Hashable],
) -> None:
    """Moves those that agree in one thing from the first two lists to the third."""
    if not new or not missing:
        return
    waiting: dict[Hashable, list[MirroredDocument]] = {}
    for held in missing:
        waiting.setdefault(of_held(held), []).append(held)
    left: list[MemoryDocuments] = []
    for group in new:
        candidates = waiting.get(of_group(group))
        if candidates:
            known.append((group, candidates.pop(0)))
        else:
            left.append(group)
    taken = {held.memory for _, held in known}
    new[:] = left
    missing[:] = [held for held in missing if held.memory not in taken]


def _alike(one: MemoryFile, other: MemoryFile, known: Collection[str]) -> bool:
    if one.memory_id is not None and one.memory_id == other.memory_id:
        return True
    both_known = one.memory_id in known and other.memory_id in known
    return not both_known and title_key(one.title) == title_key(other.title)


def _group(path: str, documents: Sequence[MemoryFile], numbers: Sequence[int]) -> MemoryDocuments:
    mine = tuple(documents[number] for number in numbers)
    return MemoryDocuments(
        path,
        mine,
        numbers[-1],
        len(documents),
        hashed(mine[-1].raw),
        hashed(mine[-1].body.strip()),
        frozenset(hashed(document.raw) for document in mine[:-1]),
    )


def by_file(held: Iterable[MirroredDocument]) -> dict[str, list[MirroredDocument]]:
    """The documents of each file."""
    found: dict[str, list[MirroredDocument]] = {}
    for entry in held:
        found.setdefault(entry.path, []).append(entry)
    return found
