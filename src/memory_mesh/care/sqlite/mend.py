"""Makes whole again what a salvage took over: memories from their texts, versions and blocks.

A memory comes back if a text of it was read. What else is lost of it is made from what is known:
an earlier version, entries of indexes, its blocks. What blocks do not prove is held back.
"""

import json
import sqlite3
from collections.abc import Callable, Mapping

from memory_mesh.base.typed import Any
from memory_mesh.care.sqlite.fill import drop
from memory_mesh.ledgers.shared import sums
from memory_mesh.ledgers.shared.rows import UnreadableRow, entry
from memory_mesh.ledgers.sqlite import held_back
from memory_mesh.ledgers.sqlite.page_records import Value
from memory_mesh.ledgers.sqlite.salvaged_chain import ChainTexts, Known, Losses
from memory_mesh.model import (
    Channel,
    Claim,
    Kind,
    MeshError,
    ProposedVerb,
    Resolution,
    SourceKind,
    Status,
    Tier,
    read_heritage,
    read_lesson,
)
from memory_mesh.model.care import Unread

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
_AS_LESSON_SAYS = """
    UPDATE version SET pattern = said, rule_confidence = sure, severity = worst FROM (
        SELECT number AS of_version, json_extract(lesson, '$.lesson_pattern_id') AS said,
            json_extract(lesson, '$.rule_confidence') AS sure,
            CASE json_extract(lesson, '$.severity') WHEN 'critical' THEN 3 WHEN 'high' THEN 2
                WHEN 'medium' THEN 1 WHEN 'low' THEN 0 END AS worst FROM version)
    WHERE number = of_version
        AND (pattern IS NOT said OR rule_confidence IS NOT sure OR severity IS NOT worst)"""
_OWN = ("number", "memory", "text", "recorded_from", "recorded_until", "seq", "crc", "reasons")
_REBUILT = json.dumps(["rebuilt by `memory-mesh salvage`"])


def mend(
    db: sqlite3.Connection, losses: Losses, told: ChainTexts, draw: Callable[[str], str], now: int
) -> None:
    """Rebuilds what is lost and removes what cannot stand alone; times are in microseconds."""
    _owners(db, losses)
    _memories(db, losses, told, draw, now)
    _lost_texts(db, losses, told)
    _versions(db, losses, told, now)
    held_back.overtaken(db, losses, told, now)
    held_back.gaps(db, losses)
    _in_sequence(db)
    db.execute(_AS_LESSON_SAYS)
    _observations(db, losses)
    db.execute(
        "INSERT INTO session_write (session, project, agent, at) "
        "SELECT DISTINCT session, project, agent, recorded_from FROM version v "
        "WHERE session IS NOT NULL AND NOT EXISTS (SELECT 1 FROM session_write w "
        "WHERE w.session = v.session AND w.project IS v.project AND w.agent IS v.agent "
        "AND w.at = v.recorded_from)"
    )
    _references(db, losses)
    _links(db, losses)
    _unchecked(db, losses)
    held_back.listed(db, losses)


def _unchecked(db: sqlite3.Connection, losses: Losses) -> None:
    """Removes rows that no read could return: those of an older file have no checksum."""
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
    read = [number for (number,) in db.execute("SELECT number FROM recall")]
    wrong = [(number,) for number in read if not _is_recall(db, number)]
    db.executemany("DELETE FROM recall WHERE number = ?", wrong)
    if wrong:
        said = f"{len(wrong)} say what was never written"
        losses.others.append(Unread("recall", None, None, said))


def _is_recall(db: sqlite3.Connection, number: int) -> bool:
    """Whether the record of a search is one that a read understands."""
    try:
        found = db.execute(
            "SELECT id, 'recall', agent, at, memories, wire, metadata FROM recall WHERE number = ?",
            (number,),
        ).fetchone()
        entry(found)
    except (UnreadableRow, sqlite3.OperationalError):  # the latter: bytes that are no text
        return False
    return True


def _links(db: sqlite3.Connection, losses: Losses) -> None:
    """Removes links that are not what was written, or that join memories under other ids."""
    sums.define(db)
    wrong = f"crc IS NOT NULL AND crc IS NOT row_crc({sums.CHECKED['link']})"
    count = db.execute(f"DELETE FROM link WHERE {wrong}").rowcount  # noqa: S608  # own names
    if count:
        losses.others.append(Unread("link", None, None, f"{count} have a wrong checksum"))


