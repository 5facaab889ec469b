"""What a cold namespace costs: bytes, and the time to send it and to bring it back.

    python -m bench.cold                   one namespace of 1,000 memories with vectors, five times
    python -m bench.cold --together 1000   so many small ones asked for at once, by eight threads

Into results/benchmarks/cold.json, with a PostgreSQL server and an object storage of its own.
"""

import argparse
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import psycopg

from bench import memories, report
from bench.measure import Figures, rounded, say
from memory_mesh.care import server as care
from memory_mesh.ledgers.postgres.copies import name_storage
from memory_mesh.model.errors import StoreIsBusy
from memory_mesh.sync import MemoryMesh
from tests.object_storage import CREDENTIALS, Storage
from tests.postgres import APP, SECRET, Server

OUT = Path(__file__).resolve().parents[1] / "results" / "benchmarks"
PATHS = ("src/memory_mesh/care/cold.py", "src/memory_mesh/care/archives.py",
         "src/memory_mesh/ledgers/postgres/copies.py")  # fmt: skip
_ROWS, _TIMES, _THREADS = 1_000, 5, 8
_BYTES = """
    SELECT sum(pg_total_relation_size(oid)) FROM pg_class
    WHERE relnamespace = 'memory_mesh'::regnamespace AND relkind = 'r'"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure one part, and write what is known of both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--together", type=int, help="namespaces that are asked for at once")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(arguments)
    path, code = options.out / "cold.json", report.code()
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    with started() as (url, owner):
        if options.together:
            name, figures = "together", together(url, options.together)
            sizes = {"namespaces": options.together, "threads": _THREADS}
        else:
            name, figures, sizes = "one", one(url, owner), {"memories": _ROWS, "times": _TIMES}
    known[name] = report.stamped(figures, sizes, code, PATHS)
    path.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    for figure, value in figures.items():
        say(f"  {figure}: {value}")
    return 0


def one(url: str, owner: str) -> Figures:
    """A namespace of many memories, sent and brought back again and again."""
    with MemoryMesh(url, custom_embedder=memories.Made()) as mesh:
        mesh.view(namespace="other").add("The first of all memories")
        empty = _bytes(owner)
        mesh.add_many(list(memories.items(0, _ROWS)))
        mesh.care.upkeep()
        full = _bytes(owner)
        question = "which release did the machine build?"
        warm = [_timed(lambda: mesh.search(question, use_cache=False)) for _ in range(3 * _TIMES)]
        sent, back, size = list[tuple[float, float]](), list[tuple[float, float]](), 0
        for _ in range(_TIMES):
            mesh.care.upkeep()
            begun = time.perf_counter(), time.process_time()
            gone = care.make_cold(mesh.config)
            sent.append((time.perf_counter() - begun[0], time.process_time() - begun[1]))
            size = 0 if gone is None else gone.bytes
            back.append(_timed(lambda: mesh.search(question, use_cache=False)))
    return {
        "bytes_a_memory_warm": rounded((full - empty) / _ROWS),
        "bytes_a_memory_cold": rounded(size / _ROWS),
        "warm_over_cold": rounded((full - empty) / size),
        **_both("search_warm", warm),
        **_both("send", sent),
        **_both("first_search", back),
    }


def together(url: str, namespaces: int) -> Figures:
    """All of them are asked for at once, by more threads than may bring one back at a time."""
    with MemoryMesh(url, embedder="none") as mesh:
        views = [mesh.view(namespace=f"n{number}") for number in range(namespaces)]
        for view in views:
            view.add_many([f"Shelf {number} is made of oak" for number in range(10)])
            care.make_cold(view.config)
        warm, left, waits = mesh.view(namespace="warm"), iter(views), list[float]()
        warm.add("The lamp is green")
        mutex, retries = threading.Lock(), list[int]()

        def ask() -> None:
            while True:
                with mutex:
                    view = next(left, None)
                if view is None:
                    return
                start = time.perf_counter()
                while True:
                    try:
                        view.get_all()
                        break
                    except StoreIsBusy:
                        retries.append(1)
                waits.append(time.perf_counter() - start)

        threads = [threading.Thread(target=ask) for _ in range(_THREADS)]
        begun = time.perf_counter()
        for thread in threads:
            thread.start()
        beside = list[float]()
        while any(thread.is_alive() for thread in threads):
            beside.append(_timed(warm.get_all)[0])
            time.sleep(0.2)
        seconds = time.perf_counter() - begun
    alone = [_timed_alone(url) for _ in range(5)]
    return {
        "seconds": rounded(seconds),
        "a_second": rounded(namespaces / seconds),
        "wait_p50_ms": rounded(1000 * median(waits)),
        "longest_wait_ms": rounded(1000 * max(waits)),
        "told_to_retry": float(len(retries)),
        "warm_read_beside_p50_ms": rounded(1000 * median(beside)),
        "warm_read_alone_p50_ms": rounded(1000 * median(alone)),
    }


@contextmanager
def started() -> Iterator[tuple[str, str]]:
    """A database as its users and as its owner reach it, with an object storage."""
    os.environ |= {"MEMORY_MESH_KEY": SECRET.hex(), **CREDENTIALS}
    database, storage = Server(safe=True), Storage()
    try:
        name = database.database(4)
        name_storage(database.url(name), storage.address("bench", days=0, keep_days=0))
        yield database.url(name, APP), database.url(name)
    finally:
        storage.stop()
        database.stop()


def _timed_alone(url: str) -> float:
    with MemoryMesh(url, namespace="warm", embedder="none") as mesh:
        mesh.get_all()
        return _timed(mesh.get_all)[0]


def _timed(call: Callable[[], object]) -> tuple[float, float]:
    begun = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - begun[0], time.process_time() - begun[1]


def _both(name: str, times: Sequence[tuple[float, float]]) -> Figures:
    wall, cpu = (rounded(1000 * median(each)) for each in zip(*times, strict=True))
    return {f"{name}_ms": wall, f"{name}_cpu_ms": cpu}


def _bytes(owner: str) -> int:
    with psycopg.connect(owner) as db:
        db.execute("CHECKPOINT")
        return int((db.execute(_BYTES).fetchone() or (0,))[0])


if __name__ == "__main__":
    raise SystemExit(main())
