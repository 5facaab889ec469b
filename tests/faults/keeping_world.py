"""A store with some of everything, and all that its reads say of it.

`build` leaves moments of the same store side by side::

    early/     closed after its first part
    waiting/   what was written last is only in the write-ahead log
    closed/    the same memories, closed: everything is in the database files
    later/     more was written after that, and is only in the log
    indexed/   as closed, with an index (if asked for)

`truth` reads a store as its users do. It has two halves: what must never change unnoticed (content,
status, audience and counts of every memory, and who finds what), and the rest of what can be read.
"""

import os
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np  # noqa: F401  # loaded once, before the children are forked

from memory_mesh import care
from memory_mesh.care.key_file import KEY_FOLDER
from memory_mesh.model import Channel, Memory, Scope, Status
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.faults.graph_world import TOPICS, Topical
from tests.faults.processes import call

ROOT = Path(__file__).resolve().parents[2]
KEEPING: Any = care  # its functions are loaded when they are first asked for
NAMESPACE, OTHER = "default", "other"
ALL = ("project", "agent", "session")
NOW = datetime(2026, 3, 1, tzinfo=UTC)
READERS = {
    "one": Scope("atlas", "coder", "monday"),
    "two": Scope("beacon", "reader", None),
}
_BEGUN = NOW - timedelta(days=6)
_SCOPES = (
    Scope(), Scope("atlas"), Scope("atlas", "coder"), Scope("atlas", "coder", "monday"),
    Scope("beacon"), Scope(None, "reader"), Scope("beacon", "writer", "tuesday"),
)  # fmt: skip
_SHADES = "amber birch cedar delta ember flint grove heath islet jetty knoll ledge".split()  # noqa: SIM905
_ENOUGH = 1_000


@dataclass
class Truth:
    """What a store says; `kept` must never change unnoticed, `told` is the rest."""

    kept: dict[str, Any] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)

    def differs(self, other: "Truth") -> list[str]:
        """The parts of `kept` that are not the same."""
        return [name for name in self.kept if self.kept[name] != other.kept.get(name)]

    def tells_otherwise(self, other: "Truth") -> list[str]:
        """The parts of `told` that are not the same."""
        return [name for name in self.told if self.told[name] != other.told.get(name)]


def build(folder: Path, *, seed: int, memories: int = 60, index: bool = False) -> None:
    """The three moments of one store, made by processes of their own."""
    live = folder / "live"
    os.environ[KEY_FOLDER] = str(folder / "keys")  # of this process and all its children
    call(_first_part, live, seed, memories)
    _copy(live, folder / "early")
    call(_second_part, live, seed + 1, memories)
    call(_last_part, live, seed + 2)
    _copy(live, folder / "waiting")
    call(_close, live)
    _copy(live, folder / "closed")
    call(_last_part, live, seed + 3)
    _copy(live, folder / "later")
    shutil.rmtree(live)
    if index:
        _copy(folder / "closed", folder / "indexed")
        command = [sys.executable, "-m", __name__, str(folder / "indexed")]
        subprocess.run(command, cwd=ROOT, check=True)  # Lance does not live through a fork


def warm(folder: Path) -> None:
    """Loads the modules that a child needs, so that not every child does; no store is opened."""
    for name in call(_needed, folder):
        import_module(name)


def opened(folder: Path, *, meaning: bool = True) -> MemoryMesh:
    """The store at its own time, with an embedder whose vectors never change."""
    clock = FrozenClock(NOW)
    if not meaning:
        return MemoryMesh(db_dir=folder, clock=clock, agent_id="none", embedder="none")
    return MemoryMesh(db_dir=folder, clock=clock, agent_id="none", custom_embedder=Topical())


def database(folder: Path, namespace: str = NAMESPACE) -> Path:
    """The file of a namespace."""
    return folder / "namespaces" / f"{namespace}.db"


def questions(chance: random.Random, count: int) -> list[str]:
    """Questions in the words of the store."""
    return [
        f"{chance.choice(TOPICS)} {' '.join(chance.sample(_SHADES, chance.randint(0, 2)))}".strip()
        for _ in range(count)
    ]


