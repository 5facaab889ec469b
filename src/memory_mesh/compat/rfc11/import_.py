"""A LanceDB directory of the original, brought into a mesh through the one write path.

::

    yamo_blocks ────────── counted; the text of a lesson's block completes its row
    synthesized_skills ──▶ add_skill, staged for review
    memory_entries ──────▶ drafts with their id, times and uses ──▶ add_many, a batch at a time

What comes from a file is a document, whatever it says of itself: a lesson waits for review. Only a
row that a store of the same user sealed, or that the user calls trusted, keeps its trust, votes,
pin and status (kept.py). Vectors are not taken over, for nobody knows whose they are. A row that is
here already is known as such, so an interrupted import is simply run again.
"""

import hmac
from collections.abc import Iterator, Sequence
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING, dataclass
from memory_mesh.care.key_file import KeyFile, keys_in
from memory_mesh.compat.rfc11 import columns, lance_tables
from memory_mesh.compat.rfc11.migrate import WORK
from memory_mesh.compat.rfc11.rows import (
    block_memories,
    memory_draft,
    read_back,
    skill_given,
    wire_lesson,
)
from memory_mesh.compat.tally import Importer, Progress, Tally, origin_id
from memory_mesh.model import (
    Channel,
    Draft,
    InvalidInput,
    Lesson,
    NotFound,
    Scope,
    SkillDraft,
    Source,
    SourceKind,
)
from memory_mesh.rules.arguments import user_of
from memory_mesh.sync import MemoryMesh
from memory_mesh.write.rules.receipts import ReceiptCounts

if TYPE_CHECKING:
    from lance import LanceDataset

# Seals on what a store exports: they show that a store of the same user wrote it.
#
# A seal is a keyed digest and the id of its key. The keys of all stores of a user lie in one folder
# that nobody else can read, so a seal of any of them is known here, and nobody else can make one. A
# seal belongs to the user of the store (`for_user`) whose memories were exported.


class ExportSeals:
    """Makes and checks seals; the keys are read when the first is needed."""

    def __init__(self, folder: Path, owner: str | None) -> None:
        """Keep the folder of the store, and the user whose memories they are, if any."""
        self._folder, self._owner = folder, owner or ""
        self._known: dict[str, list[bytes]] | None = None

    def seal(self, text: str) -> str:
        """Returns the seal of a text under the key that the store uses now."""
        key = KeyFile.of(self._folder).newest
        return f"{key.id}:{_digest(key.secret, self._owner, text).hex()}"

    def fits(self, text: str, seal: str) -> bool:
        """True if a store of this user sealed exactly this text."""
        id_, _, stated = seal.partition(":")
        return any(
            hmac.compare_digest(_digest(secret, self._owner, text).hex().encode(), stated.encode())
            for secret in self._keys().get(id_, ())
        )

    def _keys(self) -> dict[str, list[bytes]]:
        """Every key of every store of this user, by its id."""
        if self._known is None:
            own = KeyFile.of(self._folder)
            self._known = {}
            for path in {own.path, *own.path.parent.glob("*.key")}:
                for key in keys_in(path):
                    self._known.setdefault(key.id, []).append(key.secret)
        return self._known


def _digest(secret: bytes, owner: str, text: str) -> bytes:
    sealed = f"export\0{owner}\0{text}".encode("utf-8", "surrogatepass")
    return hmac.digest(secret, sealed, "sha256")


_SOURCE = Source(SourceKind.DOCUMENT, Channel.IMPORT)
_MEMORY_COLUMNS = [column.name for column in columns.V2_COLUMNS if column.holds != "vector"]
_SKILL_COLUMNS = [column.name for column in columns.SKILL_COLUMNS if column.holds != "vector"]


@dataclass(frozen=True, slots=True)
class Brought:
    """What an import did; `refusals` name the rows that were not taken, and why."""

    schema: str | None  # of the memory table: V1, V2, or None where there is no such table
    memories: Tally
    skills: Tally
    blocks: int
    refusals: tuple[tuple[str, str], ...] = ()
    more: ReceiptCounts | None = None  # what the receipts of the memories say
    own: int = 0  # rows of our own export that keep trust, votes, pin and status
    strange: int = 0  # rows that say they are, under a key that is not known here: documents


def bring_in(
    mesh: MemoryMesh, folder: Path, *, trusted: bool = False, progress: Progress | None = None
) -> Brought:
    """Import every memory and skill of a LanceDB directory.

    Options:
        trusted: the user's word that an export under another key is the user's own.
        progress: called with the number of rows read so far.
    """
    own = _Own(mesh, trusted=trusted)
    found = {name: lance_tables.opened(lance_tables.place(folder, name)) for name in _TABLES}
    memories, blocks, known = (found[name] for name in _TABLES)
    if memories is None and (folder / WORK / "journal.json").exists():
        raise NotFound(f"a migration of {folder} was broken off: memory-mesh migrate-tables")
    if not any(found.values()):
        raise NotFound(f"there is no table of RFC-0011 in {folder}")
    importer = Importer(progress)
    skilled = importer.counts(_skills(own.documents, known, importer)) if known is not None else {}
    taught = _Lessons(blocks)
    drafted = importer.counts(_memories(own, memories, taught, importer)) if memories else {}
    return Brought(
        _schema(memories),
        Tally(**drafted),
        Tally(**skilled),
        blocks.count_rows() if blocks is not None else 0,
        tuple(importer.refusals),
        importer.more,
        own.rows,
        own.strange,
    )


