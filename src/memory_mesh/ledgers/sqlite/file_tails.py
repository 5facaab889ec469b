"""The exact scan of a store in a folder: of many vectors a file holds all but the newest.

So a new process need not load them (`file_scan`); one that asks often loads up to HELD_BYTES, which
is twice as fast. In a folder that cannot be written for a file they come from the ledger.
"""

from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.ledgers.shared import exact_scan
from memory_mesh.ledgers.shared.engine import Database
from memory_mesh.ledgers.shared.exact_scan import HELD_BYTES, Best, Key, Tails

if TYPE_CHECKING:
    from memory_mesh.ledgers.shared.exact_scan import Floats, Numbers
    from memory_mesh.ledgers.sqlite.file_scan import VectorFiles

HELD_AFTER = 32  # searches of a process: then it has paid for the loading of such a matrix
FILE_FROM = 2_048  # vectors of which a file is made; below that a matrix is as fast
FEW = 512  # vectors that are read from the ledger one by one


class FileTails(Tails):
    """The matrices of a process, and what it knows of vector files."""

    def __init__(self) -> None:
        super().__init__()
        self._files: VectorFiles | None = None
        self._asked: dict[Key, int] = {}  # searches of a file

    def against(self, db: Database, key: Key, vector: "Floats", floor: int, highest: int) -> Best:
        """A function that gives the n nearest above the floor, from a file if they are many."""
        database = getattr(db, "path", None)
        if floor or highest <= FILE_FROM or database is None:
            return self.from_ledger(db, key, vector, floor, highest)
        asked = self._asked[key] = self._asked.get(key, 0) + 1
        if asked > HELD_AFTER and highest * vector.nbytes <= HELD_BYTES:
            return self.from_ledger(db, key, vector, floor, highest)
        return self._from_file(db, key, vector, highest, database)

    def among(
        self, db: Database, key: Key, vector: "Floats", numbers: "Numbers", count: int
    ) -> list[tuple[float, int]]:
        """The `count` nearest of the vectors with these numbers, which ascend, ties included.

        Few are read from the ledger; of many a vector file tells which may be among the nearest.
        """
        database = getattr(db, "path", None)
        if database is None or len(numbers) <= FEW:
            return super().among(db, key, vector, numbers, count)
        from memory_mesh.ledgers.sqlite import file_scan, vector_file

        best, rest = list[tuple[float, int]](), numbers
        (highest,) = db.execute("SELECT max(number) FROM vector").fetchone()
        source = file_scan.SpaceVectors(db, database, key[1], len(vector), highest)
        header = self._known_files().reach(key, source, fill=False)
        try:
            if header is not None:
                own = numbers[numbers <= header.upto]
                best = file_scan.among(source, header, vector, own).best(count)
                rest = numbers[len(own) :]
        except vector_file.Unusable:
            self._known_files().distrust(key, source)
        scores = exact_scan.scored(db, key[1], rest.tolist(), vector).values()
        return exact_scan.first([*best, *scores], count)

    def after_fork(self) -> None:
        """A child loads its own."""
        super().after_fork()
        self._files, self._asked = None, {}

    def _from_file(
        self, db: Database, key: Key, vector: "Floats", highest: int, database: Path
    ) -> Best:
        """From the vector file, and what is above it from the ledger."""
        from memory_mesh.ledgers.sqlite import file_scan, vector_file

        source = file_scan.SpaceVectors(db, database, key[1], len(vector), highest)
        files = self._known_files()
        header = files.reach(key, source)
        if header is None:
            return self.from_ledger(db, key, vector, 0, highest)
        try:
            old = file_scan.compared(source, header, vector)
        except vector_file.Unusable:
            files.distrust(key, source)
            return self.from_ledger(db, key, vector, 0, highest)
        new = self.from_ledger(db, key, vector, header.upto, highest)

        def best(count: int) -> list[tuple[float, int]]:
            try:
                return exact_scan.first([*old.best(count), *new(count)], count)
            except vector_file.Unusable:
                files.distrust(key, source)
                return exact_scan.stream(db, key[1], 0, vector, count)

        return best

    def _known_files(self) -> "VectorFiles":
        from memory_mesh.ledgers.sqlite.file_scan import VectorFiles

        with self._mutex:
            self._files = self._files or VectorFiles()
            return self._files
