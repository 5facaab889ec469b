"""Vectors in the ledger: written with their text, found by exact scan and by the body, counted.

A space's `reached` is the text number up to which every text has its vectors there: pending is only
what lies above, so asking for it costs nothing when nothing is pending.
"""

from collections.abc import Iterable, Sequence
from operator import itemgetter

from memory_mesh.base.typed import TYPE_CHECKING, TypeVar, dataclass
from memory_mesh.ledgers.shared import exact_scan as scan, rows, sums
from memory_mesh.ledgers.shared.engine import Database, engine_of
from memory_mesh.model import (
    Body,
    Commit,
    Part,
    Pending,
    Question,
    Space,
    TextVectors,
    reembedding,
)

if TYPE_CHECKING:
    from memory_mesh.ledgers.shared.exact_scan import Floats

_RECENT_TEXTS = 1_000  # the newest texts among which a search looks for some that wait
_WAITING = (
    "SELECT t.number, t.content FROM text t WHERE t.number > ?1 AND NOT EXISTS "
    "(SELECT 1 FROM vector x WHERE x.text = t.number AND x.space = ?2) AND NOT EXISTS "
    "(SELECT 1 FROM wordless w WHERE w.text = t.number AND w.space = ?2)"
)
_STATED = "SELECT value FROM state WHERE name = 'space.in_use'"  # as model.reembedding.STATED
_WORDLESS = "INSERT OR IGNORE INTO wordless SELECT number, ? FROM text WHERE number = ?"
Key = TypeVar("Key", int, str)


def space_number(db: Database, space: Space) -> int:
    """The space's row, made at its first vector."""
    known = db.execute("SELECT number FROM space WHERE name = ?", (space.name,)).fetchone()
    if known is not None:
        return int(known[0])
    made = db.execute(
        "INSERT INTO space (name, provider, model, revision, dimension, max_tokens, "
        "normalised, query_prefix, text_prefix) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            space.name,
            space.provider,
            space.model,
            space.revision,
            space.dimension,
            space.max_tokens,
            space.normalised,
            space.query_prefix,
            space.text_prefix,
        ),
    )
    return made.lastrowid or 0


def stated(db: Database) -> str | None:
    """What the namespace states about its models."""
    row = db.execute(_STATED).fetchone()
    return None if row is None else row[0]


def place(db: Database, space: Space) -> int | None:
    """The number of a space, made at its first vector; None where its vectors were dropped."""
    number, value = db.execute(
        f"SELECT (SELECT number FROM space WHERE name = ?), ({_STATED})",  # noqa: S608
        (space.name,),
    ).fetchone()
    if value is not None and is_dropped(value, space):
        return None
    return space_number(db, space) if number is None else int(number)


def is_dropped(value: str | None, space: Space) -> bool:
    """Whether the namespace states that it gave the vectors of a space up."""
    found = reembedding.loaded(value)
    return found is not None and space.name in found.dropped


def drop(db: Database, space: str, most: int) -> None:
    """Take the next vectors out of a space; it begins anew if it is used again."""
    row = db.execute("SELECT number FROM space WHERE name = ?", (space,)).fetchone()
    if row is None:
        return
    (number,) = row
    db.execute(
        "DELETE FROM vector WHERE number IN "
        "(SELECT number FROM vector WHERE space = ? ORDER BY number LIMIT ?)",
        (number, most),
    )
    db.execute("DELETE FROM wordless WHERE space = ?", (number,))
    db.execute("DELETE FROM skill_vector WHERE space = ?", (number,))
    db.execute(
        "UPDATE space SET reached = 0, body_version = NULL, body_highest = NULL, "
        "body_rows = NULL WHERE number = ?",
        (number,),
    )
    engine_of(db).forget_scan(db, number)


def add(db: Database, given: Iterable[TextVectors], seq: int) -> None:
    """Texts' vectors, one per part, or that a text will have none; what it has already stays."""
    spaces: dict[str, int | None] = {}
    wordless, made = list[tuple[object, ...]](), list[tuple[object, ...]]()
    for late in given:
        space, size = late.space, 4 * late.space.dimension
        if any(len(vector) != size for vector in late.vectors):
            raise ValueError(f"a vector of {space.name} has {space.dimension} dimensions")
        if space.name not in spaces:
            spaces[space.name] = place(db, space)
        number = spaces[space.name]
        if number is None:
            continue
        if not late.vectors:
            wordless.append((number, late.text))
        spans = late.spans or (None,) * len(late.vectors)
        for part, (vector, span) in enumerate(zip(late.vectors, spans, strict=True)):
            values = (number, part, seq, *(span or (None, None)), vector)
            made.append((*values, sums.of(late.text, *values), late.text))
    if wordless:
        db.executemany(_WORDLESS, wordless)
    if made:
        engine_of(db).add_vectors(db, made)


