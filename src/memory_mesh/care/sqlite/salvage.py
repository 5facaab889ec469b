"""Salvages one namespace: a new file of today's schema with all that can be read of a damaged one.

::

    damaged file, log ──▶ pages ──▶ rows ──▶ new file, as old as the damaged one ──▶ migrated
    ──▶ rows with a wrong checksum out ──▶ mended ──▶ chain sealed ──▶ keyword tables
    ──▶ what was erased from the store since out again ──▶ verified
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from memory_mesh.base.typed import dataclass
from memory_mesh.care.sqlite import copies, fill, mend, rebuild
from memory_mesh.care.sqlite.pages import Hole
from memory_mesh.ledgers.shared import rows, sums
from memory_mesh.ledgers.sqlite import (
    namespace_file,
    open_file,
    page_records,
    salvaged_chain,
    schema,
)
from memory_mesh.ledgers.sqlite.verify import verify
from memory_mesh.model import Indexed
from memory_mesh.model.care import SalvagedChain, SalvagedNamespace, Unread
from memory_mesh.text.analyzer import ANALYZER
from memory_mesh.text.recited import fingerprint

_NUMBERED = (  # with a checksum
    "memory", "text", "version", "observation", "vector", "skill", "conflict", "proposal",
)  # fmt: skip
_CUT = "it ends within a write, and no head file tells how many are lost"
_LOOKED_AHEAD = 10_000  # that a counter may be ahead of every row before it is not believed
_SIGNED = 11  # the first schema whose files say that they are ours, and whose rows have checksums
_MADE_ANEW = frozenset({"audience", "metadata_mark"})  # from versions
_SEQS = ("version", "block", "vector", "link", "skill", "conflict", "proposal")


@dataclass(frozen=True, slots=True)
class Means:
    """What a salvage needs from above: time, new ids, terms of a text, and what was erased."""

    now: datetime
    draw: Callable[[str], str]
    terms: Callable[[Indexed], tuple[str, ...]]
    erased: copies.Erased


def salvage(source: Path, target: Path, namespace: str, means: Means) -> SalvagedNamespace:
    """Takes over what can be read; the source is only read, and its lock is the caller's."""
    remains = _later_moment(source, namespace)
    losses = salvaged_chain.Losses(target.with_suffix(salvaged_chain.SUFFIX))
    open_file.create(target)
    db = open_file.connect(target)
    try:
        db.execute("PRAGMA foreign_keys = OFF")
        store = _take_over(db, target, namespace, remains, losses)
        if remains.pages.log_is_cut and namespace_file.read_head(source) is None:
            losses.others.append(Unread("log", None, None, _CUT))
        chain, named = _make_whole(db, source, store, losses, means)
        names = mend.names(db, losses)
        unread = losses.listed(names)
        lost = _lost(db, losses, names.get("memory", {}), named)
        leftovers = losses.close()
        erased = copies.replay(target, namespace, means.erased)
        there = {id_ for (id_,) in db.execute("SELECT id FROM memory")}
        held = [each for each in losses.held.values() if each.id in there]
        verification = verify(db)
        counts = {
            table.name: db.execute(f"SELECT count(*) FROM {table.name}").fetchone()[0]  # noqa: S608
            for table in page_records.tables(db)
        }
        namespace_file.write_head(target, namespace_file.stands(db))
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        db.close()
    return SalvagedNamespace(
        namespace,
        counts,
        counts["memory"] - len(held),
        tuple(held),
        lost,
        tuple(losses.rebuilt),
        tuple(unread),
        chain,
        verification,
        None if leftovers is None else Path(leftovers).name,
        erased,
    )


def _later_moment(source: Path, namespace: str) -> fill.Remains:
    """The file with its log, or alone if it is later.

    SQLite moves what the log holds to the file, and leaves the log as it is. Pages of a log that
    was cut before what was moved are older than the file's: together they were never true.
    """
    remains = fill.Remains(source)
    if remains.pages.log_counts:
        alone = fill.Remains(source, log=False)
        if 0 < _end(remains, namespace) < _end(alone, namespace):
            return alone
    return remains


def _end(remains: fill.Remains, namespace: str) -> int:
    """Where the chain ends by the row of `store`, if the block there says so, too; else nought."""
    store, blocks = salvaged_chain.Known(), dict[page_records.Value, page_records.Value]()
    for table in _tables(namespace, _schema_of(remains), remains):
        if table.name in {"store", "block"}:
            for row in remains.rows(table):
                known = {} if isinstance(row, Hole) else fill.named(table, row)
                store = known if table.name == "store" else store
                blocks[known.get("position")] = known.get("hash")
    end = store.get("position")
    return end if isinstance(end, int) and blocks.get(end) == store.get("head") else 0