def truth(folder: Path, namespace: str = NAMESPACE, *, meaning: bool = True) -> Truth:
    """Everything that reads say of a namespace; the caller is a process of its own."""
    found = Truth()
    with opened(folder, meaning=meaning) as mesh:
        view = mesh.view(namespace=namespace)
        memories = _every(view)
        found.kept["content"] = {m.id: m.text for m in memories}
        found.kept["status"] = {m.id: m.status.value for m in memories}
        found.kept["audience"] = {m.id: m.scope.parts for m in memories}
        found.kept["counts"] = {m.id: _counts(m) for m in memories}
        found.told["details"] = {m.id: repr(m) for m in memories}
        found.told["order"] = [m.id for m in memories]
        _seen(view, found)
        _searched(view, found)
        _about_each(view, memories, found)
    return found


def _counts(memory: Memory) -> tuple[Any, ...]:
    return (
        memory.uses, memory.last_used, memory.origins, memory.helpful, memory.harmful,
        memory.usefulness, memory.reinforcements, memory.disputes,
    )  # fmt: skip


def _needed(folder: Path) -> list[str]:
    truth(folder)
    with opened(folder) as mesh:
        mesh.care.verify()
    return sorted(name for name in sys.modules if name.startswith("memory_mesh."))


def _every(view: MemoryMesh) -> list[Memory]:
    """All memories of all audiences, whatever their status."""
    return list(view.get_all(limit=_ENOUGH, across=ALL, include=list(Status)))


def _seen(view: MemoryMesh, found: Truth) -> None:
    """What each reader lists, and what is listed beside memories."""
    for name, scope in READERS.items():
        page = view.get_all(limit=_ENOUGH, scope=scope)
        found.kept[f"listed by {name}"] = sorted(m.id for m in page)
        found.told[f"skills of {name}"] = list(map(repr, view.list_skills(scope=scope)))
        found.told[f"lessons of {name}"] = list(map(repr, view.query_lessons(scope=scope)))
    skills = view.list_skills(limit=_ENOUGH, across=ALL, include=list(Status))
    found.told["skills"] = list(map(repr, skills))
    found.told["conflicts"] = list(map(repr, view.review.conflicts(decided=True, as_owner=True)))
    found.told["proposals"] = list(map(repr, view.review.proposals(pending=False, as_owner=True)))
    found.told["blocks"] = [repr(block) for block in view.care.blocks(limit=_ENOUGH, as_owner=True)]


def _searched(view: MemoryMesh, found: Truth) -> None:
    """What the owner and each reader find by words and by meaning."""
    asked = questions(random.Random(5), 3)
    for question in asked:
        whole = view.search(question, limit=_ENOUGH, across=ALL, use_cache=False)
        found.kept[f"owner finds {question}"] = sorted(hit.id for hit in whole)
        found.told[f"owner's order of {question}"] = [(hit.id, hit.score) for hit in whole]
        words = view.search(
            question, limit=_ENOUGH, across=ALL, include=list(Status), keyword_only=True
        )
        found.kept[f"owner finds by words {question}"] = sorted(hit.id for hit in words)
        for name, scope in READERS.items():
            hits = view.search(question, limit=_ENOUGH, scope=scope, use_cache=False)
            found.kept[f"{name} finds {question}"] = sorted(hit.id for hit in hits)
            found.told[f"{name}'s order of {question}"] = [(hit.id, hit.score) for hit in hits]
    for name, scope in READERS.items():
        skills = view.search_skills(asked[0], limit=_ENOUGH, scope=scope)
        found.told[f"skills that {name} finds"] = [repr(hit) for hit in skills]


def _about_each(view: MemoryMesh, memories: list[Memory], found: Truth) -> None:
    found.told["history"] = {
        m.id: [repr(version) for version in view.history(m.id, scope=m.scope)] for m in memories
    }
    found.told["links"] = {
        m.id: sorted(map(repr, view.graph.links(m.id, scope=m.scope))) for m in memories
    }


