"""Run the fault suites with their full counts and write what they showed to docs/proof/.

    python tools/prove.py                 every suite
    python tools/prove.py fork as-of      these two
    python tools/prove.py --resume        what this commit and seed have not shown yet

A suite writes its file when it is done, so an interrupted run loses one suite at most.
"""

import argparse
import json
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.agents import real_claude, remembering  # noqa: E402
from tests.faults import (  # noqa: E402  # the suites are found from the root
    agent_sharing,
    audience_leaking,
    consolidating,
    contradicting,
    crash,
    crashpoints,
    disk,
    distilling,
    evil_patterns,
    explaining,
    forking,
    fuzzing,
    graph_leaking,
    hook_blocking,
    leaking,
    linking_processes,
    long_texts,
    machine,
    memory_files,
    mirroring,
    mirroring_git,
    namespaces,
    packing,
    patterns,
    planting,
    poisoning,
    postgres_suites,
    race,
    retaining,
    rolling,
    scoped_search,
    side_doors,
    tamper,
    users,
    vector_files,
    waiting,
)
from tests.faults.processes import ChildFailed  # noqa: E402
from tests.faults.report import Progress, Report  # noqa: E402

PROOF = ROOT / "docs" / "proof"
SEED = 2026
Suite = Callable[[Path, int, Progress], Report]
Source = tuple[str | None, str | None]  # the commit, and what differs from it


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen suites one after another; 1 when a promise was broken."""
    options = _options(arguments)
    os.environ["MEMORY_MESH_EMBEDDER"] = "none"  # the suites about meaning bring their own
    source, broken = _source(), []
    for name in options.suites or SUITES:
        if options.resume and _shown(name, options.seed):
            print(f"== {name}: shown before by this commit and seed")
            continue
        print(f"== {name}", flush=True)
        proof = prove(name, options.seed, source)
        path = PROOF / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(proof, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        if not proof["held"]:
            broken.append(name)
            print(json.dumps(proof["failures"], indent=2), file=sys.stderr)
        print(f"   {'held' if proof['held'] else 'BROKEN'} in {proof['seconds']} s", flush=True)
    if broken:
        print(f"broken: {', '.join(broken)}", file=sys.stderr)
    return 1 if broken else 0


def prove(name: str, seed: int, source: Source) -> dict[str, object]:
    """One suite's figures, with all that is needed to repeat it."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="memory-mesh-proof-") as folder:
        try:
            report = SUITES[name](Path(folder), seed, _show)
        except (AssertionError, ChildFailed) as error:  # the other suites still run
            report = Report(failures=[str(error) or repr(error)])
            print(error, *getattr(error, "__notes__", ()), sep="\n", file=sys.stderr)
        if report.figures.get("acknowledged") == 0:
            report.failures.append("nothing was acknowledged: this run proves nothing")
        failures = [failure.replace(folder, "STORE") for failure in report.failures]
    return {
        "suite": name,
        "held": not failures,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": source[0],
        "dirty": bool(source[1]) or _source() != source,  # at the start, or changed since
        "seed": seed,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
        "seconds": round(time.monotonic() - begun, 1),
        "figures": report.figures,
        "failures": failures,
    }


def _processes(folder: Path, seed: int, progress: Progress) -> Report:
    report = race.many_processes(
        folder / "race",
        processes=8,
        operations=500,
        seed=seed,
        longest=race.LONGEST_WAIT_SECONDS,
        progress=progress,
    )
    ids = race.draw_ids_at_once(folder / "ids", processes=8, each=2_000)
    return _joined(report, ids=ids)


def _fork(folder: Path, seed: int, progress: Progress) -> Report:
    rounds = 30 * len(forking.SCENARIOS)
    report = forking.fork_rounds(folder / "rounds", rounds=rounds, seed=seed, progress=progress)
    return _joined(report, recalls=forking.recalls_after_fork(folder / "recalls", seed=seed))


def _namespaces(folder: Path, seed: int, progress: Progress) -> Report:
    report = namespaces.created_at_once(folder / "new", rounds=100, progress=progress)
    juggled = namespaces.many_open(folder / "many", namespaces=200, operations=300, seed=seed)
    return _joined(report, many=juggled)


def _audit(folder: Path, seed: int, progress: Progress) -> Report:
    report = tamper.tampering(folder / "all", mutations=1_000, seed=seed, progress=progress)
    edits = tamper.every_edit(folder / "edits", seed=seed, progress=progress)
    return _joined(report, every_edit=edits)


