"""Transactions inside one namespace: entered with a capability, faults raised in our words.

A statement may take `answer_wait` seconds, and those of a wait for a lock besides. The server ends
it then; if nothing is heard of the server a while later, the connection is closed (see `pool`). A
write whose process says nothing for so long is ended by the server, so that others can write. It
hears nothing of that rule in the middle of a statement: there PostgreSQL 17 and later end a write
that lasts five times as long, and earlier ones end it when the other machine is found to be gone.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any

import psycopg
from psycopg import errors
from psycopg.types.numeric import Int8Dumper

from memory_mesh.base.digests import keyed_digest
from memory_mesh.ledgers.postgres import engine
from memory_mesh.ledgers.postgres.connection import Ask, PostgresConnection
from memory_mesh.ledgers.postgres.places import (
    DIRECTORY,
    SCHEMA,
    DirectoryFound,
    Fleet,
    Home,
    is_elsewhere,
    is_moved,
)
from memory_mesh.ledgers.postgres.pool import (
    ANSWER_SECONDS,
    Begin,
    BoundedConnection,
    DatabaseRoute,
    Pool,
    undo,
)
from memory_mesh.ledgers.postgres.setup import ALL, ROLE, bypassing, refusal
from memory_mesh.ledgers.shared.rows import UnreadableRow
from memory_mesh.model.errors import (
    MayBeStored,
    NotAfterFork,
    NotAllowed,
    StoreError,
    StoreIsAway,
    StoreIsBusy,
    StoreIsDamaged,
    StoreIsFull,
    StoreIsReadOnly,
    WrongKey,
)
from memory_mesh.platform import locks
from memory_mesh.rules import audit

_ENDED = (
    "the connection to PostgreSQL ended before the call was complete ({}). Nothing was stored; "
    "retry. The next call connects anew"
)
_UNKNOWN = (
    "the connection to PostgreSQL ended while a write was committed ({}): it is stored whole or "
    "not at all. Look before you write it again, or write with a key: then it is stored once"
)
_UNDONE = "PostgreSQL undid the write, because a statement of it failed. Nothing was stored"
_SLOW = (
    "a statement took longer than it may ({}). Nothing was stored. Retry when the server has less "
    "to do"
)

_PLANNING = {  # plans are made once, for namespaces of every size: rows are looked up by index
    "plan_cache_mode": "force_generic_plan",
    "max_parallel_workers_per_gather": 0,
    **dict.fromkeys(("jit", "enable_seqscan", "enable_hashjoin", "enable_mergejoin"), "off"),
    **dict.fromkeys(("enable_material", "enable_memoize"), "off"),
}
_KEEPALIVES = {  # the server notices too that the other machine is gone
    "tcp_keepalives_idle": 30,
    "tcp_keepalives_interval": 10,
    "tcp_keepalives_count": 3,
}
_WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED"  # what is read after a lock is of after it
_ASKING = "BEGIN READ ONLY"
_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_LOCK = "SELECT newest_key() FROM store FOR UPDATE"
_ENGINE = engine.PostgresEngine()
_MOST_MILLIS = 2**31 - 1  # that a setting of PostgreSQL takes
_WHOLE = 5  # times `answer_wait` that a write may last
_LIMITS_TRANSACTIONS = 170_000  # the first PostgreSQL that does
FAILOVER_SECONDS = 45.0  # that a fleet may take until another server answers: a lease and some
_FIRST_PAUSE, _LONGEST_PAUSE = 0.004, 0.5  # seconds between two tries
_MOVING = (
    "a place of the fleet moves now. Nothing was stored; retry. If it lasts, the move was killed, "
    "and its owner lets it go on: memory-mesh --store URL fleet show"
)
_GRACE = 1.25  # times the limit of the server, after which its answer is waited for no longer
_NOT_SET_UP = (
    "this database is not set up for memory-mesh, or for an earlier version of it. As its owner, "
    "run: memory-mesh --store URL setup-server --login ROLE"
)
_NOT_LET_IN = (
    "this role may not use the store. The owner of the database lets it in: memory-mesh --store "
    "URL setup-server --login ROLE"
)
_READ_ONLY = (
    "this database takes no writes: it is the standby of another one, or set to read-only. "
    "Memories can be read here; store them on the server that it follows"
)
_NOT_THE_CAPABILITY = "the capability is not that of"  # says the database
_OTHER_KEY = (
    "this database was set up with another key. State its own: MEMORY_MESH_KEY_FILE, "
    "MEMORY_MESH_KEY or MEMORY_MESH_KEY_COMMAND"
)
_OLDER_KEY = (
    "another machine writes to this database with the key {}, which this one lacks, so nothing was "
    "written: what is rejected there would not be kept out here. Copy the key file from there, or "
    "give this process the line with that key where the keys are stated, and start it again"
)
_COLD = (
    "this namespace is cold: its archive lies on object storage, and nothing was read or stored. A "
    "process that reads or writes it brings it back; or: memory-mesh upkeep --namespace NAME"
)
COLD_STATE = "MMC01"  # with which the database says that a namespace is cold (migrations/0009)
_WAKES = 3  # in one call: somebody may send it away again
Keys = Callable[[], Sequence[tuple[str, str]]]  # the digest and the name of each, the oldest first
Wake = Callable[["Transactions", str], object]  # brings a cold namespace back


class Transactions:
    """A pool of connections; each transaction is inside one namespace."""

    def __init__(
        self,
        url: str,
        key: bytes,
        lock_wait: float,
        answer_wait: float = ANSWER_SECONDS,
        keys: Keys = tuple,
        *,
        wake: Wake | None = None,
    ) -> None:
        """`keys` are those of this process: it writes nothing while it lacks the newest in use."""
        self._key, self.lock_wait, self._answer_wait = key, lock_wait, answer_wait
        self._keys, self._wake = keys, wake
        route = DatabaseRoute.of(url)
        self._configured = _configured if route.pooled else _configured_to_prepare
        seeking = partial(self._configured, seeks=True)
        self._pool = Pool(route.url, seeking, prepare_threshold=None)
        self._only = Home(self._pool, SCHEMA)
        self._fleet: Fleet | None = None
        self._plain_logins: set[str] = set()  # servers where it passes by no row-level security

    def capability(self, namespace: str) -> bytes:
        """What shows that this process may enter a namespace."""
        return keyed_digest(self._key, f"namespace {namespace}".encode())

    def place(self, namespace: str) -> str:
        """Under which name archives of a namespace lie, which does not tell its own."""
        return keyed_digest(self._key, f"archives {namespace}".encode()).hex()[:32]

    @contextmanager
    def reading(
        self, namespace: str, answer_wait: float | None = None
    ) -> Iterator[PostgresConnection | None]:
        """One moment of a namespace; None where there is no such namespace."""
        entered: list[bool] = []

        def enter(raw: BoundedConnection) -> None:
            entered[:] = [self._enter(raw, namespace).fetchone() != (None,)]

        with self._begun(namespace, _READING, enter, answer_wait or self._answer_wait) as raw:
            raw.waiting()
            yield PostgresConnection(raw, _ENGINE) if entered[0] else None

    @contextmanager
    def at_once(self, namespace: str) -> Iterator[PostgresConnection]:
        """The same, begun with the first statement; a namespace that is not there is empty."""
        with ExitStack() as stack:

            def begin(ask: Ask) -> BoundedConnection:
                def enter(raw: BoundedConnection) -> None:
                    self._enter(raw, namespace)
                    ask(raw)
                    raw.settle()

                return stack.enter_context(
                    self._begun(namespace, _READING, enter, self._answer_wait)
                )

            yield PostgresConnection(None, _ENGINE, begin)

    @contextmanager
    def writing(
        self,
        namespace: str,
        wait: float | None = None,
        answer_wait: float | None = None,
        take: Callable[[BoundedConnection], None] | None = None,
    ) -> Iterator[PostgresConnection]:
        """The namespace, which nobody else writes to meanwhile; made if there is none.

        `take` enters and locks it in another way.
        """
        seconds = self.lock_wait if wait is None else wait
        seconds = max(0.0, locks.until(seconds) - time.monotonic())
        answer = answer_wait or self._answer_wait
        settings = {
            "lock_timeout": _millis(seconds),
            "idle_in_transaction_session_timeout": _millis(answer),
        }

        def lock(raw: BoundedConnection) -> None:
            try:
                self._lock(raw, namespace) if take is None else take(raw)
            except errors.LockNotAvailable as error:
                named = f"the namespace {namespace}"
                raise StoreIsBusy.held(named, pid=None, since=None, waited=seconds) from error

        writes = seconds, settings
        with self._begun(namespace, _WRITING, lock, answer + seconds, writes) as raw:
            raw.answer_wait = answer * _GRACE
            yield PostgresConnection(raw, _ENGINE)

    def names(self, after: str, most: int) -> list[str]:
        """Names of namespaces after one, sorted."""
        values = (keyed_digest(self._key, ALL), after, most)
        found = set(self._everywhere("names_after(%s, %s, %s)", values))
        return sorted(name for name in found if name >= " ")[
            :most
        ]  # others are copies on their way

    def exists(self, namespace: str, answer_wait: float | None = None) -> bool:
        """Whether there is such a namespace."""
        with self.reading(namespace, answer_wait) as db:
            return db is not None

    def of_all(self, function: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a function that needs the capability of all namespaces, of every place."""
        homes = [[self._only]] if self._fleet is None else self._fleet.servers()
        values = (keyed_digest(self._key, ALL), *values)
        try:
            return [
                row for each in homes for home in each for row in self.ask(home, function, *values)
            ]
        except DirectoryFound:
            return self.of_all(function, *values[1:])

    def ask(self, where: "str | Home", function: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a function that checks a capability, in a transaction of its own."""
        marks = ", ".join(["%s"] * len(values))
        held = (self.lock_wait, {"lock_timeout": _millis(self.lock_wait)})
        with self._begun(where, "BEGIN", _settle, self._answer_wait, held) as raw:
            return raw.execute(f"SELECT * FROM {function}({marks})", values).fetchall()  # noqa: S608

    def is_erased(self, identities: Iterable[str]) -> bool:
        """Whether a namespace of one of these identities was deleted for good."""
        return any(True in self._everywhere("is_erased(%s)", (each,)) for each in identities)

    def has_identity(self, identity: str) -> bool:
        """Whether a namespace of this identity is there, under whatever name."""
        return True in self._everywhere("has_identity(%s)", (identity,))

    def close(self) -> None:
        """Closes every connection."""
        self._pool.close()
        if self._fleet is not None:
            self._fleet.close()

    def _everywhere(self, call: str, values: Sequence[object]) -> list[Any]:
        """What a function about namespaces returns in every place, inside no namespace."""
        found: list[Any] = []
        try:
            for homes in [[self._only]] if self._fleet is None else self._fleet.servers():
                asked = " UNION ALL ".join(
                    f"SELECT {home.schema}.{call} FROM {home.schema}.fence({home.known})"  # noqa: S608
                    for home in homes
                )
                with self._begun(homes[0], _ASKING, _settle, self._answer_wait) as raw:
                    rows = raw.execute(asked, [*values] * len(homes), prepare=False)
                    found += [value for (value,) in rows]
        except DirectoryFound:
            return self._everywhere(call, values)
        return found

    def _enter(self, raw: BoundedConnection, namespace: str) -> psycopg.Cursor[Any]:
        values = (namespace, self.capability(namespace), raw.epoch)
        return raw.execute("SELECT enter(%s, %s, %s::bigint)", values, prepare=True)

    def _lock(self, raw: BoundedConnection, namespace: str) -> None:
        """Enters the namespace, made if there is none, and waits until nobody else writes to it."""
        entered = self._enter(raw, namespace)
        locked = raw.execute(_LOCK)
        row = None if entered.fetchone() == (None,) else locked.fetchone()
        if row is None:  # there is none, or it went or became cold while this waited
            raw.execute(
                "SELECT begin_namespace(%s, %s, %s)",
                (namespace, self.capability(namespace), audit.genesis(namespace)),
            )
            row = raw.execute(_LOCK).fetchone()
        self._agree(raw, (row or (None,))[0])

    def _agree(self, raw: psycopg.Connection[Any], newest: str | None) -> None:
        """Says which key this process writes with, unless it lacks the newest of all machines."""
        own = dict(self._keys())
        digest, _, name = (newest or "").partition(" ")
        if not own or list(own)[-1] == digest:
            return
        if newest is not None and digest not in own:
            raise WrongKey(_OLDER_KEY.format(name))
        values = (keyed_digest(self._key, ALL), *list(own.items())[-1])
        raw.execute("SELECT use_key(%s, %s, %s)", values)

    @contextmanager
    def _begun(
        self,
        where: "str | Home",
        begin: str,
        first: Begin,
        seconds: float,
        writes: tuple[float, Mapping[str, object]] | None = None,
    ) -> Iterator[BoundedConnection]:
        """A transaction whose statements may each take so long; `first` waits for an answer.

        `where`: the namespace that it is about, or a place. `writes`: how long to wait for a lock,
        and more settings.
        """
        held, settings = writes or (0.0, {})

        def start(home: Home, raw: BoundedConnection) -> None:
            raw.sending()
            raw.execute(begin, prepare=False)
            limits: dict[str, object] = {"statement_timeout": _millis(seconds), **settings}
            if writes and raw.info.server_version >= _LIMITS_TRANSACTIONS:
                limits["transaction_timeout"] = _millis(seconds * _WHOLE)
            if raw.prepare_threshold != 0:
                limits |= _PLANNING
            # temporary tables come last, so that none takes the place of one of ours
            found = {"role": ROLE, "search_path": f"{home.schema}, public, pg_temp"}
            _set(raw, {**limits, **found}, in_transaction=True)
            raw.place, raw.epoch = home.schema, home.epoch
            first(raw)

        with translated():
            room = held if writes else self.lock_wait
            patience = FAILOVER_SECONDS if held or not writes else 0.0
            home, raw = self._taken(where, start, (room, seconds * _GRACE, held), patience)
            try:
                with told(raw):
                    self._refuse_bypassing(raw, home)
                    yield raw
                    if writes:
                        raw.settle()
                if writes:
                    commit(raw)
                else:
                    leave(raw)
            except errors.InvalidSqlStatementName:
                raw.close()  # somebody took away what was prepared here
                raise
            finally:
                undo(raw)
                home.pool.give(raw)

    def _taken(
        self,
        where: "str | Home",
        start: "Callable[[Home, BoundedConnection], None]",
        waits: tuple[float, float, float],
        patience: float,
    ) -> "tuple[Home, BoundedConnection]":
        """A connection on which the transaction began; a cold namespace is brought back first."""
        for left in reversed(range(_WAKES)):
            try:
                return self._reached(where, start, waits, patience)
            except psycopg.Error as error:
                if error.diag.sqlstate != COLD_STATE or self._wake is None or not left:
                    raise
                namespace = error.diag.message_detail or ""
            self._wake(self, namespace)  # no connection is held meanwhile
        raise AssertionError  # pragma: no cover  # the last turn returns or raises

    def _reached(
        self,
        where: "str | Home",
        start: "Callable[[Home, BoundedConnection], None]",
        waits: tuple[float, float, float],
        patience: float,
    ) -> "tuple[Home, BoundedConnection]":
        """A connection in which the transaction has begun at the place of a namespace.

        In a fleet a place may move and a server may fail over. Until the transaction has begun
        nothing was done, so it is begun again where the directory says then.
        """
        end, pause = locks.until(patience), _FIRST_PAUSE
        while True:
            fleet = self._fleet
            home = where if isinstance(where, Home) else self._only
            try:
                if fleet is not None and not isinstance(where, Home):
                    home = fleet.home(where)
                return home, home.pool.take(partial(start, home), *waits, home.schema)
            except DirectoryFound:
                if self._fleet is None:
                    self._fleet = Fleet(self._pool.url, self._key, self._configured)
                if isinstance(where, Home):
                    raise
                continue
            except (psycopg.Error, StoreIsAway) as error:
                if fleet is None or not is_elsewhere(error):
                    raise
                fleet.renew(home, server=not is_moved(error))
                late = time.monotonic() + pause > end
                if is_moved(error) and (late or isinstance(where, Home)):
                    raise StoreIsBusy(_MOVING) from error
                if late:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _refuse_bypassing(self, raw: psycopg.Connection[Any], home: "Home") -> None:
        if home.server in self._plain_logins:
            return
        if roles := bypassing(raw):
            raise NotAllowed(refusal(raw.info.user, roles))
        self._plain_logins.add(home.server)


def _settle(raw: BoundedConnection) -> None:
    raw.settle()


def _millis(seconds: float) -> int:
    return min(max(1, round(seconds * 1000)), _MOST_MILLIS)


def _configured(raw: psycopg.Connection[Any], *, seeks: bool = False) -> int:
    """Changes nothing in the server, where the connection may be that of the next user too.

    Returns the number of the server's process. With `seeks` the directory of a fleet is an error.
    """
    raw.adapters.register_dumper(int, Int8Dumper)
    engine.register(raw)
    ((pid, directory),) = raw.execute(
        "SELECT pg_backend_pid(), to_regnamespace(%s)::oid", (DIRECTORY,), prepare=False
    )
    if seeks and directory is not None:
        raise DirectoryFound
    return int(pid)


def _configured_to_prepare(raw: psycopg.Connection[Any], *, seeks: bool = False) -> None:
    """Prepares statements, unless a pooler stands between: it gives a process number of its own."""
    if _configured(raw, seeks=seeks) != raw.info.backend_pid:
        return
    raw.prepare_threshold = 0
    _set(raw, {**_PLANNING, **_KEEPALIVES}, in_transaction=False)


def _set(
    raw: psycopg.Connection[Any], settings: Mapping[str, object], *, in_transaction: bool
) -> None:
    """Makes settings of the server, in one statement."""
    made = ", ".join(
        f"pg_catalog.set_config('{name}', '{value}', {in_transaction})"
        for name, value in settings.items()
    )
    raw.execute(f"SELECT {made}", prepare=False)


_GOODBYES = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow)


@contextmanager
def translated() -> Iterator[None]:
    """Raises faults of the database and the way to it as StoreError."""
    try:
        yield
    except (errors.LockNotAvailable, errors.DeadlockDetected) as error:
        raise StoreIsBusy(str(error)) from error
    except errors.DiskFull as error:
        raise StoreIsFull(str(error)) from error
    except errors.ReadOnlySqlTransaction as error:
        raise StoreIsReadOnly(_READ_ONLY) from error
    except (errors.DataCorrupted, errors.IndexCorrupted, UnreadableRow) as error:
        raise StoreIsDamaged(f"{error}. See what is wrong: memory-mesh verify") from error
    except (errors.UndefinedObject, errors.UndefinedFunction, errors.InvalidSchemaName) as error:
        raise StoreError(_NOT_SET_UP) from error
    except errors.InsufficientPrivilege as error:
        if _NOT_THE_CAPABILITY in str(error):
            raise WrongKey(_OTHER_KEY) from error
        if "set role" in str(error):
            raise NotAllowed(_NOT_LET_IN) from error
        raise NotAllowed(str(error)) from error
    except psycopg.Error as error:
        raise _other(error) from error


def _other(error: psycopg.Error) -> StoreError:
    if error.diag.sqlstate == COLD_STATE:
        return StoreError(_COLD)
    goes = isinstance(error, _GOODBYES)  # before COMMIT was sent: what ends then is unsure
    return StoreIsAway(_ENDED.format(error)) if goes else StoreError(str(error))


# How a transaction ends: what is known of it when the connection breaks, and what to do then.
#
# Before COMMIT was sent, nothing of a write is stored. Once it was sent, only the server's answer
# tells. A server that is stopped may say goodbye after it has stored the write. So a connection
# that
# breaks there leaves a write that is stored whole or not at all, and nobody here tries it again.


def commit(raw: BoundedConnection) -> None:
    """Commits; raises MayBeStored where nobody can tell whether it did."""
    if raw.closed:
        raise StoreIsAway(_ENDED.format("it is closed"))
    try:
        done = raw.execute("COMMIT", prepare=False)
        raw.settle()
    except psycopg.Error as error:
        if not (isinstance(error, _GOODBYES) or raw.closed):  # it refused it, and goes on
            raise
        raise MayBeStored(_UNKNOWN.format(error)) from error
    raw.left = True
    if done.statusmessage != "COMMIT":
        raise StoreError(_UNDONE)


def leave(raw: BoundedConnection) -> None:
    """Ends a read, which has what it wanted; a connection that cannot be told so is not used again.

    Nobody waits for that. By COMMIT, because psycopg forgets what it prepared at a ROLLBACK.
    """
    with suppress(psycopg.Error, NotAfterFork):
        pipeline = raw.sending()
        raw.execute("COMMIT", prepare=False)
        if raw.prepare_threshold is None:  # a pooler gives the server's connection to others then
            raw.settle()
        else:  # its answer is read with the first one of the next transaction
            raw.pgconn.pipeline_sync()
            pipeline.result_queue.append(None)
        raw.left = True


@contextmanager
def told(raw: BoundedConnection) -> Iterator[None]:
    """Says of a connection that broke inside that nothing was stored."""
    try:
        yield
    except psycopg.errors.QueryCanceled as error:
        raise StoreIsBusy(_SLOW.format(error)) from error
    except psycopg.Error as error:
        if not raw.closed:
            raise
        raise StoreIsAway(_ENDED.format(error)) from error
