"""The distillation cycle: what failed becomes a lesson once, however often and wherever it runs."""

from datetime import timedelta

import pytest

from memory_mesh.model import Channel, Scope, SourceKind, Status
from memory_mesh.model.learning import LessonBlock
from memory_mesh.sync import MemoryMesh
from tests.effort import effort

FAILURE = {
    "status": "error",
    "error_pattern": "db_timeout",
    "preventative_rule": "Always set a statement timeout",
    "applicable_scope": "database access",
    "severity": "high",
}


@pytest.mark.req("R-000-200", "R-000-205")
def test_a_failure_of_the_last_day_becomes_a_lesson(mesh):
    source = mesh.add("The nightly report hung on a lock for an hour", FAILURE)
    done = mesh.lessons.distill()
    (block,) = done.learned
    assert (block.preventative_rule, block.severity) == ("Always set a statement timeout", "high")
    assert done.constraints == ("Always set a statement timeout",)
    (memory,) = mesh.get_memories_by_pattern(block.pattern_id)
    assert memory.tags == ("#lesson_learned",)
    assert memory.lesson.situation == "The nightly report hung on a lock for an hour"
    assert done.scanned == 1
    assert source.id in str(mesh.care.blocks()[0].entry.memories)


@pytest.mark.req("R-000-206")
def test_the_ten_worst_lessons_are_the_constraints_of_the_next_session(tmp_path, clock):
    severities = ["low", "medium", "critical", "high"] * 3
    with MemoryMesh(db_dir=tmp_path, clock=clock) as mesh:
        for number, severity in enumerate(severities):
            told = {"error_pattern": f"fault_{number}", "severity": severity}
            told["preventative_rule"] = f"Always check the {severity} case {number}"
            mesh.add(f"case {number} broke", FAILURE | told)
        constraints = mesh.lessons.distill().constraints
    assert [rule.split()[3] for rule in constraints] == (
        ["critical"] * 3 + ["high"] * 3 + ["medium"] * 3 + ["low"]
    )
    with MemoryMesh(db_dir=tmp_path, clock=clock) as next_session:
        worst = next_session.query_lessons("", limit=10, order_by="severity DESC")
        assert tuple(lesson.preventative_rule for lesson in worst) == constraints


@pytest.mark.req("R-000-201")
def test_what_is_marked_as_a_candidate_becomes_a_lesson(mesh):
    mesh.add(
        "TimeoutError while uploading. Always retry uploads with backoff.",
        {"tags": ["#lesson_learned_candidate"]},
    )
    (block,) = mesh.lessons.distill().learned
    assert block.preventative_rule == "Always retry uploads with backoff."
    assert mesh.get_memories_by_pattern(block.pattern_id)[0].lesson.error_pattern == "timeout_error"


@pytest.mark.req("R-000-202")
def test_a_pattern_that_came_twice_in_a_week_becomes_a_lesson(mesh, clock):
    plain = {"error_pattern": "flaky_test", "fix": "Seed the random generator"}
    mesh.add("the suite failed on the first run", plain)
    assert mesh.lessons.distill().learned == ()
    clock.advance(timedelta(days=3))
    mesh.add("the suite failed on another run", plain)
    (block,) = mesh.lessons.distill().learned
    assert (block.preventative_rule, block.rule_confidence) == ("Seed the random generator", 0.5)
    assert mesh.query_lessons("") == []  # a mere fix is not certain enough to be a constraint


def test_a_lesson_that_was_deleted_does_not_come_back_by_itself(mesh):
    mesh.add("hung on a lock", FAILURE)
    mesh.lessons.distill()
    mesh.delete(mesh.query_lessons("")[0].memory_id)
    assert mesh.lessons.distill().learned == ()
    assert mesh.query_lessons("") == []


def test_a_single_old_failure_is_left_but_not_one_since_the_last_run(mesh, clock):
    mesh.add("hung on a lock", FAILURE)
    clock.advance(timedelta(days=2))
    assert mesh.lessons.distill().learned == ()
    mesh.add("hung on another lock", FAILURE | {"error_pattern": "lock"})
    clock.advance(timedelta(days=3))
    assert len(mesh.lessons.distill().learned) == 1


def test_a_failure_nobody_stated_a_rule_for_is_named_and_not_invented(mesh):
    stored = mesh.add("it broke again", {"status": "error", "error_pattern": "mystery"})
    vague = mesh.add("something is off", {"status": "error"})
    done = mesh.lessons.distill()
    assert done.learned == ()
    assert set(done.unclear) == {stored.id, vague.id}


