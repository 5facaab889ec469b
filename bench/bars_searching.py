"""Bars of search: scoped, filtered, without an index, beside its bare parts, and growing."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import corpus, meaning, measure, memories, prepared
from bench.measure import Sides, Skipped, say
from memory_mesh.model import Hits, Scope
from memory_mesh.model.errors import InvalidInput
from memory_mesh.sync import MemoryMesh
from memory_mesh.text import analyzer

if TYPE_CHECKING:
    from bench.bars import Bench

_WARM = 5  # questions before the clock counts
_NEAREST = 100  # vectors that a search looks at
_LIMIT = 10
_CACHE_KIB = 8_192  # as ours
_TEAM = "team-07"
_FTS = (
    "SELECT t.content FROM live JOIN text t ON t.number = live.rowid "
    "WHERE live MATCH ? ORDER BY rank LIMIT 10"
)
Ask = Callable[[str], object]
Read = dict[str, Any]
SEES_ALL: Read = {"across": prepared.EVERYTHING}
READERS: dict[str, Read] = {
    "1 %": {"scope": Scope(memories.ONE_PERCENT), "across": ("session",)},
    "0.3 %": {"scope": Scope(memories.THIRD_PERCENT), "across": ("session",)},
}


def scoped(bench: "Bench", size: int, *, share: str) -> Sides:
    """A reader who sees a small share beside one who sees all, in one store with an index."""
    folder = prepared.indexed(bench.work, size)
    with prepared.opened(folder) as mesh:
        _check_reader(mesh, READERS[share], share, size)
        return _beside(bench, _search(mesh, READERS[share]), _search(mesh, SEES_ALL))


def filtered(bench: "Bench", size: int) -> Sides:
    """A filter that one in a hundred memories passes, beside none."""
    folder = prepared.indexed(bench.work, size)
    with prepared.opened(folder) as mesh:
        only = _filter(mesh)
        return _beside(bench, _search(mesh, SEES_ALL | only), _search(mesh, SEES_ALL))


def without_index(bench: "Bench", large: int, small: int) -> Sides:
    """The exact scan at two sizes."""
    less = prepared.plain(bench.work, small)
    more = prepared.plain(bench.work, large)
    with prepared.opened(more) as two, prepared.opened(less) as one:
        return _beside(bench, _search(two, SEES_ALL), _search(one, SEES_ALL))


def hybrid_alone(bench: "Bench", size: int) -> Sides:
    """A search of all memories by words and vectors, in milliseconds."""
    with prepared.opened(prepared.plain(bench.work, size)) as mesh:
        found = _beside(bench, _search(mesh, SEES_ALL), lambda _: None)
    return measure.milliseconds(found.over)


def session_start(bench: "Bench", size: int) -> Sides:
    """A pack without a question, for 800 tokens, in milliseconds."""
    times = measure.Times()
    with prepared.opened(prepared.plain(bench.work, size)) as mesh:
        for number in range(_WARM + bench.questions):
            spent = measure.Times() if number < _WARM else times
            spent.take(lambda: mesh.context(None, max_tokens=800, across=prepared.EVERYTHING))
    return measure.milliseconds(times)


def with_index(bench: "Bench", large: int, small: int) -> Sides:
    """The index at two sizes, the question embedded by the real model."""
    less = prepared.indexed(bench.work, small)
    more = prepared.indexed(bench.work, large)
    model = _model()
    embedder = memories.Made(model)
    with prepared.opened(more, embedder) as two, prepared.opened(less, embedder) as one:
        found = _beside(bench, _search(two, SEES_ALL), _search(one, SEES_ALL))
    model.close()
    return found


def over_parts(bench: "Bench", size: int) -> Sides:
    """A hybrid search of all memories beside embedding, the FTS5 statement and the index."""
    folder = prepared.indexed(bench.work, size)
    model = _model()
    db = _bare(folder)
    parts = {name: measure.Times() for name in ("embed", "fts5", "nearest")}
    with prepared.opened(folder, memories.Made(model)) as mesh:
        near = _bare_nearest(mesh)

        def by_hand(question: str) -> None:
            parts["embed"].take(lambda: model.embed([question], query=True))
            parts["fts5"].take(lambda: _fts5(db, question))
            vector = memories.vectors([question])[0].tobytes()
            parts["nearest"].take(lambda: near(vector))

        sides = _beside(bench, _search(mesh, SEES_ALL), by_hand)
    db.close()
    model.close()
    each = {f"{name}_cpu_ms": measure.median_ms(times.cpu) for name, times in parts.items()}
    return Sides(sides.over, sides.under, {**each})


def rare_words(bench: "Bench", size: int) -> Sides:
    """A keyword search of two rare words beside the bare statement that reads the texts."""
    folder = prepared.plain(bench.work, size)
    questions = memories.rare_questions(3 * bench.questions, size)
    db = _bare(folder)
    with prepared.keyword_mesh(folder) as mesh:
        sides = _beside(
            bench,
            _search(mesh, SEES_ALL),
            lambda question: _fts5(db, question),
            questions=questions,
        )
    db.close()
    return sides


def _beside(bench: "Bench", over: Ask, under: Ask, *, questions: list[str] | None = None) -> Sides:
    """The same questions to both, in turns."""
    asked = questions or corpus.queries()[: bench.questions]
    for question in asked[:_WARM]:
        over(question)
        under(question)
    one, two = measure.alternate(
        len(asked), lambda number: over(asked[number]), lambda number: under(asked[number])
    )
    return Sides(one, two)


def _search(mesh: MemoryMesh, reader: Read) -> Callable[[str], Hits]:
    return lambda question: mesh.search(question, limit=_LIMIT, use_cache=False, **reader)


def _filter(mesh: MemoryMesh) -> Read:
    """The condition on a metadata key in the form that this version takes."""
    forms: tuple[Read, ...] = (
        {"filter": {"team": _TEAM}},
        {"where": {"team": _TEAM}},
        {"filter": f"team = '{_TEAM}'"},
    )
    for form in forms:
        try:
            hits = _search(mesh, SEES_ALL | form)("database error of the team")
        except (InvalidInput, TypeError):
            continue
        if any(hit.metadata.get("team") != _TEAM for hit in hits):
            raise AssertionError("a filtered search returned what does not pass the filter")
        return form
    raise Skipped("search takes no condition on a metadata key in this version")


def _check_reader(mesh: MemoryMesh, reader: Read, share: str, size: int) -> None:
    """The reader sees what the bar says: counted on at most the thousand best."""
    seen = len(mesh.search("the team", limit=1_000, use_cache=False, **reader))
    expected = round(size * float(share.removesuffix(" %")) / 100)
    say(f"  the reader sees about {expected:,} of {size:,} memories; {seen:,} were returned")


def _model() -> Any:  # noqa: ANN401 - the local embedder, whose module is heavy
    try:
        return meaning.model()
    except SystemExit as error:
        raise Skipped(str(error)) from error


def _bare(folder: Path) -> sqlite3.Connection:
    db = sqlite3.connect(prepared.file_of(folder), isolation_level=None)
    db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    return db


def _fts5(db: sqlite3.Connection, question: str) -> list[tuple[str]]:
    terms = " OR ".join(f'"{term}"' for term in analyzer.query_terms(question))
    return db.execute(_FTS, (terms,)).fetchall()


def _bare_nearest(mesh: MemoryMesh) -> Callable[[bytes], object]:
    """The index alone: the hundred nearest vectors of the whole store."""
    index, state = mesh._opened().index(), mesh.stats().spaces[0]  # noqa: SLF001
    body = state.body
    if index is None or body is None:
        raise Skipped("the index is not installed here: pip install 'memory-mesh[scale]'")
    return lambda vector: index.near(
        "default", state.space.name, body=body, vector=vector, limit=_NEAREST
    )
