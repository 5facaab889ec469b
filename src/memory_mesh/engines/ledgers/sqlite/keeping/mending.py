"""Makes whole again what a salvage took over: memories from their texts, versions and blocks.

A memory is taken over if its present text was read. What else is lost of it is made from what is
known: an earlier version, entries of indexes, its blocks. Everything that is made up says so.
"""

import json
import sqlite3
from collections.abc import Callable, Mapping

from memory_mesh.engines.ledgers.sqlite.keeping.chaining import Telling
from memory_mesh.engines.ledgers.sqlite.keeping.filling import drop
from memory_mesh.engines.ledgers.sqlite.keeping.losses import Known, Losses
from memory_mesh.engines.ledgers.sqlite.keeping.records import Value
from memory_mesh.errors import MeshError
from memory_mesh.model import (
    Channel,
    Claim,
    Kind,
    ProposedVerb,
    Resolution,
    SourceKind,
    Status,
    Tier,
)
from memory_mesh.model.record import read_heritage, read_lesson
from memory_mesh.model.safekeeping import Unread
from memory_mesh.typed import Any

_WORDS: dict[str, tuple[type, str]] = {  # columns of a version that hold one of a few words
    "status": (Status, Status.ACTIVE),
    "kind": (Kind, Kind.FACT),
    "source_kind": (SourceKind, SourceKind.INFERENCE),
    "channel": (Channel, Channel.IMPORT),
    "tier": (Tier, Tier.SHORT_TERM),
}
_LISTS = {"tags": list, "triggers": list, "extra": dict}
_OBJECTS: dict[str, tuple[Callable[[Any], object], tuple[str, ...]]] = {
    "claim": (lambda plain: Claim(**plain), ("subject", "predicate")),
    "lesson": (read_lesson, ("pattern", "severity", "rule_confidence")),
    "heritage": (read_heritage, ()),
}  # how a column is read, and the columns that go with it
_OWN = ("number", "memory", "text", "recorded_from", "recorded_until", "seq", "crc", "reasons")
_REBUILT = json.dumps(["rebuilt by `memory-mesh salvage`"])
_TOLD = 20  # memories named in one sentence


def mend(
    db: sqlite3.Connection, losses: Losses, told: Telling, draw: Callable[[str], str], now: int
) -> None:
    """Rebuilds what is lost and removes what cannot stand alone; times are in microseconds."""
    _memories(db, losses, told, draw, now)
    _lost_texts(db, losses, told)
    _versions(db, losses, told, now)
    _in_sequence(db)
    _observations(db, losses)
    db.execute(
        "INSERT INTO session_write (session, project, agent, at) "
        "SELECT DISTINCT session, project, agent, recorded_from FROM version v "
        "WHERE session IS NOT NULL AND NOT EXISTS (SELECT 1 FROM session_write w "
        "WHERE w.session = v.session AND w.project IS v.project AND w.agent IS v.agent "
        "AND w.at = v.recorded_from)"
    )
    _references(db, losses)
    _unchecked(db, losses)


def _unchecked(db: sqlite3.Connection, losses: Losses) -> None:
    """Removes rows without a checksum that no read could return."""
    for table, where, words in (
        ("conflict", "resolution IS NOT NULL AND resolution NOT IN", Resolution),
        ("proposal", "NOT json_valid(change) OR verb NOT IN", ProposedVerb),
    ):
        marks = ", ".join("?" * len(words))
        count = db.execute(
            f"DELETE FROM {table} WHERE {where} ({marks})",  # noqa: S608  # own names
            [word.value for word in words],
        ).rowcount
        if count:
            losses.others.append(Unread(table, None, None, f"{count} say what was never written"))


def _memories(
    db: sqlite3.Connection, losses: Losses, told: Telling, draw: Callable[[str], str], now: int
) -> None:
    """Makes the memories of texts anew whose own row is lost."""
    for number, hashed in db.execute(
        "SELECT memory, hash FROM text t WHERE NOT EXISTS (SELECT 1 FROM memory m "
        "WHERE m.number = t.memory) GROUP BY memory HAVING number = max(number)"
    ).fetchall():
        known = losses.known.get("memory", {}).get(number, {})
        block = told.of_hash.get(hashed.hex())
        named = str(known.get("id") or "") if block is None else block.memory
        if not named or _taken(db, named):
            named = draw("mem")
        open_, first = db.execute(
            "SELECT max(CASE WHEN recorded_until IS NULL THEN status END), min(recorded_from) "
            "FROM version WHERE memory = ?",
            (number,),
        ).fetchone()
        status = open_ or _word("status", known.get("status"))
        created = first or (now if block is None else 1000 * block.at)
        db.execute(
            "INSERT INTO memory (number, id, created, status) VALUES (?, ?, ?, ?)",
            (number, named, created, status),
        )
        losses.rebuilt.append(f"{named}: its own row; uses and votes start at 0")


