"""A fleet whose server is a Patroni pair: how long its places wait when the primary is killed.

    python -m bench.fleet_patroni FOLDER

FOLDER has the packages of `pip install --target FOLDER "patroni[etcd3]" "psycopg[binary]"`, for the
system's Python; etcd is installed (Debian: etcd-server). Runs as root, since PostgreSQL refuses to.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import psycopg

from memory_mesh.ledgers.postgres.owner import FleetOwner, set_up_fleet
from tests.faults import postgres_world as world
from tests.postgres import APP, SECRET, Server

NAMES = ("a", "b")
PORTS = {
    "a": 15_432,
    "b": 15_433,
    "rest a": 15_434,
    "rest b": 15_435,
    "etcd": 15_436,
    "peer": 15_437,
}
_LEASE = 20  # seconds
_CONFIGURED = """
scope: pair
name: {name}
restapi: {{listen: '127.0.0.1:{rest}', connect_address: '127.0.0.1:{rest}'}}
etcd3: {{hosts: '127.0.0.1:{etcd}'}}
bootstrap:
  dcs:
    ttl: {lease}
    loop_wait: 3
    retry_timeout: 5
    synchronous_mode: true
    postgresql: {{parameters: {{wal_level: logical}}}}
  initdb: [encoding: UTF8]
  pg_hba: [host all all 127.0.0.1/32 trust, host replication all 127.0.0.1/32 trust,
    local all all trust]
postgresql:
  listen: 127.0.0.1:{port}
  connect_address: 127.0.0.1:{port}
  data_dir: {work}/{name}
  bin_dir: {programs}
  pgpass: {work}/pgpass_{name}
  authentication:
    superuser: {{username: postgres, password: x}}
    replication: {{username: postgres, password: x}}
  parameters: {{unix_socket_directories: '{work}'}}
"""


class Pair:
    """etcd and two nodes of Patroni, each a process of its own."""

    def __init__(self, packages: str, programs: Path) -> None:
        self._packages = packages
        self.work = Path(tempfile.mkdtemp(prefix="mesh-pat-", dir="/tmp"))
        shutil.chown(self.work, "pgserver")
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        client, peer = (f"http://127.0.0.1:{PORTS[name]}" for name in ("etcd", "peer"))
        self._start(
            "etcd", "etcd", "--data-dir", f"{self.work}/etcd", "--listen-client-urls", client,
            "--advertise-client-urls", client, "--listen-peer-urls", peer,
            "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}",
        )  # fmt: skip
        for name in NAMES:
            told = {"rest": PORTS[f"rest {name}"], "etcd": PORTS["etcd"], "port": PORTS[name]}
            text = _CONFIGURED.format(
                name=name, work=self.work, programs=programs, lease=_LEASE, **told
            )
            (self.work / f"{name}.yml").write_text(text)
            self._start(name, "/usr/bin/python3", "-m", "patroni", f"{self.work}/{name}.yml")
            self.primary()  # the first one begins the cluster, the second one follows it

    def primary(self) -> str:
        """The node that takes writes."""
        end = time.monotonic() + 90
        while time.monotonic() < end:
            for name in NAMES:
                with suppress(psycopg.OperationalError), psycopg.connect(self.url(name)) as db:
                    if db.execute("SELECT pg_is_in_recovery()").fetchone() == (False,):
                        return name
            time.sleep(0.2)
        raise TimeoutError(f"no primary; see {self.work}")

    def until_synchronous(self) -> None:
        """Waits until a standby stores all before a write is acknowledged."""
        asked = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
        end = time.monotonic() + 90
        while time.monotonic() < end:
            with psycopg.connect(self.url(self.primary())) as db:
                if db.execute(asked).fetchone() == (1,):
                    return
            time.sleep(0.2)
        raise TimeoutError(f"no standby; see {self.work}")

    def url(self, name: str) -> str:
        """Where a node is reached by its superuser."""
        return f"host=127.0.0.1 port={PORTS[name]} user=postgres dbname=postgres connect_timeout=2"

    def kill(self, name: str) -> None:
        """Patroni and PostgreSQL of a node, at once."""
        postmaster = int((self.work / name / "postmaster.pid").read_text().split()[0])
        os.killpg(self._started[name].pid, signal.SIGKILL)
        for pid in (postmaster, *_children(postmaster)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        """Ends all of it."""
        for name in NAMES:
            with suppress(FileNotFoundError, ProcessLookupError):
                self.kill(name)
        os.killpg(self._started["etcd"].pid, signal.SIGKILL)
        shutil.rmtree(self.work, ignore_errors=True)

    def _start(self, name: str, *command: str) -> None:
        typed = ["runuser", "-u", "pgserver", "--", "env", f"PYTHONPATH={self._packages}", *command]
        with (self.work / f"{name}.log").open("w") as log:
            self._started[name] = subprocess.Popen(
                typed, stdout=log, stderr=log, cwd=self.work, start_new_session=True
            )


def main(packages: str) -> None:
    """Kills the primary under load, and prints what was lost and how long a write took."""
    with ExitStack() as stack:
        server = Server(logical=True)
        stack.callback(server.stop)
        programs = Path(f"/proc/{server._server.get_pid()}/exe").resolve().parent  # noqa: SLF001
        pair = Pair(packages, programs)
        stack.callback(pair.stop)
        pair.until_synchronous()
        with psycopg.connect(pair.url(pair.primary()), autocommit=True) as db:
            db.execute(f"CREATE ROLE {APP} LOGIN")
            db.execute("CREATE DATABASE memories")
        with psycopg.connect(server.url(), autocommit=True) as db:
            db.execute("CREATE DATABASE directory")
        set_up_fleet(server.url("directory"), SECRET, login=APP, places=4)
        hosts = ",".join(f"127.0.0.1:{PORTS[name]}" for name in NAMES)
        with closing(FleetOwner(server.url("directory"), SECRET)) as owner:
            owner.add_servers([f"postgresql://{hosts}/memories"])
        print(json.dumps(_written(server.url("directory", APP), pair)))


def _written(url: str, pair: Pair) -> dict[str, object]:
    begun, longest, killed = time.monotonic(), 0.0, ""
    batches: list[world.Batch] = []
    with closing(world.open_ledger(url)) as ledger:
        while time.monotonic() < begun + 50:
            batch = world.Batch(f"p{len(batches)}", 1, f"tenant-{len(batches) % 9}")
            at = time.monotonic()
            world.write(ledger, batch)
            batches.append(batch)
            longest = max(longest, time.monotonic() - at)
            if not killed and time.monotonic() > begun + 8:
                killed = pair.primary()
                pair.kill(killed)
        lost = 0
        for name in {batch.namespace for batch in batches}:
            own = [batch for batch in batches if batch.namespace == name]
            with ledger.read(name) as snapshot:
                lost += sum(count != 1 for count in world.present(snapshot, own).values())
    return {
        "acknowledged": len(batches),
        "lost": lost,
        "killed": killed,
        "primary now": pair.primary(),
        "longest write": round(longest, 1),
        "lease": _LEASE,
    }


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


if __name__ == "__main__":
    main(sys.argv[1])
