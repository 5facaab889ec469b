"""What a connection remembers between reads: little that changes seldom, until somebody writes."""

from memory_mesh.ledgers.shared.engine import Database, engine_of

_HAS_ANY = (
    "SELECT EXISTS (SELECT 1 FROM version WHERE triggers != '[]' AND recorded_until IS NULL "
    "AND status = 'active'), EXISTS (SELECT 1 FROM conflict)"
)


class FileKnowledge:
    """What a connection remembers of its file: it holds until this one or another one writes."""

    def __init__(self, others: int, own: int) -> None:
        self.others, self.own = others, own  # counters of the writes of both
        self.states: dict[str, dict[str, str]] = {}  # small values, by the beginning of their names
        self.audiences: dict[object, dict[int, int] | None] = {}  # by reader
        self.has: tuple[bool, bool] | None = None  # any trigger of today, any conflict


def has_any(db: Database) -> tuple[bool, bool]:
    """Whether any memory of today has a trigger, and whether there is any conflict."""
    known = engine_of(db).known(db)
    if known is None:
        return True, True
    if known.has is None:
        triggers, conflicts = db.execute(_HAS_ANY).fetchone()
        known.has = bool(triggers), bool(conflicts)
    return known.has
