"""Asks questions of a user's own store without writing to it."""

from collections.abc import Mapping, Sequence

from memory_mesh.errors import EmbeddingError, InvalidInput, NotFound
from memory_mesh.evaluation.answering import Answers, Progress, Rows, opened_mesh
from memory_mesh.evaluation.asking import Row, injected, search_options, timed
from memory_mesh.evaluation.suite import OwnQuestion, Suite
from memory_mesh.model import Embedding, Hit
from memory_mesh.ports import Embedder
from memory_mesh.sync import MemoryMesh


class QuestionsOnly:
    """An embedder for questions only, so that no text of the store gets a vector."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """Returns the vectors of questions."""
        if not query:
            raise EmbeddingError("nothing is written to a store that is evaluated")
        return self._embedder.embed(texts, query=True)

    def close(self) -> None:
        """Does nothing: the wrapped embedder stays open."""


def answer(
    suite: Suite,
    systems: Mapping[str, Mapping[str, object]],
    embedder: Embedder | None,
    progress: Progress,
) -> Answers:
    """Asks every question of the suite."""
    folder = suite.store
    if folder is None or not folder.is_dir():
        raise NotFound(f"there is no store {folder}")
    reading = None if embedder is None else QuestionsOnly(embedder)
    rows: Rows = {system: [] for system in systems}
    with opened_mesh(folder, suite.namespace, reading) as mesh:
        if suite.namespace not in mesh.namespaces():
            raise NotFound(f"the store has no namespace {suite.namespace!r}")
        pool = mesh.stats().memories
        if pool <= max(suite.ks):
            raise InvalidInput(
                f"the store has {pool} memories: with k = {max(suite.ks)} everything would be "
                "found. State a smaller k in the suite"
            )
        for number, question in enumerate(suite.questions, start=1):
            for system, options in systems.items():
                rows[system].append(_row(mesh, f"q{number}", question, options, pool))
            progress(f"asking {suite.name}", number, len(suite.questions))
    return Answers(rows, {})


def _row(
    mesh: MemoryMesh, id_: str, question: OwnQuestion, options: Mapping[str, object], pool: int
) -> Row:
    told = search_options(options)
    hits, spent = timed(mesh, question.text, told)
    return Row(
        id=id_,
        tenant=id_,  # each stands alone: there are no conversations to resample
        category=question.category,
        gold=tuple(_found(expected, hits) for expected in question.expect),
        ranked=tuple(hit.id for hit in hits),
        scores=tuple(round(hit.score, 6) for hit in hits),
        pool=pool,
        limit=told["limit"],
        ms=spent,
        tokens=injected(hits),
    )


def _found(expected: str, hits: Sequence[Hit]) -> str:
    """Returns the first hit that matches the expected text, or the text itself."""
    part = expected.casefold()
    return next(
        (hit.id for hit in hits if hit.id == expected or part in hit.content.casefold()), expected
    )
