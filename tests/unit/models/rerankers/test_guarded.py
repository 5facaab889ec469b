"""The time limit around every reranker: what fails, stalls or answers nonsense is a RerankError."""

import threading

import numpy as np
import pytest

from memory_mesh.model.errors import RerankError
from memory_mesh.models.rerankers import PAUSE_SECONDS, Guarded

TEXTS = ["a", "b", "c"]


class Says:
    """Answers, or raises, the same each time."""

    def __init__(self, answer):
        self.answer, self.asked = answer, 0

    def rank(self, query, texts):
        self.asked += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class Stalls:
    """Answers when the test lets it."""

    def __init__(self):
        self.go, self.done, self.asked = threading.Event(), threading.Event(), 0

    def rank(self, query, texts):
        self.asked += 1
        self.go.wait(30)
        self.done.set()
        return [1.0] * len(texts)


@pytest.mark.parametrize(
    ("answer", "scores"),
    [
        ([1.0, 0.5, -2.0], [1.0, 0.5, -2.0]),
        ((1, 2, 3), [1.0, 2.0, 3.0]),
        ([None, 0.5, None], [None, 0.5, None]),
        (np.array([0.25, 0.5, 1.0], np.float32), [0.25, 0.5, 1.0]),
        (iter([1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]),
    ],
)
def test_scores_of_any_sequence_of_numbers_are_taken(answer, scores):
    found = Guarded(Says(answer), 5).rank("?", TEXTS)
    assert found == scores
    assert {type(score) for score in found} <= {float, type(None)}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ValueError("no such thing"), "ValueError: no such thing"),
        (MemoryError(), "MemoryError"),
        ([1.0, 2.0], "2 scores for 3 texts"),
        ([1.0] * 4, "4 scores for 3 texts"),
        ([], "0 scores for 3 texts"),
        ([None] * 3, "no score for 3 texts"),
        ([1.0, float("nan"), 0.0], "not a number"),
        ([1.0, float("-inf"), 0.0], "not a number"),
        (["x", "y", "z"], "ValueError"),
        (None, "TypeError"),
        ([10**400, 1, 2], "OverflowError"),
    ],
)
def test_whatever_goes_wrong_is_a_rerank_error_and_asked_again_next_time(answer, reason):
    says = Says(answer)
    guarded = Guarded(says, 5)
    for _ in range(2):
        with pytest.raises(RerankError, match=reason):
            guarded.rank("?", TEXTS)
    assert says.asked == 2


def test_one_that_takes_too_long_is_not_asked_for_a_while():
    now = [100.0]
    stalls = Stalls()
    guarded = Guarded(stalls, 0.05, timer=lambda: now[0])
    with pytest.raises(RerankError, match=r"no answer within 0\.05 s"):
        guarded.rank("?", TEXTS)
    with pytest.raises(RerankError, match="asked again in 30 s"):
        guarded.rank("?", TEXTS)
    assert stalls.asked == 1
    now[0] += PAUSE_SECONDS
    with pytest.raises(RerankError, match="no answer within"):
        guarded.rank("?", TEXTS)
    assert stalls.asked == 2
    stalls.go.set()


def test_a_late_answer_ends_the_pause():
    stalls = Stalls()
    guarded = Guarded(stalls, 0.05)
    with pytest.raises(RerankError, match="no answer within"):
        guarded.rank("?", TEXTS)
    (late,) = [thread for thread in threading.enumerate() if thread.name == "memory-mesh reranker"]
    stalls.go.set()
    late.join(30)
    assert Guarded(stalls, 30).rank("?", TEXTS) == [1.0] * 3
    guarded._seconds = 30
    assert guarded.rank("?", TEXTS) == [1.0] * 3
