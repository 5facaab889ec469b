"""Asks questions of a user's own store without writing to it.

::

    expect ── an id, or a part of a text ──▶ the memories that match; none is an error
    question ── search ──▶ a row; of one that failed, `explain` says why
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from memory_mesh.base.typed import Any
from memory_mesh.evaluation import report
from memory_mesh.evaluation.all_questions import Answers, Progress, Rows, opened_mesh
from memory_mesh.evaluation.one_question import QuestionResult, injected, search_options, timed
from memory_mesh.evaluation.suite import OwnQuestion, Suite
from memory_mesh.model import (
    Embedding,
    EmbeddingError,
    Hits,
    InvalidInput,
    Memory,
    NotFound,
    Status,
)
from memory_mesh.model.ports import Embedder
from memory_mesh.sync import MemoryMesh

_PAGE = 1_000
_KEPT = "bisected"  # the category of what `memory-mesh bisect` keeps; it may expect a lost text
_EVERYWHERE = ("project", "agent", "session")
_EXPLAINED = {  # options of `search` that `explain` takes, too
    "filter", "include", "across", "as_of", "valid_at", "profile", "keyword_only",
    "min_similarity", "min_relevance", "scope",
}  # fmt: skip
_LEFT_OUT = ("For it:", "What it could", "A limit of")  # sentences about the order in detail


class QuestionsOnly:
    """An embedder for questions only, so that no text of the store gets a vector."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """Returns the vectors of questions."""
        if not query:
            raise EmbeddingError(
                "a store is not written to while it is evaluated; `memory-mesh upkeep` makes the "
                "vectors that its texts wait for"
            )
        return self._embedder.embed(texts, query=True)

    def close(self) -> None:
        """Does nothing: the wrapped embedder stays open."""


def answer(
    suite: Suite,
    systems: Mapping[str, Mapping[str, object]],
    embedder: Embedder | None,
    progress: Progress,
) -> tuple[Answers, report.FailureWords]:
    """Asks every question of the suite; the words are those of the first system's failures."""
    folder = suite.store
    if folder is None or not folder.is_dir():
        raise NotFound(f"there is no store {folder}")
    reading = None if embedder is None else QuestionsOnly(embedder)
    rows: Rows = {system: [] for system in systems}
    with opened_mesh(folder, suite.namespace, reading) as mesh:
        if suite.namespace not in mesh.care.namespaces():
            raise NotFound(f"the store has no namespace {suite.namespace!r}")
        pool = mesh.stats().memories
        if pool <= max(suite.ks):
            raise InvalidInput(
                f"the store has {pool} memories: with k = {max(suite.ks)} everything would be "
                "found. State a smaller k in the suite"
            )
        asking = _Asking(mesh, suite, pool)
        for number, question in enumerate(suite.questions, start=1):
            for place, (system, options) in enumerate(systems.items()):
                told = search_options(options)
                row, hits = asking.row(f"q{number}", question, told)
                rows[system].append(row)
                if place == 0:
                    asking.keep_words(row, question, told, hits)
            progress(f"asking {suite.name}", number, len(suite.questions))
    return Answers(rows, {}), asking.words


