"""The fixture stores of earlier versions, and what a keyword table holds."""

import gzip
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from memory_mesh.ledgers.shared.snapshot import SqlSnapshot
from memory_mesh.ledgers.sqlite import namespace_file, schema
from memory_mesh.sync import MemoryMesh
from tests.faults.sample import is_whole

STORES = Path(__file__).parent / "fixtures" / "stores"
NAMES = tuple(sorted(path.name.removesuffix(".db.gz") for path in STORES.glob("*.db.gz")))
CROWDS = (2_000, 10_000) if is_whole() else (1_000, 4_000)  # in a small and in a large store
# A question, and the text or skill it finds by today's terms; most of them not by earlier ones.
FOUND = {
    "台湾": "臺灣的颱風季節從七月開始",
    "气象": "臺灣的颱風季節從七月開始",
    "备份": "数据库每天晚上备份一次",
    "مدرسة": "المُدَرِّسَةُ تكتب التقارير في المكتبة",
    "مكتبة": "المُدَرِّسَةُ تكتب التقارير في المكتبة",
    "собака": "Собаки охраняют склад по ночам",
    "mueller": "Frau Müller prüft die Rechnungen",
    "getusername": "The deploy script calls getUserName twice",
    "门禁": "臺北辦公室的門禁卡每年更換",
}


def unpacked(name: str, folder: Path) -> Path:
    """A copy of a fixture store in a folder of its own; the database file."""
    path = folder / "namespaces" / "default.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.decompress((STORES / f"{name}.db.gz").read_bytes()))
    with closing(sqlite3.connect(path)) as db:
        if schema.version(db) >= schema.NEWEST:  # earlier ones get it when they are migrated
            namespace_file.write_head(path, namespace_file.stands(db))
    return path


def grow(db: sqlite3.Connection) -> None:
    """Give a store the indexes of a grown one."""
    for statement in () if schema.is_indexed(db) else schema.index_statements():
        db.execute(statement)


def held(path: Path, table: str) -> dict[int, list[tuple[str, str, int]]]:
    """What a keyword table holds of each row: column, term and where it stands."""
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"CREATE VIRTUAL TABLE temp.seen USING fts5vocab (main, {table}, instance)")
        found: dict[int, list[tuple[str, str, int]]] = {}
        for doc, column, term, offset in db.execute(
            "SELECT doc, col, term, offset FROM temp.seen ORDER BY doc, col, offset, term"
        ):
            found.setdefault(doc, []).append((column, term, offset))
        return found


def crowd(mesh: MemoryMesh, many: int) -> None:
    """Writes memories of other things, half of them claims about the user and about a crowd."""
    for start in range(0, many, 1_000):
        texts = (
            (f"I have hat {at}.", f"The crowd saw lamp {at}.", f"Note {at}: rain.", f"Log {at}.")
            for at in range(start, start + 1_000, 4)
        )
        mesh.add_many([text for four in texts for text in four])


def counted(mesh: MemoryMesh, work: Callable[[], object]) -> tuple[int, int]:
    """How many statements a call asks of SQLite, and how many hundreds of steps these take."""
    with mesh._read() as snapshot:
        assert isinstance(snapshot, SqlSnapshot)
        db: Any = snapshot._db  # readers take turns with it
    statements, steps = list[str](), [0]

    def step() -> None:
        steps[0] += 1

    work()
    db.set_trace_callback(statements.append)
    db.set_progress_handler(step, 100)
    work()
    db.set_progress_handler(None, 0)
    db.set_trace_callback(None)
    asked = [one for one in statements if not one.startswith("--")]  # those are FTS5's own
    assert asked
    return len(asked), steps[0]