def _lost_texts(db: sqlite3.Connection, losses: Losses, told: Telling) -> None:
    """Removes memories whose present text is lost; what is left of them goes to the leftovers."""
    gone = {
        number
        for (number,) in db.execute(
            "SELECT memory FROM version v WHERE recorded_until IS NULL "
            "AND NOT EXISTS (SELECT 1 FROM text t WHERE t.number = v.text) "
            "UNION SELECT number FROM memory m WHERE NOT EXISTS "
            "(SELECT 1 FROM text t WHERE t.memory = m.number)"
        )
    }
    for number, id_ in db.execute(
        "SELECT number, id FROM memory m WHERE NOT EXISTS (SELECT 1 FROM version v "
        "WHERE v.memory = m.number AND v.recorded_until IS NULL)"
    ).fetchall():
        last = told.last_of.get(id_)
        if last is not None and not _has_text(db, number, last):
            gone.add(number)
    for number in sorted(gone):
        row = db.execute("SELECT id FROM memory WHERE number = ?", (number,)).fetchone()
        for table in ("version", "text", "observation"):
            for (each,) in db.execute(
                f"SELECT number FROM {table} WHERE memory = ?",  # noqa: S608  # own names
                (number,),
            ).fetchall():
                drop(db, table, each, "the present text of its memory is lost", losses)
        if row is not None:
            drop(db, "memory", number, "its present text is lost", losses)
            losses.memories.append(row[0])
    for (number,) in db.execute(
        "SELECT number FROM version v WHERE NOT EXISTS (SELECT 1 FROM text t "
        "WHERE t.number = v.text AND t.memory = v.memory)"
    ).fetchall():
        drop(db, "version", number, "its text is lost", losses)


def _has_text(db: sqlite3.Connection, memory: int, content_sha256: str) -> bool:
    return bool(
        db.execute(
            "SELECT 1 FROM text WHERE memory = ? AND lower(hex(hash)) = ?", (memory, content_sha256)
        ).fetchone()
    )


def _versions(db: sqlite3.Connection, losses: Losses, told: Telling, now: int) -> None:
    """Gives each text a version, and each memory one that is open."""
    for number, memory, hashed in db.execute(
        "SELECT number, memory, hash FROM text t WHERE NOT EXISTS "
        "(SELECT 1 FROM version v WHERE v.text = t.number) ORDER BY number"
    ).fetchall():
        block = told.of_hash.get(hashed.hex())
        begun = None if block is None else 1000 * block.at
        seq = None if block is None else block.seq
        tags = None if block is None else block.tags
        _build(db, losses, (memory, number), Known(seq=seq, recorded_from=begun, tags=tags), now)
    for memory, text in db.execute(
        "SELECT m.number, (SELECT max(t.number) FROM text t WHERE t.memory = m.number) "
        "FROM memory m WHERE NOT EXISTS (SELECT 1 FROM version v "
        "WHERE v.memory = m.number AND v.recorded_until IS NULL)"
    ).fetchall():
        _build(db, losses, (memory, text), {}, now)


def _build(
    db: sqlite3.Connection, losses: Losses, about: tuple[int, int], said: Known, now: int
) -> None:
    """Makes a version of a memory and a text, open if the text is the newest."""
    memory, text = about
    id_, created, status = db.execute(
        "SELECT id, created, status FROM memory WHERE number = ?", (memory,)
    ).fetchone()
    columns, last = _last(db, memory)
    lost = _known_version(losses, memory, text)
    (newest,) = db.execute("SELECT max(number) FROM text WHERE memory = ?", (memory,)).fetchone()
    row: Known = {name: lost.get(name, last.get(name)) for name in columns}
    row |= {name: value for name, value in said.items() if value is not None}
    begun = said.get("recorded_from") or lost.get("recorded_from") or last.get("recorded_until")
    begun = begun if isinstance(begun, int) and created <= begun <= now else created
    taken = {start for (start,) in db.execute(
        "SELECT recorded_from FROM version WHERE memory = ?", (memory,))}  # fmt: skip
    while begun in taken:
        begun += 1
    is_open = (
        text == newest
        and not db.execute(
            "SELECT 1 FROM version WHERE memory = ? AND recorded_until IS NULL", (memory,)
        ).fetchone()
    )
    row = {name: _sound(name, value) for name, value in row.items() if name not in _OWN}
    row |= {"memory": memory, "text": text, "seq": said.get("seq") or 0, "recorded_from": begun}
    row |= {"recorded_until": None if is_open else begun + 1, "reasons": _REBUILT}
    row |= {"status": status} if is_open else {}
    row["pinned"] = int(row.get("pinned") == 1)
    filled = {name: value for name, value in row.items() if value is not None}
    names, marks = ", ".join(filled), ", ".join("?" * len(filled))
    db.execute(f"INSERT INTO version ({names}) VALUES ({marks})", list(filled.values()))  # noqa: S608
    losses.reworded.append(text)  # its terms are those of its tags, too
    known = "an earlier version" if last else "its text"
    known = "what was left of the row" if lost else known
    losses.rebuilt.append(f"{id_}: a version, from {known}; check its status, audience and tags")


