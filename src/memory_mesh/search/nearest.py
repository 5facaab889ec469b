"""How a search finds the nearest vectors: it looks at little that its reader cannot see.

::

    reach: how much the reader sees, by the counts of its audiences
      │
      ├─ few ──────────▶ every vector that the reader sees, exactly
      │
      └─ many, or all ─▶ index, among the reader's audiences   ┐ the best that the reader sees;
                         exact scan of what is above the index ┘ a few candidates may be hidden
                            │ too many hidden: by a filter, by status, by time
                            ▼
                         every vector that the reader sees, exactly

It knows ports, not engines. No look is deeper than a share of what the reader sees: beyond that,
comparing all of it is cheaper. So what others store does not make a search slower.
"""

from collections.abc import Callable, Sequence
from math import ceil

from memory_mesh.base.typed import TypeAlias
from memory_mesh.model import Body, Lens, Near, Nearest, Question, Reach, SearchLook
from memory_mesh.model.ports import VectorSearch

# The index: body, how many, numbers of audiences or None for all -> (number, cosine), best first.
Ask: TypeAlias = Callable[[Body, int, Sequence[int] | None], list[tuple[int, float]] | None]
Look: TypeAlias = Callable[
    [int], SearchLook | None
]  # how many -> the best; None: it cannot be read

# docs/decisions/0074-counts-per-audience.md says how these were measured.
FEW_MEMORIES = 2_000  # of a reader: to compare them one by one is cheaper than to ask an index
SMALL_SHARE = 12  # of a reader of more than a twelfth a scan of all vectors is as cheap
MOST_LISTED = 1_000  # audiences that an index is asked to look among
MORE = 1.3  # candidates more than are needed if what is hidden is spread evenly
DEEPEST_SHARE = 16  # a look at more than a sixteenth of what is seen costs more than all of it


def nearest(
    search: VectorSearch, question: Question, lens: Lens, ask: Ask | None = None
) -> Nearest:
    """Returns the nearest versions that the lens sees, and how near those of `also` are."""
    reach = search.reach(question.space, lens)
    if reach is None:
        return Nearest()
    found, from_body, scanned = _found(search, question, lens, reach, ask)
    best: dict[int, float] = {}
    for near in found:
        best[near.version] = max(near.cosine, best.get(near.version, -1.0))
    ordered = sorted(best.items(), key=lambda pair: (-pair[1], -pair[0]))[: question.limit]
    kept = {version for version, _ in ordered}
    others = [version for version in question.also if version not in kept]
    return Nearest(
        tuple(Near(*pair) for pair in ordered),
        tuple(search.cosines(question, others)),
        from_body,
        scanned,
    )


def _found(
    search: VectorSearch, question: Question, lens: Lens, reach: Reach, ask: Ask | None
) -> tuple[list[Near], int, int]:
    """What was found, and how many vectors the index answered for, and were scanned."""
    if (
        reach.seen is not None
        and reach.seen <= FEW_MEMORIES
        and reach.seen * SMALL_SHARE < reach.vectors
    ):
        exact = search.nearest_seen(question, lens, reach, FEW_MEMORIES)
        if exact is not None:
            return exact, 0, 0
    found: list[Near] = []
    body = reach.body if ask is not None else None
    if body is not None and ask is not None:
        indexed = _from_body(search, question, lens, reach, (body, ask))
        if isinstance(indexed, _Hidden):
            return _exactly(search, question, lens, reach), 0, 0
        body, found = (None, []) if indexed is None else (body, indexed)
    floor = body.highest if body is not None else 0

    def look(count: int) -> SearchLook:
        return search.nearest_above(question, lens, floor, count)

    tail = reach.vectors - floor
    scanned = _gather(look, question.limit, reach, (tail, _spread(reach)))
    if isinstance(scanned, _Hidden):
        return _exactly(search, question, lens, reach), 0, 0
    if reach.inside and reach.body is not None:
        return list(scanned or ()), reach.body.rows, tail - reach.body.rows
    return [*found, *(scanned or ())], body.rows if body is not None else 0, tail


def _from_body(
    search: VectorSearch,
    question: Question,
    lens: Lens,
    reach: Reach,
    index: tuple[Body, Ask],
) -> "list[Near] | _Hidden | None":
    """What the index finds; None where it cannot be read, and the ledger still holds all of it."""
    body, ask = index
    among = _among(lens, reach)

    def look(count: int) -> SearchLook | None:
        found = ask(body, count, among)
        return None if found is None else SearchLook(search.seen(found, lens), len(found))

    spread = 1.0 if among is not None else _spread(reach)
    return _gather(look, question.limit, reach, (body.rows, spread))


def _among(lens: Lens, reach: Reach) -> Sequence[int] | None:
    """The audiences that the index looks among; None: all.

    The index knows audiences of the present alone. A reader of most vectors needs no choice.
    """
    if lens.as_of is not None or reach.audiences is None or _spread(reach) <= 2:  # noqa: PLR2004
        return None
    return reach.audiences if len(reach.audiences) <= MOST_LISTED else None


def _spread(reach: Reach) -> float:
    """How many vectors there are for each that the reader sees, at least one."""
    return max(1.0, reach.vectors / max(1, _seen(reach)))


def _seen(reach: Reach) -> int:
    return reach.vectors if reach.seen is None else reach.seen


def _gather(
    look: Look, limit: int, reach: Reach, among: tuple[int, float]
) -> "list[Near] | _Hidden | None":
    """The best `limit` that are seen: one look, and where much was hidden a deeper one.

    `among`: how many vectors are looked among, and how many of them there are for each that is
    seen. The deeper look is as deep as the first says it must be. Where that costs more than to
    compare all that the reader sees, the answer is that too much is hidden.
    """
    vectors, spread = among
    count = _first_page(ceil(limit * spread * (MORE if spread > 1 else 1)))
    if min(count, vectors) > 2 * _seen(reach):
        return _Hidden()
    while True:
        looked = look(count)
        if looked is None:
            return None
        if len(looked.found) >= limit or looked.candidates < count:
            return list(looked.found)
        deeper = ceil(count * MORE * limit / max(1, len(looked.found)))
        if deeper * DEEPEST_SHARE > _seen(reach) and deeper > 2 * _first_page(limit):
            return _Hidden()
        count = max(deeper, 2 * count)


class _Hidden:
    """Most candidates are hidden from the reader."""


def _exactly(search: VectorSearch, question: Question, lens: Lens, reach: Reach) -> list[Near]:
    found = search.nearest_seen(question, lens, reach, None)
    return [] if found is None else found


def _first_page(limit: int) -> int:
    """A little more than is wanted: few candidates are hidden."""
    return limit + max(32, limit // 4)
