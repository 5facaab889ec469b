"""What entered which prompt: write the records, count the use, and read them."""

from collections.abc import Iterable, Sequence

from memory_mesh.engines.ledgers.sql import rows
from memory_mesh.engines.ledgers.sql.commit import USED
from memory_mesh.engines.ledgers.sql.engine import Database
from memory_mesh.model import Scope
from memory_mesh.model.pack import Injected, Injection

_INJECTION = (
    "i.number, i.id, i.at, i.project, i.agent, i.session, i.question, i.format, i.fence, "
    "i.tokens, i.max_tokens, i.by_agent"
)
_FENCED = 1_000  # prompts with the same fence word that are looked at
_INJECTED = "m.id, d.recorded, d.section, d.tokens, d.score"


def record(db: Database, injections: Iterable[Injection]) -> None:
    """Writes injections with their memories, and counts one use of each memory."""
    for injection in injections:
        written = db.execute(
            "INSERT INTO injection (id, at, by_agent, project, agent, session, question, format, "
            "fence, tokens, max_tokens) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO NOTHING",
            (
                injection.id,
                rows.micros(injection.at),
                injection.agent,
                injection.reader.project,
                injection.reader.agent,
                injection.reader.session,
                injection.question,
                injection.format,
                injection.fence,
                injection.tokens,
                injection.max_tokens,
            ),
        )
        if written.rowcount:
            _record_memories(db, written.lastrowid or 0, injection)


def _record_memories(db: Database, number: int, injection: Injection) -> None:
    """Writes the memories of one injection; one that was erased meanwhile is left out."""
    db.executemany(
        "INSERT INTO injected SELECT ?, ?, number, ?, ?, ?, ? FROM memory WHERE id = ?",
        [
            (
                number,
                place,
                rows.micros(one.recorded),
                one.section,
                one.tokens,
                one.score,
                one.memory,
            )
            for place, one in enumerate(injection.memories, start=1)
        ],
    )
    stamp = rows.micros(injection.at)
    USED.run(db, [(stamp, one.memory) for one in injection.memories])


def by_id(db: Database, injection_id: str) -> Injection | None:
    """One injection with its memories in their order."""
    row = db.execute(
        f"SELECT {_INJECTION} FROM injection i WHERE i.id = ?",  # noqa: S608  # own names
        (injection_id,),
    ).fetchone()
    if row is None:
        return None
    found = db.execute(
        f"SELECT {_INJECTED} FROM injected d JOIN memory m ON m.number = d.memory "  # noqa: S608
        "WHERE d.injection = ? ORDER BY d.place",
        (row[0],),
    )
    return _injection(row, [_injected(each) for each in found])


def by_fence(db: Database, word: str) -> list[Injection]:
    """The latest injections whose text had this fence word, newest first."""
    found = db.execute(
        "SELECT id FROM injection WHERE fence = ? ORDER BY number DESC LIMIT ?", (word, _FENCED)
    ).fetchall()
    return [one for (id_,) in found if (one := by_id(db, id_)) is not None]


def of_memory(db: Database, memory_id: str, limit: int) -> list[Injection]:
    """The latest injections of a memory, newest first, each with this memory alone."""
    found = db.execute(
        f"SELECT {_INJECTION}, {_INJECTED} FROM injected d JOIN memory m "  # noqa: S608
        "ON m.number = d.memory JOIN injection i ON i.number = d.injection "
        "WHERE m.id = ? ORDER BY d.injection DESC LIMIT ?",
        (memory_id, limit),
    )
    return [_injection(row[:12], [_injected(row[12:])]) for row in found]


def _injection(row: rows.Row, memories: Sequence[Injected]) -> Injection:
    (_, id_, at, project, agent, session, question, format_, fence, tokens, max_tokens,
     by_agent) = row  # fmt: skip
    return Injection(
        id=id_,
        at=rows.since_epoch(at),
        reader=Scope(project, agent, session),
        question=question,
        format=format_,
        fence=fence,
        tokens=tokens,
        max_tokens=max_tokens,
        memories=tuple(memories),
        agent=by_agent,
    )


def _injected(row: rows.Row) -> Injected:
    memory, recorded, section, tokens, score = row
    return Injected(memory, rows.since_epoch(recorded), section, tokens, score)
