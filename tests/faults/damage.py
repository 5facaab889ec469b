"""Damaged files: what changes an answer is refused or found by `verify`, and nothing crashes.

Each round copies a store, damages the copy and looks at it in a process of its own::

    refused    opening or reading it raises an error of ours, and verify finds or raises too
    found      verify has findings
    harmless   every answer is as it was; an index may change the order of a search only

Everything else breaks the promise: an answer that changed unnoticed, a read that fails while verify
finds nothing, any exception that is not ours, a signal. What was refused or found is salvaged, and
the new store verifies. It is the store as of the last write that it speaks of: where the end of the
log is lost, an earlier moment, and salvage says so.

    active     content, status and audience are those of the source, for each active memory
    whole      each memory whose rows plain SQL reads as they were is there as it was
    held back  a memory with a changed row is there as it was, or waits for review
"""

import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import TypeVar

from memory_mesh.care.key_file import KEY_FOLDER
from memory_mesh.model.care import HELD_BACK, HeldBack
from memory_mesh.model.errors import MeshError, StoreIsDamaged
from tests.faults import keeping_world as world, plain_reading
from tests.faults.damages import FLIPS, INDEX, SWAPS, Case, Damage
from tests.faults.processes import Child, ChildFailed, call
from tests.faults.report import Progress, Report, Ticker, silent

_AT_ONCE = 2  # rounds at the same time
_BATCH = 10  # index rounds in one process: Lance takes seconds to load
_LIMIT_SECONDS = 300
_COUNTED = (
    "rounds", "refused", "found", "harmless", "missed", "crashed", "verify found nothing",
    "salvage failed", "memories to salvage",
)  # fmt: skip
# Pages of two moments in one file: that nothing is lost between them cannot be proven.
_TWO_MOMENTS = frozenset(
    ("older database under the log", "log of another moment", "log of an earlier moment",
     "half copied")
)  # fmt: skip
T = TypeVar("T")


@dataclass
class Seen:
    """What one round showed."""

    what: str = ""  # the damage in words
    refused: str = ""  # the message of the read that was refused
    findings: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)  # content, status, audience, counts
    otherwise: list[str] = field(default_factory=list)  # other parts of the answers
    crash: str = ""
    helpless: str = ""  # a message that does not say what to do
    salvaged: list[str] = field(default_factory=list)  # what is wrong with the new store
    tried: int = 0  # memories that had to be in the new store


def flips(
    folder: Path, *, rounds: int, seed: int, memories: int = 60, progress: Progress = silent
) -> Report:
    """So many bits and bytes flipped in database, log and keyword tables."""
    ground = _Ground.built(folder, seed, memories)
    return _rounds(ground, folder, list(islice(cycle(FLIPS), rounds)), seed, progress)


def swaps(
    folder: Path, *, rounds: int, seed: int, memories: int = 60, progress: Progress = silent
) -> Report:
    """So many files cut, emptied, removed, or replaced by others."""
    ground = _Ground.built(folder, seed, memories)
    return _rounds(ground, folder, list(islice(cycle(SWAPS), rounds)), seed, progress)


def index(
    folder: Path, *, rounds: int, seed: int, memories: int = 60, progress: Progress = silent
) -> Report:
    """So many damages of the index: it may change the order of a search, and nothing else."""
    report, ticker = _report(), Ticker(progress, rounds)
    world.build(folder, seed=seed, memories=memories, index=True)
    if alarms := call(_verified, _copied(folder / "indexed", folder / "sound")):
        raise AssertionError(f"nothing was damaged, and: {alarms[:3]}")
    (folder / "truth").write_bytes(pickle.dumps(call(world.truth, folder / "closed")))
    for start in range(0, rounds, _BATCH):
        count = min(_BATCH, rounds - start)
        command = [sys.executable, "-W", "ignore", "-m", __name__, str(folder)]
        done = subprocess.run(
            [*command, str(start), str(count), str(seed)],
            cwd=world.ROOT, capture_output=True, text=True, timeout=_LIMIT_SECONDS, check=False,
        )  # fmt: skip
        said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        for number, plain in enumerate(said):
            _judge(report, _index_damage(start + number).kind, Seen(**plain), order_counts=False)
        if len(said) < count:
            detail = f"exit {done.returncode} in round {start + len(said)}: {done.stderr}"
            report.broken("crashed", detail)
        ticker.tick(start + count, "index damages")
    return report


def _rounds(
    ground: "_Ground", folder: Path, damages: list[Damage], seed: int, progress: Progress
) -> Report:
    """Two rounds at a time."""
    report, chance, ticker = _report(), random.Random(seed), Ticker(progress, len(damages))
    under_way = list[tuple[Damage, Child[Seen]]]()
    for number, damage in enumerate(damages):
        place = folder / f"round-{number}"
        under_way.append((damage, Child(ground.round, damage, place, chance.random())))
        if len(under_way) == _AT_ONCE:
            _heard(report, *under_way.pop(0))
        ticker.tick(number + 1, f"damages, {report.figures['found']} found")
    for each in under_way:
        _heard(report, *each)
    return report


