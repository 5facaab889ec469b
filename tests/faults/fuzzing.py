"""Calls every public method, face and command with usual and odd values; only MeshError may come.

A round is a store of its own with a seed of its own: views of several channels, scopes and
namespaces, the asynchronous mesh, the faces of the originals, a mirror, a conversation and the
command line share it. What a call returns (ids, cursors, values) is what later calls ask for, so
that they reach deep. Methods and their arguments are found from signatures: a new one is included.
A fault is named with the seed of its round and its step:

    python -m tests.faults.fuzzing --seed 20260017 --rounds 1
"""

import argparse
import asyncio
import inspect
import io
import math
import os
import random
import re
import sys
import tempfile
import time
import traceback
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import count, islice
from pathlib import Path
from typing import Any
from zlib import crc32

import memory_mesh
from memory_mesh.cli import command_table, main as cli
from memory_mesh.compat import rawko
from memory_mesh.compat.lane.memory_lane import MemoryLane
from memory_mesh.compat.neolata import memory_graph
from memory_mesh.mirror import Mirror
from memory_mesh.model import Channel, Embedding, Scope, Space
from memory_mesh.model.errors import MeshError
from memory_mesh.sync import MemoryContextManager, MemoryMesh
from memory_mesh.testing import FrozenClock
from memory_mesh.traces import files as trace_files
from tests.faults.fuzzing_values import NOW, WORDS, Known, Values
from tests.faults.report import Progress, Report, Ticker, silent
from tests.faults.sample import dealt
from tests.operations import operations, reach

STEPS = 400  # calls of one round
_CHECKED = 100  # calls between two looks at every namespace
_LEFT = {"close", "init"}  # methods that end or begin a store
_UNTRIED = {
    "models",
    "eval",
    "completion",
    "mcp",
    "daemon",
    "init",
    "doctor",
    "move",
    "worker",
    "serve",
    "ui",
}
# They need a network, a corpus or a shell, serve for ever, or change what is outside the store.
_ID = re.compile(r"\b([a-z]+)(?:_[a-z]+)?[_-]\d{10,16}[_-][0-9a-f]{6}\b|\bexp_\d+\b")
_PATHS = {"PATH", "FILE", "DIR", "FOLDER"}
_KEPT = 40  # values of a type, and ids of a kind, that are remembered
_SLOW = 10.0  # seconds
_SPACE = Space("test", "hashing", "1", 16, 256)


@dataclass(frozen=True)
class Call:
    """One call: what is called, with what."""

    name: str
    words: str
    act: Callable[[], object]


def fuzz(
    folder: Path,
    *,
    seed: int,
    minutes: float | None = None,
    rounds: int | None = None,
    steps: int = STEPS,
    progress: Progress = silent,
) -> Report:
    """Runs rounds until the time is over, or so many of them."""
    report = Report({"rounds": 0, "calls": 0, "answered": 0, "refused": 0, "verified": 0})
    report.figures |= {"outside MeshError": 0, "findings": 0, "slower than 10 s": 0}
    end = None if minutes is None else time.monotonic() + minutes * 60
    ticker, verbs, answered = Ticker(progress, rounds or 0), set[str](), set[str]()
    faults: dict[str, int] = {}
    for number in count() if rounds is None else range(rounds):
        if end is not None and time.monotonic() > end:
            break
        with _surroundings(folder / str(number)) as home:
            world = _World(home, seed + number, report, faults)
            world.run(steps, end)
            verbs |= world.called
            answered |= world.answered
        report.count("rounds")
        ticker.tick(number + 1, f"rounds, {report.figures['calls']} calls, {len(faults)} faults")
    report.figures["methods and commands"] = len(verbs)
    report.figures["never answered"] = sorted(verbs - answered)
    report.figures["distinct faults"] = len(faults)
    return report


