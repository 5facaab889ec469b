"""Where pgvector's index begins to pay: beside the exact scan of the same vectors, at each size."""

import time
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Self

import psycopg

from bench import corpus, measure, memories, postgres_quality as quality
from bench.measure import Figures, rounded
from bench.postgres_server import Databases
from bench.postgres_stores import SECRET
from memory_mesh.learn import upkeep
from memory_mesh.ledgers.postgres.ledger import PostgresLedger
from memory_mesh.model import Lens, Nearest, Question, Scope
from memory_mesh.platform.ids import SystemClock
from memory_mesh.search.nearest import nearest

_QUESTIONS = 60
_DEPTHS = (10, 100)  # of the answers that are compared; a search asks for the second


def nearest_part(databases: Databases, sizes: list[int]) -> Figures:
    """Each size: milliseconds with and without the index, and recall against the exact scan."""
    found: Figures = {}
    for size in sizes:
        found |= {f"{name}_{size}": value for name, value in _at(databases, size).items()}
    return found


def _at(databases: Databases, size: int) -> Figures:
    exact = databases.holding(size)
    indexed = databases.copy(exact)
    with ExitStack() as stack:
        sides = [stack.enter_context(_Asking(databases.login(name))) for name in (indexed, exact)]
        began = time.perf_counter()
        (body,) = upkeep.rebuild(sides[0].ledger, None, "default")
        found: Figures = {
            "build_ms_a_vector": rounded((time.perf_counter() - began) / body.rows * 1_000),
            "index_bytes_a_vector": rounded(_bytes(databases.owner(indexed)) / body.rows),
        }
        for name, lens in _lenses().items():
            found |= {f"{name}_{key}": value for key, value in _beside(sides, lens).items()}
    return found


def _beside(sides: "list[_Asking]", lens: Lens) -> Figures:
    ours, theirs = [
        [side.ask(number, lens) for number in range(_QUESTIONS)] for side in sides
    ]  # which also warms both up
    index, scan = measure.alternate(
        _QUESTIONS, lambda n: sides[0].ask(n, lens), lambda n: sides[1].ask(n, lens)
    )
    return {
        "index_ms": measure.median_ms(index.wall),
        "exact_ms": measure.median_ms(scan.wall),
        "index_over_exact": measure.ratio_of_medians(index.wall, scan.wall),
        **{f"recall_at_{depth}": _recall(theirs, ours, depth) for depth in _DEPTHS},
    }


class _Asking:
    """A ledger, and the nearest vectors of numbered questions in it."""

    def __init__(self, url: str) -> None:
        self.ledger = PostgresLedger(url, SystemClock(), secret=SECRET)
        self._vectors = memories.vectors(corpus.queries()[:_QUESTIONS])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.ledger.close()

    def ask(self, number: int, lens: Lens) -> Nearest:
        question = Question(memories.SPACE, self._vectors[number].tobytes(), _DEPTHS[-1])
        with self.ledger.read("default") as snapshot:
            return nearest(snapshot, question, lens)


def _lenses() -> dict[str, Lens]:
    """A reader who sees everything, and one of a project: the index finds what others may see."""
    now = datetime.now(UTC)
    return {
        "all": Lens(now, across=frozenset(quality.ACROSS)),
        "project": Lens(now, Scope("project-00"), frozenset({"agent", "session"})),
    }


def _recall(truth: list[Nearest], found: list[Nearest], depth: int) -> float:
    shares = [
        len({near.version for near in one.found[:depth]} & {near.version for near in two.found})
        / max(1, len(one.found[:depth]))
        for one, two in zip(truth, found, strict=True)
    ]
    return rounded(sum(shares) / max(1, len(shares)))


def _bytes(owner: str) -> int:
    with psycopg.connect(owner) as db:
        found = db.execute(
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' "
            "AND relname LIKE 'near\\_%'"
        ).fetchone()
    return 0 if found is None else int(found[0])
