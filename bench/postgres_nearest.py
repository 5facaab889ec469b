"""The exact scan of a namespace beside a partial HNSW index: how long, and what it finds.

Every second vector is hidden from the second reader: with an iterative scan the index goes on until
it has ten that are seen, without one it returns what its first look holds.
"""

import time
from typing import Any

import psycopg

from bench import corpus, measure, memories
from bench.measure import Figures, rounded, say
from bench.postgres_server import Databases
from memory_mesh.engines.ledgers.postgres import pgvector
from memory_mesh.engines.ledgers.postgres.pgvector import Vector

_TOP, _QUESTIONS, _BATCH = 10, 40, 5_000
_SEEN = "number % 2 = 0"
_FEW_SEEN = "number % 50 = 0"


def nearest_part(databases: Databases, sizes: list[int]) -> Figures:
    """Each size: milliseconds of the exact scan and of the index, and recall against the scan."""
    found: Figures = {}
    asked = [Vector(row.tobytes()) for row in memories.vectors(corpus.queries()[:_QUESTIONS])]
    with psycopg.connect(databases.owner("postgres"), autocommit=True) as db:
        db.execute("CREATE EXTENSION IF NOT EXISTS vector")
        pgvector.register(db)
        db.execute("SET jit = off")
        for size in sizes:
            say(f"  {size:,} vectors")
            found |= {f"{name}_{size}": value for name, value in _at(db, size, asked).items()}
    return found


def _at(db: psycopg.Connection[Any], size: int, asked: list[Vector]) -> Figures:
    _fill(db, size)
    exact, exact_ms = _asked(db, asked, "TRUE")
    half, _ = _asked(db, asked, _SEEN)
    few, _ = _asked(db, asked, _FEW_SEEN)
    began = time.perf_counter()
    db.execute(
        "CREATE INDEX made_near ON made USING hnsw ((data::vector(384)) vector_ip_ops) WHERE ns = 1"
    )
    found: Figures = {
        "exact_ms": exact_ms,
        "build_s": rounded(time.perf_counter() - began),
        "index_mb": rounded(_one(db, "SELECT pg_relation_size('made_near')") / 1e6),
    }
    db.execute("SET enable_seqscan = off")
    for depth in (40, 100, 200):
        db.execute(f"SET hnsw.ef_search = {depth}")
        near, found[f"hnsw_{depth}_ms"] = _asked(db, asked, "TRUE")
        found[f"hnsw_{depth}_recall"] = _recall(exact, near)
    db.execute("SET hnsw.ef_search = 100")
    for mode in ("off", "strict_order"):
        db.execute(f"SET hnsw.iterative_scan = {mode}")
        for name, condition, truth in (("half", _SEEN, half), ("fiftieth", _FEW_SEEN, few)):
            near, took = _asked(db, asked, condition)
            found[f"{name}_seen_{mode}_ms"] = took
            found[f"{name}_seen_{mode}_recall"] = _recall(truth, near)
    db.execute("RESET ALL")
    db.execute("SET jit = off")
    return found


def _fill(db: psycopg.Connection[Any], size: int) -> None:
    db.execute("DROP TABLE IF EXISTS made")
    db.execute("CREATE UNLOGGED TABLE made (number bigint PRIMARY KEY, ns bigint, data vector)")
    for start in range(0, size, _BATCH):
        texts = [f"text {number}" for number in range(start, min(size, start + _BATCH))]
        rows = memories.vectors(texts)
        with db.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO made VALUES (%s, 1, %s)",
                [(start + place, Vector(row.tobytes())) for place, row in enumerate(rows)],
            )
    db.execute("VACUUM (ANALYZE) made")


def _asked(
    db: psycopg.Connection[Any], asked: list[Vector], condition: str
) -> tuple[list[list[int]], float]:
    """The ten nearest of each question, and the median milliseconds of one."""
    statement = (
        f"SELECT number FROM made WHERE ns = 1 AND {condition} "
        f"ORDER BY data::vector(384) <#> %s::vector(384) LIMIT {_TOP}"
    )
    answers, took = [], []
    for vector in asked:
        began = time.perf_counter()
        answers.append([number for (number,) in db.execute(statement, (vector,))])
        took.append(time.perf_counter() - began)
    return answers, measure.median_ms(took)


def _recall(truth: list[list[int]], found: list[list[int]]) -> float:
    shares = [
        len({*one} & {*two}) / max(1, len(one)) for one, two in zip(truth, found, strict=True)
    ]
    return rounded(sum(shares) / max(1, len(shares)))


def _one(db: psycopg.Connection[Any], statement: str) -> float:
    row = db.execute(statement).fetchone()
    return float(row[0]) if row is not None else 0.0
