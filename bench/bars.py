"""The bars: promises of speed as ratios, each side measured beside the other in one process.

    python -m bench.run --bars --work-dir DIR            every bar, into results/benchmarks/bars.*
    python -m bench.run --bars scoped_1 add --size 2000  some bars at a fiftieth of their size

A bar is judged by processor time and by the clock: it is met when both ratios of medians are. All
threads of the process count. What has nothing beside it is measured in milliseconds. `--size`
stands for 100,000 memories; the other sizes follow it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench import bars_process, bars_searching, bars_writing
from bench.measure import Sides, Skipped, say

FULL_SIZE = 100_000
SEARCH_PATHS = (
    "src/memory_mesh/models/lance",
    "src/memory_mesh/ledgers",
    "src/memory_mesh/search/recall.py",
    "src/memory_mesh/search/rank.py",
    "src/memory_mesh/write/transaction.py",
    "src/memory_mesh/write/prepare.py",
    "src/memory_mesh/rules/filters.py",
    "src/memory_mesh/search/ranking",
    "src/memory_mesh/text",
    "src/memory_mesh/mesh/operations/search.py",
)
WRITE_PATHS = (
    "src/memory_mesh/ledgers",
    "src/memory_mesh/write/audit_entries.py",
    "src/memory_mesh/write/transaction.py",
    "src/memory_mesh/write/prepare.py",
    "src/memory_mesh/write/add.py",
    "src/memory_mesh/write/claims",
    "src/memory_mesh/privacy",
    "src/memory_mesh/text/scrub",
    "src/memory_mesh/text",
    "src/memory_mesh/write/rules",
    "src/memory_mesh/mesh/operations/memories.py",
)
START_PATHS = ("src/memory_mesh",)


@dataclass(frozen=True, slots=True)
class Bench:
    """Where the stores lie, how large 100,000 is, and how many questions are asked."""

    work: Path
    size: int = FULL_SIZE
    questions: int = 40

    def sized(self, memories: int) -> int:
        """So many memories, as far as this run is a rehearsal."""
        return max(1_000, memories * self.size // FULL_SIZE)


@dataclass(frozen=True, slots=True)
class Bar:
    """One promise: how it is measured, what it must be and what it aims at."""

    name: str
    text: str
    must: float
    aim: float
    sizes: tuple[int, ...]
    paths: tuple[str, ...]
    measure: Callable[["Bench", tuple[int, ...]], Sides] = field(repr=False)

    def run(self, bench: "Bench") -> Sides:
        """Both sides; raises Skipped where something that it needs is missing."""
        sizes = tuple(bench.sized(size) for size in self.sizes)
        say(f"{self.name}: {self.text}" + (f", {sizes} memories" if sizes else ""))
        return self.measure(bench, sizes)


BARS = (
    Bar(
        "scoped_1",
        "search, reader sees 1 % / reader sees all, index present",
        1.2,
        0.6,
        (100_000,),
        SEARCH_PATHS,
        lambda bench, sizes: bars_searching.scoped(bench, *sizes, share="1 %"),
    ),
    Bar(
        "scoped_03",
        "search, reader sees 0.3 % / reader sees all, index present",
        1.2,
        0.6,
        (100_000,),
        SEARCH_PATHS,
        lambda bench, sizes: bars_searching.scoped(bench, *sizes, share="0.3 %"),
    ),
    Bar(
        "filtered",
        "search with a metadata key that 1 % equal / unfiltered, index present",
        1.2,
        0.6,
        (100_000,),
        SEARCH_PATHS,
        lambda bench, sizes: bars_searching.filtered(bench, *sizes),
    ),
    Bar(
        "scan_growth",
        "search without an index, large / small",
        6.0,
        5.0,
        (500_000, 100_000),
        SEARCH_PATHS,
        lambda bench, sizes: bars_searching.without_index(bench, *sizes),
    ),
    Bar(
        "add",
        "keyword-only add / a bare commit of the same rows",
        2.5,
        2.0,
        (),
        WRITE_PATHS,
        lambda bench, _: bars_writing.add(bench),
    ),
    Bar(
        "add_many",
        "keyword-only add_many / bare executemany of the same rows",
        4.0,
        3.0,
        (),
        WRITE_PATHS,
        lambda bench, _: bars_writing.add_many(bench),
    ),
    Bar(
        "hybrid",
        "hybrid search, sessions and projects / bare embed + FTS5 + nearest, index present",
        1.2,
        1.0,
        (100_000,),
        SEARCH_PATHS,
        lambda bench, sizes: bars_searching.over_parts(bench, *sizes),
    ),
    Bar(
        "hybrid_growth",
        "hybrid search end to end, large / small, index present",
        1.5,
        1.25,
        (1_000_000, 100_000),
        SEARCH_PATHS,
        lambda bench, sizes: bars_searching.with_index(bench, *sizes),
    ),
    Bar(
        "keyword_rare",
        "keyword search of rare words / bare FTS5, ten texts each",
        5.0,
        3.0,
        (100_000,),
        SEARCH_PATHS,
        lambda bench, sizes: bars_searching.rare_words(bench, *sizes),
    ),
    Bar(
        "cold_store",
        "cold `memory-mesh store` / interpreter with sqlite3 and argparse",
        3.0,
        2.5,
        (),
        START_PATHS,
        lambda bench, _: bars_process.cold(bench, "store"),
    ),
    Bar(
        "cold_search",
        "cold `memory-mesh search` / interpreter with sqlite3 and argparse",
        3.0,
        2.5,
        (),
        START_PATHS,
        lambda bench, _: bars_process.cold(bench, "search"),
    ),
    Bar(
        "cold_meaning",
        "cold `memory-mesh search` with static vectors, no daemon / the same interpreter",
        8.0,
        6.0,
        (),
        START_PATHS,
        lambda bench, _: bars_process.cold(bench, "search", embedder="static"),
    ),
    Bar(
        "cold_meaning_daemon",
        "cold `memory-mesh search` with static vectors beside a daemon / the same interpreter",
        4.0,
        3.0,
        (),
        START_PATHS,
        lambda bench, _: bars_process.cold(bench, "search", embedder="static", daemon=True),
    ),
    Bar(
        "hook",
        "a prompt's memories without a daemon, a process, ms",
        150.0,
        100.0,
        (),
        START_PATHS,
        lambda bench, _: bars_process.hook(bench),
    ),
    Bar(
        "hybrid_add",
        "add with its vector, ms",
        4.3,
        3.0,
        (10_000,),
        WRITE_PATHS,
        lambda bench, sizes: bars_writing.hybrid_add(bench, *sizes),
    ),
    Bar(
        "hybrid_add_many",
        "add_many with vectors, ms for each memory",
        1.4,
        1.0,
        (10_000,),
        WRITE_PATHS,
        lambda bench, sizes: bars_writing.hybrid_add_many(bench, *sizes),
    ),
    Bar(
        "first_memory",
        "the first memory of a new user, ms",
        6.0,
        3.0,
        (),
        WRITE_PATHS,
        lambda bench, _: bars_writing.first_memory(bench),
    ),
    Bar(
        "get",
        "get / the statement that reads its rows",
        10.0,
        5.0,
        (10_000,),
        SEARCH_PATHS,
        lambda bench, sizes: bars_writing.get(bench, *sizes),
    ),
    Bar(
        "session_start",
        "context without a question, 800 tokens, ms",
        12.0,
        8.0,
        (10_000,),
        (*SEARCH_PATHS, "src/memory_mesh/context"),
        lambda bench, sizes: bars_searching.session_start(bench, *sizes),
    ),
    Bar(
        "search_small",
        "hybrid search without an index, ms",
        10.0,
        8.0,
        (1_000,),
        SEARCH_PATHS,
        lambda bench, sizes: bars_searching.hybrid_alone(bench, *sizes),
    ),
    Bar(
        "search_medium",
        "hybrid search without an index, ms",
        18.0,
        12.0,
        (10_000,),
        SEARCH_PATHS,
        lambda bench, sizes: bars_searching.hybrid_alone(bench, *sizes),
    ),
    Bar(
        "threads_small",
        "search without an index, default BLAS threads / best setting",
        1.1,
        1.0,
        (10_000,),
        SEARCH_PATHS,
        lambda bench, sizes: bars_process.threads(bench, *sizes),
    ),
    Bar(
        "threads_large",
        "search without an index, default BLAS threads / best setting",
        1.1,
        1.0,
        (100_000,),
        SEARCH_PATHS,
        lambda bench, sizes: bars_process.threads(bench, *sizes),
    ),
)
BY_NAME = {bar.name: bar for bar in BARS}
__all__ = ["BARS", "BY_NAME", "Bar", "Bench", "Skipped"]
