"""Readers of every size ask for what is nearest: the answer is that of a scan of all they see.

A world has audiences that hold from one memory in a thousand to a third of all, deleted memories,
some that hold no longer, and some that were given to another audience. Questions and lenses are
drawn at random. Where vectors are compared one by one, the answer equals that of brute force; where
an index answers, at least 98 of 100 of the first ten are the same, for each size of audience.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory_mesh.base.typed import replace
from memory_mesh.learn import upkeep
from memory_mesh.ledgers.shared import vectors, visibility
from memory_mesh.ledgers.sqlite.ledger import SqliteLedger
from memory_mesh.model import (
    Commit,
    Lens,
    Memory,
    Near,
    Observation,
    Outcome,
    Put,
    Question,
    Scope,
    Space,
    Standing,
    Status,
    Wanted,
)
from memory_mesh.models.lance.index import LanceIndex
from memory_mesh.rules.trust import seen_through
from memory_mesh.search import nearest
from memory_mesh.testing.doubles import FrozenClock
from tests.contract.ledger_values import entry, made, word
from tests.faults.report import Progress, Report, Ticker, silent

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SPACE = Space("test", "scoped", "1", 32, 256)
_SHARES = {"a third": 0.33, "a tenth": 0.1, "a hundredth": 0.01, "a thousandth": 0.001}
_AGENTS = (None, None, "reviewer")
_SESSIONS = (None, None, None, "monday", "tuesday")
_BATCH = 500
_LEAST_RECALL = 0.98
_WRONG = 1e-5  # a cosine from two products of other shapes


def questions_and_lenses(
    folder: Path, *, memories: int, questions: int, seed: int, progress: Progress = silent
) -> Report:
    """Asks at random, with and without an index, as few and as many; compares all answers."""
    report, chance = Report(), random.Random(seed)
    report.figures |= {"questions": 0, "wrong answers": 0, "leaks": 0}
    ticker = Ticker(progress, questions)
    clock = FrozenClock(NOW)
    ledger, index = SqliteLedger(folder, clock), LanceIndex(folder / "index")
    try:
        fill(ledger, memories, chance)
        found: dict[str, list[float]] = {}
        for number in range(questions):
            if number == questions // 2:  # the second half asks an index, and a tail above it
                (state,) = ledger.stats("default").spaces
                upkeep._absorb_one(ledger, index, "default", state)
                fill(ledger, memories // 20, chance)
            few = chance.choice((0, 50, nearest.FEW_MEMORIES))
            with _few(few):
                _ask(ledger, index, chance, report, found)
            ticker.tick(number + 1)
        for size, shares in sorted(found.items()):
            recall = sum(shares) / len(shares)
            report.figures[f"recall@10 of the index, {size}"] = round(recall, 4)
            if recall < _LEAST_RECALL:
                report.broken("recall", f"{size}: {recall:.3f} of {len(shares)} questions")
        _check(ledger, report)
    finally:
        ledger.close()
        index.close()
    return report


def fill(ledger: SqliteLedger, memories: int, chance: random.Random) -> list[str]:
    """Stores memories of audiences of all sizes; changes some of them afterwards."""
    stored: list[Memory] = []
    for start in range(0, memories, _BATCH):
        stored += put_batch(
            ledger, [_scope(chance) for _ in range(min(_BATCH, memories - start))], chance
        )
    for memory in chance.sample(stored, len(stored) // 20):
        changes: tuple[dict[str, object], ...] = (
            {"status": Status.DELETED},
            {"status": Status.QUARANTINED},
            {"valid_until": NOW - timedelta(days=1)},
            {"scope": _scope(chance)},
            {"scope": _scope(chance)},
        )
        _change(ledger, memory, chance.choice(changes))
    return [memory.id for memory in stored]


def put_batch(
    ledger: SqliteLedger, scopes: list[Scope], chance: random.Random
) -> tuple[Memory, ...]:
    """Stores a memory for each audience, in one commit, with vectors around a few topics."""
    drawn = np.random.default_rng(chance.getrandbits(32))
    topics = np.random.default_rng(7).normal(size=(40, SPACE.dimension))
    about = topics[drawn.integers(len(topics), size=len(scopes))]
    values = _normal(about + drawn.normal(size=about.shape))

    def decide(standing: Standing) -> Commit:
        puts, observations, entries = [], [], []
        for scope, vector in zip(scopes, values, strict=True):
            id_ = f"mem_1_{chance.getrandbits(48):012x}"
            memory = replace(
                made(id_, f"text of {id_[6:]}"),
                scope=scope,
                created=standing.at,
                recorded_from=standing.at,
            )
            wording = replace(word(memory.text), space=SPACE, vectors=(vector.tobytes(),))
            puts.append(Put(memory, wording))
            observations.append(Observation(id_, wording.hash, Outcome.STORED, "test"))
            entries.append(replace(entry(standing, id_, wording), id=f"yamo_retain_1_{id_[6:]}"))
        return Commit(puts=tuple(puts), observations=tuple(observations), entries=tuple(entries))

    written = ledger.commit("default", Wanted(), decide)
    return tuple(put.memory for put in written.puts)


def brute_force(ledger: SqliteLedger, question: Question, lens: Lens) -> list[Near]:
    """What is nearest of all that a lens sees, by one product."""
    source, condition, values = visibility.sight(lens)
    with ledger.read("default") as snapshot:
        rows = snapshot._db.execute(  # type: ignore[attr-defined]  # the oracle reads the tables
            f"SELECT v.number, x.data FROM {source} JOIN vector x ON x.text = v.text "
            f"WHERE {condition}",
            values,
        ).fetchall()
    if not rows:
        return []
    matrix = np.frombuffer(b"".join(data for _, data in rows), np.float32).reshape(len(rows), -1)
    cosines = (matrix @ np.frombuffer(question.vector, np.float32)).tolist()
    best = sorted(zip(cosines, (row[0] for row in rows), strict=True), reverse=True)
    return [Near(version, cosine) for cosine, version in best[: question.limit]]


def _ask(
    ledger: SqliteLedger,
    index: LanceIndex,
    chance: random.Random,
    report: Report,
    found: dict[str, list[float]],
) -> None:
    report.count("questions")
    size = chance.choice([*_SHARES])
    vector = _normal(np.random.default_rng(chance.getrandbits(32)).normal(size=(1, 32)))[0]
    question, lens = Question(SPACE, vector.tobytes(), 10), _lens(size, chance)

    def ask(body, limit, audiences):  # as nearest.Ask says
        return index.near(
            "default", SPACE.name, body=body, vector=question.vector, limit=limit,
            audiences=audiences,
        )  # fmt: skip

    with ledger.read("default") as snapshot:
        answer = nearest.nearest(snapshot, question, lens, ask)
        memories = snapshot.load([near.version for near in answer.found])
    for memory in memories.values():
        if not seen_through(lens, memory.scope) or memory.status not in lens.statuses:
            report.broken("leaks", f"{lens.scope} was shown {memory.scope} {memory.status}")
    expected = brute_force(ledger, question, lens)
    if answer.from_body:
        report.count("answered by the index")
        same = {near.version for near in expected} & {near.version for near in answer.found}
        found.setdefault(size, []).append(len(same) / max(1, len(expected)))
    elif not is_equal(expected, list(answer.found)):
        report.broken("wrong answers", f"{lens}: {answer.found} for {expected}")


def is_equal(expected: list[Near], found: list[Near]) -> bool:
    """The same versions with the same cosines; those as far as the last may be others."""
    if len(expected) != len(found):
        return False
    cosines = zip(expected, found, strict=True)
    if any(abs(one.cosine - other.cosine) > _WRONG for one, other in cosines):
        return False
    last = expected[-1].cosine + _WRONG if expected else 0.0
    sure = {near.version for near in expected if near.cosine > last}
    return sure <= {near.version for near in found}


def _lens(size: str, chance: random.Random) -> Lens:
    across = frozenset(part for part in ("agent", "session") if chance.random() < 0.15)
    names = (chance.choice([*_SHARES]),) if chance.random() < 0.1 else ()
    scope = Scope(size, chance.choice(_AGENTS), chance.choice(_SESSIONS), names=names)
    lens = Lens(NOW + timedelta(hours=1), scope, across)
    return chance.choice(
        (
            lens,
            lens,
            lens,
            replace(lens, across=across | {"project", "agent", "session"}),
            replace(lens, statuses=frozenset({Status.ACTIVE, Status.QUARANTINED})),
            replace(lens, any_validity=True),
            replace(lens, as_of=NOW + timedelta(minutes=30)),
        )
    )


def _scope(chance: random.Random) -> Scope:
    drawn, project = chance.random(), None
    for name, share in _SHARES.items():
        if drawn < share:
            project = name
            break
        drawn -= share
    else:
        project = chance.choice((None, *(f"other {number}" for number in range(8))))
        if project is None and chance.random() < 0.95:  # what all see is little
            project = "other 9"
    return Scope(project, chance.choice(_AGENTS), chance.choice(_SESSIONS))


def _change(ledger: SqliteLedger, memory: Memory, fields: dict[str, object]) -> None:
    def decide(standing: Standing) -> Commit:
        new = replace(memory, recorded_from=standing.at, **fields)  # type: ignore[arg-type]  # of a test
        told = replace(entry(standing, new.id, None), id=f"yamo_reject_1_{new.id[6:]}")
        return Commit(puts=(Put(new, None),), entries=(told,))

    ledger.commit("default", Wanted(), decide)


def _check(ledger: SqliteLedger, report: Report) -> None:
    for finding in ledger.verify("default").findings:
        report.broken("findings", f"{finding.check}: {finding.detail}")
    with ledger.read("default") as snapshot:
        db = snapshot._db  # type: ignore[attr-defined]  # each number is the audience's of its text
        for number, _, audience in vectors.above(db, SPACE, 0):
            (now,) = db.execute(
                "SELECT v.audience FROM vector x JOIN version v ON v.text = x.text "
                "AND v.recorded_until IS NULL WHERE x.number = ?",
                (number,),
            ).fetchone()
            if now != audience:
                report.broken("audiences", f"vector {number} is said to be of {audience}")


def _normal(values: "NDArray[np.float64]") -> "NDArray[np.float32]":
    scaled = values / np.linalg.norm(values, axis=1, keepdims=True)
    normal: NDArray[np.float32] = scaled.astype("<f4")
    return normal


@contextmanager
def _few(memories: int) -> Iterator[None]:
    """Lets a reader of so many be one of few."""
    before, nearest.FEW_MEMORIES = nearest.FEW_MEMORIES, memories
    try:
        yield
    finally:
        nearest.FEW_MEMORIES = before
