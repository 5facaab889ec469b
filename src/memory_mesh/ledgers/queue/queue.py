"""The queue of a database: put jobs in, look at them, put failed ones back.

A row names a job and a namespace, and carries nothing of what is stored there. One job of a
namespace runs at a time (its lock), and none waits twice (its queueing lock). `webhooks` has a lock
of its own: only some workers can do it, and a row that waits holds up all later ones of its lock.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from procrastinate import exceptions
from procrastinate.jobs import Job
from procrastinate.manager import JobManager
from procrastinate.schema import SchemaManager
from procrastinate.sync_psycopg_connector import SyncPsycopgConnector
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import NullConnectionPool, PoolTimeout

from memory_mesh.ledgers.postgres.places import places_by_server
from memory_mesh.model.errors import NotAllowed, StoreError, StoreIsAway
from memory_mesh.model.job import DISTILL, WEBHOOKS, QueuedJob

SCHEMA = "memory_mesh_jobs"
_LOCK = 0x6D656D6D657369  # one set-up at a time
_OWN = """
CREATE TABLE IF NOT EXISTS progress (
    job bigint PRIMARY KEY REFERENCES procrastinate_jobs ON DELETE CASCADE,
    done bigint NOT NULL DEFAULT 0,
    total bigint, -- not known for every job
    failure text -- what kind of failure the last attempt ended with; never a message
)
"""

NAMESPACE = "namespace"  # the only argument of a job
_MOST = 4  # connections of one process
_NAMES = 1_000  # namespaces that are planned in one transaction
CONNECT_SECONDS = 10.0
_ELSEWHERE = (psycopg.OperationalError, psycopg.DatabaseError)  # away, or a place moved
_STATES = {"todo": "waits", "doing": "runs", "failed": "failed"}
_LISTED = """
SELECT j.id, j.task_name, j.args->>'namespace', j.status::text, j.attempts, j.scheduled_at,
    p.done, p.total, p.failure
FROM procrastinate_jobs j LEFT JOIN progress p ON p.job = j.id
WHERE j.status IN ('todo', 'doing', 'failed') AND j.lock IS NOT NULL
    AND (%(namespace)s::text IS NULL
        OR j.lock = ANY(%(locks)s) AND j.args->>'namespace' = %(namespace)s)
