"""Search by meaning beside the sum of its bare parts: embedder, FTS5 statement, vector search.

The question goes through the real model. The stored vectors are synthetic, clustered and of the
model's space: speed does not know the difference, and a million real ones would take hours to make.
"""

import os
import resource
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench import adding, corpus, measure, stores
from bench.measure import Figures, Times, say
from bench.searching import Bare
from memory_mesh.model import Embedding, Space
from memory_mesh.models.embedders.onnx import OnnxEmbedder
from memory_mesh.sync import MemoryMesh
from memory_mesh.text import analyzer

_CLUSTERS = 2_000
_SPREAD = 0.6  # of a text around its cluster; neighbours then have a cosine of about 0.7
_STEP = 8_192
_QUESTIONS = 60
_ADDS = 120


class Synthetic:
    """Clustered vectors in another embedder's space, a million in a minute."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._random = np.random.default_rng(corpus.SEED)
        centres = self._random.standard_normal((_CLUSTERS, space.dimension), np.float32)
        self._centres = centres / np.linalg.norm(centres, axis=1, keepdims=True)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """A random neighbour of a random centre for each text."""
        del query
        chosen = self._centres[self._random.integers(0, _CLUSTERS, len(texts))]
        noise = self._random.standard_normal(chosen.shape, np.float32)
        rows = chosen + _SPREAD * noise / np.sqrt(self._space.dimension)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return Embedding(self._space, tuple((row.tobytes(),) for row in rows.astype("<f4")))

    def close(self) -> None:
        """Nothing to release."""


def model() -> OnnxEmbedder:
    """The real model, one thread per core."""
    folder = os.environ.get("MEMORY_MESH_MODEL_DIR")
    if not folder:
        raise SystemExit("set MEMORY_MESH_MODEL_DIR to a model's folder; see memory-mesh models")
    return OnnxEmbedder(Path(folder))


def loaded(folder: Path, memories: int, space: Space) -> Path:
    """A store with so many memories and vectors, absorbed; gone on with after a break."""
    with MemoryMesh(db_dir=folder, custom_embedder=Synthetic(space)) as mesh:
        done = mesh.stats().blocks
        while done < memories:
            batch = list(corpus.texts(done, min(memories, done + _STEP)))
            mesh.add_many(batch)
            done += len(batch)
            say(f"  {folder.name}: {done:,} of {memories:,} memories with vectors")
    return folder


def absorbed(folder: Path, space: Space) -> float:
    """Have the tail absorbed; how long it took."""
    with MemoryMesh(db_dir=folder, custom_embedder=Synthetic(space)) as mesh:
        spent = measure.seconds(mesh.care.upkeep)
    say(f"  {folder.name}: absorbed in {spent:.0f} s")
    return spent


def adds(work: Path, embedder: OnnxEmbedder) -> Figures:
    """The bars: an add beside embedding and a bare commit, a batch beside the bare embedder."""
    texts = list(corpus.texts(0, 2 * _ADDS))
    source, ours, bare = (adding.fresh(work, f"meaning-{name}") for name in ("a", "b", "c"))
    with MemoryMesh(db_dir=source, custom_embedder=embedder) as mesh:
        for text in texts[:_ADDS]:
            mesh.add(text, allow_duplicate=True)
    rows = list(adding.written(stores.file_of(source), _ADDS))
    vectors = _vectors(stores.file_of(source), _ADDS)
    db = sqlite3.connect(stores.file_of(bare), isolation_level=None)
    db.execute("PRAGMA synchronous = FULL")

    def by_hand(number: int) -> None:
        embedder.embed([texts[number]])
        adding.commit(db, rows[number], vectors[number])

    with MemoryMesh(db_dir=ours, custom_embedder=embedder) as mesh:
        added, parts = measure.alternate(
            _ADDS, lambda number: mesh.add(texts[number], allow_duplicate=True), by_hand
        )
        batches = [texts[number::4] for number in range(4)]
        many, embedded = measure.alternate(
            4,
            lambda number: mesh.add_many(
                {"content": text, "allow_duplicate": True} for text in batches[number]
            ),
            lambda number: embedder.embed(batches[number]),
        )
    db.close()
    return {
        "add_p50_ms": measure.median_ms(added.wall),
        "add_over_parts": measure.ratio_of_medians(added.wall, parts.wall),
        "add_many_per_s": measure.rounded(len(texts) / sum(many.wall)),
        "bare_embedder_per_s": measure.rounded(len(texts) / sum(embedded.wall)),
        "add_many_share_of_embedder": measure.rounded(sum(embedded.wall) / sum(many.wall)),
    }


def searches(folder: Path, embedder: OnnxEmbedder) -> Figures:
    """The bar: a hybrid search beside embedding, the bare FTS5 statement and the bare scan."""
    questions = corpus.queries()[:_QUESTIONS]
    terms = [analyzer.query_terms(question) for question in questions]
    bare = Bare(stores.file_of(folder))
    with MemoryMesh(db_dir=folder, custom_embedder=embedder) as mesh:
        mesh.search(questions[0], use_cache=False)
        index, state = mesh._opened().index(), mesh.stats().spaces[0]  # noqa: SLF001
        matrix = None if state.body else _matrix(stores.file_of(folder), state.space.dimension)

        def by_hand(number: int) -> None:
            vector = embedder.embed([questions[number]], query=True).vectors[0][0]
            bare.search(terms[number])
            if matrix is not None:
                cosines = matrix @ np.frombuffer(vector, np.float32)
                np.argpartition(cosines, -100)[-100:]
            elif index is not None and state.body is not None:
                index.near("default", state.space.name, body=state.body, vector=vector, limit=100)

        ours, parts = measure.alternate(
            len(questions),
            lambda number: mesh.search(questions[number], use_cache=False),
            by_hand,
        )
    bare.close()
    return {
        "search_p50_ms": measure.median_ms(ours.wall),
        "search_p95_ms": measure.percentile_ms(ours.wall, 0.95),
        "search_over_parts": measure.ratio_of_medians(ours.wall, parts.wall),
    }


def across(small: Path, large: Path, embedder: OnnxEmbedder) -> Figures:
    """The bars: ten times the memories, and adding to a large store."""
    questions = corpus.queries()[:_QUESTIONS]
    with (
        MemoryMesh(db_dir=small, custom_embedder=embedder) as one,
        MemoryMesh(db_dir=large, custom_embedder=embedder) as two,
    ):
        for mesh in (one, two):
            for question in questions[:10]:
                mesh.search(question, use_cache=False)
        more, less = measure.alternate(
            len(questions),
            lambda number: two.search(questions[number], use_cache=False),
            lambda number: one.search(questions[number], use_cache=False),
        )
    return {
        "large_p50_ms": measure.median_ms(more.wall),
        "large_over_small": measure.ratio_of_medians(more.wall, less.wall),
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def growing_adds(tiny: Path, large: Path, space: Space) -> Figures:
    """An add, vector included and model left out, in a large store beside one in a small."""
    texts = [f"{text} once more" for text in corpus.texts(0, _ADDS)]
    with (
        MemoryMesh(db_dir=tiny, custom_embedder=Synthetic(space)) as one,
        MemoryMesh(db_dir=large, custom_embedder=Synthetic(space)) as two,
    ):
        more, less = measure.alternate(
            _ADDS,
            lambda number: two.add(texts[number], allow_duplicate=True),
            lambda number: one.add(texts[number], allow_duplicate=True),
        )
    return {"add_large_over_small": measure.ratio_of_medians(more.wall, less.wall)}


def timed(folder: Path, embedder: OnnxEmbedder) -> Times:
    """Searches on their own."""
    times = Times()
    questions = corpus.queries()[:_QUESTIONS]
    with MemoryMesh(db_dir=folder, custom_embedder=embedder) as mesh:
        for question in questions[:10]:
            mesh.search(question, use_cache=False)
        for question in questions:
            times.take(lambda question=question: mesh.search(question, use_cache=False))  # type: ignore[misc]  # bound now
    return times


def _vectors(path: Path, count: int) -> list[tuple[object, ...]]:
    db = sqlite3.connect(path)
    rows = db.execute("SELECT * FROM vector ORDER BY number LIMIT ?", (count,)).fetchall()
    db.close()
    return rows


def _matrix(path: Path, dimension: int) -> NDArray[np.float32]:
    db = sqlite3.connect(path)
    data = b"".join(row[0] for row in db.execute("SELECT data FROM vector ORDER BY number"))
    db.close()
    return np.frombuffer(data, np.float32).reshape(-1, dimension)
