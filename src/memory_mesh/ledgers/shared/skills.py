"""Skills in the ledger: a row each, four fields of terms, a vector of the intent per space."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nlargest

from memory_mesh.base.typed import Any
from memory_mesh.ledgers.shared import conflicts, rows, sums, vectors
from memory_mesh.ledgers.shared.engine import SKILLS, Database, engine_of
from memory_mesh.model import (
    Candidate,
    Channel,
    Commit,
    Scope,
    Skill,
    SkillPut,
    SkillQuery,
    Source,
    SourceKind,
    Space,
    Status,
    Wanted,
)

_SKILL = (
    "id, name, intent, description, tags, content, project, agent, session, source_kind, channel, "
    "source_agent, source_ref, status, reliability, uses, last_used, created, extra"
)
_COLUMNS = (
    "id, seq, name, intent, description, tags, content, hash, terms, project, agent, session, "
    "source_kind, channel, source_agent, source_ref, status, reliability, uses, last_used, "
    "created, extra"
)
_MARKS = ", ".join("?" * 22)
_VECTOR = (
    "SELECT x.data FROM skill_vector x JOIN space s ON s.number = x.space "
    "WHERE x.skill = k.number AND s.name = ?"
)
_SEEN = (
    "(project IS NULL OR project IN (SELECT value FROM json_each(?))) "
    "AND (agent IS NULL OR agent = ?) AND (session IS NULL OR session = ?)"
)


def standing(db: Database, wanted: Wanted) -> dict[str, Any]:
    """The skills a write asked for, by id and by name."""
    by_id = {id_: found for id_ in wanted.skills if (found := _by_id(db, id_)) is not None}
    by_name = {
        (name, scope): found
        for name, scope in wanted.skill_names
        if (found := _by_name(db, name, scope)) is not None
    }
    return {"skills": by_id, "skill_names": by_name}


def write(db: Database, commit: Commit, seq: int) -> None:
    """Every skill the commit puts, and vectors that came late."""
    for put in commit.skills:
        number = _put(db, put, seq)
        if put.space is not None:
            _add_vector(db, number, put.space, put.vector)
    for late in commit.skill_vectors:
        row = db.execute("SELECT number FROM skill WHERE id = ?", (late.skill,)).fetchone()
        if row is not None:
            _add_vector(db, row[0], late.space, late.vector)


def find(db: Database, asked: SkillQuery) -> list[Candidate]:
    """The skills a query means: by words and meaning, those that wait, or a listing."""
    if asked.terms or asked.vector is not None:
        return _search(db, asked)
    condition, values = _listing(asked)
    found = db.execute(
        f"SELECT k.terms, ({_VECTOR}), {_SKILL} FROM skill k "  # noqa: S608  # own names only
        f"WHERE {condition} ORDER BY number DESC LIMIT ?",
        (None if asked.space is None else asked.space.name, *values, asked.limit),
    )
    return [Candidate(_skill(row[2:]), tuple(json.loads(row[0])), vector=row[1]) for row in found]


def _listing(asked: SkillQuery) -> tuple[str, list[object]]:
    """Which skills a listing has, as SQL with every value bound."""
    tests: list[tuple[str, object]] = [
        ("status IN (SELECT value FROM json_each(?))", rows.dumped(sorted(asked.statuses)))
    ]
    if "project" not in asked.across:
        names = rows.dumped([asked.reader.project, *asked.reader.names])
        tests.append(("(project IS NULL OR project IN (SELECT value FROM json_each(?)))", names))
    tests += [
        (f"({part} IS NULL OR {part} = ?)", getattr(asked.reader, part))
        for part in ("agent", "session")
        if part not in asked.across
    ]
    if asked.below is not None:
        tests.append(("reliability < ?", asked.below))
    if asked.named is not None:
        tests.append(("name = ? COLLATE NOCASE", asked.named))
    if asked.ids:
        tests.append(("id IN (SELECT value FROM json_each(?))", rows.dumped(asked.ids)))
    if asked.before is not None:
        tests.append(("number < (SELECT number FROM skill WHERE id = ?)", asked.before))
    if asked.waiting is not None:
        missing = (
            "NOT EXISTS (SELECT 1 FROM skill_vector x JOIN space s ON s.number = x.space "
            "WHERE x.skill = k.number AND s.name = ?)"
        )
        tests.append((missing, asked.waiting.name))
    return " AND ".join(test for test, _ in tests), [value for _, value in tests]


def _search(db: Database, asked: SkillQuery) -> list[Candidate]:
    """Active skills with the words or near the vector: the best of each, at most `limit` each."""
    cosines = _nearest(db, asked)
    found = db.execute(
        f"SELECT number, terms, {_SKILL} FROM skill WHERE {_SEEN} AND status = 'active' "  # noqa: S608
        "AND number IN (SELECT value FROM json_each(?))",
        (*_reader(asked.reader), rows.dumped(sorted({*_worded(db, asked), *cosines}))),
    ).fetchall()
    cosines |= _cosines(db, asked, [row[0] for row in found if row[0] not in cosines])
    return [
        Candidate(_skill(row[2:]), tuple(json.loads(row[1])), cosines.get(row[0])) for row in found
    ]


def every(db: Database) -> list[Skill]:
    """All skills, whatever their status."""
    found = db.execute(f"SELECT {_SKILL} FROM skill")  # noqa: S608  # own names
    return [_skill(row) for row in found]


def _put(db: Database, put: SkillPut, seq: int) -> int:
    """The skill's row, new or changed, and its terms where they belong."""
    skill = put.skill
    row = db.execute("SELECT number, status, terms FROM skill WHERE id = ?", (skill.id,)).fetchone()
    terms = tuple(json.loads(row[2])) if row is not None and put.terms is None else put.terms
    values = (
        skill.id, seq, skill.name, skill.intent, skill.description, rows.dumped(skill.tags),
        skill.text, hashlib.sha256(skill.text.encode()).digest(), rows.dumped(terms),
        skill.scope.project, skill.scope.agent, skill.scope.session, skill.source.kind,
        skill.source.channel, skill.source.agent, skill.source.ref, skill.status,
        sums.real(skill.reliability), skill.uses, rows.micros(skill.last_used),
        rows.micros(skill.created), rows.dumped(dict(skill.extra)),
    )  # fmt: skip
    if row is None:
        number = db.execute(
            f"INSERT INTO skill ({_COLUMNS}, crc) VALUES ({_MARKS}, ?)",  # noqa: S608  # own names
            (*values, sums.of(*values)),
        ).lastrowid
    else:
        number = row[0]
        with sums.renewed(db, "skill", number):
            db.execute(
                "UPDATE skill SET seq = ?, status = ?, reliability = ?, uses = ?, last_used = ? "
                "WHERE number = ?",
                (
                    seq,
                    skill.status,
                    skill.reliability,
                    skill.uses,
                    rows.micros(skill.last_used),
                    number,
                ),
            )
    was = row is not None and row[1] == Status.ACTIVE
    _keep_terms(db, number or 0, terms or (), was=was, live=skill.status is Status.ACTIVE)
    return number or 0


