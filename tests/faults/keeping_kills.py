"""kill -9 during backup, restore, move and repair: the old or the new store is whole, never a half.

Each round does one of them in a process of its own and kills it: every other time at a random
moment, else at one of the files that it opens, makes, renames or removes. Then the stores are read
and verified, what is left of a backup is offered to `restore`, and the same command runs once more.
"""

import os
import random
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from memory_mesh.model.errors import MeshError
from tests.faults import keeping_world as world, plain_reading
from tests.faults.processes import Child, ChildFailed, call
from tests.faults.report import Progress, Report, Ticker, silent

_EVENTS = frozenset(
    ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "sqlite3.connect")
)
_BEFORE = ".before-restore-"
_HALF = ".partial-"


@dataclass(frozen=True)
class Ground:
    """The folder of a round, the truths of its moments, and a backup of `closed`."""

    place: Path
    backup: Path
    closed: world.Truth
    later: world.Truth

    @property
    def store(self) -> Path:
        """The store that the command works on."""
        return self.place / "store"

    @property
    def target(self) -> Path:
        """Where the command writes to."""
        return self.place / "target"


@dataclass(frozen=True)
class Action:
    """A command, the moment it works on, and what must hold after a kill and after another run."""

    moment: str
    run: Callable[[Ground], None]
    after_kill: Callable[[Ground], Iterator[str]]
    after_rerun: Callable[[Ground], Iterator[str]]
    prepare: Callable[[Ground], None] = lambda _ground: None


@dataclass(frozen=True)
class Read:
    """A store as a new process finds it: its truth, or why it cannot be read."""

    truth: world.Truth | None
    findings: list[str]
    refused: str = ""

    def is_whole(self, expected: world.Truth) -> bool:
        """True when it says what is expected and verifies."""
        return self.truth is not None and not self.findings and not expected.differs(self.truth)

    def shown(self, expected: world.Truth) -> str:
        """What is wrong, in words."""
        changed = expected.differs(self.truth) if self.truth else []
        return f"refused {self.refused!r}, changed {changed}, findings {self.findings[:2]}"


