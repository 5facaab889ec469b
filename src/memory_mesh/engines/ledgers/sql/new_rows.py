"""The rows of new memories: gathered, numbered as SQLite would number them, written table by table.

::

    puts, in order ──▶ memory | text | live or rest | version      one statement per table
                       before a version of an earlier memory, what was gathered is written

So the rows of a load of hundreds are those of as many single writes, in the same order.
"""

from collections.abc import Sequence

from memory_mesh.engines.ledgers.sql import rows, sums, vectors
from memory_mesh.engines.ledgers.sql.engine import LIVE, REST, Database, engine_of
from memory_mesh.model import Memory, Put, TextVectors, Wording
from memory_mesh.typed import TypeAlias

Row: TypeAlias = tuple[object, ...]
_VERSION_COLUMNS = rows.VERSION.count(",") + 1
_NUMBERS = (
    "SELECT (SELECT max(number) FROM memory), (SELECT max(number) FROM text), "
    "(SELECT max(number) FROM version)"
)
_INSERTS = {
    "memory": (
        f"INSERT INTO memory (number, id, created, status, crc, {sums.TALLIED}, tally) "  # noqa: S608
        f"VALUES ({rows.marks(17)})"
    ),
    "text": "INSERT INTO text (number, memory, content, hash, terms, echo, crc) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)",
    "version": (
        f"INSERT INTO version ({rows.VERSION}, audience, crc) "  # noqa: S608  # own names
        f"VALUES ({rows.marks(_VERSION_COLUMNS + 2)})"
    ),
}  # in the order in which they are written: a row names only rows of tables before its own


class NewRows:
    """New rows of one transaction, not yet written."""

    def __init__(self, db: Database, seq: int) -> None:
        self._db, self._seq = db, seq
        self._rows: dict[str, list[Row]] = {table: [] for table in _INSERTS}
        self._terms: dict[str, list[tuple[int, Sequence[str]]]] = {LIVE: [], REST: []}
        self._vectors: list[TextVectors] = []
        self.memory, self.text, self.version = (
            number or 0 for number in db.execute(_NUMBERS).fetchone()
        )  # the highest numbers, those of gathered rows among them

    def begin(self, memory: Memory) -> int:
        """A new memory; returns its number."""
        self.memory += 1
        created, status = rows.micros(memory.created), memory.status.value
        counted = (
            memory.uses, rows.micros(memory.last_used), memory.origins, *rows.vote_values(memory),
        )  # fmt: skip  # as in sums.COUNTERS
        self._rows["memory"].append(
            (
                self.memory,
                memory.id,
                created,
                status,
                sums.of(memory.id, created, status),
                *counted,
                sums.of(*counted),
            )
        )
        return self.memory

    def word(self, memory: int, wording: Wording, *, live: bool) -> int:
        """A new text with its terms in the keyword table they belong to; returns its number."""
        self.text += 1
        values = (memory, wording.text, wording.hash, wording.terms, wording.echo or None)
        self._rows["text"].append((self.text, *values, sums.of(*values)))
        self._terms[LIVE if live else REST].append((self.text, (wording.terms,)))
        if wording.space is not None:
            made = TextVectors(self.text, wording.space, wording.vectors, wording.spans)
            self._vectors.append(made)
        return self.text

    def open(self, put: Put, memory: int, text: int, audience: int) -> None:
        """A memory's new version."""
        self.version += 1
        values = rows.version_values(put.memory, memory, text, self._seq)
        checked = (*values[1:], rows.dumped(put.reasons))
        self._rows["version"].append((self.version, *checked, audience, sums.of(*checked)))

    def write(self) -> None:
        """Writes what was gathered."""
        for table, gathered in self._rows.items():
            if gathered:
                self._db.executemany(_INSERTS[table], gathered)
                gathered.clear()
        for shelf, terms in self._terms.items():
            if terms:
                engine_of(self._db).shelve(self._db, shelf, terms)
                terms.clear()
        vectors.add(self._db, self._vectors, self._seq)
        self._vectors.clear()
