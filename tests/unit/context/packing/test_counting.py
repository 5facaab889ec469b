"""The estimate for a prompt errs high."""

import pytest
from hypothesis import given, strategies as st

from memory_mesh.context.packing.choice import token_bound


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("the", 2),
        ("The", 2),
        ("we know the way", 5),
        ("qzx", 4),
        ("2026-01-01", 11),
        ("a  b", 4),
        ("a\nb", 4),
        ("\u4e0d\u8981", 7),
        ("\U0001f600", 5),
        ("\u0434\u0430", 3),
        ("getURL", 6),
        ("port 8080", 7),
    ],
)
def test_what_a_text_costs_at_most(text: str, tokens: int) -> None:
    assert token_bound(text) == tokens


@given(st.text(), st.text())
def test_two_texts_cost_no_more_apart_than_twice_the_beginning(one: str, other: str) -> None:
    assert token_bound(f"{one}\n{other}") <= token_bound(one) + token_bound(other) + 2
