"""What is said about a pattern before anybody relies on it."""

import pytest
from hypothesis import given, strategies as st

from memory_mesh.search.triggers.patterns import check, describe


@pytest.mark.req("R-001-085")
@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("", "is empty"),
        ("auth||login", "An alternative is empty"),
        ("a(?=b)", "no lookahead"),
        (r"(a+)\1", "no backreferences"),
        ("(.{0,100}){0,10}z", "too large"),
        ("auth.*(", "missing"),
        (".*", "meets every task"),
        ("ui|frontend", r"write \bui\b"),
        ("When working on something new", "name the subject"),
        ("x" * 1_001, "first 1000 characters"),
        ("|".join(f"w{n}" for n in range(60)), "first 50 alternatives"),
    ],
)
def test_a_faulty_pattern_is_told_what_to_do(pattern, said):
    assert any(said in message for message in check(pattern)), check(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["auth|login|security", "implement.*auth", "When implementing security", r"\bui\b", "C++"],
)
def test_a_good_pattern_is_told_nothing(pattern):
    assert check(pattern) == ()


@pytest.mark.req("R-001-085")
def test_how_a_pattern_is_read_is_shown_part_by_part():
    assert describe("auth|find.*file") == (
        "text that contains 'auth'",
        "text that meets the regular expression 'find.*file'",
    )
    assert describe("When implementing security") == (
        "text with these words, or more than half of them: secur",
    )


@given(st.text(max_size=60))
def test_any_text_can_be_checked(pattern):
    assert all(check(pattern) or [True])
    describe(pattern)
