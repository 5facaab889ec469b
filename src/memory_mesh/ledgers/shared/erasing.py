"""Erasing: what goes together, what must leave no byte, and taking its rows away.

::

    asked ──▶ same words, whoever sees them ──▶ what was made of them, memories and skills
        ──▶ rows, terms, vectors, links, conflicts, proposals, records of reads: deleted
        ──▶ blocks that name them: emptied; hash and place stay, so the chain verifies
        ──▶ what quotes them elsewhere (reasons, small values, other blocks): emptied or deleted

A piece of text that a memory which stays says too is that memory's own, and stays.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from memory_mesh.base.typed import replace
from memory_mesh.formats import yamo
from memory_mesh.ledgers.shared import rows, sums
from memory_mesh.ledgers.shared.engine import LIVE, REST, SKILLS, Database, engine_of
from memory_mesh.ledgers.shared.named_values import ERASING
from memory_mesh.model.commit import Erasing, Sought
from memory_mesh.model.errors import BlockError
from memory_mesh.text import claim_keys
from memory_mesh.text.recited import wording

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
    "WHERE v.recorded_until IS NULL AND (v.source_ref = ?1 OR v.source_agent = ?1 "
    "OR substr(v.source_ref, 1, length(?1 || '/')) = ?1 || '/')",  # a folder's files
    "subject": "SELECT DISTINCT m.id FROM version v JOIN memory m ON m.number = v.memory "
    "WHERE v.subject = ?1 OR lower(v.speaker) = ?1",
}
_THEIR_TEXTS = f"text IN (SELECT number FROM text WHERE memory IN {_LISTED})"  # noqa: S608
_COUNT_OFF = (
    "UPDATE audience SET memories = memories - (SELECT count(*) FROM version v "  # noqa: S608
    "WHERE v.audience = audience.number AND v.recorded_until IS NULL "
    f"AND v.status = 'active' AND v.memory IN {_LISTED})"
)
_INTO = f"SELECT injection FROM injected WHERE memory IN {_LISTED}"  # noqa: S608
_TAKEN_AWAY = (
    _COUNT_OFF,
    f"UPDATE injection SET question = '' WHERE number IN ({_INTO})",  # noqa: S608
    f"DELETE FROM vector WHERE {_THEIR_TEXTS}",  # noqa: S608
    f"DELETE FROM wordless WHERE {_THEIR_TEXTS}",  # noqa: S608
    f"DELETE FROM link WHERE source IN {_LISTED} OR target IN {_LISTED}",  # noqa: S608
    f"DELETE FROM conflict WHERE new IN {_LISTED} OR existing IN {_LISTED}",  # noqa: S608
    *(
        f"DELETE FROM {table} WHERE memory IN {_LISTED}"  # noqa: S608
        for table in ("metadata_mark", "injected", "proposal", "observation", "version", "text")
    ),
    f"DELETE FROM memory WHERE number IN {_LISTED}",  # noqa: S608
)  # in the order in which rows may go
_NEEDLES = {
    f"text WHERE memory IN {_LISTED}": "content, terms",
    f"version WHERE memory IN {_LISTED}": "extra, tags, claim, lesson, heritage, triggers, speaker",
    f"vector WHERE {_THEIR_TEXTS}": "data",
    f"proposal WHERE memory IN {_LISTED}": "change",
}  # what rows of memories say
_SKILL_NEEDLES = {f"skill WHERE id IN {_LISTED}": "name, intent, description, content"}
_TEXTS = (
    f"SELECT content FROM text WHERE memory IN {_LISTED} UNION ALL "  # noqa: S608
    "SELECT content FROM skill WHERE id IN (SELECT value FROM json_each(?2))"
)
_COUNTED = {
    **dict.fromkeys(("version", "observation", "proposal", "injected"), f"memory IN {_LISTED}"),
    "vector": _THEIR_TEXTS,
    "link": f"source IN {_LISTED} OR target IN {_LISTED}",
}
_QUOTING: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("version", ("reasons",), "[]"),
    ("observation", ("reasons",), "[]"),
    ("conflict", ("reason",), ""),
    ("proposal", ("change",), "{}"),
    ("proposal", ("reason",), ""),
)  # columns of rows of other memories that may quote one, and what an emptied one says
_SMALL = (("state", "name", "value"), ("dead_letter", "seq", "failure"))  # what may be deleted
_LEAST_LETTERS = 4  # of a word by which a record of a question is known


def found(db: Database, sought: Sought) -> Erasing:
    """What an erasure takes with it, and how many rows that is."""
    values = {"ids": rows.dumped(sought.ids), "source": sought.source, "subject": sought.subject}
    stated = {_SOUGHT[name]: value for name, value in values.items() if value is not None}
    asked = sorted({id_ for of, value in stated.items() for id_ in _ids(db, of, value)})
    if sought.subject is not None:
        asked = sorted({*asked, *_about(db, sought.subject)})
    same = [] if sought.ended is not None else _same(db, asked, asked)
    derived: list[str] = []
    skills: list[str] = []
    new = [] if sought.ended is not None else [*asked, *same]
    while new:  # what was made of them, what says the same as that, and what was made of that
        made, drawn = _made_of_skills(db, new, skills)
        skills += made
        known = [*asked, *same, *derived]
        new = _others(db, _MADE_OF, new, known)
        new += [id_ for id_ in drawn if id_ not in {*known, *new}]
        new += _same(db, new, [*known, *new])
        derived += new
    gone = Erasing(tuple(asked), tuple(same), tuple(derived), tuple(skills))
    return replace(gone, counts=_counts(db, gone))


def _ids(db: Database, statement: str, value: str) -> list[str]:
    return [id_ for (id_,) in db.execute(f"{statement} ORDER BY 1", (value,))]


def _others(db: Database, statement: str, of: Sequence[str], known: Collection[str]) -> list[str]:
    there = frozenset(known)
    return [id_ for id_ in _ids(db, statement, rows.dumped(of)) if id_ not in there] if of else []


def _same(db: Database, of: Sequence[str], known: Collection[str]) -> list[str]:
    """Memories with the same words, as those are kept out; each of them may have several texts."""
    told, near = (
        [
            (id_, wording(text))
            for id_, text in db.execute(
                "SELECT m.id, t.content FROM text t JOIN memory m ON m.number = t.memory "  # noqa: S608
                f"WHERE m.id IN {_LISTED}",
                (rows.dumped(ids),),
            )
        ]
        for ids in (of, _others(db, _SAME, of, known))
    )
    return sorted({id_ for id_, said in near if said in {words for _, words in told if words}})


def _about(db: Database, name: str) -> Iterator[str]:
    """Memories whose claim is about a longer name of the same, or has it as its value."""
    for id_, subject, claim, text in db.execute(
        "SELECT DISTINCT m.id, v.subject, v.claim, t.content FROM version v JOIN memory m "
        "ON m.number = v.memory JOIN text t ON t.number = v.text WHERE v.claim IS NOT NULL"
    ):
        at = text.casefold().find(subject)
        said = text[at : at + len(subject)] if at >= 0 else "", json.loads(claim)["value"]
        names = (each for each in said if not any(word[:1].islower() for word in each.split()))
        if any(f"{claim_keys.key(each)} ".startswith(f"{name} ") for each in names):
            yield id_


def _made_of_skills(
    db: Database, ids: Sequence[str], known: Collection[str]
) -> tuple[list[str], list[str]]:
    """Skills that were synthesized from memories, and the memories that came with those skills."""
    sources, made = frozenset(ids), list[str]()
    for memories, metadata, at in db.execute(
        "SELECT memories, metadata, at FROM block WHERE operation = 'synthesize' AND erased = 0"
    ):
        (skill, *_) = json.loads(memories)
        said = json.loads(rows.unpacked(metadata, memories, at) or "{}")
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
            f"SELECT count(*) FROM {table} WHERE {where}",  # noqa: S608  # own names
            (numbers,),
        ).fetchone()[0]
        for table, where in _COUNTED.items()
    }
    naming = {table: len(_naming(db, gone, table)) for table in ("block", "recall")}
    return counts | naming


def _numbers(db: Database, ids: Sequence[str]) -> list[int]:
    statement = f"SELECT number FROM memory WHERE id IN {_LISTED} ORDER BY number"  # noqa: S608
    return [number for (number,) in db.execute(statement, (rows.dumped(ids),))]


def _naming(db: Database, gone: Erasing, table: str) -> list[int]:
    """The blocks, by position, or records of reads, by number, that name any of it."""
    names = frozenset((*gone.ids, *gone.skills))
    asked = "SELECT position, memories FROM block WHERE erased = 0"
    if table == "recall":
        asked = "SELECT number, memories FROM recall"
    return [at for at, about in db.execute(asked) if not names.isdisjoint(json.loads(about))]


def remains(db: Database, gone: Erasing) -> list[bytes]:
    """What an erasure must leave no byte of: what rows say, packed blocks, vectors."""
    found: list[object] = []
    for needles, of in ((_NEEDLES, _numbers(db, gone.ids)), (_SKILL_NEEDLES, gone.skills)):
        for source, columns in needles.items():
            for row in db.execute(f"SELECT {columns} FROM {source}", (rows.dumped(of),)):  # noqa: S608
                found += row
    for position in _naming(db, gone, "block"):
        packed = db.execute("SELECT wire, metadata FROM block WHERE position = ?", (position,))
        found += packed.fetchone()
    return [
        value.encode("utf-8", "surrogatepass") if isinstance(value, str) else bytes(value)
        for value in found
        if isinstance(value, str | bytes) and value
    ]


def remove(db: Database, gone: Erasing) -> tuple[str, ...]:
    """Takes every row of memories and skills away and empties blocks; returns their texts."""
    numbers, ids = _numbers(db, gone.ids), rows.dumped(gone.ids)
    listed = rows.dumped(numbers)
    texts = [text for (text,) in db.execute(_TEXTS, (listed, rows.dumped(gone.skills)))]
    with engine_of(db).wiping(db):
        _unshelve(db, gone)
        asked = f"SELECT number FROM version WHERE successor IN {_LISTED}"  # noqa: S608
        for (number,) in db.execute(asked, (ids,)).fetchall():
            with sums.renewed(db, "version", number):
                db.execute("UPDATE version SET successor = NULL WHERE number = ?", (number,))
        for number in _naming(db, gone, "recall"):
            db.execute("DELETE FROM recall WHERE number = ?", (number,))
        for position in _naming(db, gone, "block"):
            _empty_block(db, position)
        for (space,) in db.execute("SELECT DISTINCT space FROM vector").fetchall():
            engine_of(db).forget_scan(db, space)
        for statement in _TAKEN_AWAY:
            db.execute(statement, (listed,))
    return tuple(texts)


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
    for (content,) in db.execute(  # an id may stand in a text that was made of its memory
        "SELECT content FROM text UNION ALL SELECT content FROM skill UNION ALL "
        "SELECT id FROM memory"
    ):
        words.difference_update(words_of(content))
        stays += [content, " ".join(content.split())]  # as a block shows it
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
    except BlockError:
        return wire or ""


def _sweep_rows(db: Database, quotes: Callable[..., bool]) -> None:
    for table, columns, empty in _QUOTING:
        sets = ", ".join(f"{name} = '{empty}'" for name in columns)
        listed = db.execute(f"SELECT number, {', '.join(columns)} FROM {table}").fetchall()  # noqa: S608
        for number in [number for number, *said in listed if quotes(*said)]:
            with sums.renewed(db, table, number):
                db.execute(f"UPDATE {table} SET {sets} WHERE number = ?", (number,))  # noqa: S608
    for digest, at, why in db.execute("SELECT digest, at, why FROM tombstone").fetchall():
        if quotes(why):
            values = (sums.of(digest, at, ""), digest)
            db.execute("UPDATE tombstone SET why = '', crc = ? WHERE digest = ?", values)
    for table, key, said in _SMALL:
        for name, value in db.execute(f"SELECT {key}, {said} FROM {table}").fetchall():  # noqa: S608
            if quotes(value) and not str(name).startswith(ERASING):  # ids stand in texts, too
                db.execute(f"DELETE FROM {table} WHERE {key} = ?", (name,))  # noqa: S608


def _sweep_blocks(db: Database, quotes: Callable[..., bool]) -> list[str]:
    emptied = list[str]()
    held: Iterable[tuple[int, str, str, int, bytes, bytes]] = db.execute(
        "SELECT position, id, memories, at, wire, metadata FROM block WHERE erased = 0"
    ).fetchall()
    for position, id_, memories, at, wire, metadata in held:
        lines = (rows.unpacked(wire, memories, at) or "").splitlines()
        values = (
            line.partition(":")[2] for line in lines
        )  # a skill's text may have the names, too
        if quotes(*values, rows.unpacked(metadata, memories, at)):
            _empty_block(db, position)
            emptied.append(id_)
    return emptied


# Pieces of bytes: whether anything of some texts or vectors still stands in other bytes.
#
# Every 16 bytes of a needle are known, at whatever place they begin; of the bytes that are
# searched, 16 are looked up at every fourth place. So any 19 bytes of a needle that stand together
# are found, and a needle that is shorter is looked for as a whole. Of bytes that are no text some
# stretches are enough: whatever keeps such bytes keeps more than a few of them together.

GRAM, STEP = 16, 4
_LEAST = 8  # bytes of a needle that says anything
_VARIED = 4  # different bytes in a piece: zeros and blanks are nobody's
_STRETCH = 128  # bytes of a value that is no text, of which the beginning is looked for
_WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> set[str]:
    """The words of a text as they are written, in small letters."""
    return set(_WORD.findall(text.casefold()))


class BytePieces:
    """What is searched for."""

    def __init__(self, needles: Iterable[bytes]) -> None:
        self._grams: set[bytes] = set()
        self._short: set[bytes] = set()
        for needle in needles:
            if len(needle) < GRAM + STEP - 1:
                self._short.update({needle} if len(needle) >= _LEAST else ())
            else:
                self._grams.update(piece for piece in _pieces(needle) if len(set(piece)) >= _VARIED)

    def hits(self, data: bytes) -> set[bytes]:
        """The pieces that stand in these bytes, as far as they are looked up."""
        found = self._grams.intersection(_every(data, STEP)) if self._grams else set[bytes]()
        found.update(needle for needle in self._short if needle in data)
        return found


def _every(data: bytes, step: int) -> Iterator[bytes]:
    return (data[start : start + GRAM] for start in range(0, len(data) - GRAM + 1, step))


def _pieces(needle: bytes) -> Iterator[bytes]:
    """Every piece of a text; of anything else those at the beginning of each stretch."""
    try:
        needle.decode()
    except UnicodeDecodeError:
        for start in range(0, len(needle), _STRETCH):
            yield from _every(needle[start : start + GRAM + STEP - 1], 1)
    else:
        yield from _every(needle, 1)