def _keep_terms(db: Database, number: int, terms: Sequence[str], *, was: bool, live: bool) -> None:
    """Only active skills are in the keyword table."""
    if live and not was:
        engine_of(db).shelve(db, SKILLS, [(number, terms)])
    if was and not live:
        engine_of(db).unshelve(db, SKILLS, number, terms)


def _add_vector(db: Database, number: int, space: Space, vector: bytes) -> None:
    if (place := vectors.place(db, space)) is None:
        return
    values = (number, place, vector)
    db.execute(
        "INSERT OR IGNORE INTO skill_vector VALUES (?, ?, ?, ?)", (*values, sums.of(*values))
    )


def _worded(db: Database, asked: SkillQuery) -> list[int]:
    """Returns the best skills by words; hidden skills do not use up the limit."""
    if not asked.terms:
        return []
    sight = _SEEN, list[object](_reader(asked.reader))
    return engine_of(db).skills_with(db, asked.terms, sight, asked.limit)


def _nearest(db: Database, asked: SkillQuery) -> dict[int, float]:
    """An exact scan, row by row: skills are few beside memories, and nothing is held."""
    if asked.vector is None:
        return {}
    space, vector = asked.vector
    found = db.execute(
        "SELECT x.skill, x.data FROM skill_vector x JOIN space s ON s.number = x.space "  # noqa: S608
        f"JOIN skill k ON k.number = x.skill WHERE s.name = ? AND k.status = 'active' AND {_SEEN}",
        (space.name, *_reader(asked.reader)),
    )
    scored = ((cosine, number) for number, cosine in _scored(found, vector))
    return {number: cosine for cosine, number in nlargest(asked.limit, scored)}


def _cosines(db: Database, asked: SkillQuery, numbers: Sequence[int]) -> Mapping[int, float]:
    """How near skills found by their words are."""
    if asked.vector is None:
        return {}
    space, vector = asked.vector
    found = db.execute(
        "SELECT x.skill, x.data FROM skill_vector x JOIN space s ON s.number = x.space "
        "WHERE s.name = ? AND x.skill IN (SELECT value FROM json_each(?))",
        (space.name, rows.dumped(numbers)),
    )
    return dict(_scored(found, vector))


def _scored(found: Iterable[tuple[int, bytes]], vector: bytes) -> Iterator[tuple[int, float]]:
    import numpy as np

    query = np.frombuffer(vector, np.float32)
    for number, data in found:
        yield number, float(np.frombuffer(data, np.float32) @ query)


def _reader(scope: Scope) -> tuple[str | None, str | None, str | None]:
    return rows.dumped([scope.project, *scope.names]), scope.agent, scope.session


def _by_id(db: Database, id_: str) -> Skill | None:
    row = db.execute(f"SELECT {_SKILL} FROM skill WHERE id = ?", (id_,)).fetchone()  # noqa: S608
    return None if row is None else _skill(row)


def _by_name(db: Database, name: str, scope: Scope) -> Skill | None:
    """The skill of this name that is in use or waits for review, for exactly this audience."""
    for each in conflicts.same_audience(db, scope):
        row = db.execute(
            f"SELECT {_SKILL} FROM skill WHERE name = ? AND project IS ? AND agent IS ? "  # noqa: S608
            "AND session IS ? AND status IN ('active', 'quarantined') ORDER BY status, number DESC",
            (name, *each.parts),
        ).fetchone()
        if row is not None:
            return _skill(row)
    return None


@rows.of_rows
def _skill(row: rows.Row) -> Skill:
    (id_, name, intent, description, tags, content, project, agent, session, source_kind, channel,
     source_agent, source_ref, status, reliability, uses, last_used, created,
     extra) = row  # fmt: skip
    return Skill(
        id=id_,
        name=name,
        intent=intent,
        text=content,
        description=description,
        tags=tuple(json.loads(tags)),
        scope=Scope(project, agent, session),
        source=Source(SourceKind(source_kind), Channel(channel), source_agent, source_ref),
        status=Status(status),
        reliability=reliability,
        uses=uses,
        last_used=rows.moment(last_used),
        created=rows.since_epoch(created),
        extra=json.loads(extra),
    )
