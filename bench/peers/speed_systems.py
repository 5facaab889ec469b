"""The systems whose speed is compared: each loads, adds, searches, and searches one project.

Nothing of memory_mesh is imported here but inside its own system: the peers live without it.
"""

import json
import os
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bench.peers.exchange import Vector

K = 10


@dataclass(frozen=True, slots=True)
class Item:
    """What every system is given: a text, its project and its vector."""

    id: str
    text: str
    project: str
    vector: Vector


class System(Protocol):
    """One store in a folder of its own."""

    def load(self, items: Sequence[Item]) -> None:
        """Store many at once, in the way that the system recommends."""

    def add(self, item: Item) -> None:
        """Store one."""

    def search(self, text: str, vector: Vector, project: str | None) -> list[str]:
        """The best ten, of all projects or of one."""


class MemoryMesh:
    """Ours: words and vectors, ranked; durable at every add, an audit block for each."""

    PACKAGE = ""
    MODULE = "memory_mesh.sync"  # what a program imports

    def __init__(self, folder: Path) -> None:
        from bench import memories
        from memory_mesh.model import Scope
        from memory_mesh.sync import MemoryMesh as Mesh

        self._scope = Scope
        self._mesh = Mesh(db_dir=folder / "store", custom_embedder=memories.Made())

    def load(self, items: Sequence[Item]) -> None:
        """Store many."""
        self._mesh.add_many(
            [{"content": item.text, "scope": self._scope(item.project)} for item in items]
        )
        self._mesh.care.upkeep()

    def add(self, item: Item) -> None:
        """Store one."""
        self._mesh.add(item.text, scope=self._scope(item.project))

    def search(self, text: str, vector: Vector, project: str | None) -> list[str]:
        """The best ten."""
        del vector  # its embedder makes the same one
        reader: dict[str, Any] = (
            {"across": ("project",)} if project is None else {"scope": self._scope(project)}
        )
        return [hit.id for hit in self._mesh.search(text, limit=K, use_cache=False, **reader)]


class Chroma:
    """A persistent collection: vectors only, its HNSW index."""

    PACKAGE = "chromadb"
    MODULE = "chromadb"  # what a program imports

    def __init__(self, folder: Path) -> None:
        import chromadb  # type: ignore[import-not-found]  # only in .venv-peers

        settings = chromadb.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(str(folder / "chroma"), settings=settings)
        self._collection = self._client.create_collection("records")

    def load(self, items: Sequence[Item]) -> None:
        """Store many."""
        size = self._client.get_max_batch_size()
        for at in range(0, len(items), size):
            self._put(items[at : at + size])

    def add(self, item: Item) -> None:
        """Store one."""
        self._put([item])

    def search(self, text: str, vector: Vector, project: str | None) -> list[str]:
        """The best ten."""
        del text
        found = self._collection.query(
            query_embeddings=[vector],
            n_results=K,
            where=None if project is None else {"project": project},
            include=["documents"],
        )
        return list(found["ids"][0])

    def _put(self, items: Sequence[Item]) -> None:
        self._collection.add(
            ids=[item.id for item in items],
            documents=[item.text for item in items],
            embeddings=[item.vector for item in items],
            metadatas=[{"project": item.project} for item in items],
        )


class LanceDB:
    """A table with a full-text index: words and vectors, fused by rank; all vectors compared."""

    PACKAGE = "lancedb"
    MODULE = "lancedb"  # what a program imports

    def __init__(self, folder: Path) -> None:
        import lancedb

        self._db = lancedb.connect(folder / "lance")
        self._table: Any = None

    def load(self, items: Sequence[Item]) -> None:
        """Store many."""
        self._table = self._db.create_table("records", [self._row(item) for item in items])
        self._table.create_fts_index("text")

    def add(self, item: Item) -> None:
        """Store one."""
        self._table.add([self._row(item)])

    def search(self, text: str, vector: Vector, project: str | None) -> list[str]:
        """The best ten."""
        asked = self._table.search(query_type="hybrid").vector(vector).text(text)
        if project is not None:
            asked = asked.where(f"project = '{project}'", prefilter=True)
        return [row["id"] for row in asked.limit(K).to_list()]

    @staticmethod
    def _row(item: Item) -> dict[str, object]:
        return {
            "id": item.id, "text": item.text, "project": item.project, "vector": item.vector,
        }  # fmt: skip


