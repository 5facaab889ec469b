"""001's scoring table, on worked numbers."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memory_mesh.model.trigger import MatchContext, MemoryMetadata, PointRules
from memory_mesh.search.ranking.points import SPECIALTIES, points, total

NOW = datetime(2026, 3, 1, tzinfo=UTC)
OLD = NOW - timedelta(days=30)


def scored(task="", agent="", now=NOW, per_title_word=5, per_tag=5, **fields):
    given: dict[str, Any] = {"triggers": (), "discovered_at": OLD} | fields
    rules = PointRules(
        per_title_word=per_title_word,
        per_tag=per_tag,
        specialty=SPECIALTIES.get(agent, frozenset()),
    )
    return points(MemoryMetadata(**given), MatchContext(task, agent), now, rules)


@pytest.mark.req("R-001-055")
@pytest.mark.parametrize(
    ("importance", "given"), [(1.0, 30), (0.8, 25), (0.5, 15), (0.2, 5), (None, 15), (0.9, 30)]
)
def test_importance(importance, given):
    assert scored(importance=importance)["importance"] == given


@pytest.mark.req("R-001-056")
@pytest.mark.parametrize(
    ("hours", "given"), [(0, 10), (23.99, 10), (24, 5), (71.99, 5), (72, 0), (1000, 0), (-5, 10)]
)
def test_recency(hours, given):
    assert scored(discovered_at=NOW - timedelta(hours=hours))["recency"] == given


@pytest.mark.req("R-001-057", "R-001-093")
@pytest.mark.parametrize(
    ("task", "title", "given"),
    [
        ("Add a login page", "Login page of the portal", 10),
        ("Add a login page", "Logins and pages", 10),
        ("fix the UI", "UI fix", 0),  # words of three letters do not count
        ("login login login", "login", 5),
        ("alpha beta gamma delta epsilon", "alpha beta gamma delta epsilon", 20),
        ("nothing shared", "Login page", 0),
        ("", "Login page", 0),
    ],
)
def test_words_of_the_task_in_the_title(task, title, given):
    assert scored(task, title=title)["title"] == given


@pytest.mark.req("R-001-058", "R-001-093")
@pytest.mark.parametrize(
    ("agent", "tags", "given"),
    [
        ("developer", ("Code", "patterns", "cats"), 10),
        ("planner", ("planning", "structure", "analysis", "architecture"), 15),
        ("tester", ("tests",), 5),
        ("reviewer", ("code-review", "quality"), 10),
        ("gardener", ("code",), 0),
    ],
)
def test_tags_of_the_agents_specialty(agent, tags, given):
    assert scored(agent=agent, tags=tags)["specialty"] == given


@pytest.mark.req("R-001-093")
def test_the_points_of_a_word_and_a_tag_are_settings_and_the_caps_stay():
    parts = scored("login page", "developer", title="login page", tags=("code",), per_title_word=3,
                   per_tag=7)  # fmt: skip
    assert (parts["title"], parts["specialty"]) == (6, 7)
    most = scored("login page", "developer", title="login page", tags=("code",), per_title_word=50,
                  per_tag=50)  # fmt: skip
    assert (most["title"], most["specialty"]) == (20, 15)


@pytest.mark.req("R-001-059")
def test_the_same_discoverer():
    assert scored(agent="planner", discovered_by="Planner")["discoverer"] == 10
    assert scored(agent="planner", discovered_by="tester")["discoverer"] == 0
    assert scored(agent="", discovered_by=None)["discoverer"] == 0


@pytest.mark.req("R-001-055", "R-001-056", "R-001-057", "R-001-058", "R-001-059")
def test_a_worked_example():
    parts = scored(
        "Implement user authentication with a login page",
        "developer",
        importance=0.8,
        discovered_at=NOW - timedelta(hours=30),
        title="Authentication Module Structure",
        tags=("auth", "code", "patterns"),
        discovered_by="developer",
    )
    assert parts == {
        "importance": 25, "recency": 5, "title": 5, "specialty": 10, "discoverer": 10,
    }  # fmt: skip
    assert total(parts) == 55
