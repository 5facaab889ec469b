"""Which questions failed, and what is said of them: a table of rows."""

import pytest

from memory_mesh.evaluation import report
from memory_mesh.evaluation.one_question import QuestionResult
from memory_mesh.evaluation.records import DataSet, EvaluationQuestion, EvaluationRecord
from memory_mesh.evaluation.report import FailureWords
from memory_mesh.evaluation.suite import Suite

R2 = Suite(name="s", ks=(2,), counts="R@2")
WORDS = FailureWords({"q": "Who?"}, {("t", "a"): "Ann", ("t", "b"): "Ben\n and  Bea"})


def row(gold: str, ranked: str, stale: str = "", scores: tuple[float, ...] = ()) -> QuestionResult:
    return QuestionResult(
        id="q", tenant="t", category="c", gold=tuple(gold), ranked=tuple(ranked),
        stale=tuple(stale), scores=scores, pool=9, limit=9,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("suite", "asked", "missed", "why"),
    [
        (R2, row("a", "xa"), None, ""),
        (R2, row("a", "xya"), [("a", 3)], "a has rank 3; R@2 counts the first 2."),
        (R2, row("ab", "bx"), [("a", None)], "a is not among the 2 hits."),
        (R2, row("ab", ""), [("a", None), ("b", None)], "No hits."),
        (R2, row("", "x"), None, ""),  # of a data set without a threshold
        (Suite(name="s", counts="MRR"), row("a", "xa"), [("a", 2)], "a has rank 2; MRR counts th"),
        (Suite(name="s", counts="MRR"), row("a", "ax"), None, ""),
        (
            Suite(name="s", counts="newest_above_stale"), row("a", "xa", "x"), [("a", 2)],
            "An outdated record has rank 1.",
        ),
        (Suite(name="s", counts="newest_above_stale"), row("a", "ax", "x"), None, ""),
        (
            Suite(name="s", ks=(2,), counts="P@R95", min_relevance=0.3),
            row("", "xy", scores=(0.5, 0.2)), [], "Nothing should be found; the first hit scor",
        ),
        (Suite(name="s", min_relevance=0.6), row("", "x", scores=(0.5,)), None, ""),
    ],
)  # fmt: skip
def test_a_row_that_costs_something_is_a_failure(suite, asked, missed, why) -> None:
    found = report.describe(suite, [asked], WORDS)
    if missed is None:
        assert found == ()
        return
    [failure] = found
    assert [(each.id, each.rank) for each in failure.expected] == missed
    assert failure.why.startswith(why)
    assert failure.question == "Who?"


def test_a_failure_quotes_what_was_expected_and_what_came_first() -> None:
    [failure] = report.describe(R2, [row("a", "bxa", scores=(0.9, 0.8, 0.7))], WORDS)
    assert failure.as_json() == {
        "id": "q", "question": "Who?", "category": "c",
        "expected": [{"id": "a", "text": "Ann", "rank": 3}],
        "first": {"id": "b", "text": "Ben and Bea", "score": 0.9},
        "why": "a has rank 3; R@2 counts the first 2.",
    }  # fmt: skip


def test_of_a_data_set_only_the_texts_that_failures_need_are_read() -> None:
    asked: list[str] = []

    def tenants(wanted):
        asked.extend(wanted)
        yield "t", [EvaluationRecord(id=name, text=name * 2, tenant="t") for name in "abx"]

    data = DataSet("d", (EvaluationQuestion(id="q", text="Who?"),), tenants)
    found = report.words_of(R2, [row("a", "bca"), row("c", "cx")], data)
    assert found == FailureWords({"q": "Who?"}, {("t", "a"): "aa", ("t", "b"): "bb"})
    assert asked == ["t"]
    assert report.words_of(R2, [row("c", "cx")], data) == FailureWords()
    assert asked == ["t"]
