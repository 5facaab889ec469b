"""What an operation costs in a fleet and in one database, and what many places cost on one server.

    python -m bench.fleet_cost [--places 1 64 256] [--operations 60] [--set-up 64 256 1024]

Processor time of the client and of the server together, in turns, on one server; no network. The
namespaces are drawn at random, so with many places nearly every operation is in another one.
"""

import argparse
import json
import os
import random
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median

import psycopg

from memory_mesh.ledgers.postgres.owner import FleetOwner, set_up_fleet
from memory_mesh.ledgers.postgres.setup import set_up
from memory_mesh.sync import MemoryMesh
from tests.postgres import APP, SECRET, Server

NAMESPACES = 300
PARTITIONS = 4  # of one database, as it is set up
_TICKS = os.sysconf("SC_CLK_TCK")
_CATALOG = """
    SELECT (SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_attribute),
        (SELECT sum(pg_relation_size(oid)) FROM pg_class WHERE relnamespace = 11)::bigint"""
_PLANNED = """
    EXPLAIN (SUMMARY, FORMAT JSON) SELECT v.number FROM version v
    JOIN memory m ON m.number = v.memory JOIN text t ON t.number = v.text
    WHERE m.id = 'mem_none' AND v.recorded_until IS NULL"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--places", type=int, nargs="*", default=[1, 64, 256])
    parser.add_argument("--operations", type=int, default=60, help="of each kind in a turn")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--set-up", type=int, nargs="*", default=[], dest="set_up")
    options = parser.parse_args(arguments)
    os.environ["MEMORY_MESH_KEY"] = SECRET.hex()
    with closing(_Measured()) as measured:
        for places in sorted({*options.set_up}):
            print(f"{places} places: {measured.catalog(places)}", flush=True)
        if options.operations:
            measured.compare(options.places, options.operations, options.turns)


class _Measured:
    """One server, with a database of one place, and fleets of more."""

    def __init__(self) -> None:
        self._server = Server(logical=True)
        self._dice = random.Random(1)

    def close(self) -> None:
        self._server.stop()

    def catalog(self, places: int) -> str:
        """Seconds of set-up, of running it again, rows and bytes of the catalog, time of a plan."""
        begun = time.perf_counter()
        url = self._fleet(places, f"catalog_{places}")
        made = time.perf_counter() - begun
        begun = time.perf_counter()
        set_up_fleet(url, SECRET)
        again = time.perf_counter() - begun
        with psycopg.connect(self._server.url(f"catalog_{places}_memories")) as db:
            ((tables, columns, size),) = db.execute(_CATALOG)
            db.execute("SET search_path = place_0000, public")
            planned = []
            for _ in range(20):
                ((found,),) = db.execute(_PLANNED)
                planned.append(found[0]["Planning Time"])
        return (
            f"set up in {made:.1f} s, looked at again in {again:.1f} s; catalog {tables:,} "
            f"relations, {columns:,} columns, {size / 1e6:.0f} MB; a plan {median(planned):.2f} ms"
        )

    def compare(self, places: Sequence[int], operations: int, turns: int) -> None:
        """Prints what each operation costs in one database, and in fleets."""
        plain = "plain"
        with psycopg.connect(self._server.url(), autocommit=True) as db:
            db.execute(f"CREATE DATABASE {plain}")
        set_up(self._server.url(plain), SECRET, login=APP, partitions=PARTITIONS)
        urls = {"one database": self._server.url(plain, APP)}
        for count in places:
            self._fleet(count, f"fleet_{count}")
            urls[f"{count} places"] = self._server.url(f"fleet_{count}", APP)
        took: dict[str, dict[str, list[float]]] = {}
        with ExitStack() as stack:
            meshes = {
                name: stack.enter_context(MemoryMesh(url, embedder="none"))
                for name, url in urls.items()
            }
            ids = {name: self._filled(mesh) for name, mesh in meshes.items()}
            for _ in range(turns):
                for name, mesh in meshes.items():
                    for kind, work in self._kinds(mesh, ids[name]).items():
                        cost = self._cost(work, operations)
                        took.setdefault(name, {}).setdefault(kind, []).append(cost)
        base = {kind: median(costs) for kind, costs in took["one database"].items()}
        for name, kinds in took.items():
            told = {kind: median(costs) for kind, costs in kinds.items()}
            print(
                json.dumps(
                    {
                        "store": name,
                        "ms": {kind: round(1000 * each, 2) for kind, each in told.items()},
                        "times": {kind: round(told[kind] / base[kind], 2) for kind in told},
                    }
                ),
                flush=True,
            )

    def _kinds(self, mesh: MemoryMesh, ids: dict[str, str]) -> dict[str, Callable[[], object]]:
        def name() -> str:
            return f"tenant-{self._dice.randrange(NAMESPACES)}"

        def get() -> object:
            chosen = name()
            return mesh.view(namespace=chosen).get(ids[chosen])

        return {
            "get": get,
            "search": lambda: mesh.view(namespace=name()).search("late note", use_cache=False),
            "add": lambda: mesh.view(namespace=name()).add(
                f"The note {self._dice.randrange(10**6):x} says that it is late"
            ),
        }

    def _filled(self, mesh: MemoryMesh) -> dict[str, str]:
        return {
            f"tenant-{number}": str(
                mesh.view(namespace=f"tenant-{number}").add(f"The first note of {number}").id
            )
            for number in range(NAMESPACES)
        }

    def _cost(self, work: Callable[[], object], operations: int) -> float:
        begun = time.process_time() + self._server_time()
        for _ in range(operations):
            work()
        return (time.process_time() + self._server_time() - begun) / operations

    def _server_time(self) -> float:
        """The processor time of the server and of all its processes, also of those that ended."""
        postmaster = int((self._server.folder / "postmaster.pid").read_text().split()[0])
        total = 0
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        for pid in [postmaster, *map(int, children)]:
            try:
                found = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except FileNotFoundError:
                continue
            total += sum(map(int, found[11:13])) + sum(map(int, found[13:15])) * (pid == postmaster)
        return total / _TICKS

    def _fleet(self, places: int, name: str) -> str:
        with psycopg.connect(self._server.url(), autocommit=True) as db:
            db.execute(f"CREATE DATABASE {name}")
            db.execute(f"CREATE DATABASE {name}_memories")
        url = self._server.url(name)
        set_up_fleet(url, SECRET, login=APP, places=places)
        with closing(FleetOwner(url, SECRET)) as owner:
            owner.add_servers([self._server.url(f"{name}_memories")])
        return url


if __name__ == "__main__":
    main()