@pytest.mark.req("R-000-240", "R-000-262")
@pytest.mark.parametrize("status", ["error", "failed", "Failure", "timed_out"])
def test_a_rule_that_the_text_of_a_failure_states_is_a_constraint(mesh, status):
    text = "TypeError: Cannot read properties of undefined. Always default list props to []."
    mesh.add(text, {"status": status})
    done = mesh.lessons.distill()
    assert done.constraints == ("Always default list props to [].",)
    assert done.learned[0].status is Status.ACTIVE


def test_a_fix_that_helped_becomes_a_rule(mesh):
    mesh.add(
        "The upgrade timed out. The probe was hitting port 8080. Pointed it at port 3000, green.",
        {"status": "error"},
    )
    assert mesh.lessons.distill().constraints == (
        "Point it at port 3000. Why: The probe was hitting port 8080.",
    )


def test_comfort_praise_questions_and_rejected_rules_are_no_lessons(mesh):
    for text in (
        "Don't worry about it.",
        "Always great to pair with Sam!",
        "Should we always retry uploads?",
        "Petra proposed that we always squash. The team voted it down.",
    ):
        mesh.add(text, {"status": "error"})
    done = mesh.lessons.distill()
    assert (done.learned, len(done.unclear)) == ((), 4)


def test_a_failure_and_its_rule_in_the_user_s_words_need_no_mark(mesh):
    mesh.add("Never trust curl without --fail. The 404 page was saved as our binary.")
    mesh.add("Never deploy on Fridays.")  # no failure
    done = mesh.lessons.distill()
    assert done.constraints == ("Never trust curl without --fail.",)
    assert done.scanned == 1


def test_an_unmarked_text_of_a_tool_teaches_nothing(tmp_path):
    with MemoryMesh(db_dir=tmp_path, channel=Channel.TOOL) as tool:
        tool.add("Never trust curl without --fail. The 404 page was saved as our binary.")
        assert tool.lessons.distill().learned == ()


def test_what_the_user_said_without_stating_it_teaches_at_once(tmp_path, clock):
    text = "The upload hung. Always retry uploads with backoff."
    with MemoryMesh(db_dir=tmp_path, clock=clock) as mesh:
        mesh.add(text, {"status": "error"}, source_kind=SourceKind.USER_IMPLICIT)
        assert mesh.lessons.distill().learned[0].status is Status.ACTIVE


def test_the_same_failure_with_other_names_is_one_lesson(mesh):
    mesh.add("KeyError: 'customer' in a.py. Always read keys with get.", {"status": "error"})
    mesh.add("KeyError: 'zip' in /b.py:9. Always read optional keys with get.", {"status": "error"})
    assert len(mesh.lessons.distill().learned) == 1


def test_two_rules_of_one_read_pattern_are_both_kept(mesh):
    mesh.add("KeyError: 'a'. Always read optional keys with get.", {"status": "error"})
    assert len(mesh.lessons.distill().learned) == 1
    mesh.add("KeyError: 'b'. Never rename a column without a view.", {"status": "error"})
    assert len(mesh.lessons.distill().learned) == 1
    done = mesh.lessons.distill()
    assert (len(done.learned), len(done.known), len(done.constraints)) == (0, 2, 2)


@pytest.mark.req("R-000-204")
def test_run_twice_it_changes_nothing(mesh):
    mesh.add("hung on a lock", FAILURE)
    mesh.add("hung on another lock", FAILURE | {"error_pattern": "lock"})
    assert len(mesh.lessons.distill().learned) == 2
    before = mesh.care.verify().head
    done = mesh.lessons.distill()
    assert (len(done.learned), len(done.known)) == (0, 2)
    assert mesh.care.verify().head == before


def test_what_was_learned_from_low_trust_waits_for_review(tmp_path):
    with MemoryMesh(db_dir=tmp_path, channel=Channel.TOOL) as tool:
        tool.add("hung on a lock", FAILURE)
    with MemoryMesh(db_dir=tmp_path) as mesh:
        (block,) = mesh.lessons.distill().learned
        assert block.status is Status.QUARANTINED
        assert mesh.lessons.distill().constraints == ()
        assert mesh.lessons.distill().learned == ()


@pytest.mark.req("R-000-199", "R-000-265")
def test_a_heartbeat_asks_whether_it_is_time(tmp_path, clock):
    options = {"db_dir": tmp_path, "clock": clock, "enable_wisdom_distillation": True}
    with MemoryMesh(**options) as mesh:
        assert not mesh.lessons.due()
        mesh.add("hung on a lock", FAILURE)
        assert mesh.lessons.due()
        assert mesh.care.upkeep().lessons == 1
        assert not mesh.lessons.due()
        mesh.add("hung on another lock", FAILURE | {"error_pattern": "lock"})
        assert mesh.care.upkeep().lessons == 0
        clock.advance(timedelta(hours=6))
        assert mesh.care.upkeep().lessons == 1


