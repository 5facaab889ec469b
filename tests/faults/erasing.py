"""Random erasures, killed at random steps: hidden at once, never half told as done, no byte left.

Each text has a random word of its own, its canary. A set is a store with versions, derived
memories, links, proposals, reasons and questions that quote canaries, vectors, an index, a mirrored
folder, a copy from before a migration, a session's file, a backup and an archive. What goes is
named by ids, by source or by subject. Whether anything is left is asked of the bytes of every file,
of unpacked blocks, and of the words of the keyword tables, by code that is not the product's.
"""

import os
import random
import re
import shutil
import signal
import sqlite3
import string
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from memory_mesh import care
from memory_mesh.agents.sessions import Session
from memory_mesh.care.erase import NEEDLES
from memory_mesh.ledgers.shared import rows
from memory_mesh.mirror import Mirror
from memory_mesh.model import Outcome, Scope
from memory_mesh.model.care import Erasure
from memory_mesh.sync import MemoryMesh
from tests.faults.crashpoints import watch
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, Ticker, silent
from tests.postgres import SECRET
from tests.word_vectors import WordVectors

_LETTERS = string.ascii_lowercase + string.digits
_SCOPES = (Scope(), Scope("shop"), Scope(None, "bot"), Scope("shop", None, "s1"))
EVERYBODY = Scope("shop", "bot", "s1")  # who sees all of them
_WAYS = ("ids", "source", "subject")
_CANARY = re.compile("zq[a-z0-9]{14}x")
_PATIENCE = 60.0  # seconds that a reader lives at most
_ROOM = 0.4  # seconds that an erasure on a server takes about


@dataclass(frozen=True)
class Said:
    """One memory of a set: its canary, the texts it ever had, and for whom it is."""

    id: str
    canary: str
    texts: tuple[str, ...]
    scope: Scope
    source: str
    subject: str
    made_of: str | None = None  # the id of another memory


@dataclass(frozen=True)
class Ground:
    """A prepared store and its folders, and what is in it."""

    room: Path
    said: tuple[Said, ...]

    @property
    def store(self) -> Path:
        """The store's folder."""
        return self.room / "store"

    @property
    def notes(self) -> Path:
        """The mirrored folder."""
        return self.room / "notes"


@dataclass(frozen=True)
class Choice:
    """What is to be erased: how it is named, and which memories go and stay."""

    named: dict[str, Any]
    gone: tuple[Said, ...]
    stays: tuple[Said, ...]


def erased(
    folder: Path,
    *,
    sets: int,
    kills: int,
    memories: int = 12,
    seed: int,
    progress: Progress = silent,
) -> Report:
    """So many random sets, each killed at some steps and run again."""
    report = Report({"sets": 0, "kills": 0, "hidden": 0, "done": 0, "refused": 0, "accepted": 0})
    dice, ticker = random.Random(seed), Ticker(progress, sets)
    for number in range(sets):
        room = folder / f"set-{number}"
        with_index = number % 3 == 0
        ground = call(_prepared, room, dice.random(), memories, with_index)
        choice = _chosen(ground, _WAYS[number % 3], dice)
        where = f"set {number} of seed {seed}, {choice.named}"
        template = Ground(folder / "template", ground.said)
        shutil.copytree(room, template.room)
        events = call(_counted, ground, choice)
        for wrong in call(_found_wrong, _wrong_after, ground, choice):
            report.broken("not killed", f"{where}: {wrong}")
        for point in sorted(dice.sample(range(1, events + 1), min(kills, events))):
            _again_from(template, ground)
            _killed(report, ground, choice, point, f"{where}, event {point} of {events}")
        _again_from(template, ground)
        _beside_readers(report, ground, choice, where)
        for kind, wrong in call(_brought_back, ground, choice, dice.random()):
            report.count(kind)
            if wrong:
                report.broken("came back", f"{where}: {wrong}")
        shutil.rmtree(room)
        shutil.rmtree(template.room)
        report.count("sets")
        ticker.tick(number + 1, "sets")
    return report