def _owners(db: sqlite3.Connection, losses: Losses) -> None:
    """Sets the memory of a text whose content alone is sure to that of the version of it."""
    for text in losses.reworded:
        found = db.execute("SELECT DISTINCT memory FROM version WHERE text = ?", (text,)).fetchall()
        if len(found) == 1:
            db.execute("UPDATE text SET memory = ? WHERE number = ?", (found[0][0], text))


def _memories(
    db: sqlite3.Connection, losses: Losses, told: ChainTexts, draw: Callable[[str], str], now: int
) -> None:
    """Makes the memories of texts anew whose own row is lost."""
    for number, hashed in db.execute(
        "SELECT memory, hash FROM text t WHERE NOT EXISTS (SELECT 1 FROM memory m "
        "WHERE m.number = t.memory) GROUP BY memory HAVING number = max(number)"
    ).fetchall():
        known = losses.known.get("memory", {}).get(number, {})
        block = told.of_hash.get(hashed.hex())
        named = _proven_id(db, told, number)
        sure = named is not None
        named = named or (str(known.get("id") or "") if block is None else block.memory)
        if named and _has_other_number(db, named, number):
            losses.rebuilt.append(f"{named}: the number of its own row, from its text")
            continue
        if not named or (
            db.execute("SELECT 1 FROM memory WHERE id = ?", (named,)).fetchone() is not None
        ):
            named, sure = draw("mem"), False
        status, first = db.execute(
            "SELECT max(CASE WHEN recorded_until IS NULL THEN status END), min(recorded_from) "
            "FROM version WHERE memory = ?",
            (number,),
        ).fetchone()
        db.execute(
            "INSERT INTO memory (number, id, created, status) VALUES (?, ?, ?, ?)",
            (
                number,
                named,
                first or (now if block is None else 1000 * block.at),
                status or Status.QUARANTINED.value,
            ),
        )
        losses.rebuilt.append(f"{named}: its own row; uses and votes start at 0")
        if not sure:
            held_back.unnamed(db, losses, number)


def _proven_id(db: sqlite3.Connection, told: ChainTexts, memory: int) -> str | None:
    """The id that the blocks of a memory's own writes give it, if they agree on one."""
    found = set[str]()
    for seq, hashed in db.execute(
        "SELECT v.seq, t.hash FROM version v JOIN text t ON t.number = v.text "
        "AND t.memory = v.memory WHERE v.memory = ?",
        (memory,),
    ):
        found |= told.of_write.get((seq, hashed.hex()), set())
    return found.pop() if len(found) == 1 else None


def _has_other_number(db: sqlite3.Connection, id_: str, number: int) -> bool:
    """Whether the row of an id, which nothing refers to, was found under a wrong number."""
    return bool(
        db.execute(
            "UPDATE memory SET number = ?1 WHERE id = ?2 "
            "AND NOT EXISTS (SELECT 1 FROM text t WHERE t.memory = memory.number) "
            "AND NOT EXISTS (SELECT 1 FROM version v WHERE v.memory = memory.number)",
            (number, id_),
        ).rowcount
    )


def _lost_texts(db: sqlite3.Connection, losses: Losses, told: ChainTexts) -> None:
    """Looks for another text where the present one is lost; without any the memory is lost."""
    for version, number, id_, status in db.execute(
        "SELECT v.number, v.memory, m.id, v.status FROM version v "
        "JOIN memory m ON m.number = v.memory WHERE v.recorded_until IS NULL AND NOT EXISTS "
        "(SELECT 1 FROM text t WHERE t.number = v.text AND t.memory = v.memory)"
    ).fetchall():
        texts = db.execute(
            "SELECT number, hash FROM text WHERE memory = ? ORDER BY number DESC", (number,)
        ).fetchall()
        last = [text for text, hashed in texts if hashed.hex() == told.last_of.get(id_)]
        if last:
            db.execute("UPDATE version SET text = ? WHERE number = ?", (last[0], version))
            losses.rebuilt.append(f"{id_}: the number of its text, from the block that names it")
        elif texts and status != Status.DELETED:
            held_back.earlier_words(db, losses, version, texts[0][0])
        else:
            _drop_memory(db, losses, number, id_)
    for number, id_ in db.execute(
        "SELECT number, id FROM memory m WHERE NOT EXISTS "
        "(SELECT 1 FROM text t WHERE t.memory = m.number)"
    ).fetchall():
        _drop_memory(db, losses, number, id_)
    for (number,) in db.execute(
        "SELECT number FROM version v WHERE NOT EXISTS (SELECT 1 FROM text t "
        "WHERE t.number = v.text AND t.memory = v.memory)"
    ).fetchall():
        drop(db, "version", number, "its text is lost", losses)


