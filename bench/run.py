"""Speed as ratios, each measured side by side in one run; `just bench` runs all of it.

    python -m bench.run                         every part at full size, into docs/benchmarks
    python -m bench.run --parts add,search      some parts; the figures of the others stay
    python -m bench.run --small 2000 --large 8000 --namespaces 50 --out DIR    a rehearsal

Stores are kept under --work-dir, so that an interrupted load goes on where it stopped.
"""

import argparse
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench import adding, loading, namespaces, report, searching, stores
from bench.measure import Figures, ratio_of_medians, rounded, say

OUT = Path(__file__).resolve().parent.parent / "docs" / "benchmarks"


@dataclass(frozen=True, slots=True)
class Plan:
    """Where to work, and how much of everything."""

    work: Path
    adds: int
    small: int
    large: int
    namespaces: int
    memories: int


def main() -> None:
    """Run the chosen parts and write their figures."""
    options = _options()
    code = report.code()
    with ExitStack() as stack:
        folder = options.work_dir or stack.enter_context(tempfile.TemporaryDirectory())
        plan = Plan(
            Path(folder).resolve(),
            options.adds,
            options.small,
            options.large,
            options.namespaces,
            options.memories,
        )
        plan.work.mkdir(parents=True, exist_ok=True)
        for name in options.parts.split(","):
            say(f"{name}:")
            figures, sizes = PARTS[name](plan)
            results = report.read(options.out)
            report.write(options.out, results | {name: report.stamped(figures, sizes, code)})
            for figure, value in figures.items():
                say(f"  {figure} = {value}")


def add(plan: Plan) -> tuple[Figures, dict[str, int]]:
    """One add against a bare commit, and its syncs."""
    figures = adding.against_bare(plan.work, plan.adds) | adding.syncs(plan.work)
    return figures, {"memories before": adding.BASE, "adds": plan.adds}


def search(plan: Plan) -> tuple[Figures, dict[str, int]]:
    """A search in the small store against bare FTS5."""
    folder = _store(plan, plan.small)
    figures = searching.against_bare(folder) | searching.known_items(folder, plan.small)
    return figures, {"memories": plan.small}


def growth(plan: Plan) -> tuple[Figures, dict[str, int]]:
    """A search in the large store against one in the small."""
    small, large = _store(plan, plan.small), _store(plan, plan.large)
    figures = searching.across_sizes(small, large) | searching.known_items(large, plan.large)
    return figures, {"small": plan.small, "large": plan.large}


def many(plan: Plan) -> tuple[Figures, dict[str, int]]:
    """A search among many namespaces against one alone."""
    crowd = plan.work / f"namespaces-{plan.namespaces}"
    alone = plan.work / "namespaces-1"
    spent = namespaces.loaded(crowd, plan.namespaces, plan.memories)
    namespaces.loaded(alone, 1, plan.memories)
    figures = namespaces.against_one(crowd, alone, plan.namespaces)
    if spent is not None:
        figures["making_one_ms"] = rounded(spent * 1e3)
    return figures, {"namespaces": plan.namespaces, "memories in each": plan.memories}


def load(plan: Plan) -> tuple[Figures, dict[str, int]]:
    """Bulk load, writers, verify and weight, for information."""
    with tempfile.TemporaryDirectory(dir=plan.work) as folder:
        fresh = Path(folder) / "bulk"
        rate = stores.loaded(fresh, plan.small)
        figures: Figures = {"bulk_per_s": rounded(rate or 0.0)}
        figures |= loading.weight_and_verify(fresh, plan.small)
        figures |= loading.writers(Path(folder), plan.adds // 4)
    return figures, {"memories": plan.small, "adds of each writer": plan.adds // 4}


def hybrid(plan: Plan) -> tuple[Figures, dict[str, int]]:
    """Search and add with vectors, at both sizes, and around an absorb."""
    from bench import meaning

    embedder = meaning.model()
    space = embedder.embed(["which space"]).space
    figures = meaning.adds(plan.work, embedder)
    small = meaning.loaded(plan.work / f"meaning-{plan.small}", plan.small, space)
    before = meaning.timed(small, embedder)
    figures["absorb_small_s"] = rounded(meaning.absorbed(small, space))
    after = meaning.timed(small, embedder)
    figures["after_absorb_over_before"] = ratio_of_medians(after.wall, before.wall)
    figures |= meaning.searches(small, embedder)
    tiny = meaning.loaded(plan.work / "meaning-10000", 10_000, space)
    if plan.large > plan.small:
        large = meaning.loaded(plan.work / f"meaning-{plan.large}", plan.large, space)
        figures["absorb_large_s"] = rounded(meaning.absorbed(large, space))
        figures |= meaning.across(small, large, embedder)
        figures |= meaning.growing_adds(tiny, large, space)
    return figures, {"small": plan.small, "large": plan.large}


PARTS: dict[str, Callable[[Plan], tuple[Figures, dict[str, int]]]] = {
    "add": add,
    "search": search,
    "load": load,
    "namespaces": many,
    "growth": growth,
    "meaning": hybrid,
}


def _store(plan: Plan, memories: int) -> Path:
    folder = plan.work / f"store-{memories}"
    stores.loaded(folder, memories)
    return folder


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--work-dir", type=Path, help="keep the stores here (default: temporary)")
    parser.add_argument("--out", type=Path, default=OUT, help="where the figures go")
    parser.add_argument("--adds", type=int, default=2_000)
    parser.add_argument("--small", type=int, default=100_000)
    parser.add_argument("--large", type=int, default=1_000_000)
    parser.add_argument("--namespaces", type=int, default=10_000)
    parser.add_argument("--memories", type=int, default=100, help="in each namespace")
    return parser.parse_args()


if __name__ == "__main__":
    main()