def _found_wrong(
    look: Callable[[Ground, Choice], Iterator[str]], ground: Ground, choice: Choice
) -> list[str]:
    return [*look(ground, choice)]


def _again_from(template: Ground, ground: Ground) -> None:
    shutil.rmtree(ground.room)
    shutil.copytree(template.room, ground.room)


def _opened(ground: Ground) -> MemoryMesh:
    return MemoryMesh(db_dir=ground.store, custom_embedder=WordVectors("one"))


def _word(dice: random.Random) -> str:
    return "zq" + "".join(dice.choices(_LETTERS, k=14)) + "x"


def _prepared(room: Path, seed: float, memories: int, with_index: bool) -> Ground:  # noqa: FBT001
    """A store with everything that may repeat a text."""
    dice, said = random.Random(seed), list[Said]()
    ground = Ground(room, ())
    ground.notes.mkdir(parents=True)
    with _opened(ground) as mesh:
        for number in range(memories):
            said.append(_stored(mesh, number, said, dice))
        for one in dice.sample(said, 3):
            view = mesh.view(scope=one.scope)
            view.search(f"who knows {one.canary}")
            view.context(f"{one.canary} of the harbour")
            view.review.propose_update(one.id, f"maybe {one.canary} was moved", reason=one.canary)
        one, other = dice.sample(said, 2)
        mesh.view(scope=other.scope).update(
            other.id, metadata={"team": "core"}, reason=f"as said in: {one.texts[-1]}"
        )
        everybody = mesh.view(scope=EVERYBODY)
        everybody.graph.link(one.id, other.id)
        everybody.delete(dice.choice(said).id, reason="it is old")
        Session.of(ground.store, "host", "one").record(stored=[one.id], notice=f"kept {one.canary}")
        Mirror(mesh, ground.notes).run()
        mesh.care.rebuild_terms()
        if with_index:
            mesh.care.rebuild_index()
    care.backup(ground.store, room / "backups")
    care.export_archive(ground.store, "default", room / "archive.tar")
    with closing(sqlite3.connect(ground.store / "namespaces" / "default.db")) as db:
        db.execute("VACUUM INTO ?", (str(ground.store / "namespaces/default.before-0002-1.bak"),))
    return Ground(room, tuple(said))


def _stored(mesh: MemoryMesh, number: int, said: Sequence[Said], dice: random.Random) -> Said:
    """One memory, now and then made of an earlier one, changed or with the words of another."""
    canary, scope = _word(dice), dice.choice(_SCOPES)
    source, subject = f"page-{number % 3}", ("Ada", "Bob")[number % 2]
    text = (
        f"{subject} keeps the {canary} in shed {number}, beside the {_word(dice)} of the harbour."
    )
    seen = [one.id for one in said if one.scope in {Scope(), scope}]
    made_of = dice.choice(seen) if seen and number % 4 == 3 else None
    receipt = mesh.view(scope=scope).add(
        text,
        {"mark": canary} if number % 2 else None,
        derived_from=[made_of] if made_of else None,
        claim={"subject": subject, "predicate": f"keeps {number}", "value": canary},
        source_ref=source,
    )
    assert receipt.id is not None, receipt
    texts = [text]
    if number % 3 == 1:
        texts.append(f"{subject} moved the {canary} to shed {number + 100}.")
        view = mesh.view(scope=scope)
        view.update(receipt.id, texts[-1], reason=f"because {canary} was moved")
    return Said(receipt.id, canary, tuple(texts), scope, source, subject.lower(), made_of)


def _chosen(ground: Ground, way: str, dice: random.Random) -> Choice:
    """What is named, and everything that goes with it."""
    some = dice.sample(ground.said, 2)
    ways: dict[str, dict[str, Any]] = {
        "ids": {"memory_id": [one.id for one in some]},
        "source": {"source": some[0].source},
        "subject": {"subject": some[0].subject},
    }
    asked = {
        "ids": {one.id for one in some},
        "source": {one.id for one in ground.said if one.source == some[0].source},
        "subject": {one.id for one in ground.said if one.subject == some[0].subject},
    }[way]
    while more := {one.id for one in ground.said if one.made_of in asked} - asked:
        asked |= more
    gone = tuple(one for one in ground.said if one.id in asked)
    return Choice(ways[way], gone, tuple(one for one in ground.said if one.id not in asked))