class _Hashing:
    """An embedder by words: the same words, the same direction."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """One vector for each text."""
        return Embedding(_SPACE, tuple((self._vector(text),) for text in texts))

    def close(self) -> None:
        """Nothing to release."""

    def _vector(self, text: str) -> bytes:
        found = [0.0] * _SPACE.dimension
        for word in text.lower().split() or [""]:
            found[crc32(word.encode()) % len(found)] += 1.0
        length = math.hypot(*found)
        return array("f", [part / length for part in found]).tobytes()


class _World:
    """One store and everything that can be called on it."""

    def __init__(self, home: Path, seed: int, report: Report, faults: dict[str, int]) -> None:
        self._home, self._seed, self._report, self._faults = home, seed, report, faults
        self._dice, self._known = random.Random(seed), Known()
        self._values = Values(self._dice, self._known, home / "sandbox")
        self._clock = FrozenClock(NOW)
        self._kinds = dealt(_ROOTS, self._dice, _WEIGHTS)
        self.called: set[str] = set()
        self.answered: set[str] = set()

    def run(self, steps: int, end: float | None) -> None:
        """Makes the calls one after another, and verifies at intervals."""
        with ExitStack() as stack:
            mesh = stack.enter_context(self._opened())
            roots = self._roots(stack, mesh)
            runner = stack.enter_context(asyncio.Runner())
            fellow = memory_mesh.MemoryMesh(
                db_dir=self._home / "store",
                clock=self._clock,
                project="p",
                settings={"system_memory": True},
            )
            stack.callback(lambda: runner.run(fellow.close()))
            self._plant(roots["mesh"])
            for step in range(steps):
                if end is not None and time.monotonic() > end:
                    break
                self._pass_time()
                self._attempt(step, self._call(roots, fellow, runner))
                if step % _CHECKED == _CHECKED - 1 or step == steps - 1:
                    self._verify(step, mesh)

    def _opened(self) -> MemoryMesh:
        return MemoryMesh(
            db_dir=self._home / "store",
            clock=self._clock,
            project="p",
            settings={"system_memory": self._dice.random() < 0.5},
            custom_embedder=_Hashing() if self._dice.random() < 0.5 else None,
        )

    def _roots(self, stack: ExitStack, mesh: MemoryMesh) -> dict[str, Sequence[object]]:
        """What methods are called on, by kind."""
        scopes = (None, Scope("p"), Scope("p", "a1"), Scope("q", None, "s1"), Scope(None, "bob"))
        views = [mesh]
        for channel in self._dice.sample(list(Channel), 4):
            namespace = self._dice.choice((None, None, "other"))
            scope = self._dice.choice(scopes)
            views.append(mesh.view(channel=channel, scope=scope, namespace=namespace))
        views.append(mesh.for_user("ann"))
        self._known.values[MemoryMesh] = list(views)
        notes = self._home / "sandbox" / "notes"
        graph = memory_graph.create_memory(db_dir=self._home / "graph", clock=self._clock)
        return {
            "mesh": views,
            "lane": [MemoryLane(mesh)],
            "graph": [stack.enter_context(graph)],
            "mirror": [Mirror(mesh, notes)],
            "conversation": [MemoryContextManager(mesh=mesh)],
            "functions": [rawko, trace_files],
        }

    def _plant(self, views: Sequence[Any]) -> None:
        """A small story, so that the first calls already find something of every kind."""
        mesh, claim = views[0], {"subject": "ann", "predicate": "lives_in"}
        web = mesh.view(channel=Channel.WEB)
        first = mesh.add("Ann lives in Rome", claim=claim | {"value": "Rome"})
        lesson = {
            "situation": "a deploy", "oversight": "the date", "fix": "a new token",
            "applicable_scope": "deploys", "error_pattern": "the token had expired",
            "preventative_rule": "refresh it first", "severity": "high",
        }  # fmt: skip
        planted = (
            lambda: first,
            lambda: web.add("Ann lives in Oslo", claim=claim | {"value": "Oslo"}),
            lambda: mesh.add_many(WORDS),
            mesh.review.conflicts,
            lambda: mesh.graph.create_episode("The printer", ids=[str(first.id)]),
            lambda: web.review.propose_update(str(first.id), "Ann lives in Paris"),
            lambda: mesh.ingest_skill("name: deploy\nintent: to deploy\n"),
            lambda: web.ingest_skill("name: release\nintent: to release\n").skill,
            mesh.list_skills,
            lambda: mesh.distill_lesson(lesson),
            lambda: mesh.traces.record("Ship the release", plan="Tag it, then push it."),
            lambda: mesh.context("Where is the printer?", max_tokens=500),
            mesh.review.waiting,
        )
        for act in planted:
            with suppress(MeshError):
                self._harvest(act(), 0)

    def _pass_time(self) -> None:
        if self._dice.random() < 0.1:
            self._clock.advance(timedelta(minutes=self._dice.randint(1, 600)))
        if self._dice.random() < 0.005:  # the clock is wrong for a while, and right again
            self._clock.set(NOW + timedelta(days=self._dice.choice((0, 0, 3650, -3650))))

    def _call(
        self, roots: Mapping[str, Sequence[object]], fellow: object, runner: asyncio.Runner
    ) -> Call:
        kind = next(self._kinds)
        self._values.odd = self._dice.choice((0.02, 0.1, 0.3, 0.6))
        if kind == "command":
            return self._command()
        if kind == "async":
            return self._method("async", fellow, lambda value: _awaited(runner, value))
        return self._method(kind, self._dice.choice(roots[kind]), _drawn)

    def _method(self, kind: str, root: object, finish: Callable[[object], object]) -> Call:
        """A call of a public method or function."""
        name = self._dice.choice(_methods(root))
        method = reach(root, name)
        places, named = self._values.arguments(method)
        words = ", ".join([*map(_shown, places), *(f"{k}={_shown(v)}" for k, v in named.items())])
        return Call(f"{kind}.{name}", words, lambda: finish(method(*places, **named)))

    def _command(self) -> Call:
        """A command line, as a shell would hand it over."""
        name = self._dice.choice([name for name in command_table.COMMANDS if name not in _UNTRIED])
        parser = command_table.Parser(prog=name)
        command_table.describe(parser, command_table.load(name))
        words = [name]
        for action in parser._actions:
            words += self._option(action)
        words = [word for word in words if ("\0" not in word and word.isprintable()) or word == ""]
        words = [word for word in words if not _leads_out(word)]
        words += [f"--db-dir={self._home / 'store'}"]
        return Call(f"command {name}", repr(words), lambda: _run(words))

    def _option(self, action: argparse.Action) -> list[str]:
        if action.dest in {"help", "version", "db_dir"}:
            return []
        if not action.required and self._dice.random() > 0.2:
            return []
        values = [] if action.nargs == 0 else [self._word(action)]
        if not action.option_strings:
            return values
        name = self._dice.choice(action.option_strings)
        return (
            [name]
            if not values
            else [f"{name}={values[0]}"]
            if name[1] == "-"
            else [name, values[0]]
        )

    def _word(self, action: argparse.Action) -> str:
        """The value of an option as text."""
        if action.choices is not None:
            return str(self._dice.choice(list(action.choices)))
        if action.type in {int, float}:
            return str(self._values.integer() % 10**30)
        if str(action.metavar) in _PATHS or action.dest in {"path", "file", "folder"}:
            return str(self._values.path())
        return self._values.text(action.dest)

    def _attempt(self, step: int, call: Call) -> None:
        """Makes one call; anything but an answer or a MeshError is a fault."""
        begun = time.monotonic()
        self.called.add(call.name)
        self._report.count("calls")
        try:
            self._harvest(call.act(), 0)
            self._report.count("answered")
            self.answered.add(call.name)
        except MeshError:
            self._report.count("refused")
        except Exception as error:  # noqa: BLE001  # that is what it looks for
            self._fault(step, call, error)
        if time.monotonic() - begun > _SLOW:
            self._report.count("slower than 10 s")

    def _fault(self, step: int, call: Call, error: Exception) -> None:
        frames = [
            f for f in traceback.extract_tb(error.__traceback__) if "memory_mesh" in f.filename
        ]
        last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno} {last.name}"
        self._faults[place] = self._faults.get(place, 0) + 1
        told = f"seed {self._seed} step {step}: {call.name}({call.words[:400]}): {place}: {error}"
        self._report.count("outside MeshError")
        if self._faults[place] == 1:
            self._report.failures.append(told[:1_500])
            if "FUZZ_TRACEBACK" in os.environ:
                print(told[:600], "".join(traceback.format_exception(error)[-6:]), file=sys.stderr)

    def _verify(self, step: int, mesh: MemoryMesh) -> None:
        views = [mesh.for_user(user) for user in mesh.users()]
        views += [
            mesh.view(namespace=name) for name in mesh.care.namespaces() if "user." not in name
        ]
        for view in views[:12]:
            self._report.count("verified")
            for finding in view.care.verify().findings:
                self._report.broken("findings", f"seed {self._seed} step {step}: {finding}")

    def _read(self, text: str) -> None:
        """Remembers the ids in a text, and a text that is a block."""
        if text.startswith("agent:") and "\n" in text:
            _keep(self._known.texts, text)
        for match in islice(_ID.finditer(text), 20):
            _keep(self._known.ids.setdefault(match[1] or "exp", []), match[0])

    def _harvest(self, value: object, depth: int) -> None:
        """Remembers the ids and values of an answer for later calls."""
        if isinstance(value, str):
            self._read(value)
        elif isinstance(value, Mapping) and depth < 4:
            for key, item in islice(value.items(), 20):
                self._harvest(key, depth + 1)
                self._harvest(item, depth + 1)
        elif isinstance(value, list | tuple | set | frozenset) and depth < 4:
            for item in islice(value, 20):
                self._harvest(item, depth + 1)
        names = getattr(type(value), "__value_fields__", None)
        if names and depth < 4:
            _keep(self._known.values.setdefault(type(value), []), value)
            for name in names:
                self._harvest(getattr(value, name), depth + 1)
        if isinstance(cursor := getattr(value, "cursor", None), str):
            _keep(self._known.texts, cursor)


_ROOTS = ("mesh", "async", "lane", "graph", "mirror", "conversation", "functions", "command")
_WEIGHTS = (60, 8, 4, 10, 2, 4, 2, 10)


def _keep(found: list[Any], value: object) -> None:
    if value not in found:
        found.append(value)
    if len(found) > _KEPT:
        found.pop(0)


def _methods(root: object) -> list[str]:
    """The public methods of an object, or the public functions of a module."""
    if inspect.ismodule(root):
        own = vars(root).items()
        return [n for n, one in own if inspect.isfunction(one) and n[0] != "_" and _of(one, root)]
    return [name for name in operations(type(root)) if name not in _LEFT]


def _of(function: Callable[..., object], module: object) -> bool:
    return function.__module__ == getattr(module, "__name__", None)


def _shown(value: object) -> str:
    try:
        return repr(value)[:300]
    except ValueError:  # a number with more digits than Python prints
        return f"<{type(value).__name__} with a huge number>"


def _drawn(value: object) -> object:
    """An answer, or the beginning of one that comes bit by bit."""
    return list(islice(value, 20)) if isinstance(value, Iterator) else value


def _awaited(runner: asyncio.Runner, value: object) -> object:
    async def wait() -> object:
        return await value if inspect.isawaitable(value) else value

    return runner.run(wait())


def _leads_out(word: str) -> bool:
    """True for a path out of the sandbox: no call may read or write the machine's own folders."""
    value = word.partition("=")[2] if word.startswith("-") else word
    return value.startswith(("/", "..", "~"))