def redraw(db: Database, text: int) -> None:
    """Give a text's vectors new numbers: an index holds the old ones for its former audience."""
    columns = "space, part, seq, start, stop, data, crc, text"
    found = db.execute(f"SELECT {columns} FROM vector WHERE text = ?", (text,)).fetchall()  # noqa: S608
    db.execute("DELETE FROM vector WHERE text = ?", (text,))
    engine_of(db).add_vectors(db, found)


def last_text(db: Database) -> int:
    """The highest text number there is."""
    number: int | None = db.execute("SELECT max(number) FROM text").fetchone()[0]
    return number or 0


def keep_count(db: Database, before: int, commit: Commit) -> None:
    """Move each space's `reached` as far as this commit completed it."""
    worded = [put.wording for put in commit.puts if put.wording is not None]
    for space in {wording.space for wording in worded if wording.space is not None}:
        if all(wording.space == space for wording in worded):
            db.execute(
                "UPDATE space SET reached = (SELECT max(number) FROM text) "
                "WHERE name = ? AND reached = ?",
                (space.name, before),
            )
    for space in {late.space for late in commit.vectors}:
        db.execute(
            "UPDATE space SET reached = coalesce((SELECT min(t.number) - 1 FROM text t "
            "WHERE t.number > space.reached AND NOT EXISTS (SELECT 1 FROM vector x "
            "WHERE x.text = t.number AND x.space = space.number) AND NOT EXISTS (SELECT 1 "
            "FROM wordless w WHERE w.text = t.number AND w.space = space.number)), "
            "(SELECT max(number) FROM text), 0) WHERE name = ?",
            (space.name,),
        )


@dataclass(frozen=True, slots=True)
class SpaceReading:
    """Where a space stands in one read transaction."""

    number: int
    reached: int
    waiting: int  # texts without a vector in it
    highest: int  # the last number of a vector, of any space
    body: Body | None
    stated: str | None  # what the namespace states about its models


def stored(db: Database, space: Space) -> SpaceReading | None:
    """Where a space stands; None before its first vector."""
    row = db.execute(
        "SELECT number, reached, (SELECT count(*) FROM text WHERE number > reached) - "  # noqa: S608
        "(SELECT count(DISTINCT text) FROM vector WHERE space = s.number AND text > reached) - "
        "(SELECT count(*) FROM wordless WHERE space = s.number AND text > reached), "
        "coalesce((SELECT max(number) FROM vector), 0), "
        f"({_STATED}), body_version, body_highest, body_rows FROM space s WHERE name = ?",
        (space.name,),
    ).fetchone()
    if row is None:
        return None
    number, reached, waiting, highest, said, *named = row
    body = Body(*named) if named[0] is not None else None
    return SpaceReading(number, reached, waiting, highest, body, said)


def pending(
    db: Database, known: SpaceReading | None, limit: int, max_chars: int | None = None
) -> Pending:
    """How many texts wait for a vector in a space, and the first, or newest short ones."""
    if known is None:
        number, reached, (count,) = 0, 0, db.execute("SELECT count(*) FROM text").fetchone()
        said = stated(db)
    else:
        number, reached, count, said = known.number, known.reached, known.waiting, known.stated
    if not count or not limit:
        return Pending(count, stated=said)
    if max_chars is None:
        found = db.execute(f"{_WAITING} ORDER BY t.number LIMIT ?3", (reached, number, limit))
    else:
        recent = max(reached, last_text(db) - _RECENT_TEXTS)
        found = db.execute(
            f"{_WAITING} AND length(t.content) <= ?4 ORDER BY t.number DESC LIMIT ?3",
            (recent, number, limit, max_chars),
        )
    return Pending(count, tuple(found.fetchall()), said)


