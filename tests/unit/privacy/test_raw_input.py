"""What a trace keeps of the words of a user: all, a summary, or the kind of task."""

import pytest
from hypothesis import given, strategies as st

from memory_mesh.model import Json
from memory_mesh.privacy import redactor
from memory_mesh.privacy.redactor import RawInput, kept_goal, kept_value, summary

LONG = (
    'Hi, could you please fix the login page of "Acme Holding" in /srv/acme/login.py? The '
    "customer 4711 says that it is slow since Monday. Their phone number is secret."
)


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        (LONG, "fix the login page of … in …?"),
        ("Please refactor the parser.", "refactor the parser."),
        ("I want you to write docs; keep them short", "write docs; keep them short"),
        ("```\nrm -rf /\n```", "other task"),
        ("修复登录页面。", "other task"),
    ],
)
def test_a_summary_is_short_and_quotes_nothing(goal, said):
    assert summary(goal) == said
    assert len(summary(goal).split()) <= redactor.SUMMARY_WORDS
    for quoted in ("Acme", "/srv", "4711"):
        assert quoted not in summary(goal)


@pytest.mark.parametrize(
    ("goal", "kind"),
    [
        ("Fix the flaky test", "fix"),
        ("write release notes", "build"),
        ("deploy to staging", "release"),
        ("Bump numpy", "upgrade"),
        ("???", "other"),
    ],
)
def test_a_category_comes_from_a_closed_list(goal, kind):
    assert redactor.category(goal) == kind
    assert kept_goal(goal, RawInput.DROP) == f"{kind} task"


@given(st.text())
def test_a_dropped_goal_says_only_its_category(goal):
    assert kept_goal(goal, RawInput.DROP).removesuffix(" task") in redactor.CATEGORIES
    assert kept_goal(goal, RawInput.SCRUB) == goal
    assert kept_goal(goal, RawInput.SUMMARISE).strip()


def test_a_goal_that_a_plan_quotes_is_not_kept_there_either():
    value: Json = {
        "plan": f"1. {LONG}",
        "steps": [{"text": LONG, "status": "success"}],
        "duration_ms": 7,
    }
    kept = kept_value(value, LONG, "fix task")
    assert kept == {
        "plan": "1. fix task",
        "steps": [{"text": "fix task", "status": "success"}],
        "duration_ms": 7,
    }