def _first_part(folder: Path, seed: int, memories: int) -> None:
    chance = random.Random(seed)
    with _at(folder, _BEGUN) as mesh:
        ids = _written(mesh, chance, memories * 2 // 3)
        _lived(mesh, chance, ids)
        other = mesh.view(namespace=OTHER)
        other.add_many([f"{topic} of the other namespace" for topic in TOPICS])


def _second_part(folder: Path, seed: int, memories: int) -> None:
    chance = random.Random(seed)
    with _at(folder, _BEGUN + timedelta(days=2)) as mesh:
        _lived(mesh, chance, _written(mesh, chance, memories // 3))


def _last_part(folder: Path, seed: int) -> None:
    """Ends without closing the store, as a killed process does: the log stays."""
    chance = random.Random(seed)
    mesh = _at(folder, _BEGUN + timedelta(days=4))
    mesh.init()
    ids = _written(mesh, chance, 8)
    mesh.update(ids[0], f"the first one of log {seed}, corrected")
    mesh.delete(ids[7])
    mesh.view(namespace=OTHER).add(f"the last word of the other namespace: {seed}")
    mesh.rate(ids[0], helpful=True)
    mesh.get_many(ids)
    mesh._opened().ledger.flush(NAMESPACE)  # uses wait for a write


def _at(folder: Path, moment: datetime) -> MemoryMesh:
    clock = FrozenClock(moment)
    return MemoryMesh(db_dir=folder, clock=clock, agent_id="none", custom_embedder=Topical())


def _close(folder: Path) -> None:
    """Everything goes from the log into the database files."""
    with opened(folder) as mesh:
        for namespace in (NAMESPACE, OTHER):
            mesh.view(namespace=namespace).get_all()


def _written(mesh: MemoryMesh, chance: random.Random, count: int) -> list[str]:
    """Memories of every audience, some with claims, tags, triggers, long texts."""
    ids = list[str]()
    for number in range(count):
        words = questions(chance, 1)[0]
        label = "zq" + "".join(chance.choices("bcdfghjklmnpqrtvwz", k=6))
        more: dict[str, Any] = {"scope": _SCOPES[number % len(_SCOPES)], "allow_duplicate": True}
        if number % 5 == 1:
            more["claim"] = {"subject": f"berth {number % 3}", "predicate": "pier", "value": label}
        if number % 7 == 2:
            more["quarantine"] = "somebody should look at it"
        if number % 4 == 3:
            more |= {"tags": [label, "kept"], "importance": 0.9, "pinned": True}
        if number % 11 == 4:
            words = " ".join([words, *(f"and {word}" for word in _SHADES * 12)])
        ids.append(str(mesh.add(f"{words} {label}", **more).id))
    return ids


def _lived(mesh: MemoryMesh, chance: random.Random, ids: list[str]) -> None:
    """Corrections, deletions, supersessions, votes, links, skills, lessons, prompts, proposals."""
    active = [m for m in mesh.get_all(limit=_ENOUGH, across=ALL) if m.id in ids]
    others = [m for m in active if m.id != ids[0]]  # which is for all, and stays
    drawn = chance.sample(others, min(12, len(others)))
    for memory in drawn[:3]:
        _as_its_reader(mesh, memory).update(memory.id, f"{memory.text} corrected")
    for memory in drawn[3:5]:
        _as_its_reader(mesh, memory).delete(memory.id)
    moved = {"subject": "berth of all", "predicate": "pier", "exclusive": True}
    for value in chance.sample(_SHADES, 3):  # each supersedes the one before
        text = f"the berth of all lies at {value}"
        mesh.add(text, claim=moved | {"value": value}, source_kind="user_explicit")
    for number, memory in enumerate(drawn[5:10]):
        reader = _as_its_reader(mesh, memory)
        reader.rate(memory.id, helpful=number % 2 == 0)
        reader.review.reinforce(memory.id)
    for_all = [m.id for m in active if m.scope == Scope() and m not in drawn[3:5]]
    for one, other in pairwise(for_all):
        mesh.graph.link(one, other, type=chance.choice(("related", "follows")))
    mesh.view(channel=Channel.WEB).review.propose_update(for_all[0], "a better word for it")
    for scope in _SCOPES[:3]:
        _taught(mesh, chance, scope)
    mesh.context(questions(chance, 1)[0], max_tokens=300)
    mesh._opened().ledger.flush(NAMESPACE)


def _as_its_reader(mesh: MemoryMesh, memory: Memory) -> MemoryMesh:
    return mesh.view(scope=memory.scope)


def _taught(mesh: MemoryMesh, chance: random.Random, scope: Scope) -> None:
    """A skill and a lesson."""
    label, words = f"zs{chance.randrange(10**6)}", questions(chance, 1)[0]
    text = f"---\nname: {label}\ndescription: {words}\n---\nDo {label}.\n"
    mesh.ingest_skill(text, scope=scope)
    mesh.distill_lesson(
        {"situation": f"{words} {label}", "error_pattern": f"pattern {label}", "oversight": label,
         "fix": "waited", "preventative_rule": f"Never {label} the {words}",
         "severity": "high", "applicable_scope": f"crossing {label}"},
        scope=scope,
    )  # fmt: skip


def _copy(folder: Path, to: Path) -> None:
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns("*-shm"))


if __name__ == "__main__":
    with opened(Path(sys.argv[1])) as indexed_mesh:
        assert indexed_mesh.care.rebuild_index()