def _disk_errors(folder: Path, seed: int, progress: Progress) -> Report:
    if not disk.can_inject_errors():
        return Report(failures=["libfiu is missing: install fiu-utils"])
    return disk.disk_errors(folder, rounds=50, operations=400, seed=seed, progress=progress)


def _system_calls(folder: Path, seed: int, progress: Progress) -> Report:
    if not crashpoints.can_trace():
        return Report(failures=["strace is missing or not allowed"])
    return crashpoints.crash_in_system_calls(folder, seed=seed, progress=progress)


def _meaning_processes(folder: Path, _seed: int, progress: Progress) -> Report:
    from tests.faults import meaning  # numpy brings threads, which the others fork without

    model = os.environ.get("MEMORY_MESH_MODEL_DIR")
    if not model:
        return Report(failures=["set MEMORY_MESH_MODEL_DIR to a model's folder"])
    return meaning.read_your_writes(
        folder, Path(model), processes=8, rounds=1_000, progress=progress
    )


def _meaning_index(folder: Path, seed: int, _progress: Progress) -> Report:
    from tests.faults import meaning  # numpy brings threads, which the others fork without

    report = meaning.never_less(folder / "less", texts=5_000, searches=500, seed=seed)
    removed = meaning.index_removed(folder / "gone", texts=10_000, queries=200, seed=seed)
    return _joined(report, removed=removed)


def _index_kills(folder: Path, seed: int, progress: Progress) -> Report:
    from tests.faults import meaning  # numpy brings threads, which the others fork without

    return meaning.killed_absorbs(folder, rounds=50, seed=seed, progress=progress)


def _index_kills_alone(folder: Path, seed: int, progress: Progress) -> Report:
    from tests.faults import index  # numpy brings threads, which the others fork without

    return index.killed_absorbs(folder, rounds=50, seed=seed, progress=progress)


def _distilling(folder: Path, _seed: int, progress: Progress) -> Report:
    report = distilling.killed_at_every_step(folder / "kills", progress=progress)
    return _joined(report, several=distilling.several_at_once(folder / "several", rounds=100))


def _consolidation(folder: Path, _seed: int, progress: Progress) -> Report:
    report = consolidating.killed_at_every_step(folder / "kills", progress=progress)
    return _joined(report, several=consolidating.several_at_once(folder / "several", rounds=100))


def _retention(folder: Path, seed: int, progress: Progress) -> Report:
    return retaining.protected_untouched(folder, rounds=10_000, seed=seed, progress=progress)


def _contradicting(folder: Path, _seed: int, progress: Progress) -> Report:
    report = contradicting.one_value_is_left(folder / "values", rounds=100, progress=progress)
    return _joined(report, steps=contradicting.no_step_is_lost(folder / "steps"))


def _leaking(folder: Path, seed: int, progress: Progress) -> Report:
    return leaking.leaks(folder, reads=10_000, seed=seed, memories=400, progress=progress)


def _side_doors(folder: Path, seed: int, progress: Progress) -> Report:
    return side_doors.run(folder, steps=20_000, seed=seed, progress=progress)


def _poisoning(folder: Path, seed: int, progress: Progress) -> Report:
    report = poisoning.upward(folder / "upward", texts=3_000, seed=seed, progress=progress)
    return _joined(
        report,
        unstated=poisoning.unstated(folder / "unstated", texts=3_000, seed=seed),
        repeated=poisoning.repeated(folder / "repeated", repetitions=1_000),
        taught=poisoning.taught(folder / "taught", lessons=280, skills=140, seed=seed),
        let_in=poisoning.let_in(folder / "benign", texts=3_000, seed=seed),
    )


def _packing(_folder: Path, seed: int, progress: Progress) -> Report:
    report = packing.everything(
        cases=10_000, texts=1_000, counted=20_000, seed=seed, progress=progress
    )
    if len(packing.real_tokenizers()) < 2:
        report.failures.append("set MEMORY_MESH_MODEL_DIR and install the extra `local`")
    return report


def _mirror(folder: Path, seed: int, progress: Progress) -> Report:
    report = mirroring.hand_edits(folder / "edits", edits=500, seed=seed, progress=progress)
    return _joined(
        report,
        proposed=mirroring_git.proposed(folder / "proposed", changes=100),
        cloned=mirroring_git.cloned(folder / "cloned", memories=300),
        appended=mirroring.appended_at_once(folder / "appended", processes=8, each=100),
        during_runs=mirroring.edited_during_runs(
            folder / "during", rounds=500, seed=seed, progress=progress
        ),
        killed=mirroring.killed(folder / "killed", kills=150, seed=seed, progress=progress),
    )