def _drop_memory(db: sqlite3.Connection, losses: Losses, number: int, id_: str) -> None:
    """Removes a memory whose text is lost; what is left of it goes to the leftovers."""
    for table in ("version", "text", "observation"):
        for (each,) in db.execute(
            f"SELECT number FROM {table} WHERE memory = ?",  # noqa: S608  # own names
            (number,),
        ).fetchall():
            drop(db, table, each, "the present text of its memory is lost", losses)
    drop(db, "memory", number, "its present text is lost", losses)
    losses.memories.append(id_)


def _versions(db: sqlite3.Connection, losses: Losses, told: ChainTexts, now: int) -> None:
    """Gives each text a version, and each memory one that is open."""
    for number, memory, hashed in db.execute(
        "SELECT number, memory, hash FROM text t WHERE NOT EXISTS "
        "(SELECT 1 FROM version v WHERE v.text = t.number) "
        "AND number < (SELECT max(n.number) FROM text n WHERE n.memory = t.memory) ORDER BY number"
    ).fetchall():
        block = told.of_hash.get(hashed.hex())
        known = Known()
        if block is not None:
            known = Known(seq=block.seq, recorded_from=1000 * block.at, tags=block.tags)
        _build(db, losses, (memory, number), known, now)
    for memory, id_, text, hashed in db.execute(
        "SELECT m.number, m.id, t.number, t.hash FROM memory m JOIN text t ON t.number = "
        "(SELECT max(n.number) FROM text n WHERE n.memory = m.number) "
        "WHERE NOT EXISTS (SELECT 1 FROM version v "
        "WHERE v.memory = m.number AND v.recorded_until IS NULL)"
    ).fetchall():
        block = told.of_hash.get(hashed.hex())
        tags = None if block is None else block.tags
        said = _build(db, losses, (memory, text), Known(tags=tags), now, is_open=True)
        present = hashed.hex() == told.last_of.get(id_, hashed.hex())
        losses.doubt(memory, held_back.NO_VERSION if present else held_back.EARLIER, said)


def _build(
    db: sqlite3.Connection,
    losses: Losses,
    about: tuple[int, int],
    told: Known,
    now: int,
    *,
    is_open: bool = False,
) -> str:
    """Makes a version of a memory and a text, which is held back; what was known of it."""
    memory, text = about
    id_, created, status = db.execute(
        "SELECT id, created, status FROM memory WHERE number = ?", (memory,)
    ).fetchone()
    columns, last = _last(db, memory)
    lost = _known_version(losses, memory, text)
    row: Known = {name: lost.get(name, last.get(name)) for name in columns}
    said = held_back.told_of(row)
    row |= {name: value for name, value in told.items() if value is not None}
    begun = told.get("recorded_from") or lost.get("recorded_from") or last.get("recorded_until")
    begun = begun if isinstance(begun, int) and created <= begun <= now else created
    taken = {start for (start,) in db.execute(
        "SELECT recorded_from FROM version WHERE memory = ?", (memory,))}  # fmt: skip
    while begun in taken:
        begun += 1
    row = {name: _sound(name, value) for name, value in row.items() if name not in _OWN}
    waits = Status.DELETED if is_open and status == Status.DELETED else Status.QUARANTINED
    row = held_back.unproven(row, waits.value)
    row |= {"memory": memory, "text": text, "seq": told.get("seq") or 0, "recorded_from": begun}
    row["recorded_until"] = None if is_open else begun + 1
    losses.made.add(held_back.insert(db, row))
    losses.reworded.append(text)  # its terms are those of its tags, too
    known = "an earlier version" if last else "its text"
    known = "what was left of the row" if lost else known
    losses.rebuilt.append(f"{id_}: a version, from {known}")
    return said


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
