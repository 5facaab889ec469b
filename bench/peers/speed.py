"""Speed beside other stores, on the same texts and vectors: `results/benchmarks/peers.md`.

    ./bench/peers/setup --speed                                  once
    .venv/bin/python -m bench.peers.speed --sizes 10000 100000   or --sizes 1000 --out DIR

Each system runs in a process of its own, one after another in one run: load, single adds, searches
of all projects, searches of one project with 1 % of the texts, and the memory it then holds.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import Times, median_ms, percentile_ms, rounded, say
from bench.peers.speed_systems import SYSTEMS, read

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "results" / "benchmarks"
PEERS_PYTHON = ROOT / ".venv-peers" / "bin" / "python"
PROJECT = "one-percent"
PATHS = ("src/memory_mesh", "bench/peers/requirements.txt")
_ADDS, _QUESTIONS = 40, 40
_DOES = {
    "memory-mesh": (
        "words and vectors, ranked by many features; every add is synced and has an audit block; "
        "duplicates, claims, privacy and links are looked at on write; scopes by project, agent, "
        "session"
    ),
    "chroma": "vectors only (HNSW, approximate); filter by metadata; an add is in a log of SQLite",
    "lancedb": (
        "words and vectors fused by rank, vectors compared exactly (no index made); an add is a "
        "new file, and its words are searched without the index until `optimize`"
    ),
    "sqlite-vec": "vectors only, compared exactly; a metadata column to filter; synced commits",
    "mem0": (
        "vectors only, compared exactly by Qdrant in a folder; `infer=False`: nothing is "
        "extracted or merged; a history row for each add; no answer below its threshold"
    ),
    "langgraph": "`InMemoryStore`: vectors only, compared exactly; nothing is kept on disk",
    "bare": (
        "FTS5 and a matrix in numpy merged by rank, synced commits: no privacy, no audit, no "
        "duplicates, no reasons, one process"
    ),
}
_COLUMNS = {
    "load_per_s": "load, texts/s",
    "load_cpu_s": "load, CPU s",
    "add_wall_ms": "add, ms",
    "add_cpu_ms": "add, CPU ms",
    "search_wall_ms": "search, ms",
    "search_p95_ms": "p95",
    "search_cpu_ms": "CPU ms",
    "scoped_wall_ms": "scoped, ms",
    "scoped_cpu_ms": "CPU ms",
    "rss_mb": "RSS, MB",
    "disk_mb": "disk, MB",
    "import_cpu_ms": "import, CPU ms",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every system at every size, or be the process of one."""
    options = _options(arguments)
    if options.worker:
        print(json.dumps(worked(options.worker, options.folder, options.store)))
        return 0
    from bench import report  # the peers' environment has no memory_mesh

    stamp, found = report.stamp(paths=PATHS), _read(options.out)
    if found.get("commit") != stamp["commit"]:  # figures of one table are of one commit
        found = {}
    found |= stamp | {"cores": os.cpu_count()}
    if options.work_dir is not None:
        options.work_dir.mkdir(parents=True, exist_ok=True)
    for size in options.sizes:
        with tempfile.TemporaryDirectory(dir=options.work_dir) as folder:
            _export(Path(folder), size)
            for name in options.systems:
                say(f"{name} at {size:,}:")
                figures = _in_own_process(name, Path(folder))
                say(f"  {figures}")
                found.setdefault("sizes", {}).setdefault(str(size), {})[name] = figures
                _write(options.out, found)
    return 0


def worked(name: str, folder: Path, store: Path) -> dict[str, Any]:
    """All figures of one system in this process."""
    make = SYSTEMS[name]
    items, more, questions = read(folder)
    before = _rss_mb()
    system, load = make(store), Times()
    load.take(lambda: system.load(items))
    adds = _timed([lambda item=item: system.add(item) for item in more])
    for text, vector in questions[:5]:
        system.search(text, vector, None)
        system.search(text, vector, PROJECT)
    searches, scoped = (
        _timed([lambda q=q, p=p: system.search(*q, p) for q in questions]) for p in (None, PROJECT)
    )
    return {
        "version": metadata.version(make.PACKAGE) if make.PACKAGE else "this checkout",
        "load_per_s": rounded(len(items) / load.wall[0]),
        "load_cpu_s": rounded(load.cpu[0]),
        "add_wall_ms": median_ms(adds.wall),
        "add_cpu_ms": median_ms(adds.cpu),
        "search_wall_ms": median_ms(searches.wall),
        "search_p95_ms": percentile_ms(searches.wall, 0.95),
        "search_cpu_ms": median_ms(searches.cpu),
        "scoped_wall_ms": median_ms(scoped.wall),
        "scoped_cpu_ms": median_ms(scoped.cpu),
        "rss_mb": _rss_mb() - before,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "disk_mb": rounded(sum(f.stat().st_size for f in store.rglob("*") if f.is_file()) / 1e6),
    }


