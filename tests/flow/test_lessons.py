"""Lessons: taught once, found when they matter, and never a constraint before somebody vouches."""

import hashlib
import re
from datetime import timedelta

import pytest

from memory_mesh.formats import yamo, yamo_learning
from memory_mesh.model import Channel, Scope, Status
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.learning import LessonBlock, LessonContext
from memory_mesh.sync import MemoryMesh

CONTEXT = LessonContext(
    situation="The login service fell back to guest access when the token had expired",
    error_pattern="auth_fallback_bypass",
    oversight="The fallback skipped the permission check",
    fix="Removed the fallback and returned 401",
    preventative_rule="Never fall back to guest access when authentication fails",
    severity="critical",
    applicable_scope="authentication code",
    inverse_lesson="Returning 401 lets the client renew its token",
    confidence=0.9,
)


def taught(mesh, **changed):
    fields = {name: getattr(CONTEXT, name) for name in LessonContext.__annotations__}
    return mesh.distill_lesson(LessonContext(**(fields | changed)))


@pytest.mark.req(
    "R-000-004", "R-000-086", "R-000-087", "R-000-088", "R-000-089", "R-000-090", "R-000-091",
    "R-000-092", "R-000-093", "R-000-094", "R-000-095", "R-000-096", "R-000-097", "R-000-098",
    "R-000-099", "R-000-100", "R-000-101", "R-000-102", "R-000-208", "R-000-211",
)  # fmt: skip
def test_the_block_has_every_line_of_the_specification(mesh):
    block = taught(mesh)
    wire = yamo.parse(block.wire_format)
    assert re.fullmatch(r"lesson_\d+_[0-9a-f]{6}", block.lesson_id)
    assert wire.agent == "MemoryMesh_YAMO_AGENT"
    assert wire.intent == "distill_wisdom_from_execution"
    context = dict(wire.context)
    assert context["original_context"] == CONTEXT.situation
    assert context["error_pattern"] == "auth_fallback_bypass"
    assert context["pattern_id"] == block.pattern_id
    assert context["severity"] == "critical"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", context["timestamp"])
    assert wire.constraints == (
        ("hypothesis", "This lesson prevents recurrence of similar failures"),
        ("hypothesis_confidence", "0.9"),
    )
    assert wire.priority == "high"
    assert wire.output == (
        ("lesson_id", block.lesson_id),
        ("oversight_description", CONTEXT.oversight),
        ("preventative_rule", CONTEXT.preventative_rule),
        ("rule_confidence", "0.9"),
        ("resolution", CONTEXT.fix),
    )
    meta = dict(wire.meta)
    assert CONTEXT.oversight in meta["rationale"]
    assert meta["applicability_scope"] == "authentication code"
    assert meta["inverse_lesson"] == CONTEXT.inverse_lesson
    assert meta["confidence"] == "0.9"
    assert wire.log == (
        "lesson_learned", "timestamp", context["timestamp"], "pattern", block.pattern_id,
        "severity", "critical", "id", block.lesson_id,
    )  # fmt: skip
    assert wire.handoff == "SubconsciousReflector"


@pytest.mark.req(
    "R-000-011", "R-000-103", "R-000-115", "R-000-149", "R-000-203", "R-000-209", "R-000-210",
    "R-000-263",
)  # fmt: skip
def test_a_lesson_is_a_memory_and_a_block_of_its_own_kind(mesh):
    block = taught(mesh)
    assert isinstance(block, LessonBlock)
    digest = hashlib.sha256(b"auth_fallback_bypassauthentication code").hexdigest()
    assert block.pattern_id == digest[:16]
    memory = mesh.get(block.memory_id)
    assert memory.metadata["type"] == "lesson"
    assert memory.metadata["tags"] == ["#lesson_learned"]
    assert memory.metadata["lesson_pattern_id"] == block.pattern_id
    assert [hit.id for hit in mesh.search("guest access", filter="memory_type = 'lesson'")] == [
        block.memory_id
    ]
    (chained,) = mesh.care.blocks()
    assert chained.entry.operation == "lesson"
    assert chained.entry.wire == block.wire_format
    assert mesh.care.verify().ok


