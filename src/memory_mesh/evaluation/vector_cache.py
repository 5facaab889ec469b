"""Caches vectors in a file, so that each text is embedded once."""

import hashlib
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

from memory_mesh.model import Embedding
from memory_mesh.model.ports import Embedder

_FLOAT_BYTES = 4


class KeptVectors:
    """An embedder that calls another one only for texts not in the cache; thread-safe."""

    def __init__(self, embedder: Embedder, file: Path) -> None:
        self._embedder = embedder
        self._db = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("CREATE TABLE IF NOT EXISTS vector (key BLOB PRIMARY KEY, data BLOB)")
        self._lock = threading.Lock()
        self._space = embedder.embed(["a"], query=True).space

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """Returns the vectors in the order of the texts; computes and stores missing ones."""
        keys = [self._key(text, query=query) for text in texts]
        with self._lock:
            found = {key: data for key in keys if (data := self._read(key)) is not None}
            unknown = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
            if unknown:
                fresh = self._embedder.embed(list(unknown.values()), query=query).vectors
                for key, parts in zip(unknown, fresh, strict=True):
                    found[key] = b"".join(parts)
                rows = [(key, found[key]) for key in unknown]
                self._db.execute("BEGIN")
                self._db.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?)", rows)
                self._db.execute("COMMIT")
        return Embedding(self._space, tuple(self._parts(found[key]) for key in keys))

    def close(self) -> None:
        """Does nothing: a mesh closes its embedder, but the next mesh of the run uses it again."""

    def release(self) -> None:
        """Closes the file and the embedder at the end of the run."""
        self._db.close()
        self._embedder.close()

    def _read(self, key: bytes) -> bytes | None:
        row = self._db.execute("SELECT data FROM vector WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def _parts(self, data: bytes) -> tuple[bytes, ...]:
        size = _FLOAT_BYTES * self._space.dimension
        return tuple(data[at : at + size] for at in range(0, len(data), size))

    def _key(self, text: str, *, query: bool) -> bytes:
        named = f"{self._space.name}\n{self._space.max_tokens}\n{query}\n{text}"
        return hashlib.sha256(named.encode("utf-8", "surrogatepass")).digest()
