"""Search once words are common: the limits are lowered here, so that few texts are many."""

import pytest

from memory_mesh.model import Scope
from memory_mesh.search import keyword_plan
from memory_mesh.search.ranking import words


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch):
    monkeypatch.setattr(words, "BUDGET", 20)
    monkeypatch.setattr(keyword_plan, "RECENT", 20)


def contents(hits):
    return [hit.content for hit in hits]


def test_a_rare_word_finds_and_common_ones_fill_up_with_the_newest(mesh):
    mesh.add("a zebra crossed the street")
    mesh.add_many([f"the report of day {n}" for n in range(60)])
    hits = mesh.search("zebra report", min_relevance=0)
    assert hits[0].content == "a zebra crossed the street"
    assert contents(hits[1:]) == [f"the report of day {n}" for n in range(59, 50, -1)]
    assert hits.explanation.dropped == ("report",)


def test_a_common_word_lifts_what_a_rare_one_found(mesh):
    mesh.add_many(["zebra stripes, coat and mane", "zebra stripes in the report"])
    mesh.add_many([f"the report of day {n}" for n in range(60)])
    mesh.add("zebra stripes, coat and tail")
    assert mesh.search("zebra report")[0].content == "zebra stripes in the report"


def test_where_every_word_is_common_those_with_all_of_them_come_first(mesh):
    mesh.add_many([f"the report of day {n}" for n in range(60)])
    mesh.add_many([f"the invoice number {n}" for n in range(60)])
    mesh.add("a report on one invoice")
    mesh.add_many([f"another report, day {n}" for n in range(60)])
    hits = mesh.search("report invoice")
    assert hits[0].content == "a report on one invoice"
    assert len(hits) == len(set(contents(hits))) == 10


def test_what_a_reader_may_not_see_hides_nothing_else(mesh):
    hidden = [{"content": f"report of day {n}", "scope": Scope(agent="other")} for n in range(90)]
    mesh.add("the first report of all")
    mesh.add_many(hidden)
    assert "the first report of all" not in contents(mesh.search("quarterly"))
    assert contents(mesh.search("first report")) == ["the first report of all"]


def test_no_text_is_found_twice(mesh):
    mesh.add_many([f"report and invoice and order {n}" for n in range(60)])
    hits = mesh.search("report invoice order", limit=40)
    assert len({hit.id for hit in hits}) == len(hits) == 40
