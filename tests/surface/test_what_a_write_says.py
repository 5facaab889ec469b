"""Every situation says what the document shows, and no stated detail is lost without a word."""

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_mesh.model import Channel, Claim, Kind, Memory, Receipt, Scope, SourceKind, Tier
from memory_mesh.sync import MemoryMesh
from memory_mesh.write.rules.drafts import DETAILS
from tests.receipts import id_of
from tests.situations import SITUATIONS, TEA
from tools import write_situations

GOLDEN = json.loads(write_situations.GOLDEN.read_text(encoding="utf-8"))
LEAST = 40
TIME = datetime(2025, 6, 1, tzinfo=UTC)
STATED = {  # a value of every detail, the field that holds it, and the value it has there
    "scope": (Scope(session="s1"), "scope", Scope(session="s1")),
    "kind": ("decision", "kind", Kind.DECISION),
    "speaker": ("Ann", "speaker", "Ann"),
    "role": ("user", "role", "user"),
    "order": (3, "order", 3),
    "occurred_at": (TIME, "occurred_at", TIME),
    "valid_from": (TIME, "valid_from", TIME),
    "valid_until": (TIME.replace(year=2090), "valid_until", TIME.replace(year=2090)),
    "expires_at": (TIME.replace(year=2090), "extra.expires_at", "2090-06-01T00:00:00.000Z"),
    "importance": (0.9, "importance", 0.9),
    "confidence": (0.4, "confidence", 0.4),
    "tags": (["kitchen"], "tags", ("kitchen",)),
    "triggers": (["tea|kettle"], "triggers", ("tea|kettle",)),
    "evidence": ("tea.py#brew", "extra.evidence", [{"path": "tea.py", "symbol": "brew"}]),
    "tier": ("short_term", "tier", Tier.SHORT_TERM),
    "pinned": (True, "pinned", True),
    "source_kind": ("user_explicit", "source.kind", SourceKind.USER_EXPLICIT),
    "source_agent": ("MyAgent", "source.agent", "MyAgent"),
    "source_ref": ("page 7", "source.ref", "page 7"),
    "source_skill": ("skill_1", "skill", "skill_1"),
    "claim": (
        {"subject": "tea", "predicate": "is in", "value": "drawer 2"},
        "claim",
        Claim(subject="tea", predicate="is in", value="drawer 2"),
    ),
}
NO_DETAIL = {
    "quarantine",
    "keep_active",
    "derived_from",
    "key",
    "allow_duplicate",
    "ttl",
}  # requests


@pytest.fixture(autouse=True)
def _quiet():
    """The failing embedder warns; that is another test's business."""
    logging.getLogger("memory_mesh").addHandler(logging.NullHandler())


def test_the_document_has_at_least_forty_situations():
    assert len({situation.title for situation in SITUATIONS}) == len(SITUATIONS) >= LEAST
    assert list(GOLDEN) == [situation.title for situation in SITUATIONS]


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.title)
def test_a_situation_says_what_its_golden_file_has(situation):
    assert write_situations.outcome(situation) == GOLDEN[situation.title]


def test_the_document_is_made_from_the_golden_file():
    assert Path(write_situations.DOCUMENT).read_text(encoding="utf-8") == write_situations.page(
        GOLDEN
    )


def test_every_detail_is_stated_here():
    assert STATED.keys() | NO_DETAIL == DETAILS.keys()


@pytest.mark.parametrize("name", STATED)
@pytest.mark.parametrize("way", ["new", "agent", "again", "again by a page", "key", "waits"])
def test_a_stated_detail_is_stored_or_named(mesh, way, name):
    value, field, expected = STATED[name]
    first: dict[str, object] = {"key": "k"} if way == "key" else {}
    if way == "waits":
        first = {"quarantine": "not sure"}
    if way in {"again", "again by a page", "key", "waits"}:
        mesh.add(TEA, **first)
    channel = {"agent": Channel.MCP, "again by a page": Channel.WEB}.get(way, Channel.LIBRARY)
    receipt = mesh.view(channel=channel).add(TEA, **first, **{name: value})
    assert held(stored(mesh, receipt), field) == expected or named(receipt, name, mesh)


def stored(mesh: MemoryMesh, receipt: Receipt) -> Memory:
    return mesh.history(id_of(receipt), scope=Scope(session="s1"))[-1]


def held(memory: Memory, field: str) -> object:
    found: object = memory
    for part in field.split("."):
        found = found.get(part) if isinstance(found, Mapping) else getattr(found, part)
    return found


def named(receipt: Receipt, name: str, mesh: MemoryMesh) -> bool:
    """True if a sentence names the detail, or an observation recorded it."""
    words = {"pinned": ("pinned",), "source_skill": ("skill",), "tags": ("tag ", "tags")}
    if any(word in reason for reason in receipt.reasons for word in words.get(name, (name,))):
        return True
    recorded = stored(mesh, receipt).origins > 1  # an observation holds another origin
    return name in {"source_agent", "source_ref"} and recorded
