"""Whether both ledgers answer alike: by words, by meaning, and the whole search.

The same memories are stored on both. Numbers of versions are given in the order of writing, so
that they name the same memories on both; ids are drawn, so that whole searches compare texts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.measure import rounded
from memory_mesh.model import Hits, Lens, Matches, Question, Space
from memory_mesh.model.ports import Embedder
from memory_mesh.search import keyword_plan, nearest
from memory_mesh.sync import MemoryMesh
from memory_mesh.text import analyzer

ACROSS = ("project", "agent", "session")
DEPTH = 100  # of a leg of the search
TOP = 10
CLOSE = 1e-9  # how far apart the same score may be


@dataclass(slots=True)
class Likeness:
    """How many questions were answered alike, and where they were not."""

    questions: int = 0
    same_by_words: int = 0
    largest_difference: float = 0.0
    overlaps: list[float] = field(default_factory=list)
    same_hybrid: int = 0
    different: list[str] = field(default_factory=list)

    @property
    def overlap(self) -> float:
        """The mean share of the ten nearest that both found."""
        return sum(self.overlaps) / max(1, len(self.overlaps))

    def figures(self) -> dict[str, float]:
        """What is published."""
        return {
            "questions": self.questions,
            "keyword_lists_identical": self.same_by_words,
            "largest_difference_of_a_score": rounded(self.largest_difference),
            "vector_top_10_overlap": rounded(self.overlap),
            "hybrid_lists_identical": self.same_hybrid,
        }


def compare(
    one: MemoryMesh,
    two: MemoryMesh,
    questions: Sequence[str],
    embedder: Embedder,
    lens: Lens,
    *,
    whole: bool = True,
) -> Likeness:
    """Asks both every question; `lens` is that of the two legs, a whole search sees everything."""
    found = Likeness(len(questions))
    for question in questions:
        vectors = embedder.embed([question], query=True)
        _compare_words(found, question, *(by_words(mesh, question, lens) for mesh in (one, two)))
        near = [by_meaning(mesh, vectors.space, vectors.vectors[0][0], lens) for mesh in (one, two)]
        found.overlaps.append(_share(*near))
        if not whole:
            continue
        hits = [_search(mesh, question) for mesh in (one, two)]
        if _shown(hits[0]) == _shown(hits[1]):
            found.same_hybrid += 1
        else:
            found.different.append(f"hybrid: {question}")
    return found


def by_words(mesh: MemoryMesh, question: str, lens: Lens) -> Matches:
    """The keyword leg."""
    with mesh._read() as snapshot:  # noqa: SLF001  # below the verbs
        return keyword_plan.match(snapshot, analyzer.query_terms(question), lens, DEPTH)


def by_meaning(mesh: MemoryMesh, space: Space, vector: bytes, lens: Lens) -> list[int]:
    """The versions of the ten nearest vectors."""
    with mesh._read() as snapshot:  # noqa: SLF001  # below the verbs
        found = nearest.nearest(snapshot, Question(space, vector, TOP), lens).found
        return [near.version for near in found]


def _compare_words(found: Likeness, question: str, one: Matches, two: Matches) -> None:
    """Lists are alike in order; how words were read and counted must be alike, too."""
    same = [match.version for match in one.found] == [match.version for match in two.found]
    same = same and (one.dropped, one.postings, one.rows) == (two.dropped, two.postings, two.rows)
    same = same and (one.read_as, one.counts_as) == (two.read_as, two.counts_as)
    pairs = zip(one.found, two.found, strict=False)
    apart = max((abs(ours.bm25 - theirs.bm25) for ours, theirs in pairs), default=0.0)
    found.largest_difference = max(found.largest_difference, apart)
    if same and apart <= CLOSE:
        found.same_by_words += 1
    else:
        found.different.append(f"words: {question}")


def _share(one: Sequence[int], two: Sequence[int]) -> float:
    """The share of the first list that the second has, too."""
    return len({*one} & {*two}) / len(one) if one else float(not two)


def _search(mesh: MemoryMesh, question: str) -> Hits:
    return mesh.search(question, limit=TOP, across=ACROSS, use_cache=False)


def _shown(hits: Hits) -> list[tuple[str, float]]:
    """Texts and scores; the last digits of a cosine depend on the order of a sum."""
    return [(hit.content, round(hit.score, 5)) for hit in hits]