@pytest.mark.req("R-000-136")
def test_without_the_option_upkeep_distills_nothing(mesh):
    mesh.add("hung on a lock", FAILURE)
    assert mesh.care.upkeep().lessons == 0
    assert mesh.lessons.due()


def test_blocks_are_scanned_from_a_time_on(mesh, clock):
    for number in range(30):
        mesh.add(f"note {number}")
        clock.advance(timedelta(hours=1))
    ledger = mesh._opened().ledger
    since = clock.now() - timedelta(hours=10)
    found = ledger.blocks("default", 0, 1_000, since)
    assert [block.entry.at >= since for block in found] == [True] * 10
    assert len(ledger.blocks("default", 0, 1_000, clock.now() + timedelta(days=1))) == 0


def test_the_constraints_are_those_of_the_reader(mesh):
    mesh.add("hung on a lock", FAILURE, scope=Scope(project="one"))
    done = mesh.lessons.distill(scope=Scope(project="one"))
    assert done.constraints == ("Always set a statement timeout",)
    assert mesh.lessons.distill().constraints == ()


def test_one_reader_s_cycle_serves_the_others_and_tells_nothing_of_them(mesh, clock):
    mesh.add("hung on a lock", FAILURE, scope=Scope(project="one"))
    mesh.add("it broke again", {"status": "error"}, scope=Scope(project="one"))
    done = mesh.lessons.distill(scope=Scope(project="two"))
    assert (done.scanned, done.learned, done.known, done.unclear) == (0, (), (), ())
    clock.advance(timedelta(days=30))
    seen = mesh.query_lessons("", scope=Scope(project="one"))
    assert [block.preventative_rule for block in seen] == ["Always set a statement timeout"]
    assert mesh.query_lessons("", scope=Scope(project="two")) == []


def test_patterns_that_only_hash_alike_are_both_learned(mesh):
    mesh.add("first", FAILURE | {"error_pattern": "ab", "applicable_scope": "c"})
    mesh.lessons.distill()
    mesh.add("second", FAILURE | {"error_pattern": "a", "applicable_scope": "bc"})
    done = mesh.lessons.distill()
    assert (len(done.learned), len(done.known)) == (1, 1)


@pytest.mark.parametrize("key", ["error_pattern", "errorPattern", "error_code", "errorCode"])
def test_a_repeated_pattern_is_seen_in_every_spelling(mesh, key):
    for number in range(2):
        mesh.add(f"the suite failed on run {number}", {key: "flaky", "rule": "Always seed it"})
    assert len(mesh.lessons.distill().learned) == 1


def test_a_pattern_that_came_twice_in_a_month_is_left(mesh, clock):
    plain = {"error_pattern": "flaky_test", "fix": "Seed the random generator"}
    mesh.add("a first note")
    mesh.lessons.distill()
    for _ in range(2):
        clock.advance(timedelta(days=8))
        mesh.add(f"the suite failed on {clock.now()}", plain)
    assert mesh.lessons.distill().learned == ()


def test_a_heartbeat_is_not_kept_off_by_a_clock_that_went_back(mesh, clock):
    mesh.add("hung on a lock", FAILURE)
    mesh.lessons.distill()
    mesh.add("hung on another lock", FAILURE | {"error_pattern": "lock"})
    assert not mesh.lessons.due()
    clock.advance(timedelta(days=-400))
    assert mesh.lessons.due()


def test_a_heartbeat_does_not_read_the_blocks_it_asks_about(mesh, clock):
    mesh.add_many([f"note {number}" for number in range(600)])
    assert mesh.lessons.due()
    mesh.lessons.distill()
    clock.advance(timedelta(hours=6))
    assert not mesh.lessons.due()  # nothing was written since


def test_blank_lines_without_end_cost_no_more_than_words(mesh):
    blank = "\n " * 40_000
    mesh.add(
        f"TimeoutError in this log:\n```\n{blank}\n```\n. Always rotate logs.", {"status": "error"}
    )
    learned: list[LessonBlock] = []
    spent = effort(lambda: learned.extend(mesh.lessons.distill().learned))
    (block,) = learned
    assert block.preventative_rule == "Always rotate logs."
    assert spent < 1_500  # it was a minute