def _migrating(folder: Path, seed: int, progress: Progress) -> Report:
    from tests.faults import migrating  # lance brings threads, which the others fork without

    report = migrating.killed_at_every_step(folder / "steps", seed=seed, progress=progress)
    if not migrating.can_trace():
        return Report(report.figures, ["strace is missing: system calls were not killed"])
    traced = migrating.killed_in_system_calls(folder / "calls", seed=seed, share=1.0)
    return _joined(report, system_calls=traced)


def _damage(folder: Path, seed: int, progress: Progress) -> Report:
    from tests.faults import damage  # numpy brings threads, which the others fork without

    report = damage.flips(folder / "flips", rounds=500, seed=seed, progress=progress)
    return _joined(
        report,
        swaps=damage.swaps(folder / "swaps", rounds=100, seed=seed, progress=progress),
        index=damage.index(folder / "index", rounds=180, seed=seed, progress=progress),
    )


def _backups(folder: Path, seed: int, progress: Progress) -> Report:
    from tests.faults import backing_up  # numpy brings threads, which the others fork without

    return backing_up.under_load(folder, writers=8, backups=20, seed=seed, progress=progress)


def _keeping_kills(folder: Path, seed: int, progress: Progress) -> Report:
    from tests.faults import keeping_kills  # numpy brings threads, which the others fork without

    return keeping_kills.killed(folder, rounds=100, seed=seed, progress=progress)


def _round_trip(folder: Path, seed: int, progress: Progress) -> Report:
    from tests.faults import round_trip  # numpy brings threads, which the others fork without

    return round_trip.round_trip(folder, queries=500, seed=seed, progress=progress)


def _isolation(folder: Path, seed: int, progress: Progress) -> Report:
    from tests.faults import postgres_isolation  # psycopg brings threads, as numpy does

    return postgres_isolation.isolation(folder, attacks=10_000, seed=seed, progress=progress)


def _rolling(folder: Path, _seed: int, progress: Progress) -> Report:
    report = rolling.killed_at_every_step(folder / "kills", progress=progress)
    return _joined(
        report,
        numbers=rolling.many_processes(folder / "numbers", processes=8, each=50),
        writers=rolling.while_rolling(folder / "writers", writers=4, each=200),
    )


def _agents(folder: Path, seed: int, progress: Progress) -> Report:
    return agent_sharing.sharing(folder, agents=8, operations=200, seed=seed, progress=progress)


def _waits(folder: Path, seed: int, progress: Progress) -> Report:
    report = waiting.stopped_holders(folder / "holders", places=300, seed=seed, progress=progress)
    if not crashpoints.can_trace():
        report.failures.append("strace is missing: no holder was stopped inside SQLite")
    return _joined(
        report,
        writers=waiting.many_writers(folder / "writers", writers=8, each=1_000, progress=progress),
        spooled=waiting.spooled(folder / "spooled", rounds=100, seed=seed, progress=progress),
    )


def _claude_code(folder: Path, seed: int, progress: Progress) -> Report:
    found = real_claude.binaries()
    if not found:
        return Report(failures=["no Claude Code: run .ci/agents, which needs npm"])
    shown = {
        name: remembering.rounds(folder / name, path, count=50, seed=seed, progress=progress)
        for name, path in found.items()
    }
    return _joined(Report(), **shown)


def _mapped_vectors(folder: Path, seed: int, progress: Progress) -> Report:
    parts = vector_files.everything(folder, share=1.0, seed=seed, progress=progress)
    report = Report({"acknowledged": parts["read your writes"].figures["acknowledged"]})
    return _joined(report, **parts)


def _reembedding(folder: Path, seed: int, progress: Progress) -> Report:
    from tests.faults import reembedding  # numpy brings threads, which the others fork without
    from tests.postgres import APP, SECRET, Server

    os.environ["MEMORY_MESH_KEY"] = SECRET.hex()
    run = partial(
        reembedding.killed, memories=20_000, kills=3, batches=(100, 200), seed=seed,
        progress=progress,
    )  # fmt: skip
    report = run(str(folder / "store"))
    server = Server(safe=True)
    try:
        url = server.url(server.database(), APP)
        found = run(url)
    finally:
        server.stop()
    return _joined(report, postgres=found)


