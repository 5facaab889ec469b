"""`verify`: the chain block by block, and every invariant. It reports, it never repairs."""

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial

from memory_mesh.base.typed import Any
from memory_mesh.ledgers.shared import conflicts, metadata_marks, named_values, rows, skills, sums
from memory_mesh.ledgers.shared.engine import Database, engine_of
from memory_mesh.model import Block, BlockOperation, Checkpoint, Finding, Head, Json, Verification
from memory_mesh.rules import audit
from memory_mesh.text.analyzer import ANALYZER

SHOWN = 20  # findings listed per check; the rest is counted
_ALL = 2**31  # rows that a listing may have
UNREADABLE = (
    sqlite3.Error,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    OverflowError,
    RecursionError,
)  # what values that nobody wrote raise in those who read them
_OWNERS = {  # the id of the memory or skill that a row of a table is of
    "memory": "SELECT id FROM memory WHERE number = ?",
    "text": "SELECT m.id FROM text t JOIN memory m ON m.number = t.memory WHERE t.number = ?",
    "version": "SELECT m.id FROM version v JOIN memory m ON m.number = v.memory WHERE v.number = ?",
    "observation": "SELECT m.id FROM observation o JOIN memory m ON m.number = o.memory "
    "WHERE o.number = ?",
    "vector": "SELECT m.id FROM vector v JOIN text t ON t.number = v.text "
    "JOIN memory m ON m.number = t.memory WHERE v.number = ?",
    "skill": "SELECT id FROM skill WHERE number = ?",
    "skill_vector": "SELECT id FROM skill WHERE number = ?",
}
_KEYS = {
    "link": "source || ' ' || target",
    "skill_vector": "skill",
    "predicate": "name",
    "tombstone": "digest",
}  # of tables whose rows have no number
Check = Callable[[Any, Counter[str]], Iterable[Finding]]

# Each statement returns what breaks the promise in its name.
_INVARIANTS = {
    "a memory has exactly one open version": """
        SELECT m.id FROM memory m WHERE 1 <> (SELECT count(*) FROM version v
        WHERE v.memory = m.number AND v.recorded_until IS NULL)""",
    "versions of a memory follow each other without gap or overlap": """
        SELECT m.id FROM (SELECT memory, recorded_until AS ended,
            lead(recorded_from) OVER (PARTITION BY memory ORDER BY recorded_from, number) AS begun
            FROM version) JOIN memory m ON m.number = memory WHERE ended IS NOT begun""",
    "today's status is that of the open version": """
        SELECT m.id FROM memory m JOIN version v ON v.memory = m.number
        WHERE v.recorded_until IS NULL AND v.status <> m.status""",
    "a version's text belongs to its memory": """
        SELECT m.id FROM version v JOIN memory m ON m.number = v.memory
        LEFT JOIN text t ON t.number = v.text WHERE t.memory IS NOT v.memory""",
    "every memory was observed": """
        SELECT m.id FROM memory m WHERE NOT EXISTS
        (SELECT 1 FROM observation o WHERE o.memory = m.number)""",
    "every write left a block": """
        SELECT m.id FROM version v JOIN memory m ON m.number = v.memory
        WHERE NOT EXISTS (SELECT 1 FROM block b WHERE b.seq = v.seq)""",
    "nothing is ahead of the counter": """
        SELECT 'seq ' || max(seq) FROM (SELECT seq FROM version UNION ALL SELECT seq FROM block
            UNION ALL SELECT seq FROM vector UNION ALL SELECT seq FROM link)
        HAVING max(seq) > (SELECT seq FROM store)""",
    "a successor exists": """
        SELECT m.id FROM version v JOIN memory m ON m.number = v.memory
        WHERE v.successor IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM memory s WHERE s.id = v.successor)""",
    "every skill left a block": """
        SELECT k.id FROM skill k WHERE NOT EXISTS (SELECT 1 FROM block b WHERE b.seq = k.seq)""",
    "a lesson is found by its pattern, and ranked as it says": """
        SELECT m.id FROM version v JOIN memory m ON m.number = v.memory
        WHERE v.pattern IS NOT json_extract(v.lesson, '$.lesson_pattern_id')
        OR v.rule_confidence IS NOT CAST(
            json_extract(v.lesson, '$.rule_confidence') AS DOUBLE PRECISION)
        OR v.severity IS NOT CASE json_extract(v.lesson, '$.severity') WHEN 'critical' THEN 3
            WHEN 'high' THEN 2 WHEN 'medium' THEN 1 WHEN 'low' THEN 0 END""",
    "a later version of a lesson teaches the same": """
        SELECT m.id FROM version v JOIN memory m ON m.number = v.memory
        WHERE v.lesson IS NOT (SELECT f.lesson FROM version f WHERE f.memory = v.memory
            ORDER BY f.number LIMIT 1)""",
    "a write to a session is on record": """
        SELECT m.id FROM version v JOIN memory m ON m.number = v.memory
        WHERE v.session IS NOT NULL AND NOT EXISTS (SELECT 1 FROM session_write w
            WHERE w.session = v.session AND w.project IS v.project AND w.agent IS v.agent
            AND w.at = v.recorded_from)""",
    "a version has the number of its audience": """
        SELECT m.id FROM version v JOIN memory m ON m.number = v.memory LEFT JOIN audience a
        ON a.number = v.audience WHERE a.number IS NULL OR a.project IS NOT v.project
        OR a.agent IS NOT v.agent OR a.session IS NOT v.session""",
    "an audience has one number, and the count of what a default read could return to it": """
        SELECT 'audience ' || a.number FROM audience a LEFT JOIN (SELECT audience, count(*) AS held
            FROM version WHERE recorded_until IS NULL AND status = 'active' GROUP BY audience) h
            ON h.audience = a.number WHERE a.memories IS NOT coalesce(h.held, 0)
        UNION ALL SELECT 'audience ' || max(number) FROM audience
            GROUP BY project, agent, session HAVING count(*) > 1""",
    "a link joins two memories, and says how similar they are only where it was found so": """
        SELECT a.id || ' ' || l.type || ' ' || b.id FROM link l
        JOIN memory a ON a.number = l.source JOIN memory b ON b.number = l.target
        WHERE l.source = l.target OR (l.type = 'similar') <> (l.similarity IS NOT NULL)
        OR abs(l.similarity) > 1.001""",
    "a memory is linked to at most five similar ones": """
        SELECT m.id FROM (SELECT source FROM link WHERE type = 'similar'
            GROUP BY source HAVING count(*) > 5) JOIN memory m ON m.number = source""",
    "the memories of an injection fit into its tokens, and those into its budget": """
        SELECT i.id FROM injection i WHERE i.tokens > i.max_tokens OR i.tokens <
            (SELECT sum(d.tokens) FROM injected d WHERE d.injection = i.number)""",
}
_COUNTED = (
    "memory",
    "version",
    "text",
    "observation",
    "link",
    "vector",
    "block",
    "recall",
    "injection",
    "skill",
)