ORDER BY j.status <> 'doing', j.priority DESC, j.id LIMIT %(most)s
"""
_FORGOTTEN = """
DELETE FROM procrastinate_jobs
WHERE lock = ANY(%(locks)s) AND args->>'namespace' = %(namespace)s AND status <> 'doing'
"""
_RETRIED = """
UPDATE procrastinate_jobs SET status = 'todo', attempts = 0, priority = 0, scheduled_at = NULL
WHERE id IN (
    SELECT DISTINCT ON (f.queueing_lock) f.id FROM procrastinate_jobs f
    WHERE f.status = 'failed' AND f.lock = ANY(%(locks)s)
        AND f.args->>'namespace' = %(namespace)s AND NOT EXISTS (
        SELECT 1 FROM procrastinate_jobs w
        WHERE w.status = 'todo' AND w.queueing_lock = f.queueing_lock
    )
    ORDER BY f.queueing_lock, f.id DESC
)
"""


class JobQueue:
    """The jobs of one database; safe in threads."""

    def __init__(self, url: str, capability: bytes) -> None:
        """Keep the address, and what shows that this process may list every namespace."""
        self._url, self._capability = url, capability
        self._pool = NullConnectionPool(  # few calls, and a server that was away is found at once
            conninfo(url),
            min_size=0,
            max_size=_MOST,
            open=False,
            timeout=CONNECT_SECONDS,
            kwargs={"autocommit": True},
        )
        self._manager = JobManager(SyncPsycopgConnector())  # every call is given a connection

    def defer(self, jobs: Sequence[str], namespace: str) -> list[str]:
        """Puts jobs of a namespace in; returns those that did not wait already."""
        with self._connected() as db, db.transaction():
            return [name for name, _ in self._defer(db, [(job, namespace) for job in jobs])]

    def plan(self, jobs: Sequence[str]) -> int:
        """Puts in the jobs of every namespace that changed or is due; returns how many jobs.

        The namespaces are taken from the list and their jobs put in by one transaction. Those of a
        fleet are taken from each server once their jobs are in, so that none is left out.
        """
        with self._connected() as db:
            servers = places_by_server(db, self._url)
        return sum(self._planned(jobs, *each) for each in servers)

    def _planned(self, jobs: Sequence[str], server: str | None, places: Sequence[str]) -> int:
        taken = " UNION ALL ".join(
            f"SELECT {place}.take_due(%(capability)s, %(most)s)" for place in places
        )
        values, planned = {"capability": self._capability, "most": _NAMES}, 0
        with suppress(*([] if server is None else _ELSEWHERE)):  # it is asked again next time
            while True:
                with ExitStack() as stack:
                    there = None
                    if server is not None:
                        there = stack.enter_context(psycopg.connect(server))
                    db = stack.enter_context(self._connected())
                    stack.enter_context(db.transaction())
                    found = (there or db).execute(taken, values).fetchall()
                    wanted = [(job, name) for (name,) in found for job in jobs]
                    planned += len(self._defer(db, wanted))
                if len(found) < _NAMES:
                    break
        return planned

    def listed(self, namespace: str | None, most: int) -> list[QueuedJob]:
        """What runs, waits or failed, of one namespace or of all."""
        with self._connected() as db:
            rows = db.execute(_LISTED, {**_of(namespace), "most": most}).fetchall()
        return [
            QueuedJob(
                number=number,
                job=job,
                namespace=name,
                state=_STATES[status],
                attempts=attempts,
                not_before=when if status == "todo" else None,
                done=done or 0,
                total=total,
                failure=failure,
            )
            for number, job, name, status, attempts, when, done, total, failure in rows
        ]

    def retry(self, namespace: str) -> int:
        """Puts the failed jobs of a namespace back; returns how many."""
        with self._connected() as db:
            return db.execute(_RETRIED, _of(namespace)).rowcount

    def forget(self, namespace: str) -> None:
        """Deletes the jobs of a namespace that nobody is doing."""
        with self._connected() as db:
            db.execute(_FORGOTTEN, _of(namespace))

    def tell(self, number: int, done: int, total: int | None) -> None:
        """Stores how far a job is."""
        with self._connected() as db:
            db.execute(
                "INSERT INTO progress (job, done, total) VALUES (%s, %s, %s) "
                "ON CONFLICT (job) DO UPDATE SET done = excluded.done, total = excluded.total",
                (number, done, total),
            )

    def tell_failure(self, number: int, failure: str) -> None:
        """Stores what kind of failure an attempt ended with."""
        with self._connected() as db:
            db.execute(
                "INSERT INTO progress (job, failure) VALUES (%s, %s) "
                "ON CONFLICT (job) DO UPDATE SET failure = excluded.failure",
                (number, failure),
            )

    def close(self) -> None:
        """Closes every connection."""
        self._pool.close()

    def _defer(
        self, db: psycopg.Connection[Any], wanted: Iterable[tuple[str, str]]
    ) -> list[tuple[str, str]]:
        """Puts in those that do not wait already, in one statement."""
        by_lock = {f"{job} {namespace}": (job, namespace) for job, namespace in wanted}
        waiting = db.execute(
            "SELECT queueing_lock FROM procrastinate_jobs "
            "WHERE status = 'todo' AND queueing_lock = ANY(%s)",
            (list(by_lock),),
        )
        for (lock,) in waiting.fetchall():
            del by_lock[lock]
        if by_lock:
            jobs = [_job(lock, *named) for lock, named in by_lock.items()]
            self._manager.batch_defer_jobs(jobs, connection=db)
        return list(by_lock.values())

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[Any]]:
        with translated():
            self._pool.open()
            with self._pool.connection() as db:
                yield db


@contextmanager
def translated() -> Iterator[None]:
    """Raises faults of the queue as StoreError."""
    try:
        yield
    except (psycopg.Error, PoolTimeout, exceptions.ProcrastinateException) as error:
        raise _of_the_store(error) from error


def _of_the_store(error: Exception) -> StoreError | NotAllowed:
    """The error in our words; procrastinate keeps that of the database as the cause of its own."""
    cause = error.__cause__ if isinstance(error, exceptions.ProcrastinateException) else error
    match cause:
        case (
            psycopg.errors.UndefinedTable()
            | psycopg.errors.UndefinedFunction()
            | psycopg.errors.UndefinedObject()
            | psycopg.errors.InvalidSchemaName()
        ):
            return StoreError(
                "the database has no queue, or an older one; its owner makes it: memory-mesh "
                "setup-server"
            )
        case psycopg.errors.InsufficientPrivilege():
            return NotAllowed(str(cause))
        case psycopg.OperationalError(sqlstate=None | "57P01" | "57P02" | "57P03"):
            return StoreIsAway(f"the queue of the database cannot be reached ({cause})")
        case _:
            return StoreError(str(cause or error))


def _of(namespace: str | None) -> dict[str, Any]:
    """What a statement about one namespace, or about all, is given."""
    locks = [] if namespace is None else [namespace, _lock(WEBHOOKS, namespace)]
    return {"namespace": namespace, "locks": locks}


def _lock(job: str, namespace: str) -> str:
    return f"{job} {namespace}" if job == WEBHOOKS else namespace


def _job(queueing_lock: str, job: str, namespace: str) -> Job:
    return Job(
        id=None,
        queue=job,
        lock=_lock(job, namespace),
        queueing_lock=queueing_lock,
        task_name=job,
        task_kwargs={NAMESPACE: namespace},
        priority=-1 if job == DISTILL else 0,  # if nobody does it, the others go past it
    )


# Makes the tables of the queue, or brings them up to date: the work of the database's owner.
#
# They are procrastinate's own, in a schema of their own, beside one table of ours: how far a job
# is.


def conninfo(url: str) -> str:
    """The address with the schema of the queue; a stated option stays."""
    stated = conninfo_to_dict(url).get("options") or ""
    return make_conninfo(url, options=f"{stated} -c search_path={SCHEMA}".strip())


def set_up(url: str, role: str) -> None:
    """Makes what is missing, and lets a role use it."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        schema = sql.Identifier(SCHEMA)
        db.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
        db.execute(sql.SQL("SET search_path = {}").format(schema))
        with db.transaction():
            _migrate(db)
            db.execute(_OWN)
            for grant in (
                "GRANT USAGE ON SCHEMA {} TO {}",
                "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {} TO {}",
                "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {} TO {}",
            ):
                db.execute(sql.SQL(grant).format(schema, sql.Identifier(role)))


def _migrate(db: psycopg.Connection) -> None:
    """Runs procrastinate's whole schema once, and later the migrations after it."""
    db.execute("CREATE TABLE IF NOT EXISTS migrated (name text PRIMARY KEY)")
    there = {path.name: path for path in Path(SchemaManager.get_migrations_path()).glob("*.sql")}
    found = db.execute("SELECT max(name) FROM migrated").fetchone()
    if found is None or found[0] is None:
        db.execute(SchemaManager.get_schema())
        db.execute("INSERT INTO migrated VALUES (%s)", (max(there),))
        return
    for name in sorted(name for name in there if name > found[0]):
        db.execute(there[name].read_bytes())
        db.execute("INSERT INTO migrated VALUES (%s)", (name,))
