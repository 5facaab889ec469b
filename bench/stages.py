"""Which stage an add, a batch and a search spend their processor time in: `stages.md`.

    python -m bench.run --stages [--size 10000] --work-dir DIR

Each operation runs under cProfile. The time of a function of ours belongs to its folder, or to its
module in the folders that matter here; SQLite, files and hashes are stages of their own; any other
built-in function counts for its caller. The profiler makes Python code dearer than C code: read the
shares as an order, not as a budget. Threads of the index are not seen.
"""

import cProfile
import json
import pstats
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import bars_writing, corpus, measure, memories, prepared, report
from bench.measure import say
from memory_mesh.sync import MemoryMesh

if TYPE_CHECKING:
    from bench.bars import Bench

PATHS = ("src/memory_mesh",)
_PACKAGE = "/memory_mesh/"
_DETAILED = ("write/", "search/", "context/", "ledgers/sqlite/", "text/")
_ADDS = 300
_WARM = 10  # operations before the profile begins
_LEAST = 0.01  # a smaller share is summed up as others
Function = tuple[str, int, str]
Operation = Callable[[MemoryMesh, slice], int]  # does some of its items, returns how many


def run(bench: "Bench", out: Path) -> None:
    """Profile every operation and write both files."""
    found: dict[str, Any] = report.stamp(paths=PATHS) | {"seed": corpus.SEED}
    found["memories"] = bench.size
    found["operations"] = {}
    for name, (open_mesh, work) in _operations(bench).items():
        say(f"stages of {name}:")
        with open_mesh() as mesh:
            work(mesh, slice(_WARM))  # loads modules and caches
            found["operations"][name] = _profiled(partial(work, mesh, slice(_WARM, None)))
    out.mkdir(parents=True, exist_ok=True)
    (out / "stages.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    (out / "stages.md").write_text(_table(found), encoding="utf-8")


def _operations(bench: "Bench") -> dict[str, tuple[Callable[[], MemoryMesh], Operation]]:
    """How each operation opens its mesh, and what it does with some items."""
    base = bars_writing.keyword_base(bench.work)
    folder = prepared.plain(bench.work, bench.size)
    items = list(memories.items(1_000, 1_000 + _ADDS + _WARM))
    batch = list(memories.items(10_000, 10_000 + 3 * _ADDS + _WARM))
    questions = corpus.queries()[: bench.questions + _WARM]

    def fresh() -> MemoryMesh:
        return prepared.keyword_mesh(prepared.scratch(bench.work, base, "stages"))

    def add(mesh: MemoryMesh, part: slice) -> int:
        return len([bars_writing.put(mesh, item) for item in items[part]])

    def add_many(mesh: MemoryMesh, part: slice) -> int:
        return len(mesh.add_many(batch[part]))

    def search(mesh: MemoryMesh, part: slice) -> int:
        across = prepared.EVERYTHING
        return len([mesh.search(q, use_cache=False, across=across) for q in questions[part]])

    return {
        "add, keyword only": (fresh, add),
        "add_many, keyword only": (fresh, add_many),
        "keyword search": (lambda: prepared.keyword_mesh(folder), search),
        "hybrid search": (lambda: prepared.opened(folder), search),
    }


def _profiled(work: Callable[[], int]) -> dict[str, Any]:
    """Shares by stage, and what an operation costs under the profiler."""
    profile = cProfile.Profile(time.process_time)
    began = time.process_time()
    profile.enable()
    count = work()
    profile.disable()
    spent = time.process_time() - began
    shares = _shares(pstats.Stats(profile))
    for stage, share in list(shares.items())[:5]:
        say(f"  {share:6.1%}  {stage}")
    return {
        "operations": count,
        "profiled_cpu_ms": measure.rounded(spent / count * 1e3),
        "shares": shares,
    }


def _shares(stats: pstats.Stats) -> dict[str, float]:
    """The share of every stage, largest first."""
    spent: Counter[str] = Counter()
    entries: dict[Function, Any] = stats.stats  # type: ignore[attr-defined]  # not in the stubs
    for function, (_, _, own, _, callers) in entries.items():
        stage = _stage(function)
        if stage is not None:
            spent[stage] += own
            continue
        for caller, (_, _, share, _) in callers.items():
            spent[_stage(caller) or "Python"] += share
    whole = sum(spent.values()) or 1.0
    shares = {stage: share / whole for stage, share in spent.most_common()}
    small = sum(share for share in shares.values() if share < _LEAST)
    kept = {stage: round(share, 4) for stage, share in shares.items() if share >= _LEAST}
    return kept | {"others": round(small, 4)}


def _stage(function: Function) -> str | None:
    """The stage that a function belongs to; None for one that counts for its callers."""
    path, _, name = function
    if path == "~":
        return _of_builtin(name)
    if _PACKAGE in path:
        inner = path.rpartition(_PACKAGE)[2].removesuffix(".py")
        if inner.startswith(_DETAILED):
            return inner
        return inner.rpartition("/")[0] or inner
    if "/numpy/" in path:
        return "numpy"
    return None


def _of_builtin(name: str) -> str | None:
    if "sqlite3" in name:
        return "SQLite"
    if "posix" in name or "_io." in name or "fcntl" in name:
        return "files"
    if "hash" in name.lower() and "built-in method builtins" not in name:
        return "hashes"
    return None


def _table(found: dict[str, Any]) -> str:
    changed = " with changes" if found["dirty"] else ""
    lines = [
        "# Stages: where the processor time goes",
        "",
        "Written by `just bench --stages --work-dir DIR`; raw figures: [stages.json](stages.json).",
        "Shares of processor time under cProfile, which makes Python dearer than C: an order, not",
        "a budget. SQLite, files and hashes are stages of their own; any other built-in function",
        "counts for its caller.",
        "",
        f"{found['date']}, commit {str(found['commit'])[:10]}{changed}, seed {found['seed']},",
        f"{found['memories']:,} memories.",
    ]
    for name, record in found["operations"].items():
        lines += ["", f"## {name}", "", "| stage | share |", "|---|---|"]
        lines += [f"| {stage} | {share:.1%} |" for stage, share in record["shares"].items()]
        each = f"{record['profiled_cpu_ms']:g} CPU ms each under the profiler."
        lines += ["", f"{record['operations']} operations, {each}"]
    return "\n".join(lines) + "\n"