class SqliteVec:
    """A vec0 table beside a table of texts: vectors only, all compared; a commit for each add."""

    PACKAGE = "sqlite-vec"
    MODULE = "sqlite_vec"  # what a program imports

    def __init__(self, folder: Path) -> None:
        import pysqlite3.dbapi2 as sqlite  # type: ignore[import-not-found]  # only in .venv-peers
        import sqlite_vec  # type: ignore[import-not-found]

        self._db = sqlite.connect(folder / "vec.db", isolation_level=None)
        self._db.enable_load_extension(True)  # noqa: FBT003 - as sqlite3 has it
        sqlite_vec.load(self._db)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("CREATE TABLE text (number INTEGER PRIMARY KEY, id TEXT, content TEXT)")
        self._db.execute("CREATE VIRTUAL TABLE near USING vec0 (project TEXT, v float[384])")

    def load(self, items: Sequence[Item]) -> None:
        """Store many."""
        for at in range(0, len(items), 1_024):
            self._put(items[at : at + 1_024])

    def add(self, item: Item) -> None:
        """Store one."""
        self._put([item])

    def search(self, text: str, vector: Vector, project: str | None) -> list[str]:
        """The best ten."""
        del text
        only = "" if project is None else " AND project = ?"
        values = (vector.tobytes(), K) if project is None else (vector.tobytes(), K, project)
        near = f"SELECT rowid, distance FROM near WHERE v MATCH ? AND k = ?{only}"
        found = self._db.execute(
            f"SELECT t.id, t.content FROM ({near}) n JOIN text t ON t.number = n.rowid "
            "ORDER BY n.distance",
            values,
        )
        return [id for id, _ in found]

    def _put(self, items: Sequence[Item]) -> None:
        self._db.execute("BEGIN")
        for item in items:
            row = self._db.execute(
                "INSERT INTO text (id, content) VALUES (?, ?)", (item.id, item.text)
            )
            self._db.execute(
                "INSERT INTO near (rowid, project, v) VALUES (?, ?, ?)",
                (row.lastrowid, item.project, item.vector.tobytes()),
            )
        self._db.execute("COMMIT")


