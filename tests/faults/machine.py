"""Reads of the past against a plain model: what was known at every moment, nothing more or less.

The model is a list of versions per memory and knows no SQL. The clock is moved by the machine,
backwards too, by seconds and by years; the recorded times of a memory must stay strictly
increasing, and one wrong time must not fix those of later writes.
"""

import shutil
import tempfile
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    multiple,
    rule,
    run_state_machine_as_test,
)

from memory_mesh.model import Memory, Status
from memory_mesh.model.errors import NotFound, NotRestorable
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing.doubles import FrozenClock
from tests.faults.crash import word
from tests.faults.report import Report

START = datetime(2026, 3, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)
_SET_BACK = timedelta(minutes=1)
_SHARED = "commonword"
_RESTORABLE = timedelta(days=30)

steps = st.one_of(
    st.timedeltas(timedelta(0), timedelta(seconds=2)),
    st.timedeltas(timedelta(0), timedelta(days=20)),
    st.timedeltas(timedelta(days=-5), timedelta(0)),
    st.timedeltas(timedelta(seconds=-90), timedelta(0)),
    st.sampled_from([timedelta(days=3650), timedelta(days=-3650)]),
)
bounds = st.none() | st.timedeltas(timedelta(days=-10), timedelta(days=10))
texts = st.integers(0, 30).map(lambda number: f"{_SHARED} about {word(number)}")


@dataclass(frozen=True)
class Version:
    """One version as the model keeps it."""

    recorded_from: datetime
    text: str
    status: Status = Status.ACTIVE
    pinned: bool = False
    valid_from: datetime | None = None
    valid_until: datetime | None = None

    def valid(self, moment: datetime) -> bool:
        """Whether it was true at that moment."""
        after = self.valid_from is None or self.valid_from <= moment
        return after and (self.valid_until is None or moment < self.valid_until)


@dataclass
class Life:
    """All versions of one memory, oldest first."""

    versions: list[Version] = field(default_factory=list)

    def append(self, version: Version) -> None:
        """A later version begins after the one before, whatever the clock says."""
        least = self.versions[-1].recorded_from + _TICK
        self.versions.append(replace(version, recorded_from=max(version.recorded_from, least)))

    def at(self, moment: datetime) -> Version | None:
        """The version that was recorded then."""
        known = [version for version in self.versions if version.recorded_from <= moment]
        return known[-1] if known else None


