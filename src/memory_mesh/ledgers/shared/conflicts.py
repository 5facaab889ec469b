"""Claims, conflicts, votes, tombstones and echoes: what a verdict looks up, and what it leaves."""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial

from memory_mesh.base.typed import Any, replace
from memory_mesh.ledgers.shared import rows, sums
from memory_mesh.ledgers.shared.engine import Database, engine_of
from memory_mesh.model import (
    BY_RULE,
    LAPSED,
    TURNED,
    Cardinality,
    Channel,
    Commit,
    Conflict,
    ConflictPolicy,
    DedupPolicy,
    Memory,
    PredicateSchema,
    Proposal,
    ProposedVerb,
    Resolution,
    Scope,
    Source,
    SourceKind,
    Wanted,
)
from memory_mesh.platform.projects import NAMES, names_of

_PROPOSAL = (
    "p.id, p.verb, m.id, p.change, p.reason, p.source_kind, p.channel, p.source_agent, "
    "p.source_ref, p.created, p.decided, p.approved, p.why"
)
_PROPOSALS = "proposal p JOIN memory m ON m.number = p.memory"
_PUT = (
    "INSERT INTO proposal (id, seq, verb, memory, change, reason, source_kind, channel, "
    "source_agent, source_ref, created, decided, approved, why) "
    "SELECT ?, ?, ?, number, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM memory WHERE id = ?"
)
_DECIDE = "UPDATE proposal SET seq = ?, decided = ?, approved = ?, why = ? WHERE number = ?"

_CONFLICT = (
    "c.id, n.id, e.id, c.new_trust, c.existing_trust, c.reason, c.created, c.resolved, "
    "c.resolution, c.why"
)
_CONFLICTS = "conflict c JOIN memory n ON n.number = c.new JOIN memory e ON e.number = c.existing"
_CLAIMS = (
    f"SELECT {rows.MEMORY} FROM {rows.JOINED} WHERE v.subject = ?1 AND v.predicate = ?2 "  # noqa: S608
    "AND v.project IS ?3 AND v.agent IS ?4 AND v.session IS ?5 AND v.recorded_until IS NULL "
    "AND v.status = 'active' {} ORDER BY v.number DESC"
)
_OF_EACH_SOURCE = (
    "AND v.number IN (SELECT number FROM (SELECT number, row_number() OVER (PARTITION BY channel, "
    "source_kind, source_stated, json_extract(claim, '$.read') ORDER BY number DESC) AS place "
    "FROM version WHERE subject = ?1 AND predicate = ?2 AND project IS ?3 AND agent IS ?4 "
    "AND session IS ?5 AND recorded_until IS NULL AND status = 'active') WHERE place <= ?6)"
)
_GUESSED = f"why = '{BY_RULE}' AND (resolution IS NULL OR resolution = '{Resolution.NEWER_THAN}')"
_ASKED = "(SELECT number FROM memory WHERE id IN (SELECT value FROM json_each(?1)))"
MAX_GUESSES = 256  # guesses that are read at once
_MAX_LATER = 1_000  # memories that are followed from one to the next
_GUESSES = (
    f"WITH RECURSIVE later (number) AS (SELECT number FROM memory WHERE id IN "  # noqa: S608
    "(SELECT value FROM json_each(?1)) UNION SELECT c.new FROM later JOIN conflict c ON "
    f"c.existing = later.number WHERE c.why = '{BY_RULE}' AND "
    f"c.resolution = '{Resolution.NEWER_THAN}') "
    f"SELECT {_CONFLICT} FROM {_CONFLICTS} WHERE c.number IN ("
    f"SELECT number FROM conflict WHERE existing IN (SELECT number FROM later LIMIT {_MAX_LATER}) "
    f"AND {_GUESSED} UNION SELECT number FROM conflict WHERE new IN {_ASKED} AND "
    f"resolution IS NULL UNION SELECT number FROM conflict WHERE existing IN {_ASKED} "
    "AND resolution IS NULL) "
    "ORDER BY c.number DESC LIMIT ?2"
)
_OPEN = f"(c.resolution IS NULL OR c.why = '{BY_RULE}')"
_SAME_GUESS = (
    "FROM conflict WHERE new = (SELECT number FROM memory WHERE id = ?) "  # noqa: S608  # own names
    f"AND existing = (SELECT number FROM memory WHERE id = ?) AND {_GUESSED}"
)
_MAX_COMPARED_ECHOES = 64  # memories with the same words that are compared, the oldest
_PREDICATES = (
    "SELECT DISTINCT predicate FROM version WHERE subject = ? AND project IS ? AND agent IS ? "
    "AND session IS ? AND recorded_until IS NULL AND status = 'active'"
)
_FEW_PREDICATES = 2  # of one subject, that are looked up one by one
_OF_ONE_SOURCE = 16  # claims of each source that are compared where there are more
_VOTED = sums.CounterChange(
    {
        name: f"?{place}"
        for place, name in enumerate(sums.COUNTERS[-8:], start=1)  # as rows.vote_values gives them
    },
    "id = ?9",
)
MAX_COMPARED_CLAIMS = 64  # of one subject, predicate and audience that are compared, the newest


