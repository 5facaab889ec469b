"""Moves a place to another server of its fleet while it is used.

::

    copying    an empty copy is made, and PostgreSQL's logical replication fills it
    switching  alone in the old place: wait until the copy has all, close the old one   ◀ decided
               open the copy, tell the directory
    leaving    end the replication, wait for those who still read, drop the old place

The directory has the target before anything is done, so a move that was killed is found there.
What decides is one row of the old place: while that says `home`, the move can be taken back, and
later it can only go on. Each step may be done again.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import errors, sql

from memory_mesh.ledgers.postgres.places import SCHEMA, address_of
from memory_mesh.ledgers.postgres.setup import set_up
from memory_mesh.model.care import MovedPlace
from memory_mesh.model.errors import InvalidInput, StoreError, StoreIsBusy

Tell = Callable[[str], None]  # which step begins now
Server = psycopg.Connection[Any]

_LEFT = """
    CREATE SCHEMA memory_mesh;
    CREATE FUNCTION memory_mesh.enter(text, bytea, bigint) RETURNS bigint LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION USING ERRCODE = 'MM001', MESSAGE =
            'the memories that were here moved to another server of a fleet; use the address of '
            'its directory';
    END $$;
    CREATE FUNCTION memory_mesh.enter(text, bytea) RETURNS bigint LANGUAGE sql
    AS $$ SELECT memory_mesh.enter($1, $2, NULL) $$;
    GRANT USAGE ON SCHEMA memory_mesh TO memory_mesh_app"""


def quietly(_step: str) -> None:
    """Tells nobody."""


_NOT_COPIED = ("migration", "place", "secret")  # beside indexes of vectors: each server's own
_FENCE_WAIT = 1.0  # seconds that others wait at most for the switch, before it is tried later
_FENCES = 30  # tries
_BETWEEN = 0.25  # seconds between them
_POLL = 0.005
_COPY_SECONDS = 6 * 3_600.0
_READERS_SECONDS = 60.0  # that the old place waits for those who read it
MOST_WAL = 32 * 2**30  # bytes that a move may hold back on a server
_TABLES = """
    SELECT c.relname FROM pg_class c WHERE c.relnamespace = to_regnamespace(%s)
        AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> ALL (%s)
        AND c.relname NOT LIKE 'near\\_%%' ORDER BY c.relname"""
_WAITING = """
    SELECT count(*) FROM pg_subscription_rel r JOIN pg_subscription s ON s.oid = r.srsubid
    WHERE s.subname = %s AND s.subdbid = (SELECT oid FROM pg_database
        WHERE datname = current_database()) AND r.srsubstate <> 'r'"""
_SUBSCRIBED = """
    SELECT 1 FROM pg_subscription WHERE subname = %s
        AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())"""
_READERS = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND xact_start < %s"""