def above(db: Database, space: Space, after: int) -> list[tuple[int, bytes, int]]:
    """The next block of a space's vectors above a number, each with the audience of its text."""
    return db.execute(
        "SELECT x.number, x.data, (SELECT v.audience FROM version v WHERE v.text = x.text "
        "ORDER BY v.number DESC LIMIT 1) FROM vector x JOIN space s ON s.number = x.space "
        "WHERE x.number > ? AND s.name = ? ORDER BY x.number LIMIT ?",
        (after, space.name, scan.BLOCK),
    ).fetchall()


def name_body(db: Database, space: Space, base: Body | None, body: Body | None) -> None:
    """From now on this is the index of the space, if `base` still was."""
    was = (base.version, base.highest, base.rows) if base is not None else (None, None, None)
    now = (body.version, body.highest, body.rows) if body is not None else (None, None, None)
    db.execute(
        "UPDATE space SET body_version = ?, body_highest = ?, body_rows = ? WHERE name = ? "
        "AND body_version IS ? AND body_highest IS ? AND body_rows IS ?",
        (*now, space.name, *was),
    )


def parts(db: Database, space: Space, versions: Sequence[int]) -> dict[int, list[Part]]:
    """The vectors that versions have in a space, in the order of their parts."""
    return _by_key(
        db.execute(
            "SELECT v.number, x.start, x.stop, x.data FROM version v "
            "JOIN vector x ON x.text = v.text JOIN space s ON s.number = x.space "
            "WHERE s.name = ? AND v.number IN (SELECT value FROM json_each(?)) ORDER BY x.part",
            (space.name, rows.dumped(versions)),
        )
    )


def of_memories(db: Database, space: Space, ids: Sequence[str]) -> dict[str, list[Part]]:
    """The vectors that memories have in a space now."""
    return _by_key(
        db.execute(
            "SELECT m.id, x.start, x.stop, x.data FROM memory m JOIN version v "
            "ON v.memory = m.number AND v.recorded_until IS NULL JOIN vector x ON x.text = v.text "
            "JOIN space s ON s.number = x.space "
            "WHERE s.name = ? AND m.id IN (SELECT value FROM json_each(?)) ORDER BY x.part",
            (space.name, rows.dumped(ids)),
        )
    )


def _by_key(found: Iterable[tuple[Key, int | None, int | None, bytes]]) -> dict[Key, list[Part]]:
    parts: dict[Key, list[Part]] = {}
    for key, start, stop, data in found:
        span = None if start is None or stop is None else (start, stop)
        parts.setdefault(key, []).append(Part(data, span))
    return parts


def matrix(db: Database, numbers: Sequence[int], dimension: int) -> "Floats":
    """The vectors with these numbers, in the order of the numbers, which ascend."""
    import numpy as np

    found = db.execute(
        "SELECT data FROM vector WHERE number IN (SELECT value FROM json_each(?)) ORDER BY number",
        (rows.dumped(list(numbers)),),
    )
    values = np.frombuffer(b"".join(data for (data,) in found), np.float32)
    return values.reshape(len(numbers), dimension)


def texts(db: Database, numbers: Sequence[int]) -> dict[int, int]:
    """Which text each vector is of; a number that was given up is of none."""
    return dict(
        db.execute(
            "SELECT number, text FROM vector WHERE number IN (SELECT value FROM json_each(?))",
            (rows.dumped(list(numbers)),),
        ).fetchall()
    )


def cosines(db: Database, question: Question, versions: Sequence[int]) -> dict[int, float]:
    """How near versions found otherwise are: of each its best window."""
    if not versions:
        return {}
    import numpy as np

    found = db.execute(
        "SELECT v.number, x.data, x.part FROM version v JOIN space s ON s.name = ? "
        "JOIN vector x ON x.text = v.text AND x.space = s.number "
        "WHERE v.number IN (SELECT value FROM json_each(?))",
        (question.space.name, rows.dumped(versions)),
    ).fetchall()
    if not found:
        return {}
    found.sort(key=itemgetter(2))  # SQLite would copy every vector to put them in order
    matrix = np.frombuffer(b"".join(data for _, data, _ in found), np.float32)
    asked = np.frombuffer(question.vector, np.float32)
    near = scan.product(matrix.reshape(len(found), -1), asked).tolist()
    best: dict[int, float] = {}
    for (version, _, _), cosine in zip(found, near, strict=True):
        best[version] = max(cosine, best.get(version, -1.0))
    return best
