"""What a store costs in the graph face: with JSON files, and with a store of our own beside it.

    python -m bench.graph_storage [MEMORIES ...]

Prints the median CPU time of one `store` and the time of the first use of an agent that has so many
memories. There is no embedder: both would embed the same texts.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from memory_mesh.compat.neolata import json_storage
from memory_mesh.compat.neolata.memory_graph import MemoryGraph, create_memory

COUNTS = (100, 1_000, 10_000)
STORES = 9  # timed at each size


def main() -> None:
    """Measure each size and print a table."""
    counts = [int(each) for each in sys.argv[1:]] or COUNTS
    print("| memories of the agent | store, JSON files | store, own store | loaded in |")
    print("|---|---|---|---|")
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            print(_row(count, Path(folder)), flush=True)


def _row(count: int, folder: Path) -> str:
    items = [f"note {n}: the harbour has {n * 7} lamps, {n * 13} boats" for n in range(count)]
    with create_memory(storage=json_storage(dir=folder / "json"), embedder="none") as graph:
        _fill(graph, items)
        kept = _median(graph)
    with create_memory(db_dir=folder / "own", embedder="none") as graph:
        _fill(graph, items)
        own = _median(graph)
    with create_memory(storage=json_storage(dir=folder / "json"), embedder="none") as graph:
        start = time.process_time()
        graph.search("kuro", "harbour")
        loaded = time.process_time() - start
    return f"| {count:,} | {kept * 1000:.1f} ms | {own * 1000:.1f} ms | {loaded:.2f} s |"


def _fill(graph: MemoryGraph, items: list[str]) -> None:
    for start in range(0, len(items), 1_000):
        graph.store_many("kuro", items[start : start + 1_000], embedding_batch_size=256)


def _median(graph: MemoryGraph) -> float:
    spent = []
    for number in range(STORES):
        start = time.process_time()
        graph.store("kuro", f"a new lamp of the harbour, number {number}")
        spent.append(time.process_time() - start)
    return statistics.median(spent)


if __name__ == "__main__":
    main()