def _last(db: sqlite3.Connection, memory: int) -> tuple[list[str], Known]:
    found = db.execute(
        "SELECT * FROM version WHERE memory = ? ORDER BY recorded_from DESC LIMIT 1", (memory,)
    )
    columns = [column[0] for column in found.description]
    row = found.fetchone()
    return columns, {} if row is None else dict(zip(columns, row, strict=True))


def _known_version(losses: Losses, memory: int, text: int) -> Known:
    """What is known of a lost version: the newest one of this memory and text."""
    for _, known in sorted(losses.known.get("version", {}).items(), reverse=True):
        if known.get("text", text) == text and known.get("memory") == memory:
            sound = {name: _sound(name, value) for name, value in known.items()}
            return {name: value for name, value in sound.items() if name not in _unread(sound)}
    return {}


def _unread(known: Known) -> set[str]:
    """The columns of a claim, a lesson and a heritage that say what nobody wrote."""
    wrong = set[str]()
    for name, (read, columns) in _OBJECTS.items():
        try:
            if known.get(name) is not None:
                read(json.loads(str(known[name])))
        except (ValueError, TypeError, KeyError, AttributeError, MeshError):
            wrong |= {name, *columns}
    return wrong | {"kind"} if "lesson" in wrong else wrong


def _word(name: str, value: Value) -> str:
    words, usual = _WORDS[name]
    return str(value) if value in {str(word) for word in words} else str(usual)  # type: ignore[attr-defined]  # an enumeration


def _sound(name: str, value: Value) -> Value:
    """The value if the column may hold it, else what a column holds of which nothing is known."""
    if name in _WORDS:
        return _word(name, value)
    if name in _LISTS:
        empty = json.dumps(_LISTS[name]())
        try:
            return value if isinstance(json.loads(str(value)), _LISTS[name]) else empty
        except ValueError:
            return empty
    return value


def _in_sequence(db: sqlite3.Connection) -> None:
    """Lets each version end where the next one begins, and today's status be the open one's."""
    db.execute(
        "UPDATE version SET recorded_until = (SELECT min(n.recorded_from) FROM version n "
        "WHERE n.memory = version.memory AND n.recorded_from > version.recorded_from) "
        "WHERE recorded_until IS NOT NULL"
    )
    db.execute(
        "UPDATE memory SET status = (SELECT v.status FROM version v WHERE v.memory = "
        "memory.number AND v.recorded_until IS NULL)"
    )


def _observations(db: sqlite3.Connection, losses: Losses) -> None:
    """Writes that each memory came in, where no row says so any more."""
    for number, id_, created in db.execute(
        "SELECT number, id, created FROM memory m WHERE NOT EXISTS "
        "(SELECT 1 FROM observation o WHERE o.memory = m.number)"
    ).fetchall():
        db.execute(
            "INSERT INTO observation (memory, at, hash, outcome, origin, reasons) SELECT ?, ?, "
            "hash, 'stored', 'salvage', ? FROM text WHERE memory = ? ORDER BY number LIMIT 1",
            (number, created, _REBUILT, number),
        )
        losses.rebuilt.append(f"{id_}: the record of when it came in; its idempotency key is lost")


def _references(db: sqlite3.Connection, losses: Losses) -> None:
    """Removes rows that refer to one that is lost, or the reference where a row can do without."""
    tables = [
        name
        for (name,) in db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' "
            "AND sql NOT LIKE 'CREATE VIRTUAL%'"
        ).fetchall()
    ]
    for table in tables:
        needed = {row[1]: row[3] or row[5] for row in db.execute(f"PRAGMA table_info({table})")}
        for key in db.execute(f"PRAGMA foreign_key_list({table})").fetchall():
            parent, column, other = key[2], key[3], key[4]
            where = (
                f"{column} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {parent} p "  # noqa: S608
                f"WHERE p.{other} = {table}.{column})"
            )
            change = f"UPDATE {table} SET {column} = NULL"  # noqa: S608  # own names
            if needed[column]:
                change = f"DELETE FROM {table}"  # noqa: S608
            count = db.execute(f"{change} WHERE {where}").rowcount
            if count:
                why = f"{count} referred to a {parent} that is lost"
                losses.others.append(Unread(table, None, None, why))


def names(db: sqlite3.Connection, losses: Losses) -> Mapping[str, Mapping[int, str]]:
    """The ids of memories that lost rows are of, by table and number, as far as they are known."""
    ids = dict(db.execute("SELECT number, id FROM memory").fetchall())
    for number, known in losses.known.get("memory", {}).items():
        ids.setdefault(number, str(known["id"])) if "id" in known else None
    found: dict[str, dict[int, str]] = {}
    for table, rows in losses.known.items():
        for number, known in rows.items():
            memory = number if table == "memory" else known.get("memory")
            if memory in ids:
                found.setdefault(table, {})[number] = ids[memory]
    return found


def _taken(db: sqlite3.Connection, id_: str) -> bool:
    return db.execute("SELECT 1 FROM memory WHERE id = ?", (id_,)).fetchone() is not None