@pytest.mark.req("R-000-146", "R-000-147", "R-000-148")
def test_a_context_is_complete_or_refused(mesh):
    names = {
        "situation": "s", "errorPattern": "e", "oversight": "o", "fix": "f",
        "preventativeRule": "Always r", "severity": "low", "applicableScope": "a",
    }  # fmt: skip
    block = mesh.distill_lesson(names)
    assert block.rule_confidence == 0.7
    read = yamo_learning.read_lesson(yamo.parse(block.wire_format))
    assert [read.situation, read.error_pattern, read.oversight, read.fix, read.rule, read.severity,
            read.applies_to] == [*names.values()]  # fmt: skip
    assert mesh.distill_lesson(
        names | {"errorPattern": "x", "confidence": 0.8, "inverseLesson": "i"}
    )
    for name in names:
        with pytest.raises(InvalidInput):
            mesh.distill_lesson({key: value for key, value in names.items() if key != name})
    whole = {name: getattr(CONTEXT, name) for name in LessonContext.__annotations__}
    for name in whole.keys() - {"inverse_lesson", "confidence"}:
        with pytest.raises(TypeError, match=name):
            LessonContext(**{key: value for key, value in whole.items() if key != name})
    for wrong in ({"severity": "bad"}, {"confidence": 1.5}, {"situation": " "}, {"mood": "good"}):
        with pytest.raises(InvalidInput):
            mesh.distill_lesson(names | wrong)


@pytest.mark.req("R-000-088")
def test_a_lesson_needs_the_identifier_of_its_error(mesh):
    block = taught(mesh)
    lines = block.wire_format.splitlines(keepends=True)
    without = "".join(line for line in lines if "error_pattern;" not in line)
    with pytest.raises(InvalidInput, match="error_pattern"):
        mesh.lessons.receive(without)
    with pytest.raises(InvalidInput, match="error_pattern"):
        taught(mesh, error_pattern=" ")
    other = taught(mesh, error_pattern="guest access")
    again = taught(mesh, situation="It happened on another day")
    assert (again.lesson_id, again.pattern_id) == (block.lesson_id, block.pattern_id)
    assert other.pattern_id != block.pattern_id


@pytest.mark.req("R-000-094")
def test_what_failed_comes_from_a_failure_and_from_the_block_of_another_agent(mesh, tmp_path):
    said = {"status": "error", "error_pattern": "stale lock", "preventative_rule": "Remove locks"}
    mesh.add("The report hung on a lock\nof last week", said)
    mesh.add("The backup hung", said | {"error_pattern": "full disk", "oversight": "disk was full"})
    learned = mesh.lessons.distill().learned
    failed = {dict(yamo.parse(one.wire_format).output)["oversight_description"] for one in learned}
    assert failed == {"The report hung on a lock", "disk was full"}
    with MemoryMesh(db_dir=tmp_path / "another") as other:
        received = other.lessons.receive(taught(mesh).wire_format)
        told = dict(yamo.parse(received.wire_format).output)
    assert told["oversight_description"] == CONTEXT.oversight


@pytest.mark.req("R-000-212")
def test_teaching_it_again_changes_nothing(mesh):
    first = taught(mesh)
    before = mesh.care.verify().head
    again = taught(mesh, situation="seen once more", confidence=0.9)
    lesser = taught(mesh, confidence=0.4)
    assert (again.lesson_id, lesser.lesson_id) == (first.lesson_id, first.lesson_id)
    assert (first.is_new, again.is_new) == (True, False)
    assert mesh.care.verify().head == before


def test_a_more_certain_lesson_takes_the_place_of_the_old_one(mesh):
    old = taught(mesh, confidence=0.7)
    new = taught(mesh, confidence=0.8)
    assert [block.lesson_id for block in mesh.query_lessons("")] == [new.lesson_id]
    superseded = mesh.history(old.memory_id)[-1]
    assert (superseded.status, superseded.successor) == (Status.SUPERSEDED, new.memory_id)
    assert mesh.care.verify().ok


def test_patterns_that_only_hash_alike_are_two_lessons(mesh):
    one = taught(mesh, error_pattern="ab", applicable_scope="c")
    two = taught(mesh, error_pattern="a", applicable_scope="bc")
    assert one.pattern_id == two.pattern_id
    assert one.lesson_id != two.lesson_id
    assert len(mesh.get_memories_by_pattern(one.pattern_id)) == 2


@pytest.mark.req("R-000-118")
def test_lessons_are_found_by_their_pattern(mesh):
    block = taught(mesh)
    taught(mesh, error_pattern="another")
    assert [memory.id for memory in mesh.get_memories_by_pattern(block.pattern_id)] == [
        block.memory_id
    ]
    assert mesh.get_memories_by_pattern("0" * 16) == []


@pytest.mark.req("R-000-116", "R-000-207", "R-000-262")
def test_lessons_are_asked_for_by_words_or_worst_first(mesh):
    for severity in ("low", "critical", "medium", "high"):
        taught(mesh, error_pattern=severity, severity=severity,
               preventative_rule=f"Always handle the {severity} case")  # fmt: skip
    taught(mesh, error_pattern="unsure", confidence=0.69)
    worst = mesh.query_lessons("", order_by="severity DESC")
    assert [block.severity for block in worst] == ["critical", "high", "medium", "low"]
    assert mesh.query_lessons("handle medium", limit=1)[0].severity == "medium"
    assert len(mesh.query_lessons("", min_confidence=0.5)) == 5
    with pytest.raises(InvalidInput):
        mesh.query_lessons("", order_by="mood")


