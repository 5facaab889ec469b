"""Keyword terms of an earlier analyzer: which texts and skills have them, and writing them anew.

The store says which analyzer wrote its terms, and up to which number texts and skills still have
those of an earlier one. They are written anew from the newest down, slice by slice, and the mark
goes down in the same transaction: a kill loses one slice at most, and two processes at work on the
same slice write the same.
"""

import json
from collections.abc import Sequence

from memory_mesh.ledgers.shared import rows, sums
from memory_mesh.ledgers.shared.engine import LIVE, REST, SKILLS, Database, engine_of
from memory_mesh.model import Head, Indexed, StoreIsNewer, Terms

_HIGHEST = 2**62
_CHARACTERS = 1_000_000  # of one slice: no writer waits longer for few long texts than for many
_TEXTS = """
    SELECT number, terms, content, (SELECT tags FROM version WHERE text = text.number
        ORDER BY version.number DESC LIMIT 1)
    FROM text WHERE number <= ? ORDER BY number DESC LIMIT ?"""
_SKILLS = """
    SELECT number, terms, name, intent, tags, description
    FROM skill WHERE number <= ? ORDER BY number DESC LIMIT ?"""


def adopt(db: Database, head: Head) -> None:
    """From now on terms are those of today's analyzer; all that are there become old ones."""
    from memory_mesh.text.analyzer import ANALYZER  # reads of other things do without it

    if head.analyzer > ANALYZER:
        raise StoreIsNewer
    if head.analyzer < ANALYZER:
        db.execute(
            "UPDATE store SET analyzer = ?, "
            "old_texts = (SELECT coalesce(max(number), 0) FROM text), "
            "old_skills = (SELECT coalesce(max(number), 0) FROM skill)",
            (ANALYZER,),
        )


def indexed(db: Database, of: str, up_to: int | None, limit: int) -> list[Indexed]:
    """Texts or skills up to a number, newest first, `limit` at most; fewer where they are long."""
    read = _text if of == "text" else _skill
    found: list[Indexed] = []
    characters = 0
    for row in db.execute(
        _TEXTS if of == "text" else _SKILLS, (_HIGHEST if up_to is None else up_to, limit)
    ):
        found.append(read(row))
        characters += sum(map(len, found[-1].said))
        if characters >= _CHARACTERS:
            break
    return found


def rewrite(db: Database, new: Terms) -> None:
    """Put the terms in the place of those that are there; the mark goes down if it can."""
    replace = _replace_text if new.of == "text" else _replace_skill
    for number, terms in new.fields.items():
        replace(db, number, terms)
    mark = f"old_{new.of}s"
    db.execute(
        f"UPDATE store SET {mark} = min({mark}, ?) WHERE {mark} <= ?",  # noqa: S608  # two names
        (new.first - 1, new.last),
    )


@rows.of_rows
def _text(row: rows.Row) -> Indexed:
    number, terms, content, tags = row
    return Indexed(number, (content,), tuple(json.loads(tags or "[]")), (terms,))


@rows.of_rows
def _skill(row: rows.Row) -> Indexed:
    number, terms, name, intent, tags, description = row
    said = (name, intent, " ".join(json.loads(tags)), description)
    return Indexed(number, said, (), tuple(json.loads(terms)))


def _replace_text(db: Database, number: int, terms: Sequence[str]) -> None:
    row = db.execute("SELECT terms FROM text WHERE number = ?", (number,)).fetchone()
    if row is None or row[0] == terms[0]:
        return
    engine = engine_of(db)
    shelf = LIVE if engine.is_shelved(db, LIVE, number) else REST
    engine.unshelve(db, shelf, number, (row[0],))
    engine.shelve(db, shelf, [(number, terms)])
    with sums.renewed(db, "text", number):
        db.execute("UPDATE text SET terms = ? WHERE number = ?", (terms[0], number))


def _replace_skill(db: Database, number: int, terms: Sequence[str]) -> None:
    row = db.execute("SELECT terms FROM skill WHERE number = ?", (number,)).fetchone()
    old = None if row is None else json.loads(row[0])
    if old is None or old == list(terms):
        return
    engine = engine_of(db)
    if engine.is_shelved(db, SKILLS, number):
        engine.unshelve(db, SKILLS, number, old)
        engine.shelve(db, SKILLS, [(number, terms)])
    with sums.renewed(db, "skill", number):
        db.execute("UPDATE skill SET terms = ? WHERE number = ?", (rows.dumped(terms), number))