def verify(
    db: Database,
    checks: Mapping[str, Check],
    invariants: Mapping[str, str],
    against: Checkpoint | None = None,
    namespace: str = "",
) -> Verification:
    """Everything that can be checked without changing anything, with what was looked at.

    It never stops at damage: a check that cannot go on says so, and the next one begins. What the
    database has of its own, its engine hands in: checks, and statements that find what breaks a
    promise.
    """
    checked: Counter[str] = Counter()
    told: set[int] = set()
    findings: list[Finding] = []
    with engine_of(db).lenient(db):
        for name, check in {**checks, **row_checks()}.items():
            findings += guarded(name, partial(check, db, checked))
        findings += guarded("chain", lambda: _chain(db, checked, told))
        findings += guarded("text hashes", lambda: _texts(db, checked, told))
        for name, statement in {**_INVARIANTS, **invariants}.items():
            findings += guarded(name, partial(_broken, db, name, statement, checked))
        for table in _COUNTED:
            findings += guarded(f"{table} rows", partial(_count, db, table, checked))
        head: Head | None = None
        with suppress(*UNREADABLE):  # that of the chain is a finding
            head = rows.head(db)
        if head is not None:
            findings += guarded(
                "analyzer of the keyword terms", partial(_analyzed, db, head, checked)
            )
            if against is not None:
                name = head.namespace
                findings += guarded("checkpoint", lambda: _held(db, name, against, checked))
    named = namespace if head is None else head.namespace
    return Verification(named, dict(checked), tuple(_legible(findings)), head)