def _run(words: Sequence[str]) -> object:
    """Runs a command; a crash is raised again as what it says."""
    said, told = io.StringIO(), io.StringIO()
    stdin, sys.stdin = sys.stdin, io.StringIO(WORDS[0])
    try:
        with redirect_stdout(said), redirect_stderr(told):
            code = cli.run(list(words))
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    finally:
        sys.stdin = stdin
    if code not in {cli.FAILED, cli.MISUSED, 0}:
        raise AssertionError(f"exit code {code}: {told.getvalue()[-1_200:]}")
    return said.getvalue()


@contextmanager
def _surroundings(home: Path) -> Iterator[Path]:
    """A home and a working folder of its own, with a few files."""
    sandbox = home / "sandbox"
    (sandbox / "notes").mkdir(parents=True)
    (sandbox / "notes" / "a.md").write_text("The printer is on the third floor.\n")
    (sandbox / "skill.md").write_text("---\nname: deploy\nintent: to deploy\n---\nPush it.\n")
    (sandbox / "x").write_bytes(b"\xff\xfe binary \0")
    changed = {
        "HOME": str(home), "MEMORY_MESH_KEY_DIR": str(home / "keys"), "MEMORY_MESH_DEBUG": "1",
        "MEMORY_MESH_EMBEDDER": "none", "MEMORY_MESH_OWN_NAMES": "off",
    }  # fmt: skip
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        with chdir(sandbox):
            yield home
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def main() -> int:
    """Runs the fuzzer from a shell."""
    parser = argparse.ArgumentParser(description="calls everything with usual and odd values")
    parser.add_argument("--seed", type=int, default=20260000)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--steps", type=int, default=STEPS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memory-mesh-fuzz-") as folder:
        report = fuzz(
            Path(folder), seed=options.seed, minutes=options.minutes,
            rounds=options.rounds if options.rounds or options.minutes else 1,
            steps=options.steps, progress=print,
        )  # fmt: skip
    print(report.figures, *report.failures, sep="\n")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
