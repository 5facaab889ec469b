"""The exact scan: processor time of one search by meaning without an index, and memory.

    python -m bench.exact_scan 10000 100000 500000

Each store holds one memory and so many vectors, written straight into its table. Printed are the
search that makes the vector file, the first search of a new process, a later one, the bare product
of a matrix in memory with the default and our threads, and a search that streams the ledger.
"""

import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from memory_mesh.ledgers.shared import exact_scan
from memory_mesh.ledgers.sqlite import ledger as sqlite_ledger
from memory_mesh.ledgers.sqlite.connections import Files
from memory_mesh.sync import MemoryMesh

_DIMENSION = 384
_ASKED = 132  # candidates that a search with a limit of ten asks for
_SPACE = (
    "INSERT INTO space (number, name, provider, model, revision, dimension, max_tokens, "
    "normalised, query_prefix, text_prefix) VALUES (1, 's', 'p', 'm', 'r', ?, 9, 1, '', '')"
)


def main() -> None:
    """Measures each size; with a folder as first argument, searches there in this process."""
    if len(sys.argv) == 3 and Path(sys.argv[1]).is_dir():
        _search(Path(sys.argv[1]), sys.argv[2])
        return
    for count in map(int, sys.argv[1:]):
        with tempfile.TemporaryDirectory() as name:
            _fill(Path(name), count)
            for what in ("make the file", "a new process"):
                command = [sys.executable, "-m", "bench.exact_scan", name, f"{count}: {what}"]
                subprocess.run(command, check=True)


def _fill(folder: Path, count: int) -> None:
    with MemoryMesh(db_dir=folder, embedder="none") as mesh:
        mesh.add("the only memory")
    dice = np.random.default_rng(1)
    centres = dice.standard_normal((200, _DIMENSION), np.float32)
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as db, db:
        db.execute(_SPACE, (_DIMENSION,))
        for start in range(0, count, 10_000):
            many = min(10_000, count - start)
            block = dice.standard_normal((many, _DIMENSION), np.float32)
            block += centres[dice.integers(0, 200, many)]
            block /= np.linalg.norm(block, axis=1, keepdims=True)
            db.executemany(
                "INSERT INTO vector (text, space, part, seq, data) VALUES (1, 1, ?, 1, ?)",
                ((start + row, block[row].tobytes()) for row in range(many)),
            )


def _search(folder: Path, what: str) -> None:
    asked = np.random.default_rng(2).standard_normal(_DIMENSION, np.float32)
    asked /= np.linalg.norm(asked)
    tails, files = sqlite_ledger.FileTails(), Files(folder / "namespaces")
    with files.reading("default") as db:
        (highest,) = db.execute("SELECT max(number) FROM vector").fetchone()

        def search() -> object:
            return tails.against(db, ("", 1), asked, 0, highest)(_ASKED)

        print(f"{what}, first search: {_cpu(search, 1):.1f} ms")
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{what}, later search: {_cpu(search):.1f} ms, peak memory {memory} MB")
        if "new" not in what:
            return
        if highest <= 100_000:
            data = b"".join(row[0] for row in db.execute("SELECT data FROM vector"))
            matrix = np.frombuffer(data, np.float32).reshape(highest, _DIMENSION)
            chosen = _cpu(lambda: exact_scan.product(matrix, asked))
            print(f"bare product: default {_cpu(lambda: matrix @ asked):.1f}, ours {chosen:.1f} ms")
        streamed = _cpu(lambda: exact_scan.stream(db, 1, 0, asked, _ASKED), 1)
        print(f"streamed from the ledger: {streamed:.1f} ms")


def _cpu(act: Callable[[], object], times: int = 5) -> float:
    """Milliseconds of the processor, all threads, the least of some runs."""
    took = []
    for _ in range(times):
        start = time.process_time()
        act()
        took.append(time.process_time() - start)
    return min(took) * 1000


if __name__ == "__main__":
    main()
