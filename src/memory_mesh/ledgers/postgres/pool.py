"""The connections of one process to a database: none waits for ever, none is shared by a fork.

A connection is made in the thread that needs it, so that its caller hears why none could be made,
no thread has to survive a fork, and a server that was started again is found at the next call. One
that ended while it was idle is thrown away and another is used: nothing had begun on it.

libpq has no limit for the wait for an answer. When a network swallows what is sent, or somebody in
between takes it and says nothing, the operating system does not notice either. psycopg waits for
the socket itself, in `Connection.wait`, and takes a time limit there: it needs no thread, and costs
what reading a clock costs. So each statement has a limit, after which its connection is closed.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from math import ceil
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import psycopg
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo, TransactionStatus
from psycopg.pq.abc import PGconn
from psycopg.rows import RowFactory, tuple_row

from memory_mesh.base.typed import dataclass
from memory_mesh.model.errors import (
    Closed,
    InvalidInput,
    NotAfterFork,
    StoreError,
    StoreIsAway,
    StoreIsBusy,
)
from memory_mesh.platform import forks, locks

_UNREADABLE = (
    "the address of the store cannot be read; it is postgresql://USER@HOST/DATABASE, with "
    "parameters of libpq after `?`, and other characters than letters and digits in a password "
    "written as %XX"
)
_PARAMETER, _VALUES = "pooler=", ("none", "transaction")
_IN_HOME = {  # files that libpq looks for where nothing names others
    "passfile": ".pgpass",
    "sslcert": ".postgresql/postgresql.crt",
    "sslkey": ".postgresql/postgresql.key",
    "sslrootcert": ".postgresql/root.crt",
    "sslcrl": ".postgresql/root.crl",
}

ANSWER_SECONDS = 60.0  # that a statement may take, where nothing else is said
CONNECT_SECONDS = 10.0  # that it may take to connect, and to begin a transaction
MOST = 8  # connections of one process
_IDLE = 600.0  # seconds after which a connection that nobody uses is closed
_LEAST = 2  # seconds: psycopg takes no shorter limit for connecting
_POLL = 0.1  # seconds after which psycopg looks at its limit
_WAYS = {  # of noticing that the other machine is gone; a URL may say otherwise
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_FORKED = (
    "this transaction began before the process was forked, and belongs to the parent; begin "
    "another one here"
)
_FULL = (
    f"all {MOST} connections of this process are in use; waited {{:.1f}} s, nothing was begun. "
    "Retry, or let fewer threads use the store at once."
)
_AWAY = (
    "PostgreSQL cannot be reached ({}). Nothing was stored. Look whether the server runs at the "
    "address of the store, then retry"
)
_REFUSALS = (
    "does not exist",
    "authentication failed",
    "no pg_hba.conf entry",
    "no password supplied",
)
_REFUSED = (
    "PostgreSQL refused the connection ({}). Check the user and the database in the address of the "
    "store, and the password in ~/.pgpass"
)
T = TypeVar("T")
logging.getLogger("psycopg").addHandler(logging.NullHandler())  # callers are told by errors


class NoAnswer(psycopg.OperationalError):
    """The server did not answer in time."""


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that waits for each answer for so many seconds only, in one process only."""

    def __init__(self, pgconn: PGconn, row_factory: RowFactory[Any] = tuple_row) -> None:
        super().__init__(pgconn, row_factory)
        self.process: int = os.getpid()
        self.answer_wait: float = CONNECT_SECONDS
        self.idle_since: float = 0.0
        self.left: bool = False  # its transaction was told to end, if nobody waited for it too
        self.place: str = ""  # the schema of its last transaction: what is prepared fits it
        self.epoch: int | None = None  # of that place, as a directory told it
        self._sending: ExitStack | None = None

    def sending(self) -> psycopg.Pipeline:
        """Statements are sent from here on without waiting for the answers of those before."""
        if self._sending is None:
            self._sending = ExitStack()
            self._sent = self._sending.enter_context(self.pipeline())
        return self._sent

    def settle(self) -> None:
        """Waits until all that was sent is answered; raises the first fault of it."""
        pipeline = self.sending()
        if pipeline.command_queue or pipeline.result_queue:
            pipeline.sync()

    def waiting(self) -> None:
        """Each statement is answered before the next one is sent."""
        sending, self._sending = self._sending, None
        if sending is not None:
            sending.close()

    def wait(self, gen: PQGen[T], interval: float = _POLL, timeout: float | None = None) -> T:
        """Waits for an answer; the connection is closed if none comes in time."""
        if os.getpid() != self.process:
            raise NotAfterFork(_FORKED)
        seconds = self.answer_wait if timeout is None else timeout
        end = time.monotonic() + seconds
        try:
            return super().wait(gen, interval, seconds)
        except psycopg.OperationalError as error:
            if time.monotonic() < end:
                raise
            self.close()
            raise NoAnswer(f"PostgreSQL did not answer in {seconds:.1f} s") from error


