"""Moves one namespace of a fleet to another place: a hot or large one to a place of its own.

::

    alone in the namespace: copy its rows under a name that nobody can enter ── closed copy
    the old place notes that it departed, and forgets its rows               ◀── decided
    the copy gets its name, the directory is told

Its writers wait as long as its rows take; its readers read the old place until it is decided. What
was killed before that is done anew, what was killed after it goes on.
"""

from typing import Any

import psycopg
from psycopg import sql

from memory_mesh.model.errors import NotFound, StoreIsBusy

Server = psycopg.connection.Connection[Any]
_CLOSED = "\x01"  # before the name of a copy: no capability is made for such a name
_TABLES = """
    SELECT c.relname, array_agg(a.attname ORDER BY a.attnum)
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = to_regnamespace(%s) AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND c.relname NOT IN ('namespace', 'due') AND a.attnum > 0 AND NOT a.attisdropped
        AND a.attgenerated = '' AND EXISTS (SELECT FROM pg_attribute x
            WHERE x.attrelid = c.oid AND x.attname = 'ns')
    GROUP BY c.relname ORDER BY c.relname = 'injected', c.relname"""


class Departure:
    """A namespace on its way from one place to another; each method may be called again."""

    def __init__(self, old: Server, new: Server, places: tuple[str, str], name: str) -> None:
        self._old, self._new, self._name = old, new, name
        self._from, self._to = places

    def is_decided(self) -> bool:
        """Whether the old place has noted that it departed."""
        asked = self._in(self._from, "SELECT 1 FROM {}.departed WHERE name = %s")
        return self._old.execute(asked, (self._name,)).fetchone() is not None

    def decide(self) -> None:
        """Copies it, closed, and takes it from the old place."""
        with self._old.transaction():
            self._hold(self._old, self._from)
            asked = self._in(
                self._from,
                "SELECT s.ns FROM {0}.namespace n JOIN {0}.store s ON s.ns = n.ns "
                "WHERE n.name = %s FOR UPDATE OF s",
            )
            row = self._old.execute(asked, (self._name,)).fetchone()
            if row is None:
                raise NotFound("there is no such namespace in the fleet")
            with self._new.transaction():
                self._copy(int(row[0]))
            self._delete(self._old, self._from, int(row[0]))
            self._old.execute(
                self._in(self._from, "INSERT INTO {}.departed VALUES (%s) ON CONFLICT DO NOTHING"),
                (self._name,),
            )

    def open(self) -> None:
        """Gives the copy its name."""
        with self._new.transaction():
            self._hold(self._new, self._to)
            self._new.execute(
                self._in(self._to, "UPDATE {}.namespace SET name = %s WHERE name = %s"),
                (self._name, _CLOSED + self._name),
            )
            self._new.execute(
                self._in(self._to, "DELETE FROM {}.departed WHERE name = %s"), (self._name,)
            )

    def _copy(self, ns: int) -> None:
        self._hold(self._new, self._to)
        self._forget_copy()
        made = self._in(self._to, "INSERT INTO {}.namespace (name) VALUES (%s) RETURNING ns")
        (own,) = self._new.execute(made, (_CLOSED + self._name,)).fetchone() or (0,)
        self._new.execute("SELECT set_config('memory_mesh.ns', %s, true)", (str(own),))
        for table, columns in self._tables():
            names = sql.SQL(", ").join(sql.Identifier(name) for name in columns if name != "ns")
            read = sql.SQL("COPY (SELECT {} FROM {} WHERE ns = {}) TO STDOUT (FORMAT binary)")
            write = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT binary)")
            with (
                self._old.cursor().copy(
                    read.format(names, sql.Identifier(self._from, table), ns)
                ) as rows,
                self._new.cursor().copy(
                    write.format(sql.Identifier(self._to, table), names)
                ) as copy,
            ):
                for piece in rows:
                    copy.write(piece)
        bare = "UPDATE {}.space SET body_version = NULL, body_highest = NULL, body_rows = NULL "
        due = "INSERT INTO {}.due VALUES (%(own)s, now(), now()) ON CONFLICT DO NOTHING"
        for statement in (f"{bare}WHERE ns = %(own)s", due):
            self._new.execute(self._in(self._to, statement), {"own": own})
        (highest,) = self._old.execute(
            self._in(self._from, "SELECT last_value FROM {}.numbers")
        ).fetchone() or (1,)
        self._new.execute(
            self._in(
                self._to, "SELECT setval(%s::regclass, greatest(last_value, %s)) FROM {}.numbers"
            ),
            (f"{self._to}.numbers", highest),
        )

    def _forget_copy(self) -> None:
        """Deletes what a killed departure left."""
        found = self._new.execute(
            self._in(self._to, "SELECT ns FROM {}.namespace WHERE name = %s"),
            (_CLOSED + self._name,),
        ).fetchone()
        if found is not None:
            self._delete(self._new, self._to, int(found[0]))

    def _delete(self, server: Server, place: str, ns: int) -> None:
        for table in [*reversed([name for name, _ in self._tables()]), "namespace"]:
            gone = sql.SQL("DELETE FROM {} WHERE ns = %s")
            server.execute(gone.format(sql.Identifier(place, table)), (ns,))

    def _tables(self) -> list[tuple[str, list[str]]]:
        return self._old.execute(_TABLES, (self._from,)).fetchall()

    def _hold(self, server: Server, place: str) -> None:
        """The place stays where it is until the transaction ends."""
        server.execute(self._in(place, "LOCK TABLE {}.place IN ROW SHARE MODE"))
        if server.execute(self._in(place, "SELECT home FROM {}.place")).fetchone() != (True,):
            raise StoreIsBusy(f"{place} moves now; try again when it has arrived")

    @staticmethod
    def _in(place: str, statement: str) -> sql.Composed:
        return sql.SQL(statement).format(sql.Identifier(place))