def _report() -> Report:
    report = Report()
    for name in _COUNTED:
        report.count(name, 0)
    return report


def _heard(report: Report, damage: Damage, child: Child[Seen]) -> None:
    try:
        seen = child.result(_LIMIT_SECONDS)
    except ChildFailed as failure:
        seen = Seen(crash=str(failure))
    _judge(report, damage.kind, seen)


def _judge(report: Report, kind: str, seen: Seen, *, order_counts: bool = True) -> None:
    """Counts a round and says which promise it broke."""
    report.count("rounds")
    where = f"{kind}: {seen.what}"
    noticed = bool(seen.refused or seen.findings)
    if seen.crash:
        report.broken("crashed", f"{where}: {seen.crash}")
    elif seen.findings:
        report.count("refused" if seen.refused else "found")
    elif seen.refused:
        report.broken("verify found nothing", f"{where}: {seen.refused}")
    elif seen.changed:
        report.broken("missed", f"{where}: {seen.changed}")
    elif order_counts and seen.otherwise:
        report.broken("missed", f"{where}: {seen.otherwise}")
    else:
        report.count("harmless")
    if seen.helpless:
        report.broken("says no way on", f"{where}: {seen.helpless}")
    report.count("memories to salvage", seen.tried if noticed else 0)
    for wrong in seen.salvaged[:1]:
        report.broken("salvage failed", f"{where}: {wrong} ({len(seen.salvaged)} in all)")


@dataclass
class _Ground:
    """The moments of a store, what each says, and what was ever true of its memories."""

    folder: Path
    truths: dict[str, world.Truth]
    past: plain_reading.Past
    whole: dict[str, dict[str, plain_reading.Wording]]  # each moment's memories, with their rows
    seqs: dict[str, int]  # the last write of each moment
    most: int  # the highest row number

    @classmethod
    def built(cls, folder: Path, seed: int, memories: int) -> "_Ground":
        moments = folder / "moments"
        world.build(moments, seed=seed, memories=memories)
        world.warm(_copied(moments / "closed", folder / "warm"))
        truths = {
            name: call(world.truth, _copied(moments / name, folder / f"read-{name}"))
            for name in ("closed", "waiting", "later")
        }
        if wrong := truths["closed"].differs(truths["waiting"]):
            raise AssertionError(f"closing changed what the store says: {wrong}")
        for name in truths:
            if alarms := call(_verified, _copied(moments / name, folder / f"sound-{name}")):
                raise AssertionError(f"nothing was damaged in {name}, and: {alarms[:3]}")
        latest = world.database(folder / "read-later")  # closed by now: all is in the file
        most = plain_reading.highest(latest)
        whole = {name: plain_reading.readable(moments / name, most) for name in truths}
        past = plain_reading.past(latest)
        seqs = {
            name: plain_reading.last_seq(world.database(folder / f"read-{name}"), past)
            for name in truths
        }
        return cls(moments, truths, past, whole, seqs, most)

    def round(self, damage: Damage, place: Path, seed: float) -> Seen:
        """One damage, in a process of its own."""
        seen = Seen()
        copy = _copied(self.folder / damage.moment, place / "damaged")
        seen.what = damage.do(Case(copy, self.folder, random.Random(seed)))
        untouched = _copied(copy, place / "to salvage")
        _look(copy, self.truths[damage.moment], seen)
        if (seen.refused or seen.findings) and not seen.crash:
            self._salvage(untouched, place / "salvaged", damage, seen)
        shutil.rmtree(place)
        return seen

    def _salvage(self, damaged: Path, to: Path, damage: Damage, seen: Seen) -> None:
        """What plain SQL reads is in the new store, and nothing there is a guess."""
        before = plain_reading.readable(damaged, self.most)
        wrong = seen.salvaged.append
        try:
            done = world.KEEPING.salvage(damaged, to)
            with world.opened(to) as mesh:
                findings = mesh.care.verify().findings
        except MeshError as error:
            if before:
                wrong(f"{len(before)} memories can be read, and: {error}")
            return
        except Exception:  # noqa: BLE001  # whatever it is, it is not ours: that is the finding
            wrong(traceback.format_exc())
            return
        seen.salvaged += [f"the new store: {finding}" for finding in findings]
        report = next((n for n in done.namespaces if n.namespace == world.NAMESPACE), None)
        if report is None:
            seen.salvaged += [f"{len(before)} memories can be read, and none is there"] * bool(
                before
            )
            return
        last = plain_reading.last_seq(world.database(to), self.past)
        after = plain_reading.readable(to, 3 * self.most)
        held = {each.id: each for each in report.held_back}
        if report.known != len(after) + len(report.lost) or not held.keys() <= after.keys():
            wrong(f"{len(after)} and {len(report.lost)} lost are not {report.known} known")
        if last < self.seqs[damage.moment] and done.complete:
            wrong(f"writes after {last} are lost, and salvage says that nothing is")
        seen.salvaged += self._guessed(after, held, last)
        if "another namespace" not in damage.kind:
            wanted = {id_: each for id_, each in before.items() if each == self.past.at(id_, last)}
            seen.tried = len(wanted)
            seen.salvaged += self._missing(wanted, after, held, damage)

    def _guessed(
        self,
        after: dict[str, plain_reading.Wording],
        held: dict[str, HeldBack],
        last: int,
    ) -> Iterator[str]:
        """Memories of the new store that are not as the source has them, and not held back."""
        for id_, found in after.items():
            true = self.past.at(id_, last)
            if id_ not in held:
                if found != true:
                    yield f"{id_} is {_short(found)} and was {_short(true)}"
                continue
            if found.status not in ("quarantined", "deleted"):
                yield f"{id_} is held back and {found.status}"
            sure = true is not None and found.audience == true.audience
            if found.audience[0] != HELD_BACK and not sure:
                yield f"{id_} is held back for {found.audience}, and was for {_short(true)}"
            known = self.past.contents(id_)
            if known and found.content not in known:
                yield f"{id_} is held back and never was {_short(found)}"

    def _missing(
        self,
        wanted: dict[str, plain_reading.Wording],
        after: dict[str, plain_reading.Wording],
        held: dict[str, HeldBack],
        damage: Damage,
    ) -> Iterator[str]:
        """Memories that can be read of the damaged file and are not in the new store."""
        contents = {after[id_].content for id_ in held}
        for id_, found in wanted.items():
            whole = self.whole[damage.moment].get(id_)
            untouched = whole is not None and whole.rows == found.rows
            untouched &= damage.kind not in _TWO_MOMENTS
            if after.get(id_) == found or (not untouched and found.content in contents):
                continue
            yield f"{id_} should be {_short(found)} and is {_short(after.get(id_))}"