def standing(db: Database, wanted: Wanted) -> dict[str, Any]:
    """Memories that claim something of the same, known echoes, and conflicts by id."""
    filed = _filed(db, wanted.claims)
    predicates = [predicate for _, predicate, _ in wanted.claims]
    engine_of(db).expect(
        db,
        *(partial(_claims, db, *key) for key in filed),
        partial(_schemas, db, predicates),
        *(partial(_echoes, db, echo) for echo in wanted.echoes),
        partial(_by_id, db, wanted.conflicts),
    )
    return {
        "claims": {key: found for key in filed if (found := _claims(db, *key))},
        "schemas": _schemas(db, predicates),
        "echoes": {echo: heard for echo in wanted.echoes if (heard := _echoes(db, echo))},
        "conflicts": {found.id: found for found in _by_id(db, wanted.conflicts)},
    }


def tombstoned(db: Database) -> Callable[[bytes], bool] | None:
    """How to ask whether a value was rejected; None where none ever was."""
    if db.execute("SELECT 1 FROM tombstone LIMIT 1").fetchone() is None:
        return None
    return lambda digest: (
        db.execute("SELECT 1 FROM tombstone WHERE digest = ?", (digest,)).fetchone() is not None
    )


def write(db: Database, commit: Commit, seq: int, at: datetime) -> None:
    """Conflicts, schemas, tombstones and votes of a commit."""
    for id_ in commit.reread:
        for column in ("new", "existing"):
            lapsed = db.execute(
                f"SELECT number FROM conflict WHERE {column} = "  # noqa: S608  # own names
                f"(SELECT number FROM memory WHERE id = ?) AND {_GUESSED}",
                (id_,),
            )
            _end(db, lapsed.fetchall(), (seq, rows.micros(at), Resolution.KEEP_BOTH, LAPSED))
    engine_of(db).expect(db, *(partial(_looked, db, each) for each in commit.conflicts))
    looked = [(each, _looked(db, each)) for each in commit.conflicts]
    put: set[str] = set()
    for conflict, found in looked:
        again = conflict.id in put or {conflict.new, conflict.existing} <= put
        _put_conflict(db, conflict, seq, _looked(db, conflict) if again else found)
        put |= {conflict.id, conflict.new, conflict.existing}
    for name, schema in commit.schemas.items():
        said = (
            name,
            schema.cardinality,
            schema.conflict_policy,
            schema.normalize,
            schema.dedup_policy,
        )
        db.execute(
            "INSERT INTO predicate VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
            "cardinality = excluded.cardinality, conflict_policy = excluded.conflict_policy, "
            "normalize = excluded.normalize, dedup_policy = excluded.dedup_policy, "
            "crc = excluded.crc",
            (*said, sums.of(*said)),
        )
    if commit.tombstones or commit.forgiven or commit.counted:
        _put_votes(db, commit, rows.micros(at))