def _lost(
    db: sqlite3.Connection,
    losses: salvaged_chain.Losses,
    known: Mapping[int, str],
    named: list[str],
) -> tuple[str, ...]:
    """The ids of memories that are not in the new file, also those that an index or block names."""
    there = {id_ for (id_,) in db.execute("SELECT id FROM memory UNION SELECT id FROM skill")}
    ids = dict.fromkeys([*losses.memories, *known.values(), *named])
    return tuple(id_ for id_ in ids if id_ not in there)


def _take_over(
    db: sqlite3.Connection,
    target: Path,
    namespace: str,
    remains: fill.Remains,
    losses: salvaged_chain.Losses,
) -> salvaged_chain.Known:
    """Fills a file of the old schema and brings it to today's; the old row of `store`."""
    number = _schema_of(remains)
    schema.make(db, namespace, number)
    tables = _tables(namespace, number, remains)
    db.execute("BEGIN IMMEDIATE")
    store = fill.fill(db, remains, tables, losses).get("store", {})
    fill.store_row(db, store)
    db.execute("COMMIT")
    summed = any(row[1] == "crc" for row in db.execute("PRAGMA table_info(text)"))
    schema.ensure(db, target, namespace)
    for copy in target.parent.glob(f"{target.stem}.before-*.bak"):
        copy.unlink()  # of a file that nobody has seen yet
    if summed:
        _drop_wrong(db, losses)
    return store


def _schema_of(remains: fill.Remains) -> int:
    """The schema that the header names, unless the rest of the header says that it cannot be."""
    told = remains.pages.schema_version()
    signed = remains.pages.application() == schema.APPLICATION
    if not 0 < told <= schema.NEWEST or (signed and told < _SIGNED):
        return schema.NEWEST
    return schema.NEWEST if remains.has_table("audience") else told  # came with the last schema


