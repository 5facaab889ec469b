"""The measurement of lessons: what counts as useful, wrong and missed."""

import pytest

from bench.lessons_report import judged, reads_as_instruction
from memory_mesh.model import Status
from memory_mesh.model.learning import LessonBlock

NOTE = {"id": "x", "states_rule": True, "lesson": "Set a timeout.", "keywords": ["timeout"]}


def block(rule: str, confidence: float = 0.7, status: Status = Status.ACTIVE) -> LessonBlock:
    return LessonBlock(
        lesson_id="l",
        pattern_id="p",
        severity="medium",
        preventative_rule=rule,
        rule_confidence=confidence,
        applicable_scope="any task",
        wire_format="",
        memory_id="m",
        status=status,
    )


@pytest.mark.parametrize(
    ("lesson", "expected"),
    [
        (block("Set a timeout."), "useful"),
        (block("The timeout was short."), "not enough"),
        (block("Use a queue."), "wrong"),
        (block("Set a timeout.", confidence=0.6), "missed"),
        (block("Set a timeout.", status=Status.QUARANTINED), "missed"),
        (None, "missed"),
    ],
)
def test_a_lesson_is_judged_by_its_keywords_and_its_form(
    lesson: LessonBlock | None, expected: str
) -> None:
    assert judged(NOTE, lesson, 0.7)["outcome"] == expected


def test_a_lesson_from_a_note_that_teaches_nothing_is_wrong() -> None:
    nothing = NOTE | {"lesson": None, "keywords": []}
    assert judged(nothing, block("Set a timeout."), 0.7)["outcome"] == "wrong"
    assert judged(nothing, None, 0.7)["outcome"] == "rightly none"


@pytest.mark.parametrize("rule", ["Never push.", "Maps must be guarded.", "If it hangs, stop it."])
def test_an_order_a_duty_and_a_condition_read_as_instructions(rule: str) -> None:
    assert reads_as_instruction(rule)
    assert not reads_as_instruction("The build was red.")