def _put_votes(db: Database, commit: Commit, stamp: int | None) -> None:
    """Tombstones, those that are taken away, and the counters of votes."""
    db.executemany(
        "INSERT OR IGNORE INTO tombstone VALUES (?, ?, ?, ?)",
        [(digest, stamp, why, sums.of(digest, stamp, why)) for digest, why in commit.tombstones],
    )
    db.executemany(
        "DELETE FROM tombstone WHERE digest = ?", [(digest,) for digest in commit.forgiven]
    )
    _VOTED.run(db, [(*rows.vote_values(memory), memory.id) for memory in commit.counted])


def conflicts(
    db: Database,
    limit: int,
    *,
    pending: bool,
    decided: bool = True,
    memory: str | None = None,
    existing: str | None = None,
) -> list[Conflict]:
    """Conflicts, the newest first: those that wait, or all; of one memory, or of any."""
    condition = "c.resolution IS NULL" if pending else "1 = 1" if decided else _OPEN
    values: list[object] = []
    for column, id_ in (("new", memory), ("existing", existing)):
        if id_ is not None:
            condition += f" AND c.{column} = (SELECT number FROM memory WHERE id = ?)"  # noqa: S608
            values.append(id_)
    found = db.execute(
        f"SELECT {_CONFLICT} FROM {_CONFLICTS} WHERE {condition} "  # noqa: S608  # own names
        "ORDER BY c.number DESC LIMIT ?",
        (*values, limit),
    )
    return [_conflict(row) for row in found]


def guesses(db: Database, ids: Sequence[str], limit: int) -> list[Conflict]:
    """Guesses that order these memories and those that update them, and open conflicts of these.

    The newest come first.
    """
    found = db.execute(_GUESSES, (rows.dumped(ids), limit))
    return [_conflict(row) for row in found]


def schemas(db: Database) -> dict[str, PredicateSchema]:
    """Every registered predicate."""
    return {row[0]: _schema(row[1:]) for row in db.execute("SELECT * FROM predicate ORDER BY name")}


def _filed(db: Database, wanted: Sequence[tuple[str, str, Scope]]) -> set[tuple[str, str, Scope]]:
    """Those of the wanted keys that may be filed; of a subject with many, those that are."""
    about: dict[tuple[str, Scope], set[str]] = {}
    for subject, predicate, scope in wanted:
        about.setdefault((subject, scope), set()).add(predicate)
    for (subject, scope), predicates in about.items():
        if len(predicates) > _FEW_PREDICATES:
            predicates &= {
                row[0]
                for each in same_audience(db, scope)
                for row in db.execute(_PREDICATES, (subject, *each.parts))
            }
    return {
        (subject, predicate, scope)
        for (subject, scope), predicates in about.items()
        for predicate in predicates
    }


def _claims(db: Database, subject: str, predicate: str, scope: Scope) -> tuple[Memory, ...]:
    """Active memories with a claim on the same for the same audience, the newest first.

    However many of several values there are, none that stands alone is hidden behind them, and
    none of a trusted source behind those of a less trusted one.
    """
    found: dict[str, Memory] = {}
    for each in same_audience(db, scope):
        found |= {memory.id: memory for memory in _claims_of(db, subject, predicate, each)}
    return tuple(found.values())


def _claims_of(db: Database, subject: str, predicate: str, scope: Scope) -> list[Memory]:
    about = (subject, predicate, *scope.parts)
    found = _claiming(db, "", "LIMIT ?6", (*about, MAX_COMPARED_CLAIMS))
    if len(found) == MAX_COMPARED_CLAIMS:
        alone = "AND CAST(json_extract(v.claim, '$.exclusive') AS TEXT) IN ('1', 'true')"
        found += _claiming(db, alone, "LIMIT ?6", (*about, MAX_COMPARED_CLAIMS))
        found += _claiming(db, _OF_EACH_SOURCE, "", (*about, _OF_ONE_SOURCE))
    return found


def _claiming(
    db: Database, condition: str, limit: str, about: Sequence[str | int | None]
) -> list[Memory]:
    return [rows.memory(row) for row in db.execute(f"{_CLAIMS.format(condition)} {limit}", about)]


