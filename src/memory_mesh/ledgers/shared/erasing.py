"""Erasing: what goes together, what must leave no byte, and taking its rows away.

::

    asked ──▶ same words, whoever sees them ──▶ what was made of them, memories and skills
        ──▶ rows, terms, vectors, links, conflicts, proposals, records of reads: deleted
        ──▶ blocks that name them: emptied; hash and place stay, so the chain verifies
        ──▶ what quotes them elsewhere (reasons, small values, other blocks): emptied or deleted

A piece of text that a memory which stays says too is that memory's own, and stays.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from memory_mesh.formats import yamo
from memory_mesh.ledgers.shared import rows, sums
from memory_mesh.ledgers.shared.engine import LIVE, REST, SKILLS, Database, engine_of
from memory_mesh.ledgers.shared.rows import unpacked
from memory_mesh.model.commit import Erasing, Sought
from memory_mesh.rules.byte_pieces import BytePieces, words_of

_LISTED = "(SELECT value FROM json_each(?1))"
_MADE_OF = (
    "SELECT DISTINCT m.id FROM link l JOIN memory m ON m.number = l.source "  # noqa: S608  # own names
    "JOIN memory o ON o.number = l.target WHERE l.type = 'derived_from' "
    f"AND o.id IN {_LISTED}"
)
_SAME = " UNION ".join(
    "SELECT m.id FROM text t JOIN memory n ON n.number = t.memory "  # noqa: S608  # own names
    f"JOIN text o ON substr(o.{known}, 1, 3) = substr(t.{known}, 1, 3) AND o.{known} = t.{known} "
    f"JOIN memory m ON m.number = o.memory WHERE n.id IN {_LISTED} "
    f"AND t.{known} IS NOT NULL AND o.{known} IS NOT NULL"
    for known in ("hash", "echo")
)
_SOUGHT = {
    "ids": f"SELECT id FROM memory WHERE id IN {_LISTED}",  # noqa: S608  # own names
    "source": "SELECT m.id FROM version v JOIN memory m ON m.number = v.memory "
    "WHERE v.recorded_until IS NULL AND (v.source_ref = ?1 OR v.source_agent = ?1)",
    "subject": "SELECT DISTINCT m.id FROM version v JOIN memory m ON m.number = v.memory "
    "WHERE v.subject = ?1 OR lower(v.speaker) = ?1",
}
_OF_MEMORIES = (
    ("metadata_mark", "memory"),
    ("link", "source"),
    ("link", "target"),
    ("injected", "memory"),
    ("conflict", "new"),
    ("conflict", "existing"),
    ("proposal", "memory"),
    ("observation", "memory"),
    ("version", "memory"),
    ("text", "memory"),
    ("memory", "number"),
)  # tables, and by which column a row is of a memory, in the order in which they may go
_OF_TEXTS = ("vector", "wordless")
_THEIR_TEXTS = f"text IN (SELECT number FROM text WHERE memory IN {_LISTED})"  # noqa: S608
_SAID = "content, terms", "extra, tags, claim, lesson, heritage, triggers, reasons, speaker"
_QUOTING: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("version", ("reasons",), "[]"),
    ("observation", ("reasons",), "[]"),
    ("conflict", ("reason", "why"), ""),
    ("proposal", ("change", "reason", "why"), ""),
)  # columns of rows of other memories that may quote one, and what an emptied one says
_LEAST_LETTERS = 4  # of a word by which a record of a question is known


def found(db: Database, sought: Sought) -> Erasing:
    """What an erasure takes with it, and how many rows that is."""
    asked: list[str] = []
    if sought.ids:
        asked = _ids(db, _SOUGHT["ids"], rows.dumped(sought.ids))
    for name in ("source", "subject"):
        if (value := getattr(sought, name)) is not None:
            asked += _ids(db, _SOUGHT[name], value)
    asked = list(dict.fromkeys(asked))
    same = _others(db, _SAME, asked, asked)
    derived: list[str] = []
    skills: list[str] = []
    new = [*asked, *same]
    while new:  # what was made of them, what says the same as that, and what was made of that
        made, drawn = _made_of_skills(db, new, skills)
        skills += made
        known = [*asked, *same, *derived]
        new = _others(db, _MADE_OF, new, known)
        new += [id_ for id_ in drawn if id_ not in {*known, *new}]
        new += _others(db, _SAME, new, [*known, *new])
        derived += new
    gone = Erasing(tuple(asked), tuple(same), tuple(derived), tuple(skills))
    return Erasing(gone.asked, gone.same, gone.derived, gone.skills, _counts(db, gone))


def _ids(db: Database, statement: str, value: str) -> list[str]:
    return [id_ for (id_,) in db.execute(f"{statement} ORDER BY 1", (value,))]


def _others(db: Database, statement: str, of: Sequence[str], known: Collection[str]) -> list[str]:
    there = frozenset(known)
    return [id_ for id_ in _ids(db, statement, rows.dumped(of)) if id_ not in there] if of else []


def _made_of_skills(
    db: Database, ids: Sequence[str], known: Collection[str]
) -> tuple[list[str], list[str]]:
    """Skills that were synthesized from memories, and the memories that came with those skills."""
    sources, made = frozenset(ids), list[str]()
    for memories, metadata, at in db.execute(
        "SELECT memories, metadata, at FROM block WHERE operation = 'synthesize' AND erased = 0"
    ):
        (skill, *_) = json.loads(memories)
        said = json.loads(unpacked(metadata, memories, at) or "{}")
        if skill not in known and not sources.isdisjoint(said.get("sources", ())):
            made.append(skill)
    drawn = (
        "SELECT DISTINCT m.id FROM version v JOIN memory m ON m.number = v.memory "  # noqa: S608
        f"WHERE v.skill IN {_LISTED}"
    )
    return made, _ids(db, drawn, rows.dumped(made)) if made else []


def _counts(db: Database, gone: Erasing) -> dict[str, int]:
    """How many rows of each kind an erasure takes."""
    numbers = rows.dumped(_numbers(db, gone.ids))
    counts = {
        table: db.execute(
            f"SELECT count(*) FROM {table} WHERE memory IN {_LISTED}",  # noqa: S608
            (numbers,),
        ).fetchone()[0]
        for table in ("version", "observation", "proposal", "injected")
    }
    for table, where in (
        ("vector", _THEIR_TEXTS),
        ("link", f"source IN {_LISTED} OR target IN {_LISTED}"),
    ):
        (counts[table],) = db.execute(
            f"SELECT count(*) FROM {table} WHERE {where}",  # noqa: S608  # own names
            (numbers,),
        ).fetchone()
    counts["block"] = sum(1 for _ in _blocks_naming(db, gone))
    counts["recall"] = len(_recalls_naming(db, gone))
    return counts


def _numbers(db: Database, ids: Sequence[str]) -> list[int]:
    statement = f"SELECT number FROM memory WHERE id IN {_LISTED} ORDER BY number"  # noqa: S608
    return [number for (number,) in db.execute(statement, (rows.dumped(ids),))]


def _blocks_naming(db: Database, gone: Erasing) -> Iterator[int]:
    names = frozenset((*gone.ids, *gone.skills))
    listed = db.execute("SELECT position, memories FROM block WHERE erased = 0")
    return (at for at, about in listed if not names.isdisjoint(json.loads(about)))


def _recalls_naming(db: Database, gone: Erasing) -> list[int]:
    names = frozenset((*gone.ids, *gone.skills))
    listed = db.execute("SELECT number, memories FROM recall").fetchall()
    return [number for number, about in listed if not names.isdisjoint(json.loads(about))]


def texts_of(db: Database, ids: Sequence[str], skills: Sequence[str] = ()) -> list[str]:
    """Every wording that memories and skills have or had."""
    own = (
        f"SELECT t.content FROM text t JOIN memory m ON m.number = t.memory WHERE m.id IN {_LISTED}"  # noqa: S608
    )
    listed = db.execute(own, (rows.dumped(ids),)).fetchall()
    listed += db.execute(
        f"SELECT content FROM skill WHERE id IN {_LISTED}",  # noqa: S608
        (rows.dumped(skills),),
    ).fetchall()
    return [text for (text,) in listed]


def remains(db: Database, gone: Erasing) -> list[bytes]:
    """What an erasure must leave no byte of: what rows say, packed blocks, vectors."""
    numbers = rows.dumped(_numbers(db, gone.ids))
    found: list[object] = []
    for table, columns in zip(("text", "version"), _SAID, strict=True):
        for row in db.execute(
            f"SELECT {columns} FROM {table} WHERE memory IN {_LISTED}",  # noqa: S608  # own names
            (numbers,),
        ):
            found += row
    for columns, statement in (
        ("data", f"vector WHERE {_THEIR_TEXTS}"),
        ("change", f"proposal WHERE memory IN {_LISTED}"),
    ):
        found += (
            value
            for (value,) in db.execute(f"SELECT {columns} FROM {statement}", (numbers,))  # noqa: S608
        )
    for row in db.execute(
        f"SELECT name, intent, description, content FROM skill WHERE id IN {_LISTED}",  # noqa: S608
        (rows.dumped(gone.skills),),
    ):
        found += row
    for position in list(_blocks_naming(db, gone)):
        found += db.execute(
            "SELECT wire, metadata FROM block WHERE position = ?", (position,)
        ).fetchone()
    return [
        value.encode("utf-8", "surrogatepass") if isinstance(value, str) else bytes(value)
        for value in found
        if isinstance(value, str | bytes) and value
    ]


def remove(db: Database, gone: Erasing) -> tuple[str, ...]:
    """Takes every row of memories and skills away and empties blocks; returns the texts."""
    texts = texts_of(db, gone.ids, gone.skills)
    with engine_of(db).wiping(db):
        _unshelve(db, gone)
        numbers = rows.dumped(_numbers(db, gone.ids))
        for number in _numbers_of_versions(db, gone.ids):
            with sums.renewed(db, "version", number):
                db.execute("UPDATE version SET successor = NULL WHERE number = ?", (number,))
        db.execute(
            "UPDATE audience SET memories = memories - (SELECT count(*) FROM version v "  # noqa: S608
            "WHERE v.audience = audience.number AND v.recorded_until IS NULL "
            f"AND v.status = 'active' AND v.memory IN {_LISTED})",
            (numbers,),
        )
        for number in _recalls_naming(db, gone):
            db.execute("DELETE FROM recall WHERE number = ?", (number,))
        db.execute(
            "UPDATE injection SET question = '' WHERE number IN "  # noqa: S608  # own names
            f"(SELECT injection FROM injected WHERE memory IN {_LISTED})",
            (numbers,),
        )
        for position in list(_blocks_naming(db, gone)):
            _empty_block(db, position)
        for (space,) in db.execute("SELECT DISTINCT space FROM vector").fetchall():
            engine_of(db).forget_scan(db, space)
        for table in _OF_TEXTS:
            db.execute(
                f"DELETE FROM {table} WHERE {_THEIR_TEXTS}",  # noqa: S608  # own names
                (numbers,),
            )
        for table, column in _OF_MEMORIES:
            db.execute(f"DELETE FROM {table} WHERE {column} IN {_LISTED}", (numbers,))  # noqa: S608
    return tuple(texts)


def _numbers_of_versions(db: Database, ids: Sequence[str]) -> list[int]:
    """The versions whose successor is one of these memories."""
    statement = f"SELECT number FROM version WHERE successor IN {_LISTED}"  # noqa: S608
    return [number for (number,) in db.execute(statement, (rows.dumped(ids),)).fetchall()]


def _unshelve(db: Database, gone: Erasing) -> None:
    """Takes terms off the shelves of words, and skills away."""
    engine = engine_of(db)
    for number, terms in db.execute(
        "SELECT t.number, t.terms FROM text t JOIN memory m ON m.number = t.memory "  # noqa: S608
        f"WHERE m.id IN {_LISTED}",
        (rows.dumped(gone.ids),),
    ).fetchall():
        engine.unshelve(db, LIVE if engine.is_shelved(db, LIVE, number) else REST, number, (terms,))
    for number, terms in db.execute(
        f"SELECT number, terms FROM skill WHERE id IN {_LISTED}",  # noqa: S608  # own names
        (rows.dumped(gone.skills),),
    ).fetchall():
        if engine.is_shelved(db, SKILLS, number):
            engine.unshelve(db, SKILLS, number, json.loads(terms))
        db.execute("DELETE FROM skill_vector WHERE skill = ?", (number,))
        db.execute("DELETE FROM skill WHERE number = ?", (number,))


def _empty_block(db: Database, position: int) -> None:
    db.execute(
        "UPDATE block SET wire = NULL, metadata = NULL, salt = NULL, erased = 1 WHERE position = ?",
        (position,),
    )


# What quotes an erased text elsewhere: questions that were asked, reasons, small values.


def sweep(db: Database, texts: Sequence[str]) -> list[str]:
    """Empties or deletes what quotes these texts; returns the ids of further emptied blocks."""
    pieces = BytePieces([text.encode("utf-8", "surrogatepass") for text in texts])
    words = {word for text in texts for word in words_of(text) if len(word) >= _LEAST_LETTERS}
    stays: list[str] = []
    for (content,) in db.execute("SELECT content FROM text UNION ALL SELECT content FROM skill"):
        words.difference_update(words_of(content))
        stays.append(content)
    others = "\0".join(stays).encode("utf-8", "surrogatepass")

    def quotes(*said: str | None) -> bool:
        whole = "\0".join(filter(None, said)).encode("utf-8", "surrogatepass")
        return any(piece not in others for piece in pieces.hits(whole))

    with engine_of(db).wiping(db):
        _sweep_questions(db, words)
        _sweep_rows(db, quotes)
        return _sweep_blocks(db, quotes)


def _sweep_questions(db: Database, words: Collection[str]) -> None:
    """Deletes records of questions that have one of these words."""
    for table, asked in (("recall", "wire"), ("injection", "question")):
        held = db.execute(f"SELECT number, {asked} FROM {table}").fetchall()  # noqa: S608
        for number, said in held:
            question = _question(said) if table == "recall" else said
            if not words_of(question or "").isdisjoint(words):
                change = (
                    "DELETE FROM recall"
                    if table == "recall"
                    else ("UPDATE injection SET question = ''")
                )
                db.execute(f"{change} WHERE number = ?", (number,))


def _question(wire: str | None) -> str:
    """The question in a record of a read; all of a record that cannot be read."""
    try:
        return dict(yamo.parse(wire or "").context).get("query", "")
    except yamo.BlockError:
        return wire or ""


def _sweep_rows(db: Database, quotes: Callable[..., bool]) -> None:
    for table, columns, empty in _QUOTING:
        listed = db.execute(f"SELECT number, {', '.join(columns)} FROM {table}").fetchall()  # noqa: S608
        for number, *said in listed:
            if not quotes(*said):
                continue
            if table == "proposal":
                db.execute("DELETE FROM proposal WHERE number = ?", (number,))
                continue
            sets = ", ".join(f"{name} = ?" for name in columns)
            with sums.renewed(db, table, number):
                db.execute(
                    f"UPDATE {table} SET {sets} WHERE number = ?",  # noqa: S608  # own names
                    (*[empty] * len(columns), number),
                )
    for digest, at, why in db.execute("SELECT digest, at, why FROM tombstone").fetchall():
        if quotes(why):
            db.execute(
                "UPDATE tombstone SET why = '', crc = ? WHERE digest = ?",
                (sums.of(digest, at, ""), digest),
            )
    for table, key, said in (("state", "name", "value"), ("dead_letter", "seq", "failure")):
        for name, value in db.execute(f"SELECT {key}, {said} FROM {table}").fetchall():  # noqa: S608
            if quotes(value):
                db.execute(f"DELETE FROM {table} WHERE {key} = ?", (name,))  # noqa: S608


def _sweep_blocks(db: Database, quotes: Callable[..., bool]) -> list[str]:
    emptied = list[str]()
    held: Iterable[tuple[int, str, str, int, bytes, bytes]] = db.execute(
        "SELECT position, id, memories, at, wire, metadata FROM block WHERE erased = 0"
    ).fetchall()
    for position, id_, memories, at, wire, metadata in held:
        if quotes(unpacked(wire, memories, at), unpacked(metadata, memories, at)):
            _empty_block(db, position)
            emptied.append(id_)
    return emptied