class _Own:
    """Tells rows of our own exports from documents, and which view of the store writes which."""

    def __init__(self, mesh: MemoryMesh, *, trusted: bool) -> None:
        if trusted:
            mesh.review._may_decide()  # the user's word, not an agent's
        self.mesh, self.documents = mesh, mesh.view(channel=Channel.IMPORT)
        self._fits = (
            (lambda _text, _seal: True)
            if trusted
            else ExportSeals(mesh.folder, user_of(mesh.config.namespace)).fits
        )
        self.rows = self.strange = 0

    def read(self, row: dict[str, object], draft: Draft) -> Draft:
        """The draft with what the row's seal vouches for; counts the row."""
        draft, vouched = read_back(row, draft, self._fits)
        self.rows += vouched is True
        self.strange += vouched is False
        return draft


class _Lessons:
    """Lessons by their own and their memory's id, from the blocks, read when one is asked for."""

    def __init__(self, blocks: "LanceDataset | None") -> None:
        self._blocks = blocks
        self._found: dict[str, Lesson] | None = None

    def __call__(self, id_: str) -> Lesson | None:
        """The lesson of an id; lessons are few beside memories, so they are held."""
        if self._found is None:
            self._found = dict(self._read()) if self._blocks is not None else {}
        return self._found.get(id_)

    def _read(self) -> Iterator[tuple[str, Lesson]]:
        if self._blocks is None:
            return
        where = "operation_type = 'lesson'"
        for batch in lance_tables.rows(self._blocks, ["yamo_text", "metadata"], where=where):
            for row in batch:
                lesson = wire_lesson(row.get("yamo_text"))
                if lesson is not None:
                    yield from ((id_, lesson) for id_ in (lesson.id, *block_memories(row)))


def _memories(
    own: _Own, dataset: "LanceDataset", taught: _Lessons, importer: Importer
) -> Iterator[tuple[int, list[str]]]:
    for batch in lance_tables.rows(dataset, _MEMORY_COLUMNS):
        drafts, outcomes = list[Draft](), list[str]()
        for place, row in enumerate(batch):
            try:
                drafts.append(own.read(row, memory_draft(row, taught)))
            except InvalidInput as error:
                outcomes.append(importer.refuse(row.get("id"), str(error), place))
        for part in _apart(drafts):
            kept = [draft for draft in part if draft.origin is not None and draft.origin.kept]
            others = [draft for draft in part if draft.origin is None or not draft.origin.kept]
            outcomes += importer.store(own.mesh, kept, vouched=True) if kept else []
            outcomes += importer.store(own.documents, others) if others else []
        yield len(batch), outcomes


def _apart(drafts: Sequence[Draft]) -> Iterator[list[Draft]]:
    """The drafts with no id twice in a part: a table may hold one twice, a commit may not."""
    later = list[Draft]()
    first: dict[str | None, Draft] = {}
    for draft in drafts:
        if first.setdefault(origin_id(draft), draft) is not draft:
            later.append(draft)
    yield list(first.values())
    if later:
        yield from _apart(later)


def _skills(
    mesh: MemoryMesh, dataset: "LanceDataset", importer: Importer
) -> Iterator[tuple[int, list[str]]]:
    newest = _newest(dataset)
    for batch in lance_tables.rows(dataset, _SKILL_COLUMNS):
        outcomes = [
            _skill(mesh, row, importer, place)
            if newest.get(str(row.get("name")), (0, row.get("id")))[1] == row.get("id")
            else "skipped"
            for place, row in enumerate(batch)
        ]
        yield len(batch), outcomes


def _skill(mesh: MemoryMesh, row: dict[str, object], importer: Importer, place: int) -> str:
    try:
        text, metadata, origin = skill_given(row)
        draft = SkillDraft(
            text=text, metadata=metadata, scope=Scope(), source=_SOURCE, origin=origin
        )
        receipt = mesh.skills.add_draft(draft)
    except InvalidInput as error:
        return importer.refuse(row.get("id"), str(error), place)
    return "quarantined" if receipt.outcome == "staged" else receipt.outcome


def _newest(dataset: "LanceDataset") -> dict[str, tuple[int, object]]:
    """The newest skill of each name: an older one would take its place again at every import."""
    found: dict[str, tuple[int, object]] = {}
    for batch in lance_tables.rows(dataset, ["id", "name", "created_at"]):
        for row in batch:
            made = row.get("created_at")
            age = made if isinstance(made, int) else 0
            if age >= found.get(str(row.get("name")), (age, None))[0]:
                found[str(row.get("name"))] = (age, row.get("id"))
    return found


def _schema(dataset: "LanceDataset | None") -> str | None:
    if dataset is None:
        return None
    return "V2" if columns.is_schema_v2(lance_tables.column_names(dataset)) else "V1"


_TABLES = (columns.MEMORIES, columns.BLOCKS, columns.SKILLS)
