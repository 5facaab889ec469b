"""Every reading method and face, asked by random readers: what they do not see must not show.

::

    public classes ──▶ every public method is asked (audience_calls.py), or writes, or only counts
    world, twins (graph_world.py, audience_world.py) ──▶ the same call, the same answer

Most answers must be those of a twin store that never had what the reader does not see, letter by
letter: so counts, orders, cursors and errors are compared, too. Where the order depends on how
often words occur, the twin has the same words for nobody. Of the command line, the mirror's files,
Memory Lane's fading scores and a namespace's figures only the words and ids are looked at.
"""

import contextlib
import io
import json
import os
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from memory_mesh.cli.main import run as run_command
from memory_mesh.mirror.mirror import Mirror
from memory_mesh.model import Scope
from memory_mesh.model.errors import MeshError
from memory_mesh.sync import MemoryMesh
from tests.faults import audience_calls, audience_world, graph_leaking, graph_world
from tests.faults.audience_calls import BARE, COMMANDS, FILLED, WORDS, Ask, Asking, Desk
from tests.faults.graph_leaking import Seat
from tests.faults.graph_world import HERE, Planted, Step, Topical
from tests.faults.report import Progress, Report, Ticker, silent

_EMBEDDER = "MEMORY_MESH_EMBEDDER"


def leaks(
    folder: Path,
    *,
    calls: int,
    seed: int,
    memories: int = 160,
    readers: int = 6,
    progress: Progress = silent,
) -> Report:
    """Random calls by random readers; then those that count as a use, commands and files."""
    report, chance = Report({"calls": 0, "leaks": 0, "differs": 0}), random.Random(seed)
    steps = audience_world.plan(chance, memories)
    kinds = graph_world.labels(steps)
    with ExitStack() as opened:
        seats = _seats(folder, steps, opened, chance=chance, readers=readers, progress=progress)
        report.figures |= {"readers": readers, "labels": sum(map(len, kinds.values()))}
        asked = _Asked(report, kinds, {id(seat): _desks(seat, opened) for seat in seats})
        ticker, quiet = Ticker(progress, calls), list(audience_calls.READS)
        for number in range(calls):
            used = number >= calls * 9 // 10  # what counts as a use comes last: it shows
            names = list(audience_calls.USES) if used else quiet
            drawn = chance.choice(names)
            name = names[number % len(names)] if used or number < len(names) else drawn
            asked.ask(chance.choice(seats), name, chance.random())
            ticker.tick(number + 1, "calls")
        for seat in seats:
            _on_the_command_line(asked, seat, chance)
            _in_files(asked, seat, folder)
        _written(asked, seats, steps)
    return report


class _Asked:
    """Asks, compares, and counts."""

    def __init__(
        self,
        report: Report,
        kinds: Mapping[str, Sequence[str]],
        desks: Mapping[int, Mapping[str, Desk]],
    ) -> None:
        self.report, self._kinds, self._desks = report, kinds, desks

    def ask(self, seat: Seat, name: str, seed: float) -> None:
        """One call in the world and in its twin; one that counts as a use in both twins."""
        self.report.count("calls")
        self.report.count(f"by {name}")
        ask, against = audience_calls.READS.get(name) or audience_calls.USES[name]
        named = set[str]()
        told, raw = self._answer(seat, "world", ask, seed, named)
        answers = {
            twin: self._answer(seat, twin, ask, seed, named)[0]
            for twin in ((BARE, FILLED) if name in audience_calls.USES else (against,))
            if twin != WORDS
        }
        if against != WORDS and told != answers[against]:
            detail = graph_leaking._difference(told, answers[against])
            self.report.broken("differs", f"{name} by {seat.reader}: {detail}")
        self.look(seat, name, raw, named)

    def look(self, seat: Seat, name: str, raw: str, named: set[str]) -> None:
        """No word and no id of what is not for the reader, but for those that the call names."""
        own = {each.split()[0] for each in named}
        for label in set(graph_world.LABEL.findall(raw)) - seat.may_know - own:
            self.report.broken("leaks", f"{name} by {seat.reader}: {label} in {raw[:1000]}")
        names = {id_: label for label, id_ in seat.world.ids.items()}
        for id_ in set(graph_leaking._ANY_ID.findall(raw)) & names.keys():
            label = names[id_]
            if label.split()[0] not in seat.may_know and label not in named:
                told = f"{name} by {seat.reader}: {id_} ({label}) in {raw[:1000]}"
                self.report.broken("leaks", told)

    def _answer(
        self, seat: Seat, where: str, ask: Ask, seed: float, named: set[str]
    ) -> tuple[str, str]:
        desk = self._desks[id(seat)][where]
        call = Asking(desk.store, desk.mesh, random.Random(seed), self._kinds, named, desk)
        left_out = graph_leaking._OF_STORE
        graph_leaking._OF_STORE = left_out | graph_leaking._OF_USE
        try:
            return graph_leaking._answer(ask, call)  # type: ignore[arg-type]  # it asks an Asking
        finally:
            graph_leaking._OF_STORE = left_out


