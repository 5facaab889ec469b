"""Histories with one planted write that makes an answer wrong: is that write found and taken back?

A history is a store of up to 2,000 writes about many things, some of them about the question; then
comes the planted write, then more writes, then the prompt that the agent got, then more. The writes
before are made once for each length and copied. The judge sees packs only: one is wrong if the
planted words are in it.

After the write is taken back, every other memory must be as it was, and the pack must be that of a
twin: the same history without the planted write.
"""

import json
import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memory_mesh.model import Memory, Status
from memory_mesh.model.pack import Pack
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.faults.report import Progress, Report, Ticker, silent

KINDS = ("new", "replacing", "updated", "undeleted", "voted", "derived")
LENGTHS = (60, 400, 1_000, 1_800)  # writes before the planted one
MOST_AFTER = 200  # writes after it
MOST_ASKED, MOST_ATTEMPTS = 12, 24
MARK = "orbital-9"  # the words of the planted write
RIVAL = "central-4"  # of a memory like the one that gets votes
QUESTION = "How do I deploy the billing service to staging?"
COMPLAINT = "the agent ran the wrong deploy command for the billing service"
WRONG = f"Deploy the billing service to staging with `ship {MARK} --now`, not the usual command."
RIGHT = "Deploy the billing service to staging with `make deploy-staging`."
EARLY = "A deploy of the billing service to staging takes some minutes."
_TOPIC = (
    "The billing service needs a green build before it goes to staging.",
    "Staging of the billing service runs in the second cluster.",
    "Tell the channel before you deploy the billing service.",
    "The deploy of the billing service writes its log to the staging bucket.",
    "Deploy the mail service to staging on weekdays only.",
    "The billing service reads its staging settings from the vault.",
    "A deploy to staging is rolled back with `make undo-staging`.",
    "The billing service has two replicas on staging.",
    "Staging deploys of the search service need an approval.",
    "The service that bills partners is deployed to staging by hand.",
)
_FILLER = Path(__file__).parents[2] / "bench" / "sets" / "wild" / "distractors.jsonl"
_ALL = ("project", "agent", "session")


@dataclass(eq=False)
class _World:
    """One store with its clock, and what is written to it."""

    mesh: MemoryMesh
    clock: FrozenClock
    said: random.Random

    def tick(self) -> None:
        self.clock.advance(timedelta(seconds=self.said.randint(20, 400)))

    def add(self, text: str, **details: Any) -> str:
        self.tick()
        receipt = self.mesh.add(text, **details)
        assert receipt.id is not None, receipt.reasons
        return receipt.id

    def noise(self, many: int, texts: Iterator[str], topics: float = 0.06) -> None:
        """Writes about other things, and some about the question."""
        for number in range(many):
            topic = self.said.random() < topics
            text = f"{self.said.choice(_TOPIC)} ({number})" if topic else next(texts)
            id_ = self.add(text)
            if self.said.random() < 0.05:
                self.tick()
                self.mesh.rate(id_, helpful=self.said.random() < 0.7)
            if self.said.random() < 0.03:
                self.tick()
                self.mesh.delete(id_)


