"""What differs from database to database: keyword tables, counters with checksums, growth.

All else is one set of statements. They are written as SQLite takes them; a connection to another
database turns them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from memory_mesh.base.typed import Any, Protocol
from memory_mesh.model import Lens
from memory_mesh.model.ports import Keywords

LIVE, REST, SKILLS = "live", "rest", "skill_live"  # shelves of words
Sight = tuple[str, list[object]]  # a condition, and the values that it binds


class FileKnowledge:
    """What a connection remembers of its file: it holds until this one or another one writes."""

    def __init__(self, others: int, own: int) -> None:
        self.others, self.own = others, own  # counters of the writes of both
        self.states: dict[str, dict[str, str]] = {}  # small values, by the beginning of their names
        self.audiences: dict[object, dict[int, int] | None] = {}  # by reader
        self.has: tuple[bool, bool] | None = None  # any trigger of today, any conflict


class StatementResult(Protocol):
    """What a statement found or changed."""

    def fetchone(self) -> Any:  # noqa: ANN401  # a row of any columns
        """The next row, or None."""

    def fetchall(self) -> list[Any]:
        """All rows that are left."""

    def fetchmany(self, size: int = ..., /) -> list[Any]:
        """So many of the rows that are left."""

    def __iter__(self) -> Iterator[Any]:
        """Each row."""

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""

    @property
    def lastrowid(self) -> int | None:
        """The number of the row that was written."""


class Database(Protocol):
    """A connection inside a transaction, which takes statements as SQLite does."""

    def execute(self, statement: str, values: Any = ..., /) -> StatementResult:  # noqa: ANN401
        """Runs a statement."""

    def executemany(self, statement: str, rows: Iterable[Any], /) -> Any:  # noqa: ANN401
        """Runs a statement for each row of values."""


class WordShelves(Protocol):
    """Shelves of words: which texts and skills hold them."""

    def shelve(self, db: Any, shelf: str, rows: Sequence[tuple[int, Sequence[str]]]) -> None:  # noqa: ANN401
        """Puts the terms of texts or skills on a shelf: a number, and the terms of each field."""

    def unshelve(self, db: Any, shelf: str, number: int, terms: Sequence[str]) -> None:  # noqa: ANN401
        """Takes the terms of a text or skill off a shelf."""

    def is_shelved(self, db: Any, shelf: str, number: int) -> bool:  # noqa: ANN401
        """Whether a shelf has the terms of a text or skill."""

    def skills_with(self, db: Any, words: Sequence[str], sight: Sight, limit: int) -> list[int]:  # noqa: ANN401
        """The best skills by words among those that a condition on `skill k` leaves."""

    def keywords(self, db: Any, lens: Lens, few: Mapping[int, int] | None) -> Keywords:  # noqa: ANN401
        """The words of the texts that a lens may ask for."""


class Engine(WordShelves, Protocol):
    """The parts of a ledger that each database has in its own way."""

    unindexed: str  # what makes a statement count the rows of a table, not those of an index

    def lenient(self, db: Any) -> AbstractContextManager[None]:  # noqa: ANN401
        """Reads inside return text even where it is not valid Unicode."""

    def strict(self, db: Any) -> AbstractContextManager[None]:  # noqa: ANN401
        """Reads inside fail at such text, as those of a search do."""

    def again(self, order: str) -> str:
        """What keeps rows in the order of an inner query when they are joined to others."""

    def grow(self, db: Any) -> None:  # noqa: ANN401
        """Makes what a grown namespace needs; inside the transaction that made it grow."""

    def wiping(self, db: Any) -> AbstractContextManager[None]:  # noqa: ANN401
        """What is deleted or changed inside leaves no byte in the file, where that can be had."""

    def known(self, db: Any) -> "FileKnowledge | None":  # noqa: ANN401
        """What the connection remembers that still holds; None where it remembers nothing."""

    def expect(self, db: Any, *calls: Callable[[], object]) -> None:  # noqa: ANN401
        """Asks ahead for what calls that only read will ask for, where asking takes time."""

    def add_vectors(self, db: Any, rows: Sequence[Sequence[object]]) -> None:  # noqa: ANN401
        """Writes vectors of texts that are there, unless they have these parts.

        Each as space, part, seq, start, stop, data, checksum, text.
        """

    def forget_scan(self, db: Any, space: int) -> None:  # noqa: ANN401
        """Removes what lies beside the database to scan the vectors of a space; none is needed."""

    def count(
        self,
        db: Any,  # noqa: ANN401
        changes: Mapping[str, str],
        where: str,
        rows: Sequence[Sequence[object]],
    ) -> None:
        """Sets counters of memories to expressions, for each row of values."""


def engine_of(db: Any) -> Engine:  # noqa: ANN401  # a connection that was made with one
    """The engine of the database that a connection is to."""
    found: Engine = db.engine
    return found
