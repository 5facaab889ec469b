"""Who a memory is of, and whose words a rejection keeps out."""

import pytest
from hypothesis import given, strategies as st

from memory_mesh.model import Draft
from memory_mesh.rules.trust import asked_for, persons, rejected_for, said_by_different

NAMES = st.sampled_from(["", " ", "ann", "Ann", " ann ", "bob", "*"])
USERS = st.one_of(NAMES, st.none(), st.integers(0, 2), st.sampled_from(["0", "1"]))
KEYS = st.sampled_from(["user_id", "userId", "user", "other"])
STATEMENTS = st.builds(
    lambda speaker, extra: Draft(text="tea", speaker=speaker or None, extra=extra),
    NAMES,
    st.dictionaries(KEYS, USERS, max_size=2),
)


def said(speaker=None, **extra):
    return Draft(text="I live in Oslo", speaker=speaker, extra=extra)


@pytest.mark.parametrize(
    ("one", "other", "different"),
    [
        (said(), said(), False),
        (said("Ann"), said(), False),
        (said("Ann"), said("bob"), True),
        (said("Ann"), said(" ann "), False),
        (said("Ann"), said(user_id="bob"), False),
        (said(user_id="ann"), said(), False),
        (said(user_id="ann"), said(user_id="bob"), True),
        (said(user_id="ann"), said(userId="ann"), False),
        (said(user_id="ann"), said(user="bob"), True),
        (said(user_id="aB"), said(user_id="Ab"), True),
        (said(user_id=" ann"), said(user_id="ann"), False),
        (said(user_id=7), said(user_id="7"), False),
        (said(user_id=7), said(user_id=8), True),
        (said(user={"id": 1, "name": "x"}), said(user={"name": "x", "id": 1}), False),
        (said(user={"id": 1}), said(user={"id": 2}), True),
        (said(user_id="", user="ann"), said(user="bob"), True),
        (said(user_id=None), said(user="bob"), False),
        (said("Ann", user_id="1"), said("Ann", user_id="2"), True),
        (said("Ann", user_id="1"), said("Bob", user_id="1"), True),
        (said(author="ann"), said(author="bob"), False),
    ],
)
def test_different_persons_are_told_apart(one, other, different):
    assert said_by_different(one, other) is different
    assert said_by_different(other, one) is different


@given(STATEMENTS, STATEMENTS)
def test_a_rejection_keeps_out_exactly_what_is_not_of_another_person(rejected, asked):
    kept_out = bool(set(rejected_for(rejected)) & set(asked_for(asked)))
    assert kept_out is not said_by_different(rejected, asked)


@given(STATEMENTS)
def test_nobody_differs_from_himself(statement):
    assert not said_by_different(statement, statement)
    assert len(persons(statement)) == 2


def test_tombstones_of_nobody_stay_as_they_were():
    assert rejected_for(said()) == [""]
    assert "" in asked_for(said("Ann", user_id=7))
