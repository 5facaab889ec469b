"""A real PgBouncer in transaction mode before a server of tests."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

from tests.postgres import APP, Server

BINARY = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
_PATIENCE = 300.0
_SETTINGS = """\
[databases]
* = host={host}
[pgbouncer]
pool_mode = transaction
auth_type = any
unix_socket_dir = {folder}
listen_addr =
listen_port = 6432
default_pool_size = 2
max_client_conn = 100
logfile = {folder}/log
pidfile = {folder}/pid
"""


class Bouncer:
    """One pooler in a folder of its own; two connections of the server for any number of users."""

    def __init__(self, server: Server) -> None:
        assert BINARY is not None
        self.folder = Path(tempfile.mkdtemp(prefix="mesh-pool-", dir="/tmp"))  # short
        settings = self.folder / "settings.ini"
        databases = _SETTINGS.replace("host={host}", "host={host} user=" + APP)
        settings.write_text(databases.format(host=server.folder, folder=self.folder))
        command = [BINARY, "-q", str(settings)]
        if os.getuid() == 0:  # it refuses to run as such
            owner = pwd.getpwuid(server.folder.stat().st_uid)
            user = owner if owner.pw_uid else pwd.getpwnam("nobody")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            command = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}",
                       "--clear-groups", *command]  # fmt: skip
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self._wait(server)

    def url(self, database: str) -> str:
        """Where a database is behind the pooler, as psycopg takes it."""
        return f"postgresql://{APP}@/{database}?host={self.folder}&port=6432"

    def stop(self) -> None:
        """Stops it, and removes its folder."""
        self._process.terminate()
        self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait(self, server: Server) -> None:
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                with psycopg.connect(self.url("postgres")) as db:
                    db.execute("SELECT 1")
                return
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)
