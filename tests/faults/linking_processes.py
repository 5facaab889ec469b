"""Eight processes store, link and fill prompts at once and are killed at random moments.

Each writer keeps a journal: what it is about to do, and what it was told. After every round a new
process looks: `verify` finds nothing, and everything that a writer was told is there. A prompt's
record is buffered, so it counts as told once the buffer was written or left in the spool (`flush`).
"""

import json
import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from memory_mesh.model.errors import InvalidInput, NotFound
from memory_mesh.sync import MemoryMesh
from tests.faults.crash import Journal, await_answers, word
from tests.faults.graph_world import TOPICS, Topical
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, Ticker, silent
from tests.faults.sample import dealt

_SHARED = 20  # memories that everybody links to
_VERBS = ("add", "add_many", "update", "link", "unlink", "delete", "inject", "flush", "evolve")
_VERB_WEIGHTS = (8, 3, 3, 6, 1, 1, 6, 6, 2)
_FIRST = ("add_many", "inject", "flush")  # of every life, so that a short one leaves a prompt
_LONGEST_SECONDS = 1.5  # from the first answers to the kill
_TYPES = ("related", "follows", "part_of", "depends_on")
_TEXTS = """SELECT m.id, t.content, m.status FROM memory m
    JOIN version v ON v.memory = m.number AND v.recorded_until IS NULL
    JOIN text t ON t.number = v.text"""
_LINKS = """SELECT a.id, b.id, l.type FROM link l
    JOIN memory a ON a.number = l.source JOIN memory b ON b.number = l.target"""
_PROMPTS = """SELECT i.id, (SELECT count(*) FROM injected d WHERE d.injection = i.number)
    FROM injection i"""
Intent = dict[str, Any]
Ends = tuple[str, str, str]


@dataclass
class Told:
    """What one writer was told by all its lives so far."""

    texts: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)  # deleted, or replaced
    links: set[Ends] = field(default_factory=set)
    prompts: dict[str, int] = field(default_factory=dict)  # memories of each, once written
    waiting: dict[str, int] = field(default_factory=dict)  # the same, still in the buffer
    refused: list[tuple[str, ...]] = field(default_factory=list)  # one of them is no longer there
    pending: Intent | None = None  # under way when the kill came


@dataclass(frozen=True)
class Seen:
    """The store as a new process finds it."""

    texts: dict[str, tuple[str, str]]  # text and status
    links: frozenset[Ends]
    prompts: dict[str, int]
    findings: list[str]
    similar: int


def killed(
    folder: Path, *, rounds: int, processes: int, seed: int, progress: Progress = silent
) -> Report:
    """Starts all writers, kills each at a moment of its own, looks; again and again."""
    report = Report({"kills": 0, "acknowledged": 0, "lost": 0, "findings": 0})
    chance, ticker = random.Random(seed), Ticker(progress, rounds)
    shared = call(_prepare, folder)
    told = [Told() for _ in range(processes)]
    for round_ in range(rounds):
        journals = [folder / f"journal-{round_}-{who}" for who in range(processes)]
        children = [
            Child(_write_for_ever, folder, path, told[who], shared, (who, chance.random()))
            for who, path in enumerate(journals)
        ]
        await_answers(journals, len(_FIRST))
        time.sleep(chance.uniform(0.0, _LONGEST_SECONDS))
        for child in chance.sample(children, processes):
            time.sleep(chance.uniform(0.0, 0.05))
            os.kill(child.pid, 9)
        for child in children:
            said = child.join()
            if said or child.code != -9:
                report.broken("writers failed", f"round {round_}: {said.decode(errors='replace')}")
        report.count("kills", processes)
        for each, path in zip(told, journals, strict=True):
            _fold(each, path, report)
        seen = call(_look, folder)
        _settle(told, seen)
        for kind, detail in _wrong(told, seen):
            report.broken(kind, f"round {round_}: {detail}")
        ticker.tick(round_ + 1, f"rounds, {report.figures['acknowledged']} acknowledged")
    report.figures |= {"memories": len(seen.texts), "links": len(seen.links)}
    report.figures |= {"similar links": seen.similar, "prompts": len(seen.prompts)}
    return report