def _erased(ground: Ground, choice: Choice) -> Erasure:
    with _opened(ground) as mesh:
        return mesh.erase(scope=EVERYBODY, **choice.named)


def _counted(ground: Ground, choice: Choice) -> int:
    """How many events the whole erasure has; it must be done."""
    events = watch(lambda _number: None)
    done = _erased(ground, choice)
    assert done.done, done
    assert {one.id for one in choice.gone} == set(done.ids), (choice.named, done)
    return len(events)


def _killed(report: Report, ground: Ground, choice: Choice, point: int, where: str) -> None:
    """Kills the erasure at an event; then it is not told as done too soon, and ends the same."""
    child = Child(_dies_at, ground, choice, point)
    child.join()
    report.count("kills")
    if child.code not in {0, -signal.SIGKILL}:
        report.broken("failed", f"{where}: ended with {child.code}")
    for wrong in call(_found_wrong, _wrong_between, ground, choice):
        report.broken("half", f"{where}: {wrong}")
    if not call(_finished, ground, choice):
        report.broken("not done", where)
    for wrong in call(_found_wrong, _wrong_after, ground, choice):
        report.broken("left", f"{where}: {wrong}")
    report.count("done")


def _dies_at(ground: Ground, choice: Choice, point: int) -> None:
    def die(number: int) -> None:
        if number == point:
            os.kill(os.getpid(), signal.SIGKILL)

    watch(die)
    _erased(ground, choice)


def _finished(ground: Ground, choice: Choice) -> bool:
    """The same call once more, or upkeep where what was named is gone; whether it is done."""
    with _opened(ground) as mesh:
        there = {memory.id for memory in _all(mesh)}
        if there & {one.id for one in choice.gone} or "memory_id" in choice.named:
            return mesh.erase(scope=EVERYBODY, **choice.named).done
        mesh.care.upkeep()
        return not mesh.stats().by_status.get("erasing")


def _all(mesh: MemoryMesh) -> list[Any]:
    statuses = ("deleted", "superseded", "archived", "quarantined")
    return [*mesh.get_all(across=("project", "agent", "session"), include=statuses, limit=1000)]


def _wrong_between(ground: Ground, choice: Choice) -> Iterator[str]:
    """After a kill: all of it is seen or nothing, and it is told as done only if it is."""
    with _opened(ground) as mesh:
        there = {memory.id for memory in _all(mesh)}
        blocks = mesh.care.blocks(limit=1000, as_owner=True)
        findings = mesh.care.verify().findings
    seen = [one.id for one in choice.gone if one.id in there]
    if seen and len(seen) < len(choice.gone):
        yield f"{len(seen)} of {len(choice.gone)} are seen"
    if lost := [one.id for one in choice.stays if one.id not in there]:
        yield f"{lost} are gone"
    yield from map(str, findings)
    if any(block.entry.metadata.get("state") == "done" for block in blocks):
        yield from (f"told as done: {wrong}" for wrong in left(ground, choice))


def _wrong_after(ground: Ground, choice: Choice) -> Iterator[str]:
    """After the end: nothing is found, everything else is there, and the store verifies."""
    with _opened(ground) as mesh:
        there = {memory.id for memory in _all(mesh)}
        yield from map(str, mesh.care.verify().findings)
        for one in choice.stays:
            hits = mesh.view(scope=one.scope).search(one.canary, include=("deleted",))
            if one.id not in there or one.id not in {hit.id for hit in hits}:
                yield f"{one.id} is not found any more"
        told = [block for block in mesh.care.blocks(limit=1000, as_owner=True) if block.erased]
    if there & {one.id for one in choice.gone}:
        yield "it is still seen"
    if not told:
        yield "no block says erased"
    yield from left(ground, choice)
    if strays := list((ground.store / "namespaces").glob(f"*{NEEDLES}*")):
        yield f"{strays} are left"