def _schemas(db: Database, names: Sequence[str]) -> dict[str, PredicateSchema]:
    if not names:
        return {}
    found = db.execute(
        "SELECT * FROM predicate WHERE name IN (SELECT value FROM json_each(?))",
        (rows.dumped(names),),
    )
    return {row[0]: _schema(row[1:]) for row in found}


def _schema(row: rows.Row) -> PredicateSchema:
    return PredicateSchema(
        cardinality=Cardinality(row[0]),
        conflict_policy=ConflictPolicy(row[1]),
        normalize=row[2],
        dedup_policy=DedupPolicy(row[3]),
    )


def _echoes(db: Database, echo: bytes) -> tuple[Memory, ...]:
    """Active memories with the same words, oldest first; they differ in audience or person."""
    found = db.execute(
        f"SELECT {rows.MEMORY} FROM {rows.JOINED} WHERE substr(t.echo, 1, 3) = ? "  # noqa: S608
        "AND t.echo = ? AND v.recorded_until IS NULL AND v.status = 'active' "
        "ORDER BY v.number LIMIT ?",
        (echo[: rows.KEY_BYTES], echo, _MAX_COMPARED_ECHOES),
    )
    return tuple(map(rows.memory, found))


def _by_id(db: Database, ids: Sequence[str]) -> list[Conflict]:
    if not ids:
        return []
    found = db.execute(
        f"SELECT {_CONFLICT} FROM {_CONFLICTS} "  # noqa: S608  # own names
        "WHERE c.id IN (SELECT value FROM json_each(?))",
        (rows.dumped(ids),),
    )
    return [_conflict(row) for row in found]


def _looked(db: Database, conflict: Conflict) -> tuple[list[tuple[int]], ...]:
    """Numbers: of the conflict if it is known, of guesses that it turns, of its memories."""
    found = (
        db.execute("SELECT number FROM conflict WHERE id = ?", (conflict.id,)),
        db.execute(f"SELECT number {_SAME_GUESS}", (conflict.existing, conflict.new)),
        db.execute("SELECT number FROM memory WHERE id = ?", (conflict.new,)),
        db.execute("SELECT number FROM memory WHERE id = ?", (conflict.existing,)),
    )
    return tuple(each.fetchall() for each in found)


def _put_conflict(
    db: Database, conflict: Conflict, seq: int, found: tuple[list[tuple[int]], ...]
) -> None:
    """A new conflict, or the end of a known one."""
    known, turned, new, existing = found
    resolved = rows.micros(conflict.resolved_at)
    if known:
        _end(db, known, (seq, resolved, conflict.resolution, conflict.why))
        return
    if conflict.resolution is Resolution.NEWER_THAN:
        _end(db, turned, (seq, resolved, Resolution.KEEP_BOTH, TURNED))
    if not new or not existing:
        return
    values = (
        conflict.id,
        seq,
        *new[0],
        *existing[0],
        float(conflict.new_trust),
        float(conflict.existing_trust),
        conflict.reason,
        rows.micros(conflict.created),
        resolved,
        None if conflict.resolution is None else conflict.resolution.value,
        conflict.why,
    )
    db.execute(
        "INSERT INTO conflict (id, seq, new, existing, new_trust, existing_trust, reason, created, "
        "resolved, resolution, why, crc) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*values, sums.of(*values)),
    )


def _end(db: Database, numbers: Sequence[tuple[int]], how: tuple[object, ...]) -> None:
    """Resolves conflicts: seq, time, resolution and why."""
    for (number,) in numbers:
        with sums.renewed(db, "conflict", number):
            db.execute(
                "UPDATE conflict SET seq = ?, resolved = ?, resolution = ?, why = ? "
                "WHERE number = ?",
                (*how, number),
            )


