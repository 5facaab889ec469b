"""What retention does with a record, for any policy and any clock."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from memory_mesh.base.typed import replace
from memory_mesh.learn.rules.retention import (
    Action,
    JobRules,
    RetentionPolicy,
    RetentionRecord,
    consolidation_due,
    decide,
    protection,
)
from memory_mesh.model import Scope, Tier

NOW = datetime(2026, 6, 1, tzinfo=UTC)
TRACE = RetentionRecord(tier=Tier.SHORT_TERM, last_active=NOW, changed=NOW, consolidated=True)
LEARNING = RetentionRecord(tier=Tier.LONG_TERM, last_active=NOW, changed=NOW, learning=True)
TIMES = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
POLICIES = st.builds(RetentionPolicy, *[st.integers(0, 1_000)] * 3)
RECORDS = st.builds(
    RetentionRecord,
    tier=st.sampled_from(Tier),
    last_active=TIMES,
    changed=TIMES,
    **{name: st.booleans() for name in ("active", "pinned", "lesson", "learning", "consolidated")},
    **{name: st.booleans() for name in ("session_over", "again", "compressed")},
)


def _aged(record: RetentionRecord, **age: float) -> Action:
    return decide(record, RetentionPolicy(), NOW + timedelta(**age))[0]


@pytest.mark.req("R-002-058")
@pytest.mark.req("R-002-059")
def test_short_term_memory_stays_for_its_session_and_is_archived_after_a_day_without_use() -> None:
    assert _aged(TRACE, hours=23.9) is Action.KEEP
    assert _aged(TRACE, hours=24) is Action.ARCHIVE
    used = replace(TRACE, last_active=NOW + timedelta(hours=20))
    assert _aged(used, hours=24) is Action.KEEP


@pytest.mark.req("R-002-060")
def test_short_term_memory_is_archived_when_its_project_is_opened_again() -> None:
    assert _aged(replace(TRACE, session_over=True), hours=1) is Action.ARCHIVE


@pytest.mark.req("R-002-061")
@pytest.mark.req("R-002-062")
@pytest.mark.req("R-002-063")
def test_a_learning_is_kept_consolidated_again_and_then_compressed() -> None:
    assert _aged(LEARNING, days=182) is Action.KEEP
    assert _aged(LEARNING, days=183) is Action.CONSOLIDATE
    again = replace(LEARNING, again=True)
    assert _aged(again, days=364) is Action.KEEP
    assert _aged(again, days=365) is Action.COMPRESS
    assert _aged(replace(again, compressed=True), days=10_000) is Action.KEEP
    assert set(Action) == {Action.KEEP, Action.ARCHIVE, Action.CONSOLIDATE, Action.COMPRESS}


@pytest.mark.req("R-002-008")
def test_no_age_moves_long_term_memory_that_is_no_learning() -> None:
    memory = replace(LEARNING, learning=False)
    assert {_aged(memory, days=days) for days in (1, 183, 365, 10_000)} == {Action.KEEP}


@given(RECORDS, POLICIES, TIMES)
def test_no_policy_and_no_clock_touches_a_protected_record(
    record: RetentionRecord, policy: RetentionPolicy, now: datetime
) -> None:
    protected = (
        record.pinned
        or record.lesson
        or record.tier is Tier.SYSTEM
        or not record.active
        or (record.tier is Tier.SHORT_TERM and not record.consolidated)
        or (record.tier is Tier.LONG_TERM and not record.learning)
    )
    action, why = decide(record, policy, now)
    assert bool(protection(record)) is protected
    assert why
    if protected:
        assert action is Action.KEEP


@given(RECORDS, TIMES)
def test_a_policy_of_noughts_keeps_everything(record: RetentionRecord, now: datetime) -> None:
    assert decide(record, RetentionPolicy(0, 0, 0), now)[0] is Action.KEEP


@pytest.mark.req("R-002-041")
@pytest.mark.req("R-002-042")
def test_consolidation_is_due_after_ten_traces_of_a_project_or_a_week() -> None:
    rules, shop, blog = JobRules(), Scope("shop"), Scope("blog")
    week = timedelta(days=7)
    assert not consolidation_due({}, NOW - 10 * week, NOW, rules).now
    assert not consolidation_due({shop: 9, blog: 9}, NOW, NOW, rules).now
    assert consolidation_due({shop: 10, blog: 1}, NOW, NOW, rules).now
    assert not consolidation_due({shop: 1}, NOW - week * 0.99, NOW, rules).now
    assert consolidation_due({shop: 1}, NOW - week, NOW, rules).now
    assert not consolidation_due({shop: 1}, NOW - week, NOW, JobRules(10, 0)).now
    assert not consolidation_due({shop: 99}, NOW, NOW, JobRules(0, 7)).now


@pytest.mark.parametrize(
    ("new", "waited", "why"),
    [
        (1, 0.0, "1 new trace of one project, fewer than 10; due without more in 7 days"),
        (2, 6.5, "2 new traces of one project, fewer than 10; due without more in 1 day"),
        (2, 7.0, "new traces, and 7 days without a run"),
    ],
)
def test_it_says_when_consolidation_is_due(new: int, waited: float, why: str) -> None:
    since = NOW - timedelta(days=waited)
    assert consolidation_due({Scope("shop"): new}, since, NOW, JobRules(10, 7)).why == why
