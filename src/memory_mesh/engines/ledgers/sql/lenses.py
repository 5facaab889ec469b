"""A lens as SQL: which versions it sees."""

from memory_mesh.engines.ledgers.sql import rows, sessions
from memory_mesh.model import Lens, Scope
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.model.filter import Filter

_RECORDED = "v.recorded_from <= ? AND (v.recorded_until IS NULL OR v.recorded_until > ?)"
_VALID = (
    "(v.valid_from IS NULL OR v.valid_from <= ?) AND (v.valid_until IS NULL OR v.valid_until > ?)"
)


def sight(lens: Lens) -> tuple[str, str, list[object]]:
    """The tables and the condition that a lens asks of a version; only a filter asks for more."""
    global _last  # noqa: PLW0603  # one read asks for the same lens at each of its steps
    last = _last
    if last is None or last[0] is not lens:
        tables = "version v" if lens.where is None else _tables(lens.where)
        _last = last = lens, (tables, *predicate(lens))
    tables, condition, values = last[1]
    return tables, condition, list(values)


_last: tuple[Lens, tuple[str, str, list[object]]] | None = None


def _tables(where: "Filter") -> str:
    """The version, and the tables of the fields that a filter tests."""
    from memory_mesh.engines.ledgers.sql.filter_sql import fields_of

    asked = {rows.FILTERABLE.get(str(field), "")[:2] for field in fields_of(where)}
    tables = "version v"
    if "m." in asked:
        tables += " JOIN memory m ON m.number = v.memory"
    if "t." in asked:
        tables += " JOIN text t ON t.number = v.text"
    return tables


def predicate(lens: Lens) -> tuple[str, list[object]]:
    """The lens as SQL over JOINED, every value bound."""
    parts: list[tuple[str, list[object]]] = [
        ("v.recorded_until IS NULL", [])
        if lens.as_of is None
        else (_RECORDED, [rows.micros(lens.as_of)] * 2),
        (f"v.status IN ({', '.join('?' * len(lens.statuses))})", [*sorted(lens.statuses)]),
        audience(lens),
    ]
    if not lens.any_validity:
        parts.append((_VALID, [rows.micros(lens.valid_at or lens.as_of or lens.now)] * 2))
    if (kept := sessions.unexpired(lens)) is not None:
        parts.append(kept)
    if lens.where is not None:
        from memory_mesh.engines.ledgers.sql.filter_sql import compile_sql

        fragment, bound = compile_sql(lens.where, rows.FILTERABLE)
        parts.append((f"({fragment})", [*bound]))
    return " AND ".join(part for part, _ in parts), [value for _, held in parts for value in held]


def audience(lens: Lens, version: str = "v") -> tuple[str, list[object]]:
    """The condition that a version is for the lens's reader, every value bound."""
    parts = [part for part in ("project", "agent", "session") if part not in lens.across]
    tests = [f"({version}.{part} IS NULL OR {version}.{part} = ?)" for part in parts]
    values: list[object] = [getattr(lens.scope, part) for part in parts]
    if lens.scope.names and "project" in parts:
        tests[0], values[:1] = named(f"{version}.project", lens.scope)
    return " AND ".join(tests) or "1 = 1", values


def named(column: str, reader: Scope) -> tuple[str, list[object]]:
    """The condition that a project is none or one of the names of the reader's."""
    names = [reader.project, *reader.names]
    return f"({column} IS NULL OR {column} IN ({', '.join('?' * len(names))}))", [*names]