class AsOf(RuleBasedStateMachine):
    """A mesh and a model, told the same things."""

    memories = Bundle("memories")
    examples = reads = 0

    @initialize()
    def open(self) -> None:
        type(self).examples += 1
        self.folder = Path(tempfile.mkdtemp(prefix="as-of-"))
        self.clock = FrozenClock(START)
        self.mesh = MemoryMesh(db_dir=self.folder, clock=self.clock)
        self.lives: dict[str, Life] = {}
        self.recorded = datetime(1970, 1, 1, tzinfo=UTC)

    def teardown(self) -> None:
        if hasattr(self, "mesh"):
            try:
                for life in list(self.lives.values()):
                    for version in life.versions:
                        for moment in (version.recorded_from - _TICK, version.recorded_from):
                            self._check_past(moment, None)
                assert self.mesh.care.verify().findings == ()
            finally:
                self.mesh.close()
                shutil.rmtree(self.folder)

    @rule(step=steps)
    def pass_time(self, step: timedelta) -> None:
        self.clock.advance(step)

    @rule(
        target=memories, drafts=st.lists(st.tuples(texts, bounds, bounds), min_size=1, max_size=6)
    )
    def add(self, drafts: list[tuple[str, timedelta | None, timedelta | None]]):
        return multiple(*[self._add(*draft) for draft in drafts])

    def _add(self, text: str, start: timedelta | None, end: timedelta | None) -> str:
        valid_from, valid_until = self._validity(start, end)
        receipt = self.mesh.add(text, valid_from=valid_from, valid_until=valid_until)
        new = Version(self._record(), text, valid_from=valid_from, valid_until=valid_until)
        id_ = str(receipt.id)
        twins = [k for k, life in self.lives.items() if _same_statement(life.versions[-1], new)]
        if twins:
            assert receipt.outcome == "merged"
            assert id_ in twins
        else:
            assert receipt.outcome == "stored"
            self.lives[id_] = Life([new])
        return id_

    @rule(id_=memories, text=texts)
    def update_text(self, id_: str, text: str) -> None:
        self._change(id_, lambda: self.mesh.update(id_, text), text=text)

    @rule(id_=memories, start=bounds, end=bounds)
    def update_validity(self, id_: str, start: timedelta | None, end: timedelta | None) -> None:
        valid_from, valid_until = self._validity(start, end)
        self._change(
            id_,
            lambda: self.mesh.update(id_, valid_from=valid_from, valid_until=valid_until),
            valid_from=valid_from,
            valid_until=valid_until,
        )

    @rule(id_=memories, pinned=st.booleans())
    def pin(self, *, id_: str, pinned: bool) -> None:
        self._change(id_, lambda: self.mesh.pin(id_, pinned=pinned), pinned=pinned)

    @rule(id_=memories)
    def delete(self, id_: str) -> None:
        self._change(id_, lambda: self.mesh.delete(id_), status=Status.DELETED)

    @rule(target=memories, id_=consumes(memories))
    def restore(self, id_: str) -> str:
        life = self.lives[id_]
        last = life.versions[-1]
        at = self._next()
        if last.status is not Status.DELETED or at - last.recorded_from > _RESTORABLE:
            _raises(NotRestorable, lambda: self.mesh.restore(id_))
            return id_
        self.mesh.restore(id_)
        life.append(replace(last, status=life.versions[-2].status, recorded_from=self._record()))
        return id_

    @rule(use_cache=st.booleans())
    def read_the_present(self, *, use_cache: bool) -> None:
        now = self.clock.now()
        expected = {
            id_: life.versions[-1]
            for id_, life in self.lives.items()
            if life.versions[-1].status is Status.ACTIVE and life.versions[-1].valid(now)
        }
        hits = self.mesh.search(_SHARED, limit=1000, use_cache=use_cache)
        self._same([hit.memory for hit in hits], expected)
        self._same(self.mesh.get_all(limit=1000), expected)
        for id_ in self.lives:
            self._same([m for m in [self.mesh.get(id_)] if m], _only(expected, id_))

    @rule(step=st.timedeltas(timedelta(days=-12), timedelta(days=12)))
    def read_twice(self, step: timedelta) -> None:
        """The second answer must not be the first one's from the cache, if time made it wrong."""
        self.read_the_present(use_cache=True)
        self.clock.advance(step)
        self.read_the_present(use_cache=True)

    @rule(data=st.data(), offset=st.sampled_from([-_TICK, timedelta(0), _TICK]))
    def read_a_recorded_moment(self, data: st.DataObject, offset: timedelta) -> None:
        moments = [v.recorded_from for life in self.lives.values() for v in life.versions]
        moment = data.draw(st.sampled_from(moments)) if moments else START
        valid_at = data.draw(st.none() | st.sampled_from(self._bounds()))
        self._check_past(moment + offset, valid_at)

    @rule(step=st.timedeltas(timedelta(days=-30), timedelta(days=30)))
    def read_any_moment(self, step: timedelta) -> None:
        self._check_past(START + step, None)

    @rule(step=st.timedeltas(timedelta(days=-15), timedelta(days=15)))
    def read_what_was_true(self, step: timedelta) -> None:
        valid_at = self.clock.now() + step
        expected = {
            id_: life.versions[-1]
            for id_, life in self.lives.items()
            if life.versions[-1].status is Status.ACTIVE and life.versions[-1].valid(valid_at)
        }
        self._same(self.mesh.get_all(limit=1000, valid_at=valid_at), expected)
        hits = self.mesh.search(_SHARED, limit=1000, valid_at=valid_at)
        self._same([hit.memory for hit in hits], expected)

    def _check_past(self, moment: datetime, valid_at: datetime | None) -> None:
        """Every way to read the past gives exactly what was known then."""
        expected: dict[str, Version] = {}
        for id_, life in self.lives.items():
            version = life.at(moment)
            if version is None or version.status is not Status.ACTIVE:
                continue
            if version.valid(valid_at or moment):
                expected[id_] = version
        self._same(self.mesh.get_all(limit=1000, as_of=moment, valid_at=valid_at), expected)
        hits = self.mesh.search(_SHARED, limit=1000, as_of=moment, valid_at=valid_at)
        self._same([hit.memory for hit in hits], expected)
        if valid_at is None:
            for id_ in self.lives:
                found = self.mesh.get(id_, as_of=moment)
                self._same([found] if found else [], _only(expected, id_))

    def _same(self, found: list[Memory], expected: dict[str, Version]) -> None:
        type(self).reads += 1
        assert sorted(memory.id for memory in found) == sorted(expected)
        for memory in found:
            assert _version(memory) == expected[memory.id]
            deleted = self.lives[memory.id].versions[-1].status is Status.DELETED
            assert memory.deleted_since is deleted

    def _change(self, id_: str, act, **new: object) -> None:
        life = self.lives[id_]
        last = life.versions[-1]
        if last.status is Status.DELETED:
            _raises(NotFound, act)
            return
        act()
        changed = replace(last, **new)  # type: ignore[arg-type]  # names of Version's own fields
        if changed != last:
            life.append(replace(changed, recorded_from=self._record()))

    def _record(self) -> datetime:
        """The time a commit is recorded at."""
        self.recorded = self._next()
        return self.recorded

    def _next(self) -> datetime:
        """The clock's time, but later than the last where the clock was set back a little."""
        now = self.clock.now()
        return now if self.recorded - now > _SET_BACK else max(now, self.recorded + _TICK)

    def _validity(
        self, start: timedelta | None, end: timedelta | None
    ) -> tuple[datetime | None, datetime | None]:
        now = self.clock.now()
        if start is not None and end is not None and end <= start:
            end = start + timedelta(hours=1)
        return (now + start if start is not None else None), (
            now + end if end is not None else None
        )

    def _bounds(self) -> list[datetime]:
        found = [START]
        for life in self.lives.values():
            for version in life.versions:
                found += [b for b in (version.valid_from, version.valid_until) if b is not None]
        return found


def as_of(*, examples: int, seed: int, steps_each: int = 30) -> Report:
    """Run the machine so many times; a broken promise raises with the shortest story of it."""
    AsOf.examples = AsOf.reads = 0
    run_state_machine_as_test(
        hypothesis.seed(seed)(AsOf),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps_each,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    return Report({"examples": AsOf.examples, "reads compared": AsOf.reads, "wrong": 0})


def _same_statement(known: Version, new: Version) -> bool:
    """The same text, true at the same times, and not deleted: the newcomer is merged."""
    if known.status is not Status.ACTIVE:
        return False
    return replace(known, recorded_from=new.recorded_from, pinned=new.pinned) == new


def _version(memory: Memory) -> Version:
    return Version(
        memory.recorded_from,
        memory.text,
        memory.status,
        memory.pinned,
        memory.valid_from,
        memory.valid_until,
    )


def _only(expected: dict[str, Version], id_: str) -> dict[str, Version]:
    return {id_: expected[id_]} if id_ in expected else {}


def _raises(kind: type[Exception], act) -> None:
    try:
        act()
    except kind:
        return
    raise AssertionError(f"no {kind.__name__}")
