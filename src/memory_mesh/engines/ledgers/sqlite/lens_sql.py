"""A lens as SQL: scope, status, validity and the caller's filter, part of every read."""

from memory_mesh.engines.ledgers.sqlite import rows
from memory_mesh.model import Lens

_RECORDED = "v.recorded_from <= ? AND (v.recorded_until IS NULL OR v.recorded_until > ?)"
_VALID = (
    "(v.valid_from IS NULL OR v.valid_from <= ?) AND (v.valid_until IS NULL OR v.valid_until > ?)"
)


def sight(lens: Lens) -> tuple[str, str, list[object]]:
    """The tables and the condition that a lens asks of a version; only a filter asks for more."""
    return "version v" if lens.where is None else rows.JOINED, *predicate(lens)


def predicate(lens: Lens) -> tuple[str, list[object]]:
    """The lens as SQL over JOINED, every value bound."""
    parts: list[tuple[str, list[object]]] = [
        ("v.recorded_until IS NULL", [])
        if lens.as_of is None
        else (_RECORDED, [rows.micros(lens.as_of)] * 2),
        (f"v.status IN ({', '.join('?' * len(lens.statuses))})", [*sorted(lens.statuses)]),
        *(
            (f"(v.{part} IS NULL OR v.{part} = ?)", [getattr(lens.scope, part)])
            for part in ("project", "agent", "session")
            if part not in lens.across
        ),
    ]
    if not lens.any_validity:
        parts.append((_VALID, [rows.micros(lens.valid_at or lens.as_of or lens.now)] * 2))
    if lens.where is not None:
        from memory_mesh.engines.ledgers.sqlite.filter_sql import compile_sql

        fragment, bound = compile_sql(lens.where, rows.FILTERABLE)
        parts.append((f"({fragment})", [*bound]))
    return " AND ".join(part for part, _ in parts), [value for _, held in parts for value in held]
