"""Claims through neolata's face: exclusive or not, when they hold, for whom, and in old stores."""

import pytest

from memory_mesh.compat.neolata import memory_graph
from memory_mesh.model import Outcome, Status
from tests.receipts import id_of
from tests.stores import unpacked

USER = {"source": "user_explicit"}
pytestmark = pytest.mark.req("R-003-111")


@pytest.fixture
def graph(tmp_path, clock):
    with memory_graph.create_memory(db_dir=tmp_path / "graph", clock=clock) as opened:
        yield opened


def said(graph, value, **details):
    claim = {"subject": "Ada", "predicate": "city", "value": value} | details
    return graph.store("kuro", f"Ada lives in {value} {details}", claim=claim, provenance=USER)


def status(graph, receipt):
    return graph._held(id_of(receipt)).status


@pytest.mark.parametrize(
    ("first", "second", "meet"),
    [
        pytest.param({}, {}, True, id="both exclusive"),
        pytest.param({"exclusive": False}, {}, False, id="the first is not"),
        pytest.param({}, {"exclusive": False}, False, id="the second is not"),
        pytest.param(
            {"validUntil": "2030-01-01"}, {"validFrom": "2026-06-01", "validUntil": "2027-01-01"},
            True, id="windows that overlap",
        ),
        pytest.param(
            {"validFrom": "2020-01-01", "validUntil": "2021-01-01"}, {"validFrom": "2021-01-01"},
            False, id="windows that only touch",
        ),
        pytest.param(
            {"scope": "session", "sessionId": "s1"}, {}, False, id="a session first",
        ),
        pytest.param(
            {}, {"scope": "session", "sessionId": "s1"}, False, id="a session later",
        ),
        pytest.param(
            {"scope": "session", "sessionId": "s1"}, {"scope": "session", "sessionId": "s1"},
            True, id="one session",
        ),
    ],
)  # fmt: skip
def test_two_values_meet_only_where_both_can_hold(graph, first, second, meet):
    earlier, later = said(graph, "Oslo", **first), said(graph, "Rome", **second)
    assert later.superseded == ((earlier.id,) if meet else ())
    assert status(graph, earlier) is (Status.SUPERSEDED if meet else Status.ACTIVE)
    assert status(graph, later) is Status.ACTIVE


def test_a_value_that_is_known_corroborates_and_makes_no_second_memory(graph):
    claim = {"subject": "Ada", "predicate": "city", "value": "Oslo"}
    first = graph.store("kuro", "Ada lives in Oslo", claim=claim, provenance=USER)
    other = {"source": "document", "sourceId": "a letter"}
    again = graph.store("kuro", "It is Oslo where Ada lives", claim=claim, provenance=other)
    assert (again.outcome, again.id) == (Outcome.MERGED, first.id)
    (hit,) = graph.search("kuro", "Ada Oslo")
    assert hit.provenance.corroboration == 2


@pytest.mark.parametrize("name", ["schema-1-analyzer-1", "schema-2-analyzer-1"])
def test_memories_from_before_there_were_claims_stay_as_they_are(tmp_path, clock, name):
    unpacked(name, tmp_path / "old")
    text = "Frau Müller prüft die Rechnungen"
    with memory_graph.create_memory(db_dir=tmp_path / "old", clock=clock) as graph:
        (old,) = graph.search(None, "Rechnungen Müller")
        assert (old.memory, old.claim, old.status) == (text, None, Status.ACTIVE)
        assert (old.provenance.corroboration, old.superseded_by, old.supersedes) == (1, None, ())
        claim = {"subject": "Frau Müller", "predicate": "prüft", "value": "die Rechnungen"}
        first = graph._mesh.add(
            "Frau Müller prüft nur Verträge", claim=claim | {"value": "Verträge"}
        )
        second = graph._mesh.add("Frau Müller prüft Akten", claim=claim | {"value": "Akten"})
        assert (first.superseded, second.superseded) == ((), (first.id,))
        assert (status(graph, old), status(graph, first)) == (Status.ACTIVE, Status.SUPERSEDED)
        assert graph._mesh.add(text).merged_into == old.id
        assert graph.reinforce(old.id).reinforcements == 1
        assert [each.existing for each in graph.conflicts()] == [first.id]


def test_claims_of_an_earlier_version_take_part(tmp_path, clock):
    unpacked("schema-3-analyzer-1", tmp_path / "old")
    with memory_graph.create_memory(db_dir=tmp_path / "old", clock=clock) as graph:
        claims = [hit for hit in graph._mesh.get_all(limit=1000) if hit.claim is not None]
        assert claims
        for memory in claims:
            again = graph._mesh.add(memory.text, scope=memory.scope)
            assert again.merged_into == memory.id
