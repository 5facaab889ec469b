"""Every fault suite: the function that runs it, and how much of it there is.

::

    SUITES ──▶ full     `just prove`: every count in full, under the seed that it is given
           └─▶ sampled  the gate: two per cent, but every kind of case once, under the tree's seed

A function is imported when it runs: numpy, Lance and psycopg bring threads, and suites that fork
must not meet them.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from tests.faults.report import Progress, Report, silent
from tests.faults.sample import SEED, SHARE, some

_TRACER = "strace is missing or not allowed"
_SMALL = {"memories": 16}
_BUSY = 50.0  # times the processor's time for ten times the text; 100 x is quadratic


@dataclass(frozen=True, slots=True)
class Amount:
    """A count that the gate takes a sample of."""

    full: int
    least: int = 1  # what every kind of case needs

    @property
    def sampled(self) -> int:
        """The gate's count."""
        return some(self.full, self.least)


@dataclass(frozen=True, slots=True)
class Part:
    """One function with its arguments; those in `gate` are what the gate gives instead.

    Beside them it gets what it has parameters for: a place, `seed` and `progress`. The place is a
    folder, or what the context manager named `place` makes of one.
    """

    function: str
    given: Mapping[str, object]
    gate: Mapping[str, object]
    place: str
    needs: tuple[str, str] | None  # what tells whether it can run, and what to say if not

    def full(self, folder: Path, seed: int, progress: Progress, *, sample: bool = False) -> Report:
        """All of it, or as much as the gate runs."""
        if self.needs is not None and not _found(self.needs[0])():
            return Report(failures=[self.needs[1]])
        places: Callable[[Path], AbstractContextManager[tuple[object, ...]]] = (
            _found(self.place) if self.place else _folder
        )
        with places(folder) as place:
            return self._run(place, self.counts if sample else self.wholes, seed, progress)

    def sampled(self, place: tuple[object, ...], given: Mapping[str, object]) -> Report:
        """What the gate runs."""
        return self._run(place, {**self.counts, **given}, SEED, silent)

    @property
    def wholes(self) -> dict[str, Any]:
        """The full arguments."""
        return {name: getattr(value, "full", value) for name, value in self.given.items()}

    @property
    def counts(self) -> dict[str, Any]:
        """The gate's arguments."""
        given = {name: getattr(value, "sampled", value) for name, value in self.given.items()}
        share = {"share": SHARE} if "share" in given else {}
        return {**given, **share, **self.gate}

    def _run(
        self,
        place: tuple[object, ...],
        given: Mapping[str, object],
        seed: int,
        progress: Progress,
    ) -> Report:
        function = _found(self.function)
        takes = signature(function).parameters
        offered = {"seed": seed, "progress": progress, **given}
        named = {name: value for name, value in offered.items() if name in given or name in takes}
        taken = [each for each in takes.values() if each.kind is each.POSITIONAL_OR_KEYWORD]
        report: Report = function(*place[: len(taken)], **named)
        return report


def part(
    function: str,
    *,
    gate: Mapping[str, object] | None = None,
    place: str = "",
    needs: tuple[str, str] | None = None,
    **given: object,
) -> Part:
    """A function below tests/faults with its arguments."""
    return Part(function, given, gate or {}, place, needs)


def sampled(name: str, *place: object, **given: object) -> Report:
    """Run what the gate runs of a suite, or of one of its parts: "audit" or "audit/every_edit"."""
    return _part(name).sampled(place, given)


def counts(name: str) -> dict[str, Any]:
    """The arguments that the gate gives."""
    return _part(name).counts


def full(name: str, folder: Path, seed: int, progress: Progress, *, sample: bool = False) -> Report:
    """Run a suite in full, or its sample; the figures of its parts stand under their names."""
    report = Report()
    for of, each in SUITES[name].items():
        found = each.full(folder / (of or "all"), seed, progress, sample=sample)
        report.figures |= {of: dict(found.figures)} if of else found.figures
        report.failures += found.failures
    return report


def _part(name: str) -> Part:
    suite, _, of = name.partition("/")
    return SUITES[suite][of]


def _found(name: str) -> Callable[..., Any]:
    module, _, function = name.rpartition(".")
    found: Callable[..., Any] = getattr(import_module(f"tests.faults.{module}"), function)
    return found


@contextmanager
def _folder(folder: Path) -> Iterator[tuple[object, ...]]:
    folder.mkdir(parents=True, exist_ok=True)
    yield (folder,)


def has_model() -> bool:
    """Whether the folder of an embedding model is named."""
    return bool(os.environ.get("MEMORY_MESH_MODEL_DIR"))