@pytest.mark.req("R-000-270")
def test_an_old_lesson_is_no_longer_injected_but_stays_on_record(mesh, clock):
    block = taught(mesh)
    clock.advance(timedelta(days=366))
    assert mesh.query_lessons("") == []
    assert mesh.query_lessons("guest access") == []
    assert mesh.get(block.memory_id) is not None


def test_a_lesson_of_low_trust_waits_for_review(tmp_path):
    with MemoryMesh(db_dir=tmp_path, channel=Channel.MCP) as agent:
        block = taught(agent)
        assert block.status is Status.QUARANTINED
        assert agent.query_lessons("") == []
        assert agent.search("guest access") == []
        assert taught(agent).lesson_id == block.lesson_id
        with pytest.raises(InvalidInput, match="mcp"):
            agent.review(block.memory_id, approve=True)
    with MemoryMesh(db_dir=tmp_path) as user:
        assert [memory.id for memory in user.review.waiting()] == [block.memory_id]
        user.review(block.memory_id, approve=True, reason="I have seen it happen")
        assert [lesson.lesson_id for lesson in user.query_lessons("")] == [block.lesson_id]
        assert user.review.waiting() == []
        assert user.care.verify().ok
        with pytest.raises(InvalidInput):
            user.review(block.memory_id, approve=False)


def test_a_quarantined_newcomer_changes_nothing_else(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as user:
        own = taught(user, confidence=0.7)
    with MemoryMesh(db_dir=tmp_path, channel=Channel.MCP) as agent:
        assert taught(agent, confidence=1.0).status is Status.QUARANTINED
        assert [block.lesson_id for block in agent.query_lessons("")] == [own.lesson_id]


@pytest.mark.req("R-000-252")
def test_a_lesson_travels_to_another_agent_as_its_wire_text(mesh, tmp_path):
    block = taught(mesh)
    with MemoryMesh(db_dir=tmp_path / "other", agent_id="other") as other:
        received = other.lessons.receive(block.wire_format)
        assert received.status is Status.QUARANTINED
        assert (received.pattern_id, received.preventative_rule) == (
            block.pattern_id, CONTEXT.preventative_rule,
        )  # fmt: skip
        with pytest.raises(InvalidInput, match="preventative_rule"):
            other.lessons.receive(block.wire_format.replace("preventative_rule", "rule"))


def test_a_lesson_of_one_project_does_not_stand_in_for_another_s(mesh):
    one = mesh.distill_lesson(CONTEXT, scope=Scope(project="one"))
    two = mesh.distill_lesson(CONTEXT, scope=Scope(project="two"))
    assert one.lesson_id != two.lesson_id
    seen = mesh.query_lessons("", scope=Scope(project="one"))
    assert [block.lesson_id for block in seen] == [one.lesson_id]


def test_worst_first_holds_for_a_question_too(mesh):
    for severity in ("low", "critical", "medium"):
        words = "guest access " * (3 if severity == "low" else 1)
        taught(mesh, error_pattern=severity, severity=severity, preventative_rule=f"Never {words}")
    assert mesh.query_lessons("guest access")[0].severity == "low"
    worst = mesh.query_lessons("guest access", order_by="severity DESC")
    assert [block.severity for block in worst] == ["critical", "medium", "low"]


def test_what_is_no_certainty_order_context_or_id_is_refused(mesh):
    for wrong in ("0.5", float("nan"), 1.1, True):
        with pytest.raises(InvalidInput, match="min_confidence"):
            mesh.query_lessons("", min_confidence=wrong)
    with pytest.raises(InvalidInput, match="order_by"):
        mesh.query_lessons("", order_by=5)
    with pytest.raises(InvalidInput, match="context"):
        mesh.distill_lesson(None)
    with pytest.raises(InvalidInput, match="id"):
        mesh.review(None, approve=True)


def test_a_rule_in_plain_words_is_a_lesson_that_comes_first(mesh):
    made = mesh.lessons.record("Never force-push to main", when="pushing to git")
    assert (made.is_new, made.status, made.applicable_scope) == (
        True,
        Status.ACTIVE,
        "pushing to git",
    )
    assert mesh.lessons.record("Never force-push to main", when="pushing to git").is_new is False
    (item,) = mesh.context("I will push the branch to main").items
    assert (item.id, item.section) == (made.memory_id, "lesson")
    assert item.memory.text == "Never force-push to main\nApplies to: pushing to git"
    assert mesh.lessons.record("Run the tests").applicable_scope == "every task"
    with pytest.raises(InvalidInput, match="when"):
        mesh.lessons.record({"situation": "x"}, when="always")