class _Asking:
    """A store, and the memories that its suite expects."""

    def __init__(self, mesh: MemoryMesh, suite: Suite, pool: int) -> None:
        self._mesh, self._suite, self._pool = mesh, suite, pool
        self._questions: dict[str, str] = {}
        self._texts: dict[tuple[str, str], str] = {}
        self._why: dict[str, str] = {}
        self._matching = _matching(mesh, suite.questions)

    @property
    def words(self) -> report.FailureWords:
        """What a person needs to read the failures."""
        return report.FailureWords(self._questions, self._texts, self._why)

    def row(
        self, id_: str, question: OwnQuestion, told: Mapping[str, Any]
    ) -> tuple[QuestionResult, Hits]:
        """Asks the question."""
        hits, spent = timed(self._mesh, question.text, told)
        found = QuestionResult(
            id=id_,
            tenant=id_,  # each stands alone: there are no conversations to resample
            category=question.category,
            gold=tuple(self._gold(expected, hits) for expected in question.expect),
            stale=tuple(id_ for stale in question.stale for id_ in self._stale(stale, question)),
            ranked=tuple(hit.id for hit in hits),
            scores=tuple(round(hit.score, 6) for hit in hits),
            pool=self._pool,
            limit=told["limit"],
            ms=spent,
            tokens=injected(hits),
        )
        return found, hits

    def keep_words(
        self, row: QuestionResult, question: OwnQuestion, told: Mapping[str, Any], hits: Hits
    ) -> None:
        """Keeps the texts of a row that failed, and why it did."""
        if not report.failed(row, self._suite):
            return
        self._questions[row.id] = question.text
        for name, expected in zip(row.gold, question.expect, strict=True):
            known = self._matching[expected].get(name)
            self._texts[row.tenant, name] = expected if known is None else known.text
        for hit in hits[:1]:
            self._texts[row.tenant, hit.id] = hit.content
        depth = report.depth(self._suite)
        missed = [name for name in row.gold if name not in row.ranked[:depth]]
        if not all(self._matching[expected] for expected in question.expect):
            self._why[row.id] = "No memory says it now."
        elif missed:
            self._why[row.id] = self._reason(missed[0], question.text, told, depth)

    def _gold(self, expected: str, hits: Hits) -> str:
        """The best hit among the memories that match, or the newest active one; else the text."""
        matching = self._matching[expected]
        return next((hit.id for hit in hits if hit.id in matching), next(iter(matching), expected))

    def _stale(self, text: str, question: OwnQuestion) -> Iterable[str]:
        """The memories that match; of a kept question, the text stands for those that are gone."""
        if question.category != _KEPT:
            return self._matching[text]
        within = any(text.casefold() in each.casefold() for each in question.expect)
        return (not within and self._matching[text]) or (text,)

    def _reason(self, name: str, asked: str, told: Mapping[str, Any], depth: int) -> str:
        options = {key: value for key, value in told.items() if key in _EXPLAINED}
        why = self._mesh.explain(name, query=asked, limit=depth, see_across=_EVERYWHERE, **options)
        told_of = [line for line in why.sentences if not line.startswith(_LEFT_OUT)]
        return " ".join(told_of).replace(name, "The expected memory", 1)


def _matching(
    mesh: MemoryMesh, questions: Sequence[OwnQuestion]
) -> Mapping[str, Mapping[str, Memory]]:
    """Returns the memories that match each expected text: active ones first, then newest first."""
    named = (text for each in questions for text in (*each.expect, *each.stale))
    parts = {text: text.casefold() for text in named}
    found: dict[str, list[Memory]] = {expected: [] for expected in parts}
    for memory in _memories(mesh) if parts else ():
        text = memory.text.casefold()
        for expected, part in parts.items():
            if part in text or expected == memory.id:
                found[expected].append(memory)
    _refuse_unmatched(mesh, questions, found)
    return {
        expected: {
            each.id: each
            for each in sorted(listed, key=lambda memory: memory.status is not Status.ACTIVE)
        }
        for expected, listed in found.items()
    }


def _memories(mesh: MemoryMesh) -> Iterator[Memory]:
    """Every memory; a superseded one, too: then `explain` says why it is not found."""
    cursor: str | None = None
    while True:
        page = mesh.get_all(limit=_PAGE, cursor=cursor, across=_EVERYWHERE, include=Status)
        yield from page
        cursor = page.cursor
        if cursor is None:
            return


def _refuse_unmatched(
    mesh: MemoryMesh, questions: Sequence[OwnQuestion], found: Mapping[str, Sequence[Memory]]
) -> None:
    lost = [
        (place, expected)
        for each in questions
        for place, expected in zip(each.places, each.expect, strict=True)
        if not found[expected] and each.category != _KEPT
    ]
    if not lost:
        return
    place, expected = lost[0]
    near = mesh.search(expected, limit=1, across=_EVERYWHERE, use_cache=False)
    hint = f" The nearest is: {' '.join(near[0].content.split())[:100]}" if near else ""
    more = f" ({len(lost) - 1} more like this.)" if len(lost) > 1 else ""
    raise InvalidInput(
        f"{place}: expect {expected!r} is neither the id nor a part of the text of any memory "
        f"in this namespace.{hint}{more}"
    )