class Move:
    """One place on its way from a server to another one; each method may be called again."""

    def __init__(self, directory: Server, url: str, secret: bytes, place: str) -> None:
        self._directory, self._url, self._secret, self._place = directory, url, secret, place
        self._name = f"mm_{place}"  # of the publication, the subscription and the slot

    def to(self, target: int, tell: Tell = quietly) -> MovedPlace:
        """Moves it there, or goes on with the move that was begun."""
        begun = time.monotonic()
        with self._alone():
            pause = 0.0
            if self.finish(tell, back=False) != target:
                _, _, under_way, source = self._row()
                if under_way not in {None, target}:
                    raise InvalidInput(f"{self._place} moves elsewhere; take that back first")
                if source is not None and not self._left(tell):
                    raise StoreIsBusy(f"somebody still reads the old copy of {self._place}")
                self._update("target = %s, begun = coalesce(begun, now())", target)
                tell("begun")
                pause = self._copied_and_switched(target, tell)
            dropped = self._left(tell)
        return MovedPlace(self._place, time.monotonic() - begun, pause, dropped)

    def back(self, tell: Tell = quietly) -> bool:
        """Takes a move back that was begun, unless it was decided: then it goes on instead."""
        with self._alone():
            self.finish(tell, back=True)
            self._left(tell)
            return self._row()[2] is None

    def finish(self, tell: Tell, *, back: bool) -> int:
        """Opens the copy of a move that was decided, or takes an undecided one back; its server."""
        server, epoch, target, _ = self._row()
        if target is not None:
            with self._server(server) as old, self._server(target) as new:
                if self._is_home(old) is False:
                    self._opened(new, epoch + 1, server, target, tell)
                    return target
                if back:
                    self._undone(old, new)
                    self._update("target = NULL, begun = NULL")
        return server

    def _copied_and_switched(self, target: int, tell: Tell) -> float:
        server, epoch, _, _ = self._row()
        with self._server(server) as old, self._server(target) as new:
            try:
                self._copy(old, new, server, target, tell)
                tell("copied")
                begun = self._switched(old, new, server, epoch + 1, tell)
            except (StoreError, errors.QueryCanceled):
                self._undone(old, new)
                self._update("target = NULL, begun = NULL")
                raise
            self._opened(new, epoch + 1, server, target, tell)
        return time.monotonic() - begun

    # copying

    def _copy(self, old: Server, new: Server, server: int, target: int, tell: Tell) -> None:
        slot = "SELECT 1 FROM pg_replication_slots WHERE slot_name = %s"
        there = old.execute(slot, (self._name,)).fetchone()
        if not there or not new.execute(_SUBSCRIBED, (self._name,)).fetchone():
            self._undone(old, new)
            set_up(self._at(target), self._secret, schemas=[self._place], home=False)
            tell("made")
            self._subscribed(old, new, server)
        tell("copying")
        end = time.monotonic() + _COPY_SECONDS
        while new.execute(_WAITING, (self._name,)).fetchone() != (0,):
            self._check_held(old)
            if time.monotonic() > end:
                raise StoreError(f"{self._place} was not copied in {_COPY_SECONDS:.0f} s")
            time.sleep(10 * _POLL)
        here = _flushed(old)
        while not self._has(old, here):
            self._check_held(old)
            time.sleep(_POLL)

    def _subscribed(self, old: Server, new: Server, server: int) -> None:
        found = old.execute(_TABLES, (self._place, list(_NOT_COPIED)))
        tables = sql.SQL(", ").join(sql.Identifier(self._place, name) for (name,) in found)
        name = sql.Identifier(self._name)
        old.execute(
            sql.SQL(
                "CREATE PUBLICATION {} FOR TABLE {} WITH (publish_via_partition_root = true)"
            ).format(name, tables)
        )
        old.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (self._name,))
        new.execute(
            sql.SQL(
                "CREATE SUBSCRIPTION {} CONNECTION {} PUBLICATION {} WITH (create_slot = false, "
                "slot_name = {}, synchronous_commit = 'local', copy_data = true)"
            ).format(name, sql.Literal(self._at(server)), name, sql.Literal(self._name))
        )

    def _check_held(self, old: Server) -> None:
        row = old.execute(
            "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) FROM pg_replication_slots "
            "WHERE slot_name = %s",
            (self._name,),
        ).fetchone()
        if row is None or row[0] is None:
            raise StoreError(
                f"the server of {self._place} lost the slot of the move; move it again"
            )
        if row[0] > MOST_WAL:
            raise StoreError(f"the move of {self._place} holds back {row[0]} bytes of WAL: stopped")

    def _has(self, old: Server, here: str) -> bool:
        """Whether the copy has stored all that was written up to here."""
        found = old.execute(
            "SELECT confirmed_flush_lsn >= %s::pg_lsn FROM pg_replication_slots "
            "WHERE slot_name = %s",
            (here, self._name),
        ).fetchone()
        if found is None:
            raise StoreError(
                f"the server of {self._place} lost the slot of the move; move it again"
            )
        return bool(found[0])

    # switching

    def _switched(self, old: Server, new: Server, server: int, epoch: int, tell: Tell) -> float:
        """Closes the old place once the copy has all of it; when others began to wait."""
        with self._server(server) as alone:
            alone.autocommit = False
            for _ in range(_FENCES):
                begun = time.monotonic()
                try:
                    alone.execute(f"SET LOCAL lock_timeout = '{_FENCE_WAIT}s'")
                    alone.execute(
                        sql.SQL("LOCK TABLE {} IN EXCLUSIVE MODE").format(self._table("place"))
                    )
                    if self._caught_up(old, begun + 2 * _FENCE_WAIT):
                        tell("fenced")
                        self._prepared(old, new)
                        tell("prepared")
                        alone.execute(
                            sql.SQL("UPDATE {} SET home = false, epoch = %s").format(
                                self._table("place")
                            ),
                            (epoch,),
                        )
                        alone.commit()
                        tell("decided")
                        return begun
                except errors.LockNotAvailable:
                    pass
                alone.rollback()
                time.sleep(_BETWEEN)
        raise StoreIsBusy(
            f"{self._place} is written to without a pause, so it was not moved. Move it later"
        )

    def _caught_up(self, old: Server, end: float) -> bool:
        here = _flushed(old)
        while not self._has(old, here):
            if time.monotonic() > end:
                return False
            time.sleep(_POLL)
        return True

    def _prepared(self, old: Server, new: Server) -> None:
        """What replication does not carry. Its commit waits for the standby of the new server."""
        with new.transaction():
            new.execute("SET LOCAL synchronous_commit = on")
            for name in ("numbers", "namespace_ns_seq"):
                sequence = sql.SQL("SELECT last_value FROM {}").format(self._table(name))
                (value,) = old.execute(sequence).fetchone() or (1,)
                new.execute("SELECT setval(%s::regclass, %s)", (f"{self._place}.{name}", value))
            new.execute(
                sql.SQL(
                    "UPDATE {} SET body_version = NULL, body_highest = NULL, body_rows = NULL "
                    "WHERE body_version IS NOT NULL"
                ).format(self._table("space"))
            )

    def _opened(self, new: Server, epoch: int, server: int, target: int, tell: Tell) -> None:
        new.execute(
            sql.SQL("UPDATE {} SET home = true, fleet = true, epoch = %s").format(
                self._table("place")
            ),
            (epoch,),
        )
        tell("opened")
        self._update("server = %s, epoch = %s, source = %s, target = NULL", target, epoch, server)
        tell("told")

    # leaving, and taking back

    def _left(self, tell: Tell) -> bool:
        """Ends the replication, and drops the old place once nobody reads it."""
        server, _, _, source = self._row()
        if source is None:
            return True
        with self._server(source) as old, self._server(server) as new:
            self._unsubscribed(old, new)
            tell("unsubscribed")
            now = old.execute("SELECT clock_timestamp()").fetchone()
            end = time.monotonic() + _READERS_SECONDS
            while old.execute(_READERS, now).fetchone() != (0,):
                if time.monotonic() > end:
                    return False
                time.sleep(10 * _POLL)
            with old.transaction():
                self._dropped(old)
                if self._place == SCHEMA:  # processes may still use the address of the database
                    old.execute(_LEFT)
        self._update("source = NULL, begun = NULL")
        tell("left")
        return True

    def _undone(self, old: Server, new: Server) -> None:
        self._unsubscribed(old, new)
        self._dropped(new)

    def _unsubscribed(self, old: Server, new: Server) -> None:
        name = sql.Identifier(self._name)
        if new.execute(_SUBSCRIBED, (self._name,)).fetchone():
            new.execute(sql.SQL("ALTER SUBSCRIPTION {} DISABLE").format(name))
            new.execute(sql.SQL("ALTER SUBSCRIPTION {} SET (slot_name = NONE)").format(name))
            new.execute(sql.SQL("DROP SUBSCRIPTION {}").format(name))
        slots = "SELECT slot_name, active_pid FROM pg_replication_slots WHERE slot_name = %s"
        while (found := old.execute(slots, (self._name,)).fetchone()) is not None:
            if found[1] is not None:
                old.execute("SELECT pg_terminate_backend(%s)", (found[1],))
            with suppress(errors.ObjectInUse, errors.UndefinedObject):
                old.execute("SELECT pg_drop_replication_slot(%s)", (self._name,))
            time.sleep(_POLL)
        old.execute(sql.SQL("DROP PUBLICATION IF EXISTS {}").format(name))

    def _dropped(self, server: Server) -> None:
        """Drops a place that is nobody's home."""
        if self._is_home(server):
            raise StoreError(f"{self._place} is in use on this server, and was not dropped")
        server.execute("SET client_min_messages = warning")
        place = sql.Identifier(self._place)
        server.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(place))

    def _is_home(self, server: Server) -> bool | None:
        if server.execute("SELECT to_regclass(%s)", (f"{self._place}.place",)).fetchone() == (
            None,
        ):
            return None
        found = server.execute(sql.SQL("SELECT home FROM {}").format(self._table("place")))
        return bool(found.fetchone() == (True,))

    def _table(self, name: str) -> sql.Identifier:
        return sql.Identifier(self._place, name)

    # the directory

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else moves the place meanwhile; ends with the connection to the directory."""
        values = ("memory_mesh_fleet", self._place)
        locks = "SELECT pg_{}(hashtext(%s), hashtext(%s))"
        taken = self._directory.execute(locks.format("try_advisory_lock"), values).fetchone()
        if taken != (True,):
            raise StoreIsBusy(f"somebody moves {self._place} now")
        try:
            yield
        finally:
            with suppress(psycopg.Error):
                self._directory.execute(locks.format("advisory_unlock"), values)

    def _row(self) -> tuple[int, int, int | None, int | None]:
        found = self._directory.execute(
            "SELECT server, epoch, target, source FROM memory_mesh_fleet.place WHERE name = %s",
            (self._place,),
        ).fetchone()
        if found is None:
            raise InvalidInput(f"there is no place {self._place} in this fleet")
        return found  # type: ignore[no-any-return]

    def _update(self, sets: str, *values: object) -> None:
        self._directory.execute(
            f"UPDATE memory_mesh_fleet.place SET {sets} WHERE name = %s",  # noqa: S608  # own names
            (*values, self._place),
        )

    def _at(self, server: int) -> str:
        (address,) = self._directory.execute(
            "SELECT address FROM memory_mesh_fleet.server WHERE number = %s", (server,)
        ).fetchone() or ("",)
        return address_of(self._url, address)

    def _server(self, number: int) -> Server:
        db = psycopg.connect(self._at(number), autocommit=True, connect_timeout=10)
        db.execute("SET synchronous_commit = on")  # what is told is on the disk, and on a standby
        return db


def _flushed(old: Server) -> str:
    """Where the log of a server ends, all of it on its disk."""
    ((here,),) = old.execute("SELECT pg_logical_emit_message(true, 'memory_mesh', '')")
    return str(here)