def _look(copy: Path, expected: world.Truth, seen: Seen) -> None:
    """Reads everything, then verifies, as two users would."""
    truth = _tried(partial(world.truth, copy), seen)
    if truth is not None:
        seen.changed = expected.differs(truth)
        seen.otherwise = expected.tells_otherwise(truth)
    refused, seen.refused = seen.refused, ""
    findings = _tried(partial(_verified, copy), seen)
    if findings is not None:
        seen.findings = findings
    elif seen.refused:
        seen.findings = [f"verify: {seen.refused}"]
    seen.refused = refused or seen.refused


def _tried(function: Callable[[], T], seen: Seen) -> T | None:
    """The answer; None when it was refused or crashed, which is noted."""
    try:
        return function()
    except MeshError as error:
        seen.refused = f"{type(error).__name__}: {error}"
        if isinstance(error, StoreIsDamaged) and "memory-mesh" not in str(error):
            seen.helpless = seen.refused
    except Exception:  # noqa: BLE001  # whatever it is, it is not ours: that is the finding
        seen.crash = traceback.format_exc()
    return None


def _verified(folder: Path) -> list[str]:
    with world.opened(folder) as mesh:
        return [f"{finding.check}: {finding.detail}" for finding in mesh.care.verify().findings]


def _copied(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return to


def _short(wording: plain_reading.Wording | None) -> str:
    if wording is None:
        return "not there"
    return f"{wording.status} for {wording.audience}: {wording.content[:60]!r}"


def _index_damage(number: int) -> Damage:
    return INDEX[number % len(INDEX)]


def _index_rounds(folder: Path, start: int, count: int, seed: int) -> None:
    """A batch of index rounds in this process; a line for each."""
    expected: world.Truth = pickle.loads((folder / "truth").read_bytes())
    os.environ[KEY_FOLDER] = str(folder / "keys")
    for number in range(start, start + count):
        place, seen = folder / f"round-{number}", Seen()
        copy = _copied(folder / "indexed", place)
        chance = random.Random(f"{seed}-{number}")
        seen.what = _index_damage(number).do(Case(copy, folder, chance))
        _look(copy, expected, seen)
        print(json.dumps(seen.__dict__), flush=True)
        shutil.rmtree(place)


def main(arguments: Sequence[str]) -> None:
    """The process of a batch of index rounds."""
    folder, start, count, seed = arguments
    _index_rounds(Path(folder), int(start), int(count), int(seed))


if __name__ == "__main__":
    main(sys.argv[1:])
