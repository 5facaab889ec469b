"""Sets right what counts or repeats other rows: today's status, sources, vectors, counters.

A counter of uses or votes repeats no other row. Where its checksum says that it is wrong, it is put
back if one bit of it was changed, for then the checksum tells which; else what it says is kept.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain

from memory_mesh.engines.ledgers.sql import marks, sums
from memory_mesh.engines.ledgers.sqlite import audiences
from memory_mesh.policy.ranking.usefulness import LEAST_USEFUL, MOST_USEFUL

_ONE = {"1 memories": "1 memory", "1 texts": "1 text", "1 spaces have": "1 space has"}
_TOLD = 20  # memories named in one sentence
_BITS = 63  # of a number that a changed bit may be in
_OBSERVED = "(SELECT count(DISTINCT origin) FROM observation o WHERE o.memory = memory.number)"
_LATEST = (
    "SELECT max(recorded, (SELECT coalesce(max(at), 0) FROM injection), "
    "(SELECT 1000 * coalesce(max(at), 0) FROM recall)) FROM store"
)
_STATEMENTS = {
    "the vectors of {} texts, which have another length than their space": (
        "DELETE FROM vector WHERE length(data) <> 4 * (SELECT dimension FROM space "
        "WHERE space.number = vector.space)"
    ),
    "how far {} spaces have vectors": (
        "UPDATE space SET reached = 0 WHERE reached > 0 AND EXISTS (SELECT 1 FROM text t "
        "WHERE t.number <= space.reached AND NOT EXISTS (SELECT 1 FROM vector x WHERE "
        "x.text = t.number AND x.space = space.number) AND NOT EXISTS (SELECT 1 FROM "
        "wordless w WHERE w.text = t.number AND w.space = space.number))"
    ),
}


def recount(db: sqlite3.Connection) -> list[str]:
    """Sets right what repeats other rows; says which was wrong."""
    counts = {
        "today's status of {} memories": _statuses(db),
        "the number of sources of {} memories": _origins(db),
        "the numbers and counts of audiences, {} in all": audiences.rebuild(db),
        "the marks of metadata, {} in all": marks.rebuild(db),
    }
    counts |= {what: db.execute(each).rowcount for what, each in _STATEMENTS.items()}
    return [_said(what, count) for what, count in counts.items() if count]


def _said(what: str, count: int) -> str:
    said = what.format(count)
    if count == 1:
        for several, one in _ONE.items():
            said = said.replace(several, one)
    return said


def keep_counters(db: sqlite3.Connection) -> list[str]:
    """Gives each memory whose counters are wrong a new tally; says of which they are kept.

    Those that can be put back are. A value that is no count at all becomes that of a new memory.
    """
    (latest,) = db.execute(_LATEST).fetchone()
    right, kept = list[str](), list[str]()
    found = db.execute(f"SELECT number, id, tally, {_OBSERVED}, {sums.TALLIED} FROM memory")  # noqa: S608
    for number, id_, tally, observed, *row in found.fetchall():
        if sums.of(*row) == tally:
            continue
        before = next((each for each in _guesses(row, observed) if sums.of(*each) == tally), None)
        _put(db, number, _sound(row, latest) if before is None else before)
        (kept if before is None else right).append(id_)
    done = []
    if right:
        done.append(f"the counters of {_named(right)}: put back to what was counted")
    if kept:
        done.append(
            f"the counters of {_named(kept)} are not what was counted, and nothing else says what "
            "was: uses and votes are kept as they read, or begin anew where that is no count"
        )
    return done


def _statuses(db: sqlite3.Connection) -> int:
    """Sets today's status to that of the open version, unless that is the damaged one."""
    changed = 0
    for number, crc, id_, created, was, version, status in db.execute(
        "SELECT m.number, m.crc, m.id, m.created, m.status, v.number, v.status FROM memory m "
        "JOIN version v ON v.memory = m.number AND v.recorded_until IS NULL "
        "WHERE v.status <> m.status"
    ).fetchall():
        statement = "UPDATE memory SET status = ? WHERE number = ?"
        if crc != sums.of(id_, created, was):  # its checksum is of the right one
            db.execute(statement, (status, number))
        elif sums.holds(db, "version", version):
            with sums.renewed(db, "memory", number):
                db.execute(statement, (status, number))
        else:
            continue
        changed += 1
    return changed


def _origins(db: sqlite3.Connection) -> int:
    """Raises the number of sources to what the observations say."""
    found = db.execute(
        f"SELECT number, tally, {_OBSERVED}, {sums.TALLIED} FROM memory "  # noqa: S608  # own names
        f"WHERE origins < {_OBSERVED}"
    ).fetchall()
    for number, tally, observed, *row in found:
        if sums.of(*row) == tally:
            db.execute(sums.counting({"origins": "?1"}, "number = ?2"), (observed, number))
        else:  # its tally is of the right one
            db.execute("UPDATE memory SET origins = ? WHERE number = ?", (observed, number))
    return len(found)


def _guesses(row: Sequence[object], observed: int) -> Iterator[list[object]]:
    """What the counters may have been: with the sources that were observed, and with one bit back.

    A wrong guess would have to have the same checksum by chance: one in some million tries.
    """
    origins = sums.COUNTERS.index("origins")
    yield [*row[:origins], observed, *row[origins + 1 :]]
    for place, value in enumerate(row):
        for bit in range(_BITS if isinstance(value, int) else 0):
            yield [*row[:place], _flipped(value, bit), *row[place + 1 :]]


def _flipped(value: object, bit: int) -> object:
    return value ^ (1 << bit) if isinstance(value, int) else value


def _sound(row: Sequence[object], latest: int) -> list[object]:
    """The counters as they read; what is no count is that of a new memory."""
    new: dict[str, object] = {"last_used": None, "origins": 1, "usefulness": 1.0}
    named = dict(zip(sums.COUNTERS, row, strict=True))
    for name, value in named.items():
        whole = isinstance(value, int) and value >= 0
        useful = isinstance(value, float) and LEAST_USEFUL <= value <= MOST_USEFUL
        if not (useful if name == "usefulness" else whole):
            named[name] = new.get(name, 0)
    last = named["last_used"]
    named["last_used"] = min(last, latest) if isinstance(last, int) else None
    return [*named.values()]


def _put(db: sqlite3.Connection, number: int, counted: Sequence[object]) -> None:
    sets = ", ".join(f"{name} = ?" for name in chain(sums.COUNTERS, ("tally",)))
    db.execute(
        f"UPDATE memory SET {sets} WHERE number = ?",  # noqa: S608  # own names
        (*counted, sums.of(*counted), number),
    )


def _named(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _TOLD} more" if len(ids) > _TOLD else ""
    return ", ".join(map(str, ids[:_TOLD])) + more