Begin = Callable[[BoundedConnection], None]  # begins a transaction, and waits for an answer


class Pool:
    """At most eight connections; the one that was used last is used next."""

    def __init__(
        self,
        url: str,
        configure: Callable[[psycopg.Connection[Any]], object],
        prepare_threshold: int | None = 0,
    ) -> None:
        stated = {name: value for name, value in conninfo_to_dict(url).items() if value is not None}
        self._limit = stated.get("connect_timeout")
        self.url: str = make_conninfo("", **{**_WAYS, **stated})
        self._configure, self._prepare_threshold = configure, prepare_threshold
        self._closed = False
        self._idle: list[BoundedConnection] = []
        self._start_anew()
        forks.protect(self)

    def take(
        self,
        begin: Begin,
        room_wait: float,
        answer_wait: float,
        held_wait: float = 0.0,
        place: str = "",
    ) -> BoundedConnection:
        """A connection on which `begin` was run; waits so long for room, and for each answer.

        `begin` may wait `held_wait` seconds more, for who holds what it asks for. One that was last
        used in the same place is taken before others.

        Raises StoreIsBusy if all are in use, StoreIsAway if none can be made.
        """
        left = locks.until(room_wait) - time.monotonic()
        if not self._room.acquire(timeout=max(0.0, left)):
            raise StoreIsBusy(_FULL.format(max(0.0, min(left, room_wait))))
        try:
            raw = self._begun(begin, min(answer_wait, CONNECT_SECONDS + held_wait), place)
        except BaseException:
            self._room.release()
            raise
        raw.answer_wait = answer_wait
        return raw

    def give(self, raw: BoundedConnection) -> None:
        """Takes a connection back; it is closed unless its transaction has ended."""
        if raw.process != os.getpid():  # that of a parent, in a child: it has no place here
            forks.bury([raw])
            return
        now = raw.idle_since = time.monotonic()
        if not raw.closed and not raw.left and not is_idle(raw):
            raw.close()
        with self._mutex:
            if not raw.closed:
                self._idle.append(raw)
            unused = [one for one in self._idle if self._closed or one.idle_since < now - _IDLE]
            self._idle = [one for one in self._idle if one not in unused]
        self._room.release()
        for one in unused:
            one.close()

    def close(self) -> None:
        """Closes those that nobody uses; the others are closed when they are given back."""
        self._closed = True
        self.drop_idle()

    def after_fork(self) -> None:
        """Leaves the connections of the parent to it."""
        forks.bury(self._idle)
        self._start_anew()

    def _start_anew(self) -> None:
        self._mutex = threading.Lock()
        self._room = threading.BoundedSemaphore(MOST)
        self._idle = []

    def _begun(self, begin: Begin, seconds: float, place: str) -> BoundedConnection:
        while (raw := self._popped(place)) is not None:
            raw.answer_wait = seconds
            try:
                raw.left = False
                begin(raw)
            except NoAnswer:  # the others would not be answered either
                self.drop_idle()
            except (psycopg.Error, StoreError) as error:
                if not raw.closed:
                    self._keep(raw)
                if isinstance(error, StoreError) or not raw.closed:
                    raise
            except BaseException:
                raw.close()
                raise
            else:
                return raw
        return self._connected(begin, seconds)

    def _connected(self, begin: Begin, seconds: float) -> BoundedConnection:
        """A new connection on which `begin` was run, or StoreIsAway with the reason."""
        limit = self._limit or ceil(max(_LEAST, seconds))
        raw: BoundedConnection | None = None
        try:
            raw = BoundedConnection.connect(
                self.url,
                autocommit=True,
                prepare_threshold=self._prepare_threshold,
                connect_timeout=limit,
            )
            raw.answer_wait = seconds
            self._configure(raw)
            begin(raw)
        except BaseException as error:
            away = isinstance(error, psycopg.Error) and (raw is None or raw.closed)
            if raw is not None:
                raw.close()
            if away and any(word in str(error) for word in _REFUSALS):
                raise StoreError(_REFUSED.format(error)) from error
            if away:
                raise StoreIsAway(_AWAY.format(error)) from error
            raise
        return raw

    def _keep(self, raw: BoundedConnection) -> None:
        """Keeps a connection whose transaction could not begin, say because of a lock."""
        undo(raw)
        if is_idle(raw):
            with self._mutex:
                self._idle.append(raw)
        else:
            raw.close()

    def _popped(self, place: str) -> BoundedConnection | None:
        with self._mutex:
            if self._closed:
                raise Closed
            for at in range(len(self._idle) - 1, -1, -1):
                if self._idle[at].place == place:
                    return self._idle.pop(at)
            return self._idle.pop(0) if self._idle else None

    def drop_idle(self) -> None:
        """Closes those that nobody uses: their server may be another one by now."""
        with self._mutex:
            idle, self._idle = self._idle, []
        for raw in idle:
            raw.close()