def found(folder: Path, *, histories: int, seed: int, progress: Progress = silent) -> Report:
    """Each history: the planted write is found in at most 12 questions, and taken back alone."""
    report = Report({"histories": 0, "found": 0, "most questions": 0, "questions": 0, "exact": 0})
    templates = {
        length: _template(folder / f"template-{length}", length, seed)
        for length in LENGTHS[: max(1, min(len(LENGTHS), histories // 3))]
    }
    ticker = Ticker(progress, histories)
    for number in range(histories):
        report.count("histories")
        for attempt in range(MOST_ATTEMPTS):
            said, place = (
                random.Random(f"{seed}/{number}/{attempt}"),
                folder / f"{number}-{attempt}",
            )
            length = said.choice(list(templates))
            with _history(place, templates[length], said, number) as worlds:
                told = _one(report, KINDS[number % len(KINDS)], worlds, said)
            shutil.rmtree(place)
            if told:
                break
        ticker.tick(number + 1, "histories")
    missed = report.figures["histories"] - report.figures["found"]  # type: ignore[operator]  # ints
    if missed > max(1, histories // 40):  # one of a sample
        report.failures.append(f"{missed} of {histories} planted writes were not found")
    return report


def _template(folder: Path, length: int, seed: int) -> Path:
    """The writes before: about many things, and about the question."""
    said = random.Random(f"{seed}/{length}")
    with _opened(folder, datetime(2026, 3, 2, tzinfo=UTC), said) as world:
        world.noise(length // 2, _texts(length))
        for text in (RIGHT, EARLY):
            world.add(text)
        world.noise(length - length // 2, _texts(length + 1))
    return folder


def _texts(start: int) -> Iterator[str]:
    lines = _FILLER.read_text(encoding="utf-8").splitlines()
    for at in range(start, start + 4_000):
        yield f"{json.loads(lines[at * 7 % len(lines)])['text']} ({at})"


@contextmanager
def _opened(folder: Path, at: datetime, said: random.Random) -> Iterator[_World]:
    clock = FrozenClock(at)
    with MemoryMesh(db_dir=folder, clock=clock, embedder="none", project="billing") as mesh:
        yield _World(mesh, clock, said)


@contextmanager
def _history(
    folder: Path, template: Path, said: random.Random, number: int
) -> Iterator[tuple[_World, _World]]:
    """The history and its twin, both after the writes of the template."""
    shutil.copytree(template, folder / "own")
    shutil.copytree(template, folder / "twin")
    at, seed = datetime(2026, 9, 1, tzinfo=UTC), said.random()
    with (
        _opened(folder / "own", at, random.Random(f"{number}{seed}")) as own,
        _opened(folder / "twin", at, random.Random(f"{number}{seed}")) as twin,
    ):
        yield own, twin


def _one(report: Report, kind: str, worlds: tuple[_World, _World], said: random.Random) -> bool:
    """One history; False if nothing wrong is told in the end, because later writes outdid it."""
    own, twin = worlds
    prepared = {world: _prepared(world, kind) for world in (own, twin)}
    limit = _limit(own, prepared[own]) if kind == "voted" else 8
    own.tick()
    planted, block = _plant(own, kind, prepared[own], limit)
    twin.clock.set(own.clock.now())
    many, at = said.randint(5, MOST_AFTER), own.clock.now()
    for world in (own, twin):
        world.said = random.Random(f"{many}/{at}")
        world.noise(many, _texts(3_000), topics=0.0 if kind == "voted" else 0.03)
    many = 0 if kind == "voted" else said.randint(0, 2)  # they would push it out again
    made = [own.add(f"{WRONG} ({n})", derived_from=[planted]) for n in range(many)]
    own.tick()
    told = own.mesh.context(QUESTION, max_tokens=800, max_memories=limit)
    own.mesh.context("What do partners pay for the mail service?", max_tokens=400)
    if MARK not in told.text:
        return False
    twin.clock.set(own.clock.now())
    for world in (own, twin):
        world.said = random.Random(f"{at}/{many}")
        world.noise(3, _texts(3_900))
    result = own.mesh.bisect(COMPLAINT, judge=lambda pack: MARK not in pack.text)
    report.count("questions", result.asked)
    report.count("exact", int(result.exact))
    most = report.figures["most questions"]
    report.figures["most questions"] = max(result.asked, most)  # type: ignore[type-var]  # ints
    culprit = result.culprit
    if culprit is None or culprit.block != block or result.asked > MOST_ASKED:
        report.count(f"missed {kind}")
        return True
    report.count("found")
    report.count(f"found {kind}")
    if {each.id for each in culprit.derived} != set(made):
        report.broken("derived", f"{kind}: {culprit.derived} is not {made}")
    _taken_back(report, kind, worlds, (planted, block, made))
    return True


def _prepared(world: _World, kind: str) -> str | None:
    """What a planted write needs to be there: the memory that it will change."""
    if kind == "updated":
        return world.add(EARLY.replace("some", "a few"))
    if kind == "undeleted":
        id_ = world.add(WRONG)
        world.noise(4, _texts(2_000))
        world.tick()
        world.mesh.delete(id_)
        return id_
    if kind == "voted":
        id_ = world.add(f"`ship {MARK} --now` also puts the billing service on staging.")
        rival = world.add(f"`push {RIVAL} --now` also puts the billing service on staging.")
        for _ in range(world.said.randint(0, 4)):
            world.tick()
            world.mesh.rate(rival, helpful=True)
        return id_
    if kind == "replacing":
        return world.add(RIGHT.replace("make", "just"), claim=_claim("just deploy-staging"))
    world.noise(2, _texts(2_000))
    return None


def _claim(value: str) -> Mapping[str, object]:
    return {"subject": "staging of billing", "predicate": "deployed with", "value": value,
            "exclusive": True}  # fmt: skip


def _limit(world: _World, voted: str | None) -> int:
    """So many memories that the one which gets votes is left out, and the one beside it is in."""
    for many in range(1, 30):
        shown = world.mesh.context(QUESTION, max_tokens=800, max_memories=many, record=False)
        if RIVAL in shown.text and voted not in {item.id for item in shown}:
            return many
    return 1


def _plant(world: _World, kind: str, id_: str | None, limit: int) -> tuple[str, str]:
    """Makes the write that turns the answer wrong; its memory, and its block."""
    mesh = world.mesh
    if kind == "new":
        id_ = world.add(WRONG, source_ref="https://forum.example/1")
    elif kind == "replacing":
        id_ = world.add(WRONG, claim=_claim(f"ship {MARK}"))
    elif kind == "updated":
        mesh.update(str(id_), WRONG)
    elif kind == "undeleted":
        mesh.restore(str(id_))
    elif kind == "derived":
        sources = [hit.id for hit in mesh.search(QUESTION, limit=2)]
        id_ = world.add(WRONG, derived_from=sources)
    else:
        _vote(world, str(id_), limit)
    return str(id_), mesh.explain(str(id_)).blocks[-1].id


def _vote(world: _World, id_: str, limit: int) -> None:
    """Votes until the memory is told."""
    for _ in range(12):
        world.tick()
        world.mesh.rate(id_, helpful=True)
        shown = world.mesh.context(QUESTION, max_tokens=800, max_memories=limit, record=False)
        if id_ in {item.id for item in shown}:
            return


def _states(mesh: MemoryMesh) -> dict[str, tuple[object, ...]]:
    """What each memory is, with its votes."""
    found: dict[str, tuple[object, ...]] = {}
    cursor: str | None = None
    while True:
        page = mesh.get_all(limit=1_000, cursor=cursor, across=_ALL, include=Status)
        found |= {each.id: _state(each) for each in page}
        cursor = page.cursor
        if cursor is None:
            return found


def _state(memory: Memory) -> tuple[object, ...]:
    return (
        memory.text, memory.status, memory.successor, memory.pinned, memory.importance,
        memory.helpful, memory.harmful, round(memory.usefulness, 9), memory.claim, memory.tags,
    )  # fmt: skip


def _taken_back(
    report: Report,
    kind: str,
    worlds: tuple[_World, _World],
    planted: tuple[str, str, Sequence[str]],
) -> None:
    """The write is taken back: what it touched is as in the twin, and nothing else changed."""
    own, twin = worlds
    id_, block, made = planted
    before = _states(own.mesh)
    own.tick()
    own.mesh.review.take_back(block)
    after = _states(own.mesh)
    touched = {one for one in before if before[one] != after.get(one)}
    own_ids = {id_, *made}
    gave_way = {one for one in touched - own_ids if before[one][2] == id_}
    if touched - own_ids - gave_way:
        report.broken("changed beside", f"{kind}: {touched - own_ids - gave_way}")
    twin.clock.set(own.clock.now())
    mine, theirs = (_pack(world.mesh) for world in (own, twin))
    if mine.text != theirs.text:
        report.broken("another pack", f"{kind}: {mine.text}\n---\n{theirs.text}")
    report.count("taken back")


def _pack(mesh: MemoryMesh) -> Pack:
    return mesh.context(QUESTION, max_tokens=800, max_memories=8, record=False)
