"""Speed as ratios, each measured side by side in one run; `just bench` runs all of it.

    python -m bench.run --work-dir DIR          parts, bars and stages, into results/benchmarks
    python -m bench.run --parts add,search      some parts; the figures of the others stay
    python -m bench.run --bars [NAME ...]       all bars (bench/bars.py), or those named
    python -m bench.run --stages                the share of each stage (bench/stages.py)
    python -m bench.run --small 2000 --large 8000 --namespaces 50 --size 2000 --out DIR    rehearse

Stores are kept under --work-dir, so that an interrupted load goes on where it stopped; with
--resume, what was measured on this very commit is not measured again.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench import adding, bars_report, loading, namespaces, report, searching, stages, stores
from bench.bars import BY_NAME, FULL_SIZE, Bench
from bench.measure import Figures, ratio_of_medians, rounded, say

OUT = Path(__file__).resolve().parent.parent / "results" / "benchmarks"


@dataclass(frozen=True, slots=True)
class Plan:
    """Where to work, and how much of everything."""

    work: Path
    adds: int
    small: int
    large: int
    namespaces: int
    memories: int


def main() -> int:
    """Run what was chosen, or everything, and write its figures; 1 if a bar was missed."""
    options = _options()
    with ExitStack() as stack:
        folder = options.work_dir or stack.enter_context(tempfile.TemporaryDirectory())
        work = Path(folder).resolve()
        work.mkdir(parents=True, exist_ok=True)
        everything = options.parts is options.bars is None and not options.stages
        if everything or options.parts is not None:
            _parts(options, work)
        held = True
        bench = Bench(work, options.size, options.questions)
        if everything or options.bars is not None:
            names = options.bars or list(BY_NAME)
            held = bars_report.run(names, bench, options.out, resume=options.resume)
        if everything or options.stages:
            stages.run(bench, options.out)
    return 0 if held else 1


def _parts(options: argparse.Namespace, work: Path) -> None:
    """The parts of `foundation.json`, one after another."""
    plan = Plan(
        work, options.adds, options.small, options.large, options.namespaces, options.memories
    )
    code = report.code()
    for name in (options.parts or ",".join(PARTS)).split(","):
        known = report.read(options.out).get(name, {})
        if options.resume and known.get("commit") == code["commit"] and not known.get("dirty"):
            say(f"{name}: measured on this commit already")
            continue
        say(f"{name}:")
        figures, sizes = PARTS[name](plan)
        results = report.read(options.out)
        part = report.stamped(figures, sizes, code)
        report.write(options.out, results | {name: part})
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
    parser.add_argument("--parts", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--bars", nargs="*", choices=list(BY_NAME), metavar="NAME")
    parser.add_argument("--stages", action="store_true", help="the share of each stage")
    parser.add_argument("--size", type=int, default=FULL_SIZE, help="what bars take for 100,000")
    parser.add_argument("--questions", type=int, default=40, help="asked by each bar")
    parser.add_argument("--resume", action="store_true", help="skip what this commit has already")
    parser.add_argument("--work-dir", type=Path, help="keep the stores here (default: temporary)")
    parser.add_argument("--out", type=Path, default=OUT, help="where the figures go")
    parser.add_argument("--adds", type=int, default=2_000)
    parser.add_argument("--small", type=int, default=100_000)
    parser.add_argument("--large", type=int, default=1_000_000)
    parser.add_argument("--namespaces", type=int, default=10_000)
    parser.add_argument("--memories", type=int, default=100, help="in each namespace")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