def is_idle(raw: BoundedConnection) -> bool:
    """Whether a connection is in no transaction."""
    return not raw.closed and raw.info.transaction_status == TransactionStatus.IDLE


def undo(raw: BoundedConnection) -> None:
    """Ends what was not committed; a connection that cannot be told so is not used again."""
    with suppress(psycopg.Error, NotAfterFork):
        if raw.closed or raw.left:
            return
        with suppress(psycopg.Error):  # what failed was told before
            raw.sending().sync()  # only then the server says where it is
        if not is_idle(raw):
            raw.execute("ROLLBACK", prepare=False)
            raw.settle()


# The way to a database: directly, or through a pooler that shares connections.


@dataclass(frozen=True, slots=True)
class DatabaseRoute:
    """What psycopg connects to, and whether each transaction may have another connection.

    A URL with `?pooler=transaction` leads to a pooler such as PgBouncer in transaction mode. There
    nothing outlives a transaction, so no statement is prepared. A pooler that is not stated is
    noticed by the process number that it gives, which is not that of the server.
    """

    url: str
    pooled: bool

    @classmethod
    def of(cls, url: str) -> "DatabaseRoute":
        """The route that a URL states; our parameter is taken off, which psycopg does not know."""
        found = cls._of(url)
        try:
            conninfo_to_dict(found.url)
        except psycopg.ProgrammingError:  # its text may repeat a password
            raise InvalidInput(_UNREADABLE) from None
        return found

    @classmethod
    def _of(cls, url: str) -> "DatabaseRoute":
        place, _, query = url.partition("?")
        rest = [part for part in query.split("&") if not part.startswith(_PARAMETER)]
        stated = [part[len(_PARAMETER) :] for part in query.split("&") if part not in rest]
        if not stated:
            return cls(url, pooled=False)
        if stated[-1] not in _VALUES:
            raise InvalidInput(f"pooler is one of {', '.join(_VALUES)}, not {stated[-1]!r}")
        return cls("?".join([place, *filter(None, ["&".join(rest)])]), stated[-1] == "transaction")


def with_variables(url: str, environment: Mapping[str, str] | None) -> str:
    """The address with what the variables of libpq add to it; by default those of this process.

    libpq reads them from its process, which may answer for another one. One that names a service
    is left alone: what the service says counts more than other variables.
    """
    if environment is None:
        return url
    stated = conninfo_to_dict(DatabaseRoute.of(url).url)
    if "service" in stated or environment.get("PGSERVICE"):
        return url
    found = _in_home(environment)
    for option in Conninfo.get_defaults():
        value = environment.get(option.envvar.decode()) if option.envvar else None
        if value:
            found[option.keyword.decode()] = value
    added = [f"{name}={quote(value)}" for name, value in found.items() if name not in stated]
    if not added:
        return url
    return f"{url}{'&' if '?' in url else '?'}{'&'.join(added)}"


def _in_home(environment: Mapping[str, str]) -> dict[str, str]:
    home = environment.get("HOME")
    paths = {name: Path(home, path) for name, path in _IN_HOME.items()} if home else {}
    return {  # a file of passwords may come later; libpq does without one
        name: str(path) for name, path in paths.items() if name == "passfile" or path.is_file()
    }