def _prepare(folder: Path) -> list[str]:
    with _opened(folder) as mesh:
        texts = [f"{TOPICS[n % len(TOPICS)]} shared {word(n, 'zs')}" for n in range(_SHARED)]
        return [str(receipt.id) for receipt in mesh.add_many(texts)]


def _opened(folder: Path) -> MemoryMesh:
    return MemoryMesh(db_dir=folder, custom_embedder=Topical())


def _write_for_ever(
    folder: Path, journal: Path, told: Told, shared: list[str], dice: tuple[int, float]
) -> None:
    notes = Journal(journal)
    with _opened(folder) as mesh:
        for intent in _intents(told, shared, *dice):
            notes.note(intent)
            try:
                done = _perform(mesh, intent)
            except (NotFound, InvalidInput) as error:
                notes.note({"refused": str(error)})
                told.gone |= {*_named(intent)}  # another writer replaced one of them
                continue
            notes.note({"done": done})
            _apply(told, intent, done)
            mesh.graph.links(shared[0])  # makes the links of a few


def _intents(told: Told, shared: list[str], who: int, seed: float) -> Iterator[Intent]:
    """What a writer does next, for ever; the caller keeps what it was told up to date."""
    chance = random.Random(seed)
    number = int(chance.random() * 1e12) * 1000
    for verb in chain(_FIRST, dealt(_VERBS, chance, _VERB_WEIGHTS)):
        own = [id_ for id_ in told.texts if id_ not in told.gone]
        few = verb in {"update", "link", "unlink", "delete"} and len(own) < 3
        number += 10
        said = [f"{chance.choice(TOPICS)} {who} {word(number + n, 'zl')}" for n in range(8)]
        match "add_many" if few else verb:
            case "add" | "evolve":
                yield {"verb": verb, "texts": said[:1]}
            case "add_many":
                yield {"verb": "add_many", "texts": said[: chance.randint(2, 8)]}
            case "update":
                yield {"verb": verb, "id": chance.choice(own), "text": said[0]}
            case "delete":
                yield {"verb": verb, "id": chance.choice(own)}
            case "link":
                others = [*shared, *own]
                one = chance.choice(own)
                other = chance.choice([id_ for id_ in others if id_ != one])
                yield {"verb": verb, "ends": [one, other, chance.choice(_TYPES)]}
            case "unlink":
                ends = sorted(told.links) or [(own[0], own[1], "related")]
                yield {"verb": verb, "ends": list(chance.choice(ends))}
            case _:
                yield {"verb": verb, "question": f"{chance.choice(TOPICS)} {who}"}


def _perform(mesh: MemoryMesh, intent: Intent) -> Any:
    match intent["verb"]:
        case "add" | "add_many":
            return [str(receipt.id) for receipt in mesh.add_many(intent["texts"])]
        case "evolve":
            receipt = mesh.evolve(intent["texts"][0])
            return [str(receipt.id), *receipt.superseded]
        case "update":
            mesh.update(intent["id"], intent["text"])
        case "delete":
            mesh.delete(intent["id"])
        case "link":
            one, other, type_ = intent["ends"]
            mesh.graph.link(one, other, type=type_)
        case "unlink":
            one, other, type_ = intent["ends"]
            mesh.graph.unlink(one, other, type=type_)
        case "inject":
            pack = mesh.context(intent["question"], max_tokens=300)
            return [pack.injection_id, len(pack.items)]
        case _:
            mesh._opened().ledger.flush("default")
    return None


def _apply(told: Told, intent: Intent, done: Any) -> None:
    """What the writer knows after the call."""
    match intent["verb"]:
        case "add" | "add_many":
            told.texts |= dict(zip(done, intent["texts"], strict=True))
        case "evolve":
            told.texts[done[0]] = intent["texts"][0]
            told.gone |= set(done[1:])
        case "update":
            told.texts[intent["id"]] = intent["text"]
        case "delete":
            told.gone.add(intent["id"])
        case "link":
            told.links.add(_ends(intent))
        case "unlink":
            told.links.discard(_ends(intent))
        case "inject":
            if done[0] is not None:
                told.waiting[done[0]] = done[1]
        case _:
            told.prompts |= told.waiting
            told.waiting.clear()


