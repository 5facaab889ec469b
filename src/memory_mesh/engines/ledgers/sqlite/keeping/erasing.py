"""A namespace's files, all of them: which they are, what they say of it, and taking them away."""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from memory_mesh.engines.ledgers.sqlite import namespace_places
from memory_mesh.fastdataclass import dataclass
from memory_mesh.process.durable_files import sync_folder

_ENDING = re.compile(
    r"\.db(-wal|-shm|-journal)?|\.lock|\.head|\.moved|\.spool(-[0-9a-f]+)?|\.vectors-[0-9]+|\.salvage\.jsonl"
    r"|\.(before|moved|lost)-[0-9A-Za-z-]+\.bak(-wal|-shm|-journal)?"
    r"|\.[0-9a-f]{12}\.partial(-wal|-shm|-journal)?"  # of a killed import
)
_IDENTITY = re.compile(r"[0-9a-f]{32}")
_LAST = (".db", ".db-wal", ".db-shm", ".lock")  # while the lock is there, nobody makes it anew


@dataclass(frozen=True, slots=True)
class Doomed:
    """What is known of a namespace before it goes; a damaged one may tell less."""

    identity: str | None
    ids: frozenset[str]  # of memories and skills, as other files of the store may name them
    memories: int | None


def files(folder: Path, namespace: str) -> list[Path]:
    """Every file of a namespace that is there, in the order in which they may go.

    Copies of before and a marker may lie in the flat folder and the database in one of its own.
    """
    stem = namespace_places.file_name(namespace).removesuffix(namespace_places.SUFFIX)
    own: list[tuple[int, str, Path]] = []
    for place in namespace_places.both_folders(folder, namespace):
        try:
            names = [entry.name for entry in os.scandir(place)]
        except FileNotFoundError:
            continue
        endings = (name.removeprefix(stem) for name in names if name.startswith(stem))
        own += (
            (_LAST.index(ending) if ending in _LAST else -1, ending, place / f"{stem}{ending}")
            for ending in endings
            if _ENDING.fullmatch(ending)
        )
    return [path for _, _, path in sorted(own)]


def last_look(path: Path) -> Doomed:
    """What a database says of itself; where it is damaged, what the head file says."""
    try:
        with closing(_opened(path)) as db:
            (identity,) = db.execute("SELECT identity FROM store").fetchone()
            ids = frozenset(_ids(db))
            (memories,) = db.execute("SELECT count(*) FROM memory").fetchone()
            return Doomed(str(identity), ids, int(memories))
    except (sqlite3.Error, TypeError, OSError):
        return Doomed(_identity_of_head(path), frozenset(), None)


def mirrored(state: Path) -> tuple[Path, list[Path]] | None:
    """The folder that the state of a mirror names, and the files in it that people wrote."""
    try:
        with closing(_opened(state)) as db:
            ((folder,),) = db.execute("SELECT value FROM value WHERE name = 'folder'")
            own = db.execute("SELECT DISTINCT path FROM entry WHERE NOT written ORDER BY path")
            return Path(folder), [Path(folder, path) for (path,) in own]
    except (sqlite3.Error, ValueError):
        return None


def remove(paths: list[Path]) -> int:
    """Removes files, on the disk when it returns; returns how many bytes they had."""
    size = 0
    for path in paths:
        try:
            size += path.stat().st_size
            path.unlink()
        except FileNotFoundError:  # SQLite of another process removed its log
            continue
    for folder in {path.parent for path in paths}:
        sync_folder(folder)
    return size


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{namespace_places.quoted(str(path.absolute()))}?mode=rw", uri=True
    )


def _ids(db: sqlite3.Connection) -> Iterator[str]:
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    for table in ("memory", "skill"):
        if table in tables:
            rows = db.execute(f"SELECT id FROM {table}")  # noqa: S608  # two fixed names
            yield from (str(id_) for (id_,) in rows)


def _identity_of_head(path: Path) -> str | None:
    """The identity in the head file beside a database: its second word."""
    try:
        words = path.with_suffix(".head").read_text(encoding="ascii", errors="replace").split()
    except OSError:
        return None
    return words[1] if len(words) > 1 and _IDENTITY.fullmatch(words[1]) else None
