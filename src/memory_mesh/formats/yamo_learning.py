"""YAMO blocks of learning: lessons (RFC-0011 section 3.5), reflections (3.4), skills.

The RFC gives no form for a synthesized skill; ours is a reflection's, with another intent.
"""

import hashlib
import re
from collections.abc import Sequence
from datetime import datetime

from memory_mesh.formats.yamo import YamoBlock, agent_name, preview, render, timestamp
from memory_mesh.model import BlockError, Lesson, Memory, Severity, Skill

_LONGEST_NAME = 60

LESSON_HYPOTHESIS = "This lesson prevents recurrence of similar failures"
REFLECTOR = "SubconsciousReflector"


def lesson(lesson: Lesson, *, at: datetime) -> YamoBlock:
    """Returns the LessonLearned block of a lesson; the same lesson gives the same block."""
    when, confidence = timestamp(at), number(lesson.confidence)
    return YamoBlock(
        agent=agent_name(lesson.agent),
        intent="distill_wisdom_from_execution",
        context=(
            ("original_context", lesson.situation),
            ("error_pattern", lesson.error_pattern),
            ("pattern_id", lesson.pattern_id),
            ("severity", lesson.severity),
            ("timestamp", when),
        ),
        constraints=(
            ("hypothesis", LESSON_HYPOTHESIS),
            ("hypothesis_confidence", confidence),
        ),
        priority="high",
        output=(
            ("lesson_id", lesson.id),
            ("oversight_description", lesson.oversight),
            ("preventative_rule", lesson.rule),
            ("rule_confidence", confidence),
            ("resolution", lesson.fix),
        ),
        meta=(
            ("rationale", f"Seen as {lesson.error_pattern}: {lesson.oversight}"),
            ("applicability_scope", lesson.applies_to),
            *((("inverse_lesson", lesson.inverse),) if lesson.inverse else ()),
            ("confidence", confidence),
        ),
        log=(
            "lesson_learned",
            "timestamp",
            when,
            "pattern",
            lesson.pattern_id,
            "severity",
            lesson.severity,
            "id",
            lesson.id,
        ),
        handoff=REFLECTOR,
    )


def read_lesson(block: YamoBlock) -> Lesson:
    """Reads a lesson from another agent's block; BlockError names the missing line."""
    lines = dict((*block.context, *block.output, *block.meta))
    missing = [name for name in _REQUIRED if not lines.get(name)]
    if missing or block.handoff != REFLECTOR:
        wanted = f"a line {missing[0]}" if missing else f"handoff: {REFLECTOR};"
        raise BlockError(f"A LessonLearned block needs {wanted}.")
    try:
        severity, confidence = Severity(lines["severity"]), float(lines["rule_confidence"])
    except ValueError as error:
        raise BlockError(f"A LessonLearned block is broken: {error}.") from None
    return Lesson(
        id=lines["lesson_id"],
        pattern_id=lines.get("pattern_id", ""),
        error_pattern=lines["error_pattern"],
        applies_to=lines["applicability_scope"],
        severity=severity,
        rule=lines["preventative_rule"],
        confidence=confidence,
        situation=lines["original_context"],
        oversight=lines.get("oversight_description", ""),
        fix=lines.get("resolution", ""),
        inverse=lines.get("inverse_lesson"),
        agent=block.agent.removeprefix("MemoryMesh_"),
    )


def reflect(memory: Memory, *, agent_id: str, topic: str, sources: int) -> YamoBlock:
    """Returns the block of a stored reflection."""
    when, confidence = timestamp(memory.created), number(memory.confidence or 0.0)
    return YamoBlock(
        agent=agent_name(agent_id),
        intent="synthesize_beliefs_from_memories",
        context=(("topic", topic), ("source_count", str(sources)), ("timestamp", when)),
        output=(
            ("reflection_id", memory.id),
            ("insight_preview", preview(memory.text)),
            ("confidence", confidence),
        ),
        meta=(
            ("rationale", "Aggregated high-signal patterns from recent memory"),
            ("confidence", confidence),
        ),
        log=("memory_reflected", "timestamp", when, "topic", topic, "sources", str(sources)),
    )


def synthesize(skill: Skill, *, agent_id: str, sources: int, at: datetime) -> YamoBlock:
    """Returns the block of a skill made from memories, in the form of a reflection's."""
    when, confidence = timestamp(at), number(skill.reliability)
    return YamoBlock(
        agent=agent_name(agent_id),
        intent="synthesize_skill_from_memories",
        context=(("topic", skill.intent), ("source_count", str(sources)), ("timestamp", when)),
        output=(
            ("skill_id", skill.id),
            ("skill_name", skill.name),
            ("skill_preview", preview(skill.text)),
            ("status", skill.status),
        ),
        meta=(
            ("rationale", "Steps that recurred in memories, staged for review"),
            ("confidence", confidence),
        ),
        log=("skill_synthesized", "timestamp", when, "id", skill.id, "sources", str(sources)),
    )


def number(value: float) -> str:
    """Formats a fraction with at least one digit after the point."""
    return str(round(float(value), 4))


_REQUIRED = (
    "original_context",
    "error_pattern",
    "severity",
    "lesson_id",
    "preventative_rule",
    "rule_confidence",
    "applicability_scope",
)


# Writes the text of a skill made from memories: one YAMO block, one constraint per step.


def skill_text(
    title: str, steps: Sequence[str], *, topic: str, sources: Sequence[str], confidence: float
) -> str:
    """Returns the skill as YAMO; the same steps and memories give the same text."""
    name = slug(title)
    block = YamoBlock(
        agent=name,
        intent=name.lower(),
        context=(("title", title), ("topic", topic), ("source_count", str(len(sources)))),
        constraints=tuple((f"step_{place}", step) for place, step in enumerate(steps, start=1)),
        priority="medium",
        meta=(
            ("rationale", "Steps as memories tell them, staged for review"),
            ("sources", ", ".join(sources)),
            ("confidence", number(confidence)),
        ),
        log=("skill_synthesized", "steps", str(len(steps)), "sources", str(len(sources))),
    )
    return render(block)


def slug(title: str) -> str:
    """Returns a name of letters, digits and _ for a title in any script."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", title).strip("_")[:_LONGEST_NAME].strip("_")
    return name or f"Procedure_{hashlib.sha256(title.encode()).hexdigest()[:8]}"
