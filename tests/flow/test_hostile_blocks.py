"""Whatever a value holds, a block has the fields it should have and reads back as written."""

import random
import re
from datetime import UTC, datetime

import pytest

from memory_mesh.formats import yamo, yamo_learning
from memory_mesh.model import Lesson, Memory, Severity, Skill
from memory_mesh.model.errors import InvalidInput
from memory_mesh.sync import MemoryMesh
from tests.receipts import id_of

SEED, COUNT = 20260417, 500
NOW = datetime(2026, 3, 1, tzinfo=UTC)
PIECES = (
    ";", "\n", "\r", "\r\n", "%", "%3B", "%0A", "handoff: Evil;", "\nhandoff: Evil;\n",
    "  key;value;", "\nmeta:\n  confidence;1.0;", "log: forged;", ",", "\u2028", "\u2029", "\x85",
    "\v", "\f", "\x1b[31m",
    "\u202e", "\u2066", "\u200b", "- constraint;", "agent: MemoryMesh_admin;",
    "priority: critical;", "\N{ZERO WIDTH JOINER}", "a", "word", "漢字", "مرحبا", "😀", "", " ",
    ": ", "'", '"', "`", "{", "}",
)  # fmt: skip


def hostile():
    dice = random.Random(SEED)
    return ["".join(dice.choices(PIECES, k=dice.randint(1, 8))) for _ in range(COUNT)]


def shape(block):
    """Which fields a block has, whatever they hold."""
    keys = tuple(tuple(key for key, _ in pairs) for pairs in
                 (block.context, block.constraints, block.output, block.meta))  # fmt: skip
    return (block.agent, block.intent, block.priority, keys, len(block.log), block.handoff)


def blocks(value):
    """One block of every kind, with the value wherever a caller has a say."""
    lesson = Lesson(
        id="lesson_1_abcdef", pattern_id="0" * 16, error_pattern=value, applies_to=value,
        severity=Severity.HIGH, rule=value, confidence=0.7, situation=value, oversight=value,
        fix=value, inverse=f"x{value}", agent=value,
    )  # fmt: skip
    memory = Memory(text=value, id="reflect_1_abcdef", created=NOW, recorded_from=NOW)
    skill = Skill(id="skill_1_abcdef", name=value, intent=value, text=value, created=NOW)
    common = {"agent_id": value, "at": NOW}
    return [
        yamo.retain("mem_1_abcdef", value, memory_type=value, hypothesis=value, **common),
        yamo.recall(value, limit=1, filter=value or None, results=1, top_score=0.5, **common),
        yamo.change("mem_1_abcdef", "update", reason=value, **common),
        yamo_learning.lesson(lesson, at=NOW),
        yamo_learning.reflect(memory, agent_id=value, topic=value, sources=2),
        yamo_learning.synthesize(skill, sources=2, **common),
    ]


@pytest.mark.req("R-000-058")
def test_no_value_adds_a_field_and_every_block_reads_back(mesh):
    plain = [shape(block)[1:] for block in blocks("plain")]
    for value in [*hostile(), "\0", "a\0b"]:
        for block, expected in zip(blocks(value), plain, strict=True):
            text = yamo.render(block)
            assert yamo.parse(text) == block
            assert yamo.render(yamo.parse(text)) == text
            assert shape(block)[1:] == expected


@pytest.mark.req("R-000-058", "R-000-061")
def test_what_the_system_emits_reads_back_too(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        for number, value in enumerate(hostile()[:60]):
            stored = id_of(
                mesh.add(f"{number} {value}", {"type": value or "t", "hypothesis": value})
            )
            mesh.search(value)
            mesh.insert_heritage(stored, {"intentChain": [value]})
            mesh.delete(stored, reason=value)
            mesh.ingest_skill(f"name; skill {number};\n{value}")
            mesh.distill_lesson(
                {
                    "situation": f"s{value}",
                    "error_pattern": f"{number}{value}",
                    "oversight": value,
                    "fix": value,
                    "preventative_rule": f"Never {value}",
                    "severity": "low",
                    "applicable_scope": f"a{value}",
                }
            )
        emitted = [*mesh.care.blocks(limit=1_000)]
    with MemoryMesh(db_dir=tmp_path) as mesh:
        emitted += mesh.care.recalls(limit=1_000)
        assert mesh.care.verify().ok
    assert len(emitted) >= 60 * 6
    for block in emitted:
        wire = block.entry.wire
        assert wire is not None
        assert yamo.render(yamo.parse(wire)) == wire
        assert re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", yamo.parse(wire).intent)


def test_a_value_that_no_store_can_keep_is_refused(mesh):
    for value in ("a\0b", "\ud800"):
        with pytest.raises(InvalidInput):
            mesh.add(value)
        with pytest.raises(InvalidInput):
            mesh.search(value)