def table(found: dict[str, Any]) -> str:
    """One table for each size, then what each system does for its time."""
    lines = [
        "# Peers: speed beside other stores",
        "",
        "Written by `python -m bench.peers.speed`; raw figures: [peers.json](peers.json). The same",
        "texts and vectors (384 dimensions, made from a hash; no model runs), each system with",
        "its defaults in a process of its own, one after another. A scoped search sees one project",
        "with 1 % of the texts. Times are medians; RSS is what the process grew by. The systems",
        "do not do the same: the list below says what each does in its time. What they find is",
        "compared in [retrieval.md](retrieval.md).",
        "",
        f"{found['date']}, commit {str(found['commit'])[:10]}"
        + (" with changes" if found["dirty"] else "")
        + f", {found['cores']} cores.",
    ]
    for size, systems in found["sizes"].items():
        lines += ["", f"## {int(size):,} texts", "", f"| | {' | '.join(_COLUMNS.values())} |"]
        lines.append("|---" * (len(_COLUMNS) + 1) + "|")
        for name, figures in systems.items():
            values = " | ".join(f"{figures.get(column, 0):,g}" for column in _COLUMNS)
            lines.append(f"| {name} {figures['version']} | {values} |")
    lines += ["", "## What each does", ""]
    lines += [f"- **{name}**: {does}." for name, does in _DOES.items()]
    return "\n".join(lines) + "\n"


def _export(folder: Path, size: int) -> None:
    """The texts of the mixture with their projects and vectors, for every system."""
    from bench import corpus, memories

    items = list(memories.items(0, size + _ADDS))
    texts = [item["content"] for item in items]
    with (folder / "items.jsonl").open("w", encoding="utf-8") as out:
        for number, item in enumerate(items):
            line = {
                "id": f"m{number}",
                "text": item["content"],
                "project": item["scope"].project or "none",
            }
            out.write(json.dumps(line) + "\n")
    questions = corpus.queries()[:_QUESTIONS]
    np.save(folder / "items.npy", memories.vectors(texts))
    np.save(folder / "questions.npy", memories.vectors(questions))
    plan = {"load": size, "questions": questions}
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")


def _in_own_process(name: str, folder: Path) -> dict[str, Any]:
    python = sys.executable if not SYSTEMS[name].PACKAGE else str(PEERS_PYTHON)
    store = folder / name
    store.mkdir()
    command = [python, "-m", "bench.peers.speed", "--worker", name]
    command += ["--folder", str(folder), "--store", str(store)]
    ran = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return figures | {"import_cpu_ms": _import_ms(python, SYSTEMS[name].MODULE)}


def _import_ms(python: str, modules: str) -> float:
    """Processor time to import it in a new process, the interpreter included: the least of five."""
    spent = []
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(5):  # the first one writes the bytecode
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([python, "-c", f"import {modules}"], check=True, env=kept)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return rounded(1_000 * min(spent))


def _timed(calls: Sequence[Any]) -> Times:
    times = Times()
    for call in calls:
        times.take(call)
    return times


def _rss_mb() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) // 1024


def _read(out: Path) -> dict[str, Any]:
    path = out / "peers.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def _write(out: Path, found: dict[str, Any]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "peers.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    (out / "peers.md").write_text(table(found), encoding="utf-8")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.peers.speed", description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=[10_000, 100_000])
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--work-dir", type=Path, help="where stores are made and removed")
    parser.add_argument("--out", type=Path, default=OUT, help="where the figures go")
    parser.add_argument("--worker", choices=list(SYSTEMS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
