"""What is left of a damaged file: its rows table by table, and what indexes know of the others."""

from collections.abc import Iterator
from pathlib import Path

from memory_mesh.engines.ledgers.sqlite.keeping.layout import Table
from memory_mesh.engines.ledgers.sqlite.keeping.pages import Pages
from memory_mesh.engines.ledgers.sqlite.keeping.records import Value, Values
from memory_mesh.engines.ledgers.sqlite.keeping.trees import INDEX, TABLE, Cell, Hole, Trees
from memory_mesh.fastdataclass import dataclass

_SCHEMA = 5  # columns of the table that lists the others


@dataclass(frozen=True, slots=True)
class Row:
    """A row in the order of its table's columns."""

    rowid: int
    values: Values
    found: str = "table"  # or: loose, in a page that no tree leads to; earlier, in an older copy


class Remains:
    """One file, read without SQLite."""

    def __init__(self, path: Path) -> None:
        self.pages: Pages = Pages(path)
        self._trees = Trees(self.pages)
        self.holes: dict[str, list[Hole]] = {}
        self._indexes: dict[str, str] = {}  # with the statement that made each
        self._roots = dict(self._schema())

    def has_table(self, name: str) -> bool:
        """Whether the file says where a table begins."""
        return name in self._roots

    def rows(self, table: Table) -> Iterator[Row | Hole]:
        """The rows that the table's own tree leads to."""
        kind = TABLE if table.rowids else INDEX
        for found in self._walk(table.name, kind):
            values = table.values(found.rowid, found.values) if isinstance(found, Cell) else None
            if isinstance(found, Cell) and values is not None:
                yield Row(found.rowid if table.rowids else 0, values)
            else:
                hole = found if isinstance(found, Hole) else _unfit(found)
                self.holes.setdefault(table.name, []).append(hole)
                yield hole

    def entries(self, table: Table) -> Iterator[tuple[int, dict[str, Value]]]:
        """What each index of the table knows of a row: its number, and columns."""
        for name, columns in table.indexes.items():
            if not table.rowids:
                continue
            for found in self._walk(name, INDEX):
                if isinstance(found, Cell) and len(found.values) == len(columns):
                    known = zip(columns, found.values, strict=True)
                    yield found.rowid, {column: value for column, value in known if column}

    def numbers(self, name: str) -> set[int]:
        """The numbers of a table's rows, whatever they hold."""
        return {found.rowid for found in self._walk(name, TABLE) if isinstance(found, Cell)}

    def walk_others(self, known: set[str]) -> None:
        """Walks the trees of other tables and of indexes, so that their pages are not loose."""
        for name, root in self._roots.items():
            if name not in known and root > 0:
                begins = self.pages.page(root)[0]
                for _ in self._trees.walk(root, INDEX if begins in INDEX else TABLE):
                    pass

    def index_statements(self) -> list[str]:
        """The statements that made the file's indexes, as far as they can be read."""
        return [sql for sql in self._indexes.values() if sql]

    def loose(self, tables: list[Table]) -> Iterator[tuple[Table, Row]]:
        """Rows in pages that no tree leads to, as a lost inner page leaves them.

        Asked for when every tree was read. A page is of the table whose rows all of its cells can
        be.
        """
        free = self.pages.free_pages()
        for number in range(2, self.pages.count + 1):
            if number in self._trees.seen or number in free:
                continue
            for kind in (TABLE, INDEX):
                cells = self._trees.leaf(number, kind)
                fitting = [
                    (table, rows)
                    for table in tables
                    if table.rowids == (kind is TABLE) and (rows := _all(table, cells))
                ]
                if len(fitting) == 1:
                    table, rows = fitting[0]
                    yield from ((table, row) for row in rows)

    def earlier(self, table: Table) -> Iterator[Row]:
        """Rows in the copies that a damaged page of the table replaced."""
        kind = TABLE if table.rowids else INDEX
        for number in sorted({hole.page for hole in self.holes.get(table.name, ())}):
            for copy in self.pages.earlier(number):
                cells = self._trees.leaf(number, kind, copy)
                yield from _all(table, cells, "earlier")

    def _walk(self, name: str, kind: tuple[int, int]) -> Iterator[Cell | Hole]:
        root = self._roots.get(name)
        if root is None:
            yield Hole(0, "the file does not say where it begins")
        else:
            yield from self._trees.walk(root, kind)

    def _schema(self) -> Iterator[tuple[str, int]]:
        """Where each table and index begins."""
        for found in self._trees.walk(1, TABLE):
            if isinstance(found, Hole):
                self.holes.setdefault("sqlite_master", []).append(found)
            elif len(found.values) == _SCHEMA:
                kind, name, _, root, sql = found.values
                if isinstance(name, str) and isinstance(root, int):
                    if kind == "index":
                        self._indexes[name] = sql if isinstance(sql, str) else ""
                    yield name, root


def _unfit(cell: Cell) -> Hole:
    return Hole(cell.page, "a row holds what it cannot", cell.rowid - 1, cell.rowid, cell)


def _all(table: Table, cells: list[Cell], found: str = "loose") -> list[Row]:
    """The cells as rows of a table; none if one of them cannot be."""
    rows = []
    for cell in cells:
        values = table.values(cell.rowid, cell.values)
        if values is None:
            return []
        rows.append(Row(cell.rowid if table.rowids else 0, values, found))
    return rows