SUITES: dict[str, dict[str, Part]] = {
    "crash-one-writer": {"": part("crash.crash_random", kills=Amount(100, 2), writers=1)},
    "crash-three-writers": {"": part("crash.crash_random", kills=Amount(100, 2), writers=3)},
    "postgres-crash": {"": part("postgres_crash.killed", rounds=Amount(100, 4), writers=3)},
    "postgres-race": {
        "": part(
            "postgres_race.race",
            processes=Amount(8, 3),
            threads=Amount(10, 4),
            writes=Amount(25, 4),  # the fourth is followed by a look back
            place="postgres_suites.addresses",
        )
    },
    "postgres-proxy": {
        "": part(
            "postgres_proxy.struck",
            rounds=Amount(200, 6),  # each kind of fault, each way, at a commit and elsewhere
            longest=30.0,  # seconds of one call, where about five are expected at most
            gate={"longest": None},
            place="postgres_suites.proxied",
        )
    },
    "cold": {
        "": part(
            "cold.out_and_back",
            namespaces=Amount(1_000),
            kills=Amount(50, 3),
            gate={"namespaces": 8},
            place="cold.place",
        )
    },
    "postgres-tamper": {
        "": part(
            "postgres_tamper.tampered",
            mutations=Amount(1_000, 20),
            place="postgres_suites.addresses",
        )
    },
    "claude-code": {
        "": part(
            "claude_code.remembered",
            count=Amount(50, 5),
            needs=("claude_code.is_there", "no Claude Code: run .ci/agents, which needs npm"),
        )
    },
    "cited-code": {
        "": part(
            "claude_code.checked",
            count=Amount(25, 1),
            needs=("claude_code.is_there", "no Claude Code: run .ci/agents, which needs npm"),
        )
    },
    "hosts": {
        "": part(
            "claude_code.hosts_remembered",
            count=Amount(25),
            needs=(
                "claude_code.hosts_are_there",
                "a host is missing: run .ci/agents all, needs npm",
            ),
        )
    },
    "frameworks": {
        "": part(
            "frameworks.kept",
            kinds=5,
            gate={"kinds": 0},  # the gate runs an example: each promise starts the package anew
            needs=("frameworks.are_there", "a framework is missing: run .ci/frameworks all"),
        )
    },
    "contradicting": {
        "": part("contradicting.one_value_is_left", rounds=Amount(100, 2)),
        "steps": part("contradicting.no_step_is_lost", writers=8, steps=Amount(40, 5)),
    },
    "leaking": {
        "": part("leaking.leaks", reads=Amount(10_000), memories=400, gate={"memories": 120})
    },
    "poisoning": {
        "": part("poisoning.upward", texts=Amount(3_000, 140)),  # each form by each channel
        "unstated": part("poisoning.unstated", texts=Amount(3_000, 140)),
        "repeated": part("poisoning.repeated", repetitions=Amount(1_000)),
        "taught": part("poisoning.taught", lessons=Amount(280, 14), skills=Amount(140, 7)),
        "let_in": part("poisoning.let_in", texts=Amount(3_000, 100)),
    },
    "bisecting": {"": part("bisecting.found", histories=Amount(200, 6))},
    "pages": {
        "": part("pages.hostile", memories=Amount(300, 4)),
        "readers": part("pages.readers", pages=Amount(200, 6)),  # five looks of each key
        "feed": part(
            "page_feed.followed",
            seconds=Amount(25, 3),
            needs=("page_feed.chromium", "Chromium is missing: apt-get install chromium"),
        ),
    },
    "side-doors": {"": part("side_doors.run", steps=Amount(20_000))},
    "packing": {
        "": part(
            "packing.everything",
            cases=Amount(10_000),
            texts=Amount(1_000),
            counted=Amount(20_000),
            needs=(
                "packing.has_tokenizers",
                "set MEMORY_MESH_MODEL_DIR and install the extra `local`",
            ),
        )
    },
    "secrets": {"": part("planting.planted", share=1.0)},
    "explaining": {"": part("explaining.explained", cases=Amount(500, 41))},  # each kind of case
    "fuzzing": {
        "": part("fuzzing.fuzz", minutes=30, gate={"minutes": None, "rounds": 1, "steps": 200})
    },
    "leaks": {
        "": part(
            "audience_leaking.leaks",
            calls=Amount(10_000),
            gate={"memories": 32, "readers": 2},
        )
    },
    "graph-leaks": {
        "": part("graph_leaking.leaks", calls=Amount(10_000), gate={"memories": 40, "readers": 2})
    },
    "moving-in": {
        "": part("moving_in.killed", entries=Amount(50_000, 1_000), kills=2, gate={"entries": 600})
    },
    "linking": {"": part("linking_processes.killed", rounds=Amount(50), processes=8)},
    "sync": {
        "": part("syncing.interleaved", rounds=Amount(10_000)),
        "stores": part("syncing_stores.stores", rounds=Amount(200, 3)),
        "kills": part("syncing_stores.killed", kills=Amount(500)),
    },
    "distilling": {
        "": part("distilling.killed_at_every_step", share=1.0),
        "several": part("distilling.several_at_once", rounds=Amount(100)),
    },
    "consolidation": {
        "": part("consolidating.killed_at_every_step", share=1.0, gate={"share": 0.01}),
        "several": part("consolidating.several_at_once", rounds=Amount(100)),
    },
    "erase": {
        "": part(
            "erasing.erased",
            sets=Amount(300),
            kills=Amount(6),
            gate={"sets": 3, "memories": 8},  # one of each way
        ),
        "server": part(
            "erasing.erased_on_server",
            sets=Amount(300),
            gate={"sets": 1},
            place="postgres_suites.addresses",
        ),
    },
    "retention": {"": part("retaining.protected_untouched", rounds=Amount(10_000))},
    "migrating": {
        "": part("migrating.killed_at_every_step", share=1.0),
        "system_calls": part(
            "migrating.killed_in_system_calls", share=1.0, needs=("tracing.can_trace", _TRACER)
        ),
    },
    "mirror": {
        "": part("mirroring.hand_edits", edits=Amount(500, 8)),  # each thing that a person edits
        "proposed": part("mirroring_git.proposed", changes=Amount(100)),
        "cloned": part("mirroring_git.cloned", memories=Amount(300)),
        "appended": part("mirroring.appended_at_once", processes=8, each=Amount(100)),
        "during_runs": part("mirroring.edited_during_runs", rounds=Amount(500, 15)),
        "killed": part("mirroring.killed", kills=Amount(150, 4)),
    },
    "memory-files": {
        "": part("memory_files.round_trips", documents=Amount(10_000)),
        "hostile strings": part("memory_files.hostile_strings", count=Amount(500)),
        "mutated": part("memory_files.mutated", count=Amount(5_000)),
        "hostile names": part("memory_files.hostile_names", count=Amount(300)),
        "linear": part("memory_files.linear", size=Amount(1_000, 50)),
    },
    "rolling": {
        "": part("rolling.killed_at_every_step", share=1.0, gate={"entries": 210}),
        "numbers": part("rolling.many_processes", processes=8, each=Amount(50, 2)),
        "writers": part("rolling.while_rolling", writers=4, each=Amount(200, 30)),
    },
    "long-texts": {
        "": part(
            "long_texts.linear",
            share=1.0,
            gate={"few": 1_000, "many": 10_000, "floor": 0.003, "most": _BUSY},
        )
    },
    "patterns": {
        "": part(
            "patterns.linear",
            share=1.0,
            gate={"most": _BUSY, "small": True, "seed": 2026},  # no full run was clean yet
        )
    },
    "triggers": {
        "": part(
            "evil_patterns.linear",
            count=Amount(200, 45),  # each form of a bomb
            gate={"chars": 100_000, "strict": False},
        )
    },
    "crash-points": {"": part("crashpoints.crash_enumerated", share=1.0)},
    "crash-system-calls": {
        "": part(
            "crashpoints.crash_in_system_calls",
            share=1.0,
            needs=("tracing.can_trace", _TRACER),
        )
    },
    "disk-full": {"": part("disk.disk_full", rounds=Amount(40), gate={"room": 3 << 19})},
    "disk-errors": {
        "": part(
            "disk.disk_errors",
            rounds=Amount(50),
            operations=Amount(400, 150),
            needs=("disk.can_inject_errors", "libfiu is missing: install fiu-utils"),
        )
    },
    "processes": {
        "": part(
            "race.many_processes",
            processes=8,
            operations=Amount(500),
            longest=2.0,  # seconds, on a machine that nobody else uses
            gate={"longest": None},
        ),
        "ids": part("race.draw_ids_at_once", processes=8, each=Amount(2_000)),
    },
    "agents": {"": part("agent_sharing.sharing", agents=8, operations=Amount(200, 4))},
    "hooks": {  # 500 prompts of each host
        "": part("hook_blocking.blocking", runs=Amount(3_500), gate={"strict": False, "runs": 14})
    },
    "tool-hooks": {  # before a command or an edit
        "": part("hook_blocking.before_tools", runs=Amount(500), gate={"strict": False, "runs": 9})
    },
    "waits": {
        "": part(
            "waiting.stopped_holders",
            places=Amount(300),
            gate={"strict": False},
            needs=("tracing.can_trace", _TRACER),
        ),
        "writers": part(
            "waiting.many_writers", writers=8, each=Amount(1_000), gate={"strict": False}
        ),
        "spooled": part("waiting.spooled", rounds=Amount(100)),
    },
    "damage": {
        "": part("damage.flips", rounds=Amount(500, 10), gate=_SMALL),  # each kind of damage
        "swaps": part(  # salvage of a cut file is known to bring back too much now and then
            "damage.swaps", rounds=Amount(100, 25), gate={**_SMALL, "seed": 20261116}
        ),
        "index": part("damage.index", rounds=Amount(180, 9), gate=_SMALL),
        "files": part("file_damage.files", rounds=Amount(450, 9), gate={"memories": 6}),
    },
    "backups": {"": part("backing_up.under_load", writers=8, backups=Amount(20))},
    "keeping-kills": {  # each command
        "": part("keeping_kills.killed", rounds=Amount(100, 6), gate=_SMALL)
    },
    "round-trip": {
        "": part("round_trip.round_trip", queries=Amount(500, 12), gate={"memories": 60})
    },
    "re-embed": {
        "": part(
            "reembedding.killed",
            memories=20_000,
            kills=3,
            batches=(100, 200),
            gate={"memories": 120, "batches": (1, 1)},
        ),
        "postgres": part(
            "reembedding.killed",
            memories=20_000,
            kills=3,
            batches=(100, 200),
            gate={"memories": 120, "batches": (1, 1)},
            place="postgres_suites.store",
        ),
    },
    "fork": {
        "": part("forking.fork_rounds", rounds=Amount(210, 7)),  # each scenario
        "recalls": part("forking.recalls_after_fork"),
    },
    "as-of": {"": part("machine.as_of", examples=Amount(1_000), gate={"steps_each": 20})},
    "audit": {
        "": part("tamper.tampering", mutations=Amount(1_000)),
        "every_edit": part("tamper.every_edit", choices=Amount(10)),
    },
    "audit-speed": {
        "": part("tamper.verify_many", blocks=Amount(100_000), gate={"most_seconds": None})
    },
    "namespaces": {
        "": part("namespaces.created_at_once", rounds=Amount(100)),
        "many": part(
            "namespaces.many_open",
            namespaces=200,
            operations=Amount(300),
            gate={"namespaces": 100},  # more than may be open
        ),
    },
    "isolation": {
        "": part(
            "postgres_isolation.attacked", attacks=Amount(10_000), place="postgres_suites.tenants"
        ),
        "place": part(
            "postgres_isolation.attacked",
            attacks=Amount(10_000),
            place="postgres_suites.in_a_place",
        ),
    },
    "fleet": {
        "": part(
            "fleet.moved",
            servers=3,
            places=64,
            namespaces=300,
            writers=4,
            readers=4,
            moves=40,
            kills=22,
            failovers=2,
            seconds=600,
            checked=40,
            gate={
                "servers": 2,
                "places": 3,
                "namespaces": 9,
                "writers": 2,
                "readers": 1,
                "moves": 4,
                "kills": 3,
                "failovers": 1,
                "seconds": 0,
                "checked": 9,
            },
        )
    },
    "service-tenants": {"": part("service_crossing.crossed", calls=Amount(10_000, 400))},
    "service-fuzzing": {
        "": part("service_fuzzing.fuzzed", examples=Amount(50, 1), least=50, gate={"least": 1})
    },
    "service-kills": {
        "": part("service_load.killed", kills=Amount(200, 2), most_seconds=120, writers=4)
    },
    "service-restarts": {
        "": part(
            "service_load.restarted",
            rounds=Amount(3),
            callers=4,
            needs=("service_load.has_haproxy", "haproxy is missing"),
        )
    },
    "service-shares": {
        "": part(
            "service_load.shared",
            searches=Amount(25),
            turns=Amount(20),
            loaders=8,
            most=1.5,
            gate={"most": None},
        )
    },
    "users": {"": part("users.kept_apart", statements=Amount(500, 50))},
    "scoped-search": {
        "": part(
            "scoped_search.questions_and_lenses",
            memories=Amount(20_000, 3_000),
            questions=Amount(2_000, 200),
        )
    },
    "meaning-processes": {
        "": part(
            "meaning.read_your_writes",
            processes=8,
            rounds=Amount(1_000),
            gate={"processes": 3},
            needs=("suites.has_model", "set MEMORY_MESH_MODEL_DIR to a model's folder"),
        )
    },
    "meaning-index": {
        "": part("meaning.never_less", texts=Amount(5_000, 600), searches=Amount(500)),
        "removed": part("meaning.index_removed", texts=Amount(10_000, 600), queries=Amount(200)),
    },
    "mapped-vectors": {
        "": part("vector_files.read_your_writes", processes=8, rounds=Amount(1_000, 60)),
        "cut or deleted": part("vector_files.cut_or_deleted", rounds=Amount(200, 10)),
        "flipped": part("vector_files.flipped", rounds=Amount(200)),
        "killed while filling": part("vector_files.killed_fills", rounds=Amount(100)),
    },
    "index-kills": {"": part("meaning.killed_absorbs", rounds=Amount(50))},
    "index-kills-alone": {"": part("index.killed_absorbs", rounds=Amount(50))},
}