SUITES: dict[str, Suite] = {
    "crash-one-writer": lambda folder, seed, progress: crash.crash_random(
        folder, kills=100, writers=1, seed=seed, progress=progress
    ),
    "crash-three-writers": lambda folder, seed, progress: crash.crash_random(
        folder, kills=100, writers=3, seed=seed, progress=progress
    ),
    "postgres-crash": postgres_suites.crash,
    "postgres-race": postgres_suites.race,
    "postgres-proxy": postgres_suites.proxy,
    "postgres-tamper": postgres_suites.tamper,
    "claude-code": _claude_code,
    "contradicting": _contradicting,
    "leaking": _leaking,
    "poisoning": _poisoning,
    "side-doors": _side_doors,
    "packing": _packing,
    "secrets": lambda folder, _seed, progress: planting.planted(folder, progress=progress),
    "explaining": lambda folder, seed, progress: explaining.explained(
        folder, cases=500, seed=seed, progress=progress
    ),
    "fuzzing": lambda folder, seed, progress: fuzzing.fuzz(
        folder, seed=seed, minutes=30, progress=progress
    ),
    "leaks": lambda folder, seed, progress: audience_leaking.leaks(
        folder, calls=10_000, seed=seed, progress=progress
    ),
    "graph-leaks": lambda folder, seed, progress: graph_leaking.leaks(
        folder, calls=10_000, seed=seed, progress=progress
    ),
    "linking": lambda folder, seed, progress: linking_processes.killed(
        folder, rounds=50, processes=8, seed=seed, progress=progress
    ),
    "distilling": _distilling,
    "consolidation": _consolidation,
    "retention": _retention,
    "migrating": _migrating,
    "mirror": _mirror,
    "memory-files": lambda folder, seed, progress: memory_files.everything(
        folder, share=1.0, seed=seed, progress=progress
    ),
    "rolling": _rolling,
    "long-texts": lambda _folder, _seed, progress: long_texts.linear(progress=progress),
    "patterns": lambda _folder, seed, progress: patterns.linear(seed=seed, progress=progress),
    "triggers": lambda _folder, seed, progress: evil_patterns.linear(seed=seed, progress=progress),
    "crash-points": lambda folder, seed, progress: crashpoints.crash_enumerated(
        folder, seed=seed, progress=progress
    ),
    "crash-system-calls": _system_calls,
    "disk-full": lambda folder, seed, progress: disk.disk_full(
        folder, rounds=40, seed=seed, progress=progress
    ),
    "disk-errors": _disk_errors,
    "processes": _processes,
    "agents": _agents,
    "hooks": lambda folder, seed, progress: hook_blocking.blocking(
        folder, runs=500, seed=seed, progress=progress
    ),
    "waits": _waits,
    "damage": _damage,
    "backups": _backups,
    "keeping-kills": _keeping_kills,
    "round-trip": _round_trip,
    "re-embed": _reembedding,
    "fork": _fork,
    "as-of": lambda _folder, seed, _progress: machine.as_of(examples=1_000, seed_=seed),
    "audit": _audit,
    "audit-speed": lambda folder, _seed, _progress: tamper.verify_many(folder, blocks=100_000),
    "namespaces": _namespaces,
    "isolation": _isolation,
    "users": lambda folder, seed, progress: users.kept_apart(
        folder, statements=500, seed=seed, progress=progress
    ),
    "scoped-search": lambda folder, seed, progress: scoped_search.questions_and_lenses(
        folder, memories=20_000, questions=2_000, seed=seed, progress=progress
    ),
    "meaning-processes": _meaning_processes,
    "meaning-index": _meaning_index,
    "mapped-vectors": _mapped_vectors,
    "index-kills": _index_kills,
    "index-kills-alone": _index_kills_alone,
}


def _joined(report: Report, **parts: Report) -> Report:
    """One report of several; the parts' figures stand under their names."""
    for name, part in parts.items():
        report.figures[name] = dict(part.figures)
        report.failures += part.failures
    return report


def _shown(name: str, seed: int) -> bool:
    """True when the suite's file says that this very commit and seed have held."""
    try:
        proof = json.loads((PROOF / f"{name}.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return False
    now = _git("rev-parse", "HEAD")
    whole = bool(proof["held"]) and not proof["dirty"]
    return whole and (proof["commit"], proof["seed"]) == (now, seed)


def _source() -> Source:
    """What is proved: the modules were loaded when the run began."""
    return _git("rev-parse", "HEAD"), _git("status", "--porcelain", "--", "src", "tests", "tools")


def _git(*command: str) -> str | None:
    done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def _show(line: str) -> None:
    print(f"   {line}", flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--resume", action="store_true", help="leave out what was shown already")
    options = parser.parse_args(arguments)
    for name in options.suites:
        if name not in SUITES:
            parser.error(f"there is no suite {name!r}; choose of: {', '.join(SUITES)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