def _tables(namespace: str, number: int, remains: fill.Remains) -> list[page_records.StoredTable]:
    """The tables of a schema, with the indexes that the damaged file has."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        schema.make(db, namespace, number)
        for statement in remains.index_statements():
            try:
                db.execute(statement)
            except sqlite3.Error:  # it is there, or the statement was changed
                continue
        return [table for table in page_records.tables(db) if table.name not in _MADE_ANEW]
    finally:
        db.close()


def _drop_wrong(db: sqlite3.Connection, losses: salvaged_chain.Losses) -> None:
    """Takes out rows that are not what was written."""
    sums.define(db)
    for table in _NUMBERED:
        for (number,) in db.execute(
            f"SELECT number FROM {table} WHERE crc IS NOT row_crc({sums.CHECKED[table]})"  # noqa: S608
        ).fetchall():
            if table != "text" or not _content_is_right(db, number):
                fill.drop(db, table, number, "its checksum is wrong", losses)
            else:
                losses.reworded.append(number)
                losses.rebuilt.append(f"the keyword terms of text {number}, from its content")
    losses.rebuilt += rebuild.keep_counters(db)
    _drop_rules(db, losses)


def _drop_rules(db: sqlite3.Connection, losses: salvaged_chain.Losses) -> None:
    """Takes out rules of predicates that are not what was written; keeps all tombstones.

    A tombstone whose digest is wrong keeps nothing out, and one whose time is wrong still does.
    """
    wrong = f"WHERE crc IS NOT row_crc({sums.CHECKED['predicate']})"
    for (name,) in db.execute(f"SELECT name FROM predicate {wrong}").fetchall():  # noqa: S608
        why = f"the rule of {name}: its checksum is wrong; register it again"
        losses.others.append(Unread("predicate", None, None, why))
    db.execute(f"DELETE FROM predicate {wrong}")  # noqa: S608
    (count,) = db.execute(
        f"SELECT count(*) FROM tombstone WHERE crc IS NOT row_crc({sums.CHECKED['tombstone']})"  # noqa: S608
    ).fetchone()
    if count:
        why = f"{count} are not what was stored, and were kept: a rejected value may come back"
        losses.others.append(Unread("tombstone", None, None, why))


def _content_is_right(db: sqlite3.Connection, number: int) -> bool:
    """Whether a text with a wrong checksum still says what was stored."""
    content, hashed, crc, memory, terms, echo = db.execute(
        "SELECT content, hash, crc, memory, terms, echo FROM text WHERE number = ?", (number,)
    ).fetchone()
    true = hashlib.sha256(content.encode()).digest()
    if true != hashed and sums.of(memory, content, true, terms, echo) == crc:  # the hash is wrong
        db.execute("UPDATE text SET hash = ? WHERE number = ?", (true, number))
        return True
    return bool(true == hashed)


def _make_whole(
    db: sqlite3.Connection,
    source: Path,
    store: salvaged_chain.Known,
    losses: salvaged_chain.Losses,
    means: Means,
) -> tuple[SalvagedChain, list[str]]:
    """Mends, seals the chain and makes the keyword tables anew, in one transaction.

    Returns what became of the chain, and the ids of memories that its blocks name.
    """
    mark = namespace_file.read_head(source)
    db.execute("BEGIN IMMEDIATE")
    _count(db, store, mark)
    fill.drop_wrong_texts(db, losses)
    told = salvaged_chain.survey(db, rows.head(db).namespace, losses)
    told.foreign |= _is_foreign(store, rows.head(db).namespace, mark)
    mend.mend(db, losses, told, means.draw, rows.micros(means.now) or 0)
    _reword(db, losses, means)
    if (
        mark is not None
        and db.execute(
            "SELECT 1 FROM block WHERE position = ? AND hash = ?", (mark.position, mark.hash)
        ).fetchone()
    ):
        db.execute("UPDATE store SET identity = ?", (mark.identity,))
    chain = salvaged_chain.finish(
        db, told, losses, draw=means.draw, now=means.now, claimed=_claimed(store, mark)
    )
    rebuild.fill_keywords(db)
    rebuild.recount_rows(db)
    db.execute("UPDATE space SET body_version = NULL, body_highest = NULL, body_rows = NULL")
    sums.fill(db)
    schema.grow(db)
    db.execute("COMMIT")
    return chain, sorted({id_ for id_, _ in told.pairs if not id_.startswith("skill_")})


def _is_foreign(
    store: salvaged_chain.Known, namespace: str, mark: namespace_file.DatabaseHead | None
) -> bool:
    """Whether name and identity are those of another file; one alone may be a changed byte."""
    named, identity = store.get("namespace", namespace), store.get("identity")
    return named != namespace and mark is not None and identity not in (None, mark.identity)


def _reword(db: sqlite3.Connection, losses: salvaged_chain.Losses, means: Means) -> None:
    """Makes the terms and the echo of texts anew of which only the content is sure."""
    if not rows.head(db).analyzer:  # the row that says which terms these are is lost
        db.execute("UPDATE store SET analyzer = ?", (ANALYZER,))
        losses.reworded += [number for (number,) in db.execute("SELECT number FROM text")]
    for number in losses.reworded:
        row = db.execute(
            "SELECT content, (SELECT tags FROM version v WHERE v.text = text.number "
            "ORDER BY v.number DESC LIMIT 1) FROM text WHERE number = ?",
            (number,),
        ).fetchone()
        if row is not None:
            said = Indexed(number, (row[0],), tuple(json.loads(row[1] or "[]")), ("",))
            db.execute(
                "UPDATE text SET terms = ?, echo = ? WHERE number = ?",
                (means.terms(said)[0], fingerprint(row[0]) or None, number),
            )


def _count(
    db: sqlite3.Connection, store: salvaged_chain.Known, mark: namespace_file.DatabaseHead | None
) -> None:
    """Sets the counter to the highest number that a row or the head file has."""
    asked = " UNION ALL ".join(f"SELECT max(seq) FROM {table}" for table in _SEQS)  # noqa: S608
    highest = max([row[0] or 0 for row in db.execute(asked)] + [0 if mark is None else mark.seq])
    said = store.get("seq")
    if isinstance(said, int) and highest < said <= highest + _LOOKED_AHEAD:
        highest = said
    db.execute(
        "UPDATE store SET seq = ?, "
        "recorded = (SELECT coalesce(max(recorded_from), 0) FROM version)",
        (highest,),
    )


def _claimed(
    store: salvaged_chain.Known, mark: namespace_file.DatabaseHead | None
) -> tuple[int, bytes]:
    """The end of the chain that the old file, or its head file, speaks of."""
    position: page_records.Value = store.get("position")
    hashed: page_records.Value = store.get("head")
    if not isinstance(position, int) or not isinstance(hashed, bytes):
        return (0, b"") if mark is None else (mark.position, mark.hash)
    if mark is not None and mark.position > position:
        return mark.position, mark.hash
    return position, hashed