def _conflict(row: rows.Row) -> Conflict:
    (id_, new, existing, new_trust, existing_trust, reason, created, resolved, resolution,
     why) = row  # fmt: skip
    return Conflict(
        id=id_,
        new=new,
        existing=existing,
        new_trust=new_trust,
        existing_trust=existing_trust,
        reason=reason,
        created=rows.since_epoch(created),
        resolved_at=rows.moment(resolved),
        resolution=None if resolution is None else Resolution(resolution),
        why=why,
    )


# The names of a project under which a write looks for what is for the same audience.


def same_audience(db: Database, scope: Scope) -> Iterator[Scope]:
    """Yields the audience, and then the same under each former name of its project."""
    yield scope
    if scope.project is None:
        return
    found = db.execute("SELECT value FROM state WHERE name = ?", (f"{NAMES}{scope.project}",))
    row = found.fetchone()
    for name in () if row is None else names_of(row[0]).same:
        yield replace(scope, project=name)


# Proposals: changes of memories that wait for a person's decision.


def write_proposals(db: Database, commit: Commit, seq: int) -> None:
    """Adds the proposals of a commit, or records the decision on known ones."""
    for each in commit.proposals:
        source, decided = each.source, rows.micros(each.decided_at)
        known = db.execute("SELECT number FROM proposal WHERE id = ?", (each.id,)).fetchone()
        if known is not None:
            with sums.renewed(db, "proposal", known[0]):
                db.execute(_DECIDE, (seq, decided, each.approved, each.why, known[0]))
            continue
        added = db.execute(
            _PUT,
            (each.id, seq, each.verb, rows.dumped(dict(each.change)), each.reason, source.kind,
             source.channel, source.agent, source.ref, rows.micros(each.created), decided,
             each.approved, each.why, each.memory),
        )  # fmt: skip
        if added.rowcount:
            sums.enter(db, "proposal", added.lastrowid or 0)


def by_id(db: Database, ids: Sequence[str]) -> dict[str, Proposal]:
    """The proposals with these ids."""
    if not ids:
        return {}
    found = db.execute(
        f"SELECT {_PROPOSAL} FROM {_PROPOSALS} "  # noqa: S608  # own names only
        "WHERE p.id IN (SELECT value FROM json_each(?))",
        (rows.dumped(ids),),
    )
    return {row[0]: _proposal(row) for row in found}


def listed(db: Database, limit: int, *, pending: bool, memory: str | None) -> list[Proposal]:
    """Proposals, the newest first: those that wait, or all; of one memory, or of any."""
    conditions: list[str] = ["1 = 1"]
    values: list[object] = []
    if pending:
        conditions.append("p.decided IS NULL")
    if memory is not None:
        conditions.append("p.memory = (SELECT number FROM memory WHERE id = ?)")
        values.append(memory)
    found = db.execute(
        f"SELECT {_PROPOSAL} FROM {_PROPOSALS} WHERE {' AND '.join(conditions)} "  # noqa: S608
        "ORDER BY p.number DESC LIMIT ?",
        [*values, limit],
    )
    return [_proposal(row) for row in found]


def of_memory(db: Database, memory: str, limit: int) -> list[Proposal]:
    """Those of a memory that wait, then those that were decided, each newest first."""
    found: list[Proposal] = []
    for state in ("IS NULL", "IS NOT NULL"):
        rows_found = db.execute(
            f"SELECT {_PROPOSAL} FROM {_PROPOSALS} WHERE p.decided {state} "  # noqa: S608
            "AND p.memory = (SELECT number FROM memory WHERE id = ?) "
            "ORDER BY p.number DESC LIMIT ?",
            (memory, limit),
        )
        found += map(_proposal, rows_found)
    return found


@rows.of_rows
def _proposal(row: rows.Row) -> Proposal:
    (id_, verb, memory, change, reason, kind, channel, agent, ref, created, decided, approved,
     why) = row  # fmt: skip
    return Proposal(
        id=id_,
        verb=ProposedVerb(verb),
        memory=memory,
        change=json.loads(change),
        reason=reason,
        source=Source(SourceKind(kind), Channel(channel), agent, ref),
        created=rows.since_epoch(created),
        decided_at=rows.moment(decided),
        approved=None if approved is None else bool(approved),
        why=why,
    )
