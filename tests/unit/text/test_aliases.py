"""Other names of one thing: each way, whole, and never the thing itself."""

import pytest
from hypothesis import given, strategies as st

from memory_mesh.text import analyzer, synonyms


def others(question: str) -> dict[str, set[str]]:
    found = synonyms.expand(analyzer.query_terms(question))
    return {term: {" ".join(other.words) for other in names} for term, names in found.items()}


@pytest.mark.parametrize(
    ("question", "term", "name"),
    [
        ("k8s", "k8s", "Kubernetes"),
        ("when do we upgrade Kubernetes", "kubernet", "k8s"),
        ("GHA minutes", "gha", "GITHUB actions"),
        ("who is Bob", "bob", "Robert"),
        ("does Robert know", "robert", "Bob"),
        ("size of a PR", "pr", "pull request"),
        ("2FA", "2fa", "two factor"),
    ],
)
def test_a_name_brings_the_other_names(question, term, name):
    assert " ".join(analyzer.query_terms(name)) in others(question)[term]


def test_a_name_of_several_words_is_one_only_where_they_stand_together():
    assert "pr" in others("limit of a pull request")["pull"]
    assert "pr" in others("limit of a pull request")["request"]
    assert others("who can pull this after the seventh time we made a new request") == {}
    assert others("a request") == {}


def test_a_name_that_means_more_than_one_thing_counts_half():
    weights = {other.words: other.weight for other in synonyms.expand(["ts"])["ts"]}
    assert weights[("typescript",)] == weights[("timestamp",)] == 0.5
    assert [other.weight for other in synonyms.expand(["js"])["js"]] == [1.0]


def test_every_line_of_the_table_gives_terms_that_a_text_can_hold():
    for group in map(synonyms._group, synonyms._lines()):
        names = [name.words for name in group]
        assert len(names) == len(set(names)) > 1
        assert all(word for name in names for word in name)
        assert not any(set(name) <= analyzer.STOP_WORDS for name in names)


@given(st.lists(st.sampled_from(["pull", "request", "pr", "bob", "db", "auth", "x"]), unique=True))
def test_no_name_stands_in_for_itself(terms):
    for term, names in synonyms.expand(terms).items():
        assert term in terms
        assert names
        assert all(term not in other.words for other in names)