def killed(
    folder: Path, *, rounds: int, seed: int, memories: int = 60, progress: Progress = silent
) -> Report:
    """So many kills, the commands in turn."""
    report = Report({"rounds": 0, "killed": 0, "half": 0, "rerun failed": 0})
    chance, ticker = random.Random(seed), Ticker(progress, rounds)
    moments = folder / "moments"
    world.build(moments, seed=seed, memories=memories)
    world.warm(_copied(moments / "closed", folder / "warm"))
    truths = [call(world.truth, _copied(moments / m, folder / m)) for m in ("closed", "later")]
    call(_back_up, folder / "closed", folder / "kept")
    (backup,) = (folder / "kept").iterdir()
    lengths = {
        name: _length(action, moments, Ground(folder / f"dry-{number}", backup, *truths))
        for number, (name, action) in enumerate(ACTIONS.items())
    }
    for number, name in enumerate(islice(cycle(ACTIONS), rounds)):
        ground = Ground(folder / f"round-{number}", backup, *truths)
        at_event = bool((number + number // len(ACTIONS)) % 2)
        kill = _Kill.drawn(chance, *lengths[name], at_event=at_event)
        _round(report, name, ground, moments, kill)
        shutil.rmtree(ground.place)
        ticker.tick(number + 1, f"rounds, {report.figures['killed']} killed")
    return report


@dataclass(frozen=True)
class _Kill:
    """When the process dies: at the n-th event, or after so many seconds."""

    event: int = 0
    seconds: float = 0.0

    @classmethod
    def drawn(
        cls, chance: random.Random, events: int, seconds: float, *, at_event: bool
    ) -> "_Kill":
        if at_event:
            return cls(event=chance.randint(1, max(1, events)))
        return cls(seconds=chance.uniform(0.0, seconds))


def _length(action: Action, moments: Path, ground: Ground) -> tuple[int, float]:
    """How many events and seconds the command takes; it must succeed when nothing is killed."""
    _prepared(action, moments, ground)
    events, seconds = call(_counted, action, ground)
    if wrong := list(action.after_rerun(ground)):
        raise AssertionError(f"without a kill: {wrong[0]}")
    return events, seconds


def _round(report: Report, name: str, ground: Ground, moments: Path, kill: _Kill) -> None:
    action, where = ACTIONS[name], f"{name}, {kill}"
    _prepared(action, moments, ground)
    child = Child(_until_killed, action, ground, kill.event)
    if not kill.event:
        time.sleep(kill.seconds)
        os.kill(child.pid, signal.SIGKILL)
    said = child.join()
    report.count("rounds")
    report.count("killed" if child.code == -signal.SIGKILL else "ended before the kill")
    if child.code not in (0, -signal.SIGKILL):
        report.broken("failed", f"{where}: {said.decode(errors='replace')}")
    try:
        for wrong in action.after_kill(ground):
            report.broken("half", f"{where}: {wrong}")
        _again(report, where, action, ground)
    except ChildFailed as failure:
        report.broken("crashed", f"{where}: {failure}")


def _again(report: Report, where: str, action: Action, ground: Ground) -> None:
    """The same command once more; it may refuse only when there is nothing left to do."""
    refused = call(_refusal, action, ground)
    for wrong in action.after_rerun(ground):
        report.broken("rerun failed", f"{where}: {wrong}; it said: {refused or 'nothing'}")
    if refused:
        report.count("rerun refused: it was done")


def _prepared(action: Action, moments: Path, ground: Ground) -> None:
    _copied(moments / action.moment, ground.store)
    action.prepare(ground)


def _counted(action: Action, ground: Ground) -> tuple[int, float]:
    heard = _listen(0)
    begun = time.monotonic()
    action.run(ground)
    return heard[0], time.monotonic() - begun


def _until_killed(action: Action, ground: Ground, event: int) -> None:
    _listen(event)
    action.run(ground)


def _listen(fatal: int) -> list[int]:
    """Counts the file operations of this process, and kills it at the fatal one."""
    heard = [0]

    def hear(event: str, _args: tuple[object, ...]) -> None:
        if event in _EVENTS:
            heard[0] += 1
            if heard[0] == fatal:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hear)
    return heard


def _refusal(action: Action, ground: Ground) -> str:
    try:
        action.run(ground)
    except MeshError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _read(folder: Path) -> Read:
    """In a process of its own: everything, and what verify says."""
    try:
        truth = world.truth(folder)
        with world.opened(folder) as mesh:
            findings = [
                f"{finding.check}: {finding.detail}" for finding in mesh.care.verify().findings
            ]
    except MeshError as error:
        return Read(None, [], f"{type(error).__name__}: {error}")
    return Read(truth, findings)


def _there(folder: Path) -> bool:
    """True when there is something of a store."""
    return folder.exists() and any(path.is_file() for path in folder.rglob("*"))


def _whole(folder: Path, *expected: world.Truth, what: str) -> Iterator[str]:
    read = call(_read, folder)
    if not any(read.is_whole(each) for each in expected):
        yield f"{what}: {read.shown(expected[0])}"


def _back_up(store: Path, to: Path) -> None:
    world.KEEPING.backup(store, to)


def _restores_whole(ground: Ground, backup: Path) -> Iterator[str]:
    """A finished backup restores to the whole; half of one is refused."""
    beside = ground.place / f"of-{backup.name}"
    try:
        refused = call(_restored, backup, beside)
    except ChildFailed as failure:
        yield f"restore of {backup.name} crashed: {failure}"
        return
    if not refused:
        yield from _whole(beside, ground.closed, what=f"restored from {backup.name}")
    elif _HALF not in backup.name:
        yield f"{backup.name} looks finished, and: {refused}"
    shutil.rmtree(beside, ignore_errors=True)


def _restored(backup: Path, to: Path) -> str:
    try:
        world.KEEPING.restore(backup, to)
    except MeshError as error:
        return str(error)
    return ""


def _after_killed_backup(ground: Ground) -> Iterator[str]:
    yield from _whole(ground.store, ground.closed, what="the source")
    for made in sorted(ground.target.iterdir()) if ground.target.exists() else []:
        yield from _restores_whole(ground, made)


def _after_backup(ground: Ground) -> Iterator[str]:
    finished = [path for path in ground.target.iterdir() if _HALF not in path.name]
    if not finished:
        yield "there is no backup"
    for made in sorted(finished):
        yield from _restores_whole(ground, made)


def _after_killed_beside(ground: Ground) -> Iterator[str]:
    if _there(ground.target):
        yield from _whole(ground.target, ground.closed, what="the restored store")


def _after_beside(ground: Ground) -> Iterator[str]:
    yield from _whole(ground.target, ground.closed, what="the restored store")
    yield from _left_over(ground)


def _after_killed_replace(ground: Ground) -> Iterator[str]:
    if not _there(ground.store):
        yield f"no store is in place: {sorted(path.name for path in ground.place.iterdir())}"
    else:
        yield from _whole(ground.store, ground.later, ground.closed, what="the store in place")


def _after_replace(ground: Ground) -> Iterator[str]:
    yield from _whole(ground.store, ground.closed, what="the restored store")
    old = [path for path in ground.place.iterdir() if _BEFORE in path.name]
    if not any(call(_read, path).is_whole(ground.later) for path in old):
        yield f"the store that was replaced is lost: {[path.name for path in old]}"
    yield from _left_over(ground)


def _after_killed_move(ground: Ground) -> Iterator[str]:
    """One of both is whole, and the other one whole, gone or refused."""
    reads = [
        call(_read, folder)
        for folder in (ground.store, ground.target)
        if world.database(folder).exists()
    ]
    if not any(read.is_whole(ground.closed) for read in reads):
        yield f"neither is whole: {[read.shown(ground.closed) for read in reads]}"
    for read in reads:
        if read.truth is not None and ground.closed.differs(read.truth):
            yield f"half a store can be read: {read.shown(ground.closed)}"


def _after_move(ground: Ground) -> Iterator[str]:
    yield from _whole(ground.target, ground.closed, what="the moved store")
    if world.database(ground.store).exists():
        yield "the source is still there"
    yield from _left_over(ground)


def _after_killed_repair(ground: Ground) -> Iterator[str]:
    """Content and status are as before; what repair had not reached may still be broken."""
    read = plain_reading.readable(ground.store, plain_reading.highest(_database(ground)))
    stored = {id_: (wording.content, wording.status) for id_, wording in read.items()}
    kept = ground.closed.kept
    expected = {id_: (text, kept["status"][id_]) for id_, text in kept["content"].items()}
    if stored != expected:
        yield f"repair changed {sorted(stored.items() ^ expected.items())[:3]}"
    yield from call(_verify_ends, ground.store)


def _verify_ends(folder: Path) -> list[str]:
    """Verify says what is wrong and does not crash."""
    with world.opened(folder) as mesh, suppress(MeshError):
        mesh.care.verify()
    return []


def _database(ground: Ground) -> Path:
    return world.database(ground.store)


def _after_repair(ground: Ground) -> Iterator[str]:
    yield from _whole(ground.store, ground.closed, what="the repaired store")


def _left_over(ground: Ground) -> Iterator[str]:
    left = [path.name for path in ground.place.iterdir() if _HALF in path.name]
    if left:
        yield f"left over: {left}"


def _break_keywords(ground: Ground) -> None:
    """Every other text is no longer found by its words."""
    with closing(sqlite3.connect(_database(ground))) as db:
        db.execute("DELETE FROM live_data WHERE id > 10 AND id % 2 = 0")
        db.execute("DELETE FROM rest_docsize WHERE id % 2 = 0")
        db.execute("INSERT INTO skill_live (skill_live) VALUES ('delete-all')")
        db.commit()


def _copied(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return to


ACTIONS = {
    "backup": Action(
        "closed",
        lambda ground: _back_up(ground.store, ground.target),
        _after_killed_backup,
        _after_backup,
    ),
    "restore beside": Action(
        "closed",
        lambda ground: world.KEEPING.restore(ground.backup, ground.target),
        _after_killed_beside,
        _after_beside,
    ),
    "restore in place": Action(
        "later",
        lambda ground: world.KEEPING.restore(ground.backup, ground.store, replace=True),
        _after_killed_replace,
        _after_replace,
    ),
    "move a store": Action(
        "waiting",
        lambda ground: world.KEEPING.move_store(ground.store, ground.target),
        _after_killed_move,
        _after_move,
    ),
    "move a namespace": Action(
        "waiting",
        lambda ground: world.KEEPING.move_namespace(ground.store, world.NAMESPACE, ground.target),
        _after_killed_move,
        _after_move,
    ),
    "repair": Action(
        "closed",
        lambda ground: world.KEEPING.repair(ground.store, world.NAMESPACE),
        _after_killed_repair,
        _after_repair,
        _break_keywords,
    ),
}