class Mem0:
    """`add(infer=False)` over its default store, Qdrant in a folder: vectors only, all compared."""

    PACKAGE = "mem0ai"
    MODULE = "mem0"  # what a program imports

    def __init__(self, folder: Path) -> None:
        os.environ["MEM0_TELEMETRY"] = "False"  # both are read when mem0 is imported
        os.environ["MEM0_DIR"] = str(folder)
        from mem0 import Memory  # type: ignore[import-not-found]  # only in .venv-peers

        no_key = {"api_key": "unused"}
        place = {"path": str(folder / "qdrant"), "embedding_model_dims": 384, "on_disk": True}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": place},
                "embedder": {"provider": "openai", "config": no_key},
                "llm": {"provider": "openai", "config": no_key},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._given: dict[str, Vector] = {}
        self._memory.embedding_model = self

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Stands where mem0 has its embedder."""
        del memory_action
        return self._given[text].tolist()  # type: ignore[no-any-return]

    def load(self, items: Sequence[Item]) -> None:
        """Store many."""
        for item in items:
            self.add(item)

    def add(self, item: Item) -> None:
        """Store one."""
        self._given = {item.text: item.vector}
        self._memory.add(item.text, user_id=item.project, agent_id="all", infer=False)

    def search(self, text: str, vector: Vector, project: str | None) -> list[str]:
        """The best ten."""
        self._given = {text: vector}
        only = {"agent_id": "all"} if project is None else {"user_id": project}
        return [item["id"] for item in self._memory.search(text, top_k=K, filters=only)["results"]]


class LangGraph:
    """`InMemoryStore` with an index over the text: vectors only, all compared; nothing on disk."""

    PACKAGE = "langgraph"
    MODULE = "langgraph.store.memory"

    def __init__(self, folder: Path) -> None:
        del folder
        from langgraph.store.memory import InMemoryStore

        self._given: dict[str, Vector] = {}
        index: Any = {"dims": 384, "embed": self._embed, "fields": ["text"]}
        self._store = InMemoryStore(index=index)

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._given[text].tolist() for text in texts]

    def load(self, items: Sequence[Item]) -> None:
        """Store many."""
        for item in items:
            self.add(item)

    def add(self, item: Item) -> None:
        """Store one."""
        self._given = {item.text: item.vector}
        self._store.put(("records", item.project), item.id, {"text": item.text})

    def search(self, text: str, vector: Vector, project: str | None) -> list[str]:
        """The best ten."""
        self._given = {text: vector}
        place = ("records",) if project is None else ("records", project)
        return [item.key for item in self._store.search(place, query=text, limit=K)]


class Bare:
    """An FTS5 table and a matrix in numpy, merged by rank: what one writes in an hour."""

    PACKAGE = "numpy"
    MODULE = "sqlite3, numpy"

    def __init__(self, folder: Path) -> None:
        self._db = sqlite3.connect(folder / "bare.db", isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("CREATE TABLE text (id TEXT, content TEXT, project TEXT, v BLOB)")
        self._db.execute("CREATE VIRTUAL TABLE words USING fts5 (content, content='text')")
        self._rows: list[Vector] = []
        self._projects: list[str] = []

    def load(self, items: Sequence[Item]) -> None:
        """Store many."""
        for at in range(0, len(items), 1_024):
            self._put(items[at : at + 1_024])

    def add(self, item: Item) -> None:
        """Store one."""
        self._put([item])

    def search(self, text: str, vector: Vector, project: str | None) -> list[str]:
        """The best ten."""
        self._rows = [np.concatenate([np.atleast_2d(rows) for rows in self._rows])]
        said = [word for word in re.findall(r"\w+", text) if word]
        found = self._db.execute(
            "SELECT w.rowid FROM words w JOIN text t ON t.rowid = w.rowid WHERE words MATCH ? "
            "AND (?2 IS NULL OR t.project = ?2) ORDER BY rank LIMIT 100",
            (" OR ".join(f'"{word}"' for word in said), project),
        )
        cosines = self._rows[0] @ vector
        if project is not None:
            cosines = np.where(np.array(self._projects) == project, cosines, -2.0)
        near = np.argpartition(cosines, -100)[-100:]
        places: dict[int, float] = {}
        for listed in ([row - 1 for (row,) in found], near[np.argsort(-cosines[near])].tolist()):
            for rank, row in enumerate(listed):
                places[row] = places.get(row, 0.0) + 1 / (61 + rank)
        best = sorted(places, key=places.__getitem__, reverse=True)[:K]
        marks = ", ".join("?" * len(best))
        read = self._db.execute(
            f"SELECT id, content FROM text WHERE rowid IN ({marks})",
            [row + 1 for row in best],
        )
        return [id for id, _ in read]

    def _put(self, items: Sequence[Item]) -> None:
        self._db.execute("BEGIN")
        for item in items:
            values = (item.id, item.text, item.project, item.vector.tobytes())
            row = self._db.execute("INSERT INTO text VALUES (?, ?, ?, ?)", values).lastrowid
            self._db.execute("INSERT INTO words (rowid, content) VALUES (?, ?)", (row, item.text))
            self._rows.append(item.vector)
            self._projects.append(item.project)
        self._db.execute("COMMIT")


SYSTEMS: dict[str, type[Any]] = {
    "memory-mesh": MemoryMesh,
    "chroma": Chroma,
    "lancedb": LanceDB,
    "sqlite-vec": SqliteVec,
    "mem0": Mem0,
    "langgraph": LangGraph,
    "bare": Bare,
}


def read(folder: Path) -> tuple[list[Item], list[Item], list[tuple[str, Vector]]]:
    """The items to load, those to add one by one, and the questions."""
    lines = [json.loads(line) for line in (folder / "items.jsonl").open(encoding="utf-8")]
    rows: Vector = np.load(folder / "items.npy")
    items = [
        Item(line["id"], line["text"], line["project"], row)
        for line, row in zip(lines, rows, strict=True)
    ]
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    asked: Vector = np.load(folder / "questions.npy")
    questions = list(zip(plan["questions"], asked, strict=True))
    return items[: plan["load"]], items[plan["load"] :], questions
