"""The mixture that speed is measured on."""

from collections import Counter

import numpy as np
import pytest

from bench import memories

BLOCKS = 3


@pytest.fixture(scope="module")
def items():
    return list(memories.items(0, BLOCKS * 1_000))


def test_a_memory_is_the_same_whatever_was_made_before_it(items):
    assert items[1_500:2_500] == list(memories.items(1_500, 2_500))


def test_two_readers_see_one_percent_and_a_third_of_it(items):
    found = Counter(item["scope"].project for item in items)
    assert len(found) > 90  # a small project may be missing in a few blocks
    common = found[None]
    assert found[memories.ONE_PERCENT] + common == BLOCKS * 10
    assert found[memories.THIRD_PERCENT] + common == BLOCKS * 3


def test_conversations_have_an_order_and_two_speakers(items):
    sessions: dict[str, list[dict[str, object]]] = {}
    for item in items:
        if item["scope"].session:
            sessions.setdefault(item["scope"].session, []).append(item)
    assert sum(len(turns) for turns in sessions.values()) > len(items) / 3
    for turns in sessions.values():
        assert [turn["order"] for turn in turns] == list(range(len(turns)))
        assert len({turn["speaker"] for turn in turns}) <= 2


def test_one_in_a_hundred_belongs_to_a_team(items):
    teams = Counter(item["metadata"]["team"] for item in items)
    assert len(teams) == memories.TEAMS
    assert 5 < teams["team-07"] < 70


def test_a_text_has_one_vector_of_length_one():
    one, two = memories.vectors(["tea", "cake"]), memories.vectors(["cake", "tea"])
    assert np.array_equal(one, two[::-1])
    assert np.linalg.norm(one, axis=1) == pytest.approx([1, 1], abs=1e-6)


def test_rare_questions_are_words_of_one_memory():
    texts = [item["content"].lower() for item in memories.items(0, 1_000)]
    for question in memories.rare_questions(5, 1_000):
        one, two = question.split()
        assert any(one in text and two in text for text in texts)