def _desks(seat: Seat, opened: ExitStack) -> dict[str, Desk]:
    stores = {"world": seat.world, BARE: seat.bare, FILLED: seat.filled}
    return {name: Desk(store, seat.reader, opened) for name, store in stores.items()}


def _seats(
    folder: Path,
    steps: Sequence[Step],
    opened: ExitStack,
    *,
    chance: random.Random,
    readers: int,
    progress: Progress,
) -> list[Seat]:
    def store(name: str, reader: Scope | None = None, **how: Any) -> Planted:
        made = graph_world.planted(folder / name, steps, reader, more=audience_world.MORE, **how)
        made.mesh.close()
        made.mesh = MemoryMesh(  # from now on nothing is recorded: answers stay as they are
            db_dir=folder / name, clock=made.mesh._store._clock, agent_id="none",
            settings={"session_days": 0},
            custom_embedder=Topical(), enable_yamo=False,
        )  # fmt: skip
        opened.callback(made.mesh.close)
        return made

    world, seats = store("world"), list[Seat]()
    for number, reader in enumerate(audience_world.draw_readers(chance, readers)):
        bare = store(f"bare-{number}", reader, world=world)
        filled = store(f"filled-{number}", reader, world=world, filled=True)
        may_know = frozenset(graph_world.visible(steps, reader))
        seats.append(Seat(reader, world, bare, filled, may_know))
        progress(f"reader {number + 1} of {readers} has twins")
    return seats


def _on_the_command_line(asked: _Asked, seat: Seat, chance: random.Random) -> None:
    """The commands that read, in this process; those of the owner are left out."""
    config, clock = seat.world.mesh.config, random.Random(chance.random())
    some = clock.choice(sorted(seat.world.ids.values()))
    options = ["--db-dir", str(config.db_dir), "--namespace", HERE, "--json"]
    options += ["--agent", seat.reader.agent or "none"]
    for part in ("project", "session"):
        if (name := getattr(seat.reader, part)) is not None:
            options += [f"--{part}", name]
    for words in (*COMMANDS, ["get", "--id", some], ["history", "--id", some], ["explain", some]):
        asked.report.count("commands")
        code, told = _run([*words, *options])
        assert code in {0, 1}, told  # 1: it is not there, for this reader
        named = {label for label, id_ in seat.world.ids.items() if id_ == some}
        asked.look(seat, f"memory-mesh {' '.join(words)}", told, named)


def _run(words: Sequence[str]) -> tuple[int, str]:
    """A command without an embedder: its exit code, and all that it prints."""
    before, out = os.environ.get(_EMBEDDER), io.StringIO()
    os.environ[_EMBEDDER] = "none"
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = run_command(words)
        return code, out.getvalue()
    finally:
        os.environ.pop(_EMBEDDER)
        if before is not None:
            os.environ[_EMBEDDER] = before


def _in_files(asked: _Asked, seat: Seat, folder: Path) -> None:
    """What a mirror of the reader writes."""
    place = folder / f"mirror-{id(seat)}"
    place.mkdir()
    mirror = Mirror(seat.world.view(seat.reader), place)
    report = mirror.init()
    files = "\n".join(path.read_text() for path in place.rglob("*") if path.is_file())
    asked.report.count("mirrored", len(report.written) if hasattr(report, "written") else 1)
    asked.look(seat, "mirror", f"{files}\n{mirror.status()}", set())


def _written(asked: _Asked, seats: Sequence[Seat], steps: Sequence[Step]) -> None:
    """What others have is written once more: the receipt is as if nobody had it."""
    hidden = [each for each in steps if each.kind in {"memory", "claim", "trace", "skill"}]
    for seat in seats:
        unseen = [each for each in hidden if each.label not in seat.may_know]
        for step in unseen[:25]:
            asked.report.count("writes")
            told, expected = (
                _receipt(store, seat.reader, step) for store in (seat.world, seat.bare)
            )
            if told != expected:
                asked.report.broken("differs", f"{step} by {seat.reader}: {told}, {expected}")


def _receipt(store: Planted, reader: Scope, step: Step) -> str:
    mesh, text = store.view(reader), f"{step.words} {step.label}"
    claim = {"subject": f"vessel {step.label}", "predicate": "captain", "value": "late"}
    asks: dict[str, Callable[[], object]] = {
        "memory": lambda: mesh.add(text, scope=reader, derived_from=[store.id_of(step.label)]),
        "claim": lambda: mesh.add(f"{text} late", claim=claim, scope=reader, key="a key"),
        "trace": lambda: mesh.traces.record(text, scope=reader),
        "skill": lambda: mesh.ingest_skill(
            f"---\nname: {step.label}\ndescription: {step.words}\n---\nDo {step.label}.\n",
            scope=reader,
        ),
    }
    try:
        answer = asks[step.kind]()
    except MeshError as error:
        answer = [type(error).__name__, str(error)]
    shown = json.dumps(graph_leaking._plain(answer), sort_keys=True, ensure_ascii=False)
    return graph_leaking._ANY_ID.sub("ID", shown.replace(store.id_of(step.label), "GIVEN"))