def _canaries(one: Said) -> set[str]:
    return {word for text in one.texts for word in _CANARY.findall(text)}


def left(ground: Ground, choice: Choice) -> Iterator[str]:
    """Where canaries and vectors of erased memories still stand."""
    own = {word for one in choice.stays for word in _canaries(one)}
    words = {word.encode() for one in choice.gone for word in _canaries(one) if word not in own}
    texts = [text for one in choice.gone for text in one.texts]
    vectors = [made[0] for made in WordVectors("one").embed(texts).vectors]
    for path in (*ground.store.rglob("*"), *ground.notes.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            yield from (f"{word.decode()} in {path.name}" for word in words if word in data)
            yield from (f"a vector in {path.name}" for each in vectors if each in data)
    path = ground.store / "namespaces" / "default.db"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        for of, text in _unpacked(db):
            yield from (f"{word.decode()} in {of}" for word in words if word.decode() in text)


def _unpacked(db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """What no search through raw bytes sees: packed blocks, and terms that share beginnings."""
    for id_, memories, at, wire, metadata in db.execute(
        "SELECT id, memories, at, wire, metadata FROM block"
    ):
        for packed in (wire, metadata):
            yield id_, rows.unpacked(packed, memories, at) or ""
    for table in ("live", "rest", "skill_live"):
        db.execute(f"CREATE VIRTUAL TABLE temp.words_{table} USING fts5vocab('main', {table}, row)")
        terms = db.execute(f"SELECT term FROM words_{table}")
        yield table, " ".join(term for (term,) in terms)


def _reads(path: Path) -> None:
    """In a child: holds an earlier moment of a file until it is killed."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN")
    db.execute("SELECT count(*) FROM memory").fetchone()
    path.with_name(f"reading-{os.getpid()}").touch()
    time.sleep(_PATIENCE)


def _beside_readers(report: Report, ground: Ground, choice: Choice, where: str) -> None:
    """Three readers keep it from being done, and never from being hidden."""
    path = ground.store / "namespaces" / "default.db"
    readers = [Child(_reads, path) for _ in range(3)]
    for reader in readers:
        mark = path.with_name(f"reading-{reader.pid}")
        while not mark.exists():
            time.sleep(0.005)
        mark.unlink()
    done = call(_erased, ground, choice)
    seen = call(_seen, ground)
    for reader in readers:
        reader.kill()
    if done.done or not any("reader" in why for why in done.waits):
        report.broken("readers", f"{where}: {done}")
    if seen & {one.id for one in choice.gone}:
        report.broken("readers", f"{where}: it is seen beside readers")
    report.count("hidden")
    if not call(_finished, ground, choice):
        report.broken("not done", f"{where}, after its readers")
    for wrong in call(_found_wrong, _wrong_after, ground, choice):
        report.broken("left", f"{where}, after its readers: {wrong}")
    report.count("done")


def _seen(ground: Ground) -> set[str]:
    with _opened(ground) as mesh:
        return {memory.id for memory in _all(mesh)}


def _variants(text: str, dice: random.Random) -> list[str]:
    """The same words in other clothes."""
    dressed = [
        text,
        text.upper(),
        text.replace(" ", "  "),
        f"  «{text}»!?",
        text.replace(",", " –"),
    ]
    return dice.sample(dressed, 3)


def _near_misses(one: Said, dice: random.Random) -> list[str]:
    """Other words: one more, or another one."""
    text = dice.choice(one.texts)
    return [f"{text} {_word(dice)}", text.replace("shed", _word(dice))]


def _brought_back(ground: Ground, choice: Choice, seed: float) -> list[tuple[str, str]]:
    """Every way back: again in other clothes and audiences, after a rotation, from a copy."""
    dice, found = random.Random(seed), list[tuple[str, str]]()
    found += _told_again(ground, choice.gone, dice)
    care.rotate_key(ground.store)
    found += _told_again(ground, choice.gone, dice)
    (backup,) = (ground.room / "backups").iterdir()
    care.restore(backup, ground.store, replace=True)
    before = next(ground.store.parent.glob("store.before-restore-*"))
    shutil.rmtree(before)
    found += [("restored", wrong) for wrong in _wrong_in_copy(ground, choice)]
    found += _told_again(ground, choice.gone, dice)
    shutil.rmtree(ground.store / "namespaces")
    care.import_archive(ground.store, ground.room / "archive.tar")
    found += [("imported", wrong) for wrong in _wrong_in_copy(ground, choice)]
    found += _told_again(ground, choice.gone, dice)
    with _opened(ground) as mesh:
        one = dice.choice(choice.gone)
        let_in = mesh.unforget(one.texts[-1].upper())
        again = mesh.add(one.texts[-1]).outcome
        found.append(("unforgotten", "" if let_in and again is Outcome.STORED else f"{again}"))
    return found


def _told_again(
    ground: Ground, gone: Iterable[Said], dice: random.Random
) -> Iterator[tuple[str, str]]:
    with _opened(ground) as mesh:
        yield from _told_to(mesh, gone, dice)


def _told_to(
    mesh: MemoryMesh, gone: Iterable[Said], dice: random.Random
) -> Iterator[tuple[str, str]]:
    """The same words are refused, whoever says them how; other words are not."""
    known = [*gone]
    for one in dice.sample(known, min(2, len(known))):
        for text in _variants(dice.choice(one.texts), dice):
            channel = dice.choice(("library", "cli", "file", "mcp", "import"))
            receipt = mesh.view(scope=dice.choice(_SCOPES), channel=channel).add(text)
            fine = receipt.outcome is Outcome.REFUSED
            yield "refused", "" if fine else f"{text!r} by {channel}: {receipt.outcome}"
        for text in _near_misses(one, dice):
            receipt = mesh.add(text)
            fine = receipt.outcome is not Outcome.REFUSED
            yield "accepted", "" if fine else f"{text!r}: {receipt.reasons}"
            mesh.erase(receipt.id)


def _wrong_in_copy(ground: Ground, choice: Choice) -> list[str]:
    with _opened(ground) as mesh:
        there = {memory.id for memory in _all(mesh)}
        wrong = [*map(str, mesh.care.verify().findings)]
        wrong += [f"{one.id} is back" for one in choice.gone if one.id in there]
        wrong += [f"{one.id} is gone" for one in choice.stays if one.id not in there]
    return [*wrong, *(where for where in left(ground, choice) if ".bak" not in where)]


# The same on a server: done is said once a vacuum has taken every row out, and not beside a reader.


def erased_on_server(
    url: str, owner: str, *, sets: int, seed: int, progress: Progress = silent
) -> Report:
    """So many random sets in namespaces of their own, each killed once and run again."""
    report = Report({"sets": 0, "hidden": 0, "done": 0, "refused": 0, "accepted": 0})
    os.environ["MEMORY_MESH_KEY"] = SECRET.hex()
    dice, ticker = random.Random(seed), Ticker(progress, sets)
    words: list[str] = []
    for number in range(sets):
        name = f"set-{number}-{seed}"
        where = f"{name} of seed {seed}"
        said = call(_filled, url, name, dice.random())
        choice = _chosen(Ground(Path(), said), _WAYS[number % 3], dice)
        words += sorted({word for one in choice.gone for word in _canaries(one)})
        with psycopg.connect(owner) as reader:  # its transaction needs the rows of before
            reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            reader.execute("SELECT count(*) FROM memory_mesh.memory").fetchone()
            child = Child(_erased_there, url, name, choice)
            time.sleep(dice.uniform(0, _ROOM))
            child.kill()
            seen = call(_seen_there, url, name) & {one.id for one in choice.gone}
            if seen and len(seen) < len(choice.gone):
                report.broken("half", f"{where}: {len(seen)} of {len(choice.gone)} are seen")
            if call(_erased_there, url, name, choice):
                report.broken("too soon", f"{where}: before any vacuum")
            _vacuumed(owner)
            if call(_finished_there, url, name):
                report.broken("too soon", f"{where}: beside a reader")
        report.count("hidden")
        _vacuumed(owner)
        if not call(_finished_there, url, name):
            report.broken("not done", where)
        for wrong in call(_wrong_there, url, owner, name, choice):
            report.broken("left", f"{where}: {wrong}")
        for kind, wrong in call(_told_there, url, name, choice, dice.random()):
            report.count(kind)
            if wrong:
                report.broken("came back", f"{where}: {wrong}")
        report.count("done")
        report.count("sets")
        ticker.tick(number + 1, "sets")
    for wrong in _in_files(owner, words):
        report.broken("left in a file", wrong)
    return report


def _there(url: str, name: str) -> MemoryMesh:
    return MemoryMesh(url, namespace=name, custom_embedder=WordVectors("one"))


def _filled(url: str, name: str, seed: float) -> tuple[Said, ...]:
    dice, said = random.Random(seed), list[Said]()
    with _there(url, name) as mesh:
        for number in range(8):
            said.append(_stored(mesh, number, said, dice))
        for one in said[:3]:
            mesh.view(scope=one.scope).search(f"who knows {one.canary}")
            mesh.view(scope=one.scope).context(f"{one.canary} of the harbour")
    return tuple(said)


def _erased_there(url: str, name: str, choice: Choice) -> bool:
    with _there(url, name) as mesh:
        there = {memory.id for memory in _all(mesh)}
        if not there & {one.id for one in choice.gone}:
            return not mesh.stats().by_status.get("erasing")
        return mesh.erase(scope=EVERYBODY, **choice.named).done


def _finished_there(url: str, name: str) -> bool:
    with _there(url, name) as mesh:
        mesh.care.upkeep()
        return not mesh.stats().by_status.get("erasing")


def _seen_there(url: str, name: str) -> set[str]:
    with _there(url, name) as mesh:
        return {memory.id for memory in _all(mesh)}


def _vacuumed(owner: str) -> None:
    with psycopg.connect(owner, autocommit=True) as db:
        db.execute("VACUUM")


def _wrong_there(url: str, owner: str, name: str, choice: Choice) -> list[str]:
    """What is left in rows, and what is missing."""
    with _there(url, name) as mesh:
        found = [*map(str, mesh.care.verify().findings)]
        there = {memory.id for memory in _all(mesh)}
        if not any(block.erased for block in mesh.care.blocks(limit=1000, as_owner=True)):
            found.append("no block says erased")
    found += [f"{one.id} is gone" for one in choice.stays if one.id not in there]
    words = {word for one in choice.gone for word in _canaries(one)}
    with psycopg.connect(owner) as db:
        tables = db.execute(
            "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'p') "
            "AND relnamespace = 'memory_mesh'::regnamespace"
        ).fetchall()
        for (table,) in tables:
            for (row,) in db.execute(f"SELECT t::text FROM {table} t").fetchall():
                found += [f"{word} in {table}" for word in words if word in row]
        for memories, at, *packed in db.execute(
            "SELECT memories, at, wire, metadata FROM memory_mesh.block"
        ).fetchall():
            texts = " ".join(rows.unpacked(each, memories, at) or "" for each in packed)
            found += [f"{word} in a block" for word in words if word in texts]
    return found


def _told_there(url: str, name: str, choice: Choice, seed: float) -> list[tuple[str, str]]:
    dice = random.Random(seed)
    with _there(url, name) as mesh:
        return [*_told_to(mesh, choice.gone, dice)]


def _in_files(owner: str, words: Sequence[str]) -> Iterator[str]:
    """What the files of tables hold once their owner has rewritten them."""
    with psycopg.connect(owner, autocommit=True) as db:
        db.execute("VACUUM FULL")
        db.execute("CHECKPOINT")
        (folder,) = db.execute("SHOW data_directory").fetchone() or ("",)
        (of,) = db.execute(
            "SELECT oid FROM pg_database WHERE datname = current_database()"
        ).fetchone() or (0,)
    for path in Path(folder, "base", str(of)).iterdir():
        data = path.read_bytes()
        yield from (f"{word} in {path.name}" for word in words if word.encode() in data)