def _legible(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Findings that can be printed: a damaged name may hold anything."""
    for found in findings:
        detail = found.detail.encode("utf-8", "backslashreplace").decode()
        yield Finding(found.check, detail.replace("\x00", "\\x00"))


def _broken(db: Database, name: str, statement: str, checked: Counter[str]) -> Iterator[Finding]:
    checked[name] += 1
    yield from (Finding(name, str(row[0])) for row in db.execute(statement))


def _count(db: Database, table: str, checked: Counter[str]) -> Iterator[Finding]:
    """Counts the rows of a table; by its own pages, not by those of an index."""
    unindexed = engine_of(db).unindexed
    (count,) = db.execute(f"SELECT count(*) FROM {table}{unindexed}").fetchone()  # noqa: S608
    checked[f"{table} rows"] = count
    return iter(())


def _chain(db: Database, checked: Counter[str], told: set[int]) -> Iterator[Finding]:
    """Every block at its place, unchanged, following the one before, up to the recorded head."""
    head = rows.head(db)
    position, before = 0, audit.genesis(named_values.chain_name(db, head.namespace))
    erased: dict[str, tuple[str, ...]] = {}
    erasures: set[str] = set()
    for row in db.execute(f"SELECT {rows.BLOCK} FROM block ORDER BY position"):  # noqa: S608
        position += 1
        checked["chained blocks"] += 1
        block, wrong = _read(row, position, before)
        before = row[-1]
        if block is None:
            yield Finding("chain", f"block {row[1]} at {row[0]}: {wrong}")
            position = row[0]
            continue
        if (hashed := block.entry.metadata.get("content_sha256")) is not None:
            told.add(_said(block.entry.memories[:1], hashed))
        for memory, lost in audit.lost_texts(block.entry):
            told.discard(_said((memory,), lost))
        if block.erased:
            erased[block.entry.id] = block.entry.memories
        if block.entry.operation is BlockOperation.ERASE:
            erasures.update(block.entry.memories)
            others = block.entry.metadata.get("blocks")
            erasures.update(map(str, others) if isinstance(others, list) else ())
    if (position, before) != (head.position, head.hash):
        yield Finding("chain", f"ends at {position}, but the store says {head.position}")
    for id_, memories in erased.items():
        if not erasures.intersection((*memories, id_)):
            yield Finding("chain", f"block {id_} is marked erased, and no erase block says so")


def _read(row: rows.Row, position: int, before: bytes) -> tuple[Block | None, str]:
    """The block that stands at its place unchanged, or what is wrong with it."""
    memories, wire, metadata = row[6], row[7], row[10]
    try:
        stored = rows.unpacked(metadata, memories, row[5])
        block = rows.block((*row[:10], stored, *row[11:]))  # which is then not unpacked again
        wrong = audit.flaw(block, position, before, stored=stored)
    except UNREADABLE:  # not a value that we write
        return None, "cannot be read"
    if memories != rows.dumped(block.entry.memories) or wire == "" or metadata == "":
        wrong = wrong or "is not in the form it was written in"
    return (block, "") if wrong is None else (None, wrong)


def _texts(db: Database, checked: Counter[str], told: set[int]) -> Iterator[Finding]:
    """Checks each text's hash, and that blocks and texts match one to one."""
    there: set[int] = set()
    for number, content, stored, memory in db.execute(
        "SELECT CAST(t.number AS TEXT), t.content, t.hash, m.id "
        "FROM text t JOIN memory m ON m.number = t.memory "
        "UNION ALL SELECT id, content, hash, id FROM skill"
    ):
        checked["text hashes"] += 1
        if hashlib.sha256(str(content).encode("utf-8", "surrogateescape")).digest() != stored:
            yield Finding(
                "text hashes", f"text {number}{_of(number, memory)} is not what was stored"
            )
        elif (said := _said((memory,), stored.hex())) not in told:
            yield Finding("text hashes", f"no block tells of text {number}{_of(number, memory)}")
        else:
            there.add(said)
    if told - there:
        gone = len(told - there)
        what = "1 text that a block tells of is" if gone == 1 else f"{gone} texts of blocks are"
        yield Finding("text hashes", f"{what} gone")


def _of(number: object, memory: str) -> str:
    return "" if number == memory else f" of {memory}"  # a skill's text is named by its id


def _said(memories: tuple[str, ...], content_sha256: Json) -> int:
    """That a block told of a text, in eight bytes: a namespace may have a million."""
    return hash((memories, str(content_sha256)))


def _analyzed(db: Database, head: Head, checked: Counter[str]) -> Iterator[Finding]:
    """Terms are those of today's analyzer."""
    known = head.analyzer == ANALYZER
    for what, mark in (("text", head.old_texts), ("skill", head.old_skills)):
        (old,) = db.execute(
            f"SELECT count(*) FROM {what} WHERE ? = 1 OR number <= ?",  # noqa: S608  # two names
            (int(not known), mark),
        ).fetchone()
        checked["analyzer of the keyword terms"] += 1
        if old:
            have = f"{what} has" if old == 1 else f"{what}s have"
            detail = f"{old} {have} terms of an earlier version; run `memory-mesh upkeep`"
            yield Finding("analyzer of the keyword terms", detail)


def _held(
    db: Database, namespace: str, mark: Checkpoint, checked: Counter[str]
) -> Iterator[Finding]:
    """The chain still holds the block that was checkpointed, where it was."""
    checked["checkpoint position"] = mark.position
    row = db.execute("SELECT hash FROM block WHERE position = ?", (mark.position,)).fetchone()
    there = row[0] if row is not None else None
    if not mark.position:
        there = audit.genesis(named_values.chain_name(db, namespace))
    if there is None:
        yield Finding("checkpoint", f"the chain is shorter than the checkpoint at {mark.position}")
    elif there != mark.hash:
        detail = f"the block at {mark.position} is not the one that was checkpointed"
        yield Finding("checkpoint", detail)


# What `verify` reads of every row: checksums, counters, what reads make of it, marks.
#
# Each check yields what it finds. A row that cannot be read at one place does not stop the others:
# `guarded` reports the error, and that of a value which no read understands, as a finding.


def row_checks() -> dict[str, Check]:
    """The checks of this module by what they look at."""
    return {
        "checksums": _sums,
        "counters": _counters,
        "rows as reads return them": _reads,
        "marks of metadata": _marks,
    }


def guarded(name: str, check: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """What the check finds; where it cannot go on, that is a finding too."""
    found: list[Finding] = []
    try:
        found += limited(name, check())
    except UNREADABLE as error:
        found.append(Finding(name, f"cannot be read: {error!s}"))
    return found


def limited(name: str, found: Iterable[Finding]) -> Iterator[Finding]:
    """The first findings of a check, and how many more there are."""
    more = 0
    for number, finding in enumerate(found):
        if number < SHOWN:
            yield finding
        else:
            more += 1
    if more:
        yield Finding(name, f"and {more} more")


def _sums(db: Database, checked: Counter[str]) -> Iterator[Finding]:
    """Every row still has the values that its checksum was made of."""
    for table, values in sums.CHECKED.items():
        yield from guarded("checksums", partial(_of_table, db, table, values, checked))


def _of_table(db: Database, table: str, values: str, checked: Counter[str]) -> Iterator[Finding]:
    key = _KEYS.get(table, "number")
    for number, crc, *row in db.execute(f"SELECT {key}, crc, {values} FROM {table}"):  # noqa: S608
        checked["checksums"] += 1
        if sums.of(*row) != crc:
            of = _owner(db, table, number, row)
            yield Finding("checksums", f"{table} {number}{of} is not what was stored")


def _owner(db: Database, table: str, number: object, row: list[object]) -> str:
    """Says which memory or skill a row is of, as far as that can be read."""
    if table == "link":
        return f", from {row[0]} to {row[1]},"
    with suppress(*UNREADABLE):
        for (id_,) in db.execute(_OWNERS[table], (number,)) if table in _OWNERS else ():
            return f" of {id_}"
    return ""


def _counters(db: Database, checked: Counter[str]) -> Iterator[Finding]:
    """Every memory still has the counters that its tally was made of."""
    for id_, tally, *row in db.execute(f"SELECT id, tally, {sums.TALLIED} FROM memory"):  # noqa: S608
        checked["checksums of counters"] += 1
        if sums.of(*row) != tally:
            detail = f"those of {id_} are not what was counted; run `memory-mesh repair`"
            yield Finding("counters", detail)


def _reads(db: Database, checked: Counter[str]) -> Iterator[Finding]:
    """Every version, skill, conflict, proposal and recall is one that a read understands."""
    statement = f"SELECT v.number, {rows.MEMORY} FROM {rows.JOINED}"  # noqa: S608  # own names
    for number, *row in db.execute(statement):
        checked["rows as reads return them"] += 1
        try:
            rows.memory(tuple(row)).text.encode()
        except UNREADABLE as error:
            of = _owner(db, "version", number, [])
            yield Finding("rows as reads return them", f"version {number}{of}: {error}")
    for what, reader in _READERS.items():
        yield from guarded("rows as reads return them", partial(_as_read, db, reader, what))


def _as_read(db: Database, reader: Callable[[Database], object], what: str) -> Iterator[Finding]:
    """A listing of all that there is of a kind; bytes that are no text stop it, as any read."""
    try:
        with engine_of(db).strict(db):
            reader(db)
    except UNREADABLE as error:
        yield Finding("rows as reads return them", f"{what}: {error}")


def _recalls(db: Database) -> object:
    found = db.execute("SELECT id, 'recall', agent, at, memories, wire, metadata FROM recall")
    return [rows.entry(row) for row in found]


_READERS = {
    "conflicts": lambda db: conflicts.conflicts(db, _ALL, pending=False),
    "proposals": lambda db: conflicts.listed(db, _ALL, pending=False, memory=None),
    "skills": skills.every,
    "recalls": _recalls,
}


def _marks(db: Database, checked: Counter[str]) -> Iterator[Finding]:
    """Filters find memories by the marks of their metadata, each of them and no other."""
    (checked["marks of metadata"],) = db.execute("SELECT count(*) FROM metadata_mark").fetchone()
    for number in metadata_marks.flaws(db):
        of = _owner(db, "memory", number, [])
        detail = f"memory {number}{of} lacks one, or has one too many; run `memory-mesh repair`"
        yield Finding("marks of metadata", detail)
