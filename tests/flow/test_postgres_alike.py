"""The same calls have the same answers on a folder and on a PostgreSQL database."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from memory_mesh.care.key_file import KeyFile
from memory_mesh.model import Scope
from memory_mesh.model.errors import MeshError
from memory_mesh.model.trace import Trace
from memory_mesh.models.embedders.onnx import OnnxEmbedder
from memory_mesh.platform.system import make_folder
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.postgres import SECRET

_ID = re.compile(r"\b[a-z_]+[-_]\d{10,}[-_][0-9a-f]{6}\b")
_DIGEST = re.compile(r"\b[0-9a-f]{16,}\b|b'.*?'|b\".*?\"|[-_][0-9a-f]{12}\b")
_FILE = re.compile(r"Sizes\([^)]*\)|bytes=\d+|position=\d+, hash=\S+")
HERE = Scope("shop", None, "s1")
TEXTS = (
    "The deploy day is Friday.",
    "Ada prefers tea over coffee in the morning.",
    "Ada prefers coffee over tea in the evening.",
    "The API key rotates every 90 days.",
    "Kafka lag alerts go to the platform team.",
    "Überweisungen laufen nachts um zwei.",
    "The shop's checkout uses Stripe.",
    "The till opens at nine; the till closes at six.",
)
FILTERS = (
    "team = 'core'",
    "priority >= 3",
    "priority BETWEEN 1 AND 3",
    "team IN ('core', 'web')",
    "team LIKE 'C%'",
    "team IS NULL",
    "urgent = true",
    "NOT team = 'core' AND tags = 'drinks'",
    {"metadata.team": {"$exists": True}},
)
QUESTIONS = (
    "when is the deploy day?",
    "what does Ada drink",
    "ada tea",
    "cofee in the mornng",
    "überweisungen nachts",
    "platform team alerts",
    "till",
    "nothing of this is there",
)


@pytest.fixture(params=["keywords", "meaning"])
def pair(
    request: pytest.FixtureRequest,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    real_embedder: OnnxEmbedder,
) -> Iterator[tuple[MemoryMesh, MemoryMesh, tuple[FrozenClock, FrozenClock]]]:
    monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())
    key = KeyFile.of(tmp_path / "store").path
    make_folder(key.parent)
    key.write_text(f"a1 {SECRET.hex()} 2026-01-01\n")
    key.chmod(0o600)
    embedder = real_embedder if request.param == "meaning" else None
    clocks = FrozenClock(), FrozenClock()
    with (
        MemoryMesh(tmp_path / "store", clock=clocks[0], custom_embedder=embedder) as one,
        MemoryMesh(database, clock=clocks[1], custom_embedder=embedder) as other,
    ):
        yield one, other, clocks


def _plain(answer: object, seen: dict[str, str]) -> str:
    """An answer without what differs from run to run: ids by the order of their appearance."""
    text = _FILE.sub("", repr(answer))
    text = _ID.sub(lambda found: seen.setdefault(found[0], f"id{len(seen)}"), text)
    return re.sub(
        r"\d\.\d{9,}(e-\d+)?", lambda found: f"{float(found[0]):.6f}", _DIGEST.sub("", text)
    )


class _Both:
    """Makes each call on both and compares what they answer."""

    def __init__(self, one: MemoryMesh, other: MemoryMesh) -> None:
        self._sides = ((one, dict[str, str]()), (other, dict[str, str]()))
        self.calls = 0

    def __call__(self, call: Callable[..., object]) -> tuple[object, object]:
        found = []
        for mesh, _ in self._sides:
            try:
                found.append(call(mesh))
            except MeshError as error:
                found.append((type(error).__name__, str(error)))
        first, second = (
            _plain(answer, seen) for answer, (_, seen) in zip(found, self._sides, strict=True)
        )
        assert second == first
        self.calls += 1
        return found[0], found[1]


def _ids(mesh: MemoryMesh) -> list[str]:
    return [memory.id for memory in mesh.get_all(limit=100, across=("project", "session"))]


def _write(both, clocks):
    for number, text in enumerate(TEXTS):
        details = {"team": ("core", "web")[number % 2], "priority": number, "urgent": number > 4}
        both(lambda mesh, t=text, d=details: mesh.add(t, d, tags=["drinks"] if "tea" in t else []))
        for clock in clocks:
            clock.advance(timedelta(minutes=7))
    both(lambda mesh: mesh.add("The deploy day is Monday."))
    both(lambda mesh: mesh.add("The deploy day is Monday."))
    both(lambda mesh: mesh.add("password: hunter2 of ada@example.org"))
    for number in range(6):
        both(lambda mesh, n=number: mesh.add(f"turn {n} about the till", scope=HERE, order=n))
    both(lambda mesh: mesh.add_many([f"note {n} about the till" for n in range(6)]))
    both(lambda mesh: mesh.update(_ids(mesh)[-1], "The deploy day was Friday."))
    both(lambda mesh: mesh.delete(_ids(mesh)[-2]))
    both(lambda mesh: mesh.rate(_ids(mesh)[-3], helpful=True))
    both(lambda mesh: mesh.review.reinforce(_ids(mesh)[-4]))
    both(lambda mesh: mesh.review.dispute(_ids(mesh)[-5]))
    both(lambda mesh: mesh.graph.link(_ids(mesh)[-3], _ids(mesh)[-4]))
    both(lambda mesh: mesh.ingest_skill("---\nname: ship\nintent: release the shop\n---\nShip."))
    both(lambda mesh: mesh.traces.record_many(Trace(f"Release the shop {n}") for n in range(12)))


def test_every_call_has_the_same_answer(pair):
    one, other, clocks = pair
    both = _Both(one, other)
    _write(both, clocks)
    both(lambda mesh: mesh.care.upkeep().reindexed)
    for question in QUESTIONS:
        both(lambda mesh, q=question: mesh.search(q, limit=5))
        both(lambda mesh, q=question: mesh.search(q, scope=HERE, limit=5))
        both(lambda mesh, q=question: mesh.context(q, max_tokens=300).text)
        both(lambda mesh, q=question: mesh.search_skills(q))
    for condition in FILTERS:
        both(lambda mesh, f=condition: mesh.get_all(filter=f))
        both(lambda mesh, f=condition: mesh.search("the", filter=f))
    before = clocks[0].now() - timedelta(minutes=30)
    both(lambda mesh: mesh.search("deploy day", as_of=before))
    both(lambda mesh: mesh.get_all(as_of=before))
    both(lambda mesh: mesh.get_all(include=["superseded", "deleted", "quarantined"]))
    both(lambda mesh: mesh.review.conflicts())
    both(lambda mesh: mesh.history(_ids(mesh)[-1]))
    both(lambda mesh: mesh.graph.links(_ids(mesh)[-3]))
    both(lambda mesh: [(b.entry.operation, b.entry.memories) for b in mesh.care.blocks(limit=50)])
    both(lambda mesh: mesh.stats().by_status)
    both(lambda mesh: list(mesh.traces()))
    both(lambda mesh: mesh.traces.similar("Release the shop"))
    both(lambda mesh: mesh.graph.clusters())
    both(lambda mesh: mesh.explain(_ids(mesh)[-1], query="deploy day"))
    both(lambda mesh: mesh.care.run_jobs())
    both(lambda mesh: mesh.query_lessons())
    both(lambda mesh: mesh.care.verify().ok)
    assert both.calls > 80


@pytest.mark.parametrize("pair", ["keywords"], indirect=True)
def test_a_folder_is_erased_and_let_in_again_alike(pair):
    one, other, _ = pair
    both = _Both(one, other)
    for ref in ("vault/a.md", "vault/b/c.md", "vaults/d.md"):
        both(lambda mesh, ref=ref: mesh.add(f"The words of {ref}", source_ref=ref).outcome)
    gone, _ = both(lambda mesh: len(mesh.erase(source="vault").memories))
    assert gone == 2
    again = both(lambda mesh: mesh.add("The words of vault/a.md", source_ref="vault/a.md").outcome)
    assert again[0] == "refused"
    both(lambda mesh: [mesh.unforget(source="vault/a.md") for _ in range(2)])
    again = both(lambda mesh: mesh.add("The words of vault/b/c.md").outcome)
    assert again[0] == "refused"
    both(lambda mesh: mesh.unforget(source="vault/b"))
    again = both(lambda mesh: mesh.add("The words of vault/b/c.md").outcome)
    assert again[0] == "stored"


@pytest.mark.parametrize("pair", ["keywords"], indirect=True)
def test_more_claims_than_are_compared_at_once_are_decided_alike(pair):
    one, other, _ = pair
    both = _Both(one, other)
    claims = [{"content": f"The tool of team {n} is hammer {n}", "claim": {
        "subject": "ada", "predicate": "likes", "value": f"fruit {n}", "exclusive": n == 3}}
        for n in range(70)]  # fmt: skip
    both(lambda mesh: [mesh.add(**each).outcome for each in claims])
    last = {"subject": "ada", "predicate": "likes", "value": "fruit 3", "exclusive": True}
    both(lambda mesh: mesh.add("Ada likes one fruit alone", claim=last).superseded)
    both(lambda mesh: len(mesh.review.conflicts()))