def _named(intent: Intent) -> tuple[str, ...]:
    """The memories that a call is about."""
    return (intent["id"],) if "id" in intent else tuple(intent.get("ends", ())[:2])


def _ends(intent: Intent) -> Ends:
    one, other, type_ = intent["ends"]
    return one, other, type_


def _fold(told: Told, journal: Path, report: Report) -> None:
    """Brings what a writer was told up to its last acknowledgement."""
    told.pending = None
    told.waiting.clear()  # a buffer dies with its process
    if not journal.exists():
        return
    for line in journal.read_text().splitlines():
        entry = json.loads(line)
        if "done" in entry and told.pending is not None:
            _apply(told, told.pending, entry["done"])
            report.count("acknowledged")
            report.count(f"by {told.pending['verb']}")
            told.pending = None
        elif "refused" in entry and told.pending is not None:
            told.refused.append(_named(told.pending))
            report.count("refused")
            told.pending = None
        else:
            told.pending = entry
    told.waiting.clear()


def _look(folder: Path) -> Seen:
    with _opened(folder) as mesh:
        mesh._opened().ledger.flush("default")  # what killed processes left
        mesh.care.upkeep()
        findings = [f"{finding.check}: {finding.detail}" for finding in mesh.care.verify().findings]
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as db:
        texts = {id_: (text, status) for id_, text, status in db.execute(_TEXTS)}
        links = frozenset((one, other, type_) for one, other, type_ in db.execute(_LINKS))
        prompts = dict(db.execute(_PROMPTS).fetchall())
    return Seen(texts, links, prompts, findings, sum(ends[2] == "similar" for ends in links))


def _wrong(told: list[Told], seen: Seen) -> Iterator[tuple[str, str]]:
    """What somebody was told and is not there; and what the store itself finds."""
    for finding in seen.findings:
        yield "findings", finding
    gone = set[str]().union(*(each.gone for each in told))
    for each in told:
        yield from _wrong_texts(each, seen, gone)
        for ends in each.links - seen.links:
            if not gone.intersection(ends[:2]):
                yield "lost", f"link {ends}"
        for id_, count in each.prompts.items():
            if seen.prompts.get(id_) != count:
                yield "lost", f"prompt {id_}: {seen.prompts.get(id_)} of {count} memories"
        for named in each.refused:
            if all(_status(seen, id_) == "active" for id_ in named):
                yield "refused", f"{named} are active"


def _wrong_texts(told: Told, seen: Seen, gone: set[str]) -> Iterator[tuple[str, str]]:
    for id_, text in told.texts.items():
        now = seen.texts.get(id_)
        if now is None or now[0] != text:
            yield "lost", f"{id_} {text!r} is {now}"
        elif (now[1] == "active") == (id_ in gone):
            yield "lost", f"{id_} is {now[1]}; told: {'gone' if id_ in gone else 'active'}"


def _settle(told: list[Told], seen: Seen) -> None:
    """A call that was under way may have happened or not: what is there counts from now on."""
    under_way = [each.pending for each in told if each.pending is not None]
    if any(intent["verb"] == "evolve" for intent in under_way):  # it may have replaced any
        for each in told:
            each.gone |= {id_ for id_ in each.texts if _status(seen, id_) == "superseded"}
    for each in told:
        intent = each.pending or {}
        id_ = intent.get("id")
        if id_ in seen.texts:
            each.texts[id_], status = seen.texts[id_]
            each.gone |= {id_} if status != "active" else set()
        if "ends" in intent:
            each.links.discard(_ends(intent))
            each.links |= {_ends(intent)} & seen.links


def _status(seen: Seen, id_: str) -> str | None:
    return seen.texts[id_][1] if id_ in seen.texts else None
