"""The three-way rule: what two sides and what they last agreed on call for."""

import pytest

from memory_mesh.mirror.apply_document import Act, Sides, decide

BASE = Sides("f0", "s0")
TABLE = [
    ("f0", "s0", False, Act.NOTHING),
    ("f0", "s1", False, Act.TAKE_STORE),
    ("f0", None, False, Act.REMOVE_DOCUMENT),
    ("f1", "s0", False, Act.TAKE_FILE),
    ("f1", "s1", False, Act.DISAGREE),
    ("f1", "s1", True, Act.AGREE),
    ("f1", None, False, Act.DISAGREE),
    ("f1", None, True, Act.DISAGREE),
    (None, "s0", False, Act.DELETE_MEMORY),
    (None, "s1", False, Act.DISAGREE),
    (None, None, False, Act.FORGET),
]


@pytest.mark.parametrize(("file", "store", "same", "act"), TABLE)
def test_each_pair_of_sides_calls_for_one_act(file, store, same, act):
    assert decide(BASE, Sides(file, store), same=same) is act


def test_without_a_base_only_the_same_words_agree():
    assert decide(None, Sides("f1", "s1"), same=True) is Act.AGREE
    assert decide(None, Sides("f1", "s1")) is Act.DISAGREE


def test_no_act_clobbers_a_side_that_changed():
    for file in ("f0", "f1", None):
        for store in ("s0", "s1", None):
            act = decide(BASE, Sides(file, store))
            if file != "f0":
                assert act not in {Act.TAKE_STORE, Act.REMOVE_DOCUMENT}
            if store != "s0":
                assert act not in {Act.TAKE_FILE, Act.DELETE_MEMORY}
