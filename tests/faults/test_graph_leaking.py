"""Links, walks, clusters, packs, reasons and episodes tell a reader nothing of what it lacks."""

import pytest

from memory_mesh.model import Scope
from tests.faults import graph_leaking, graph_world
from tests.faults.suites import counts, sampled

SEED = 20261415  # of the planted faults alone: these few calls meet one


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_thousand_random_calls_are_answered_as_if_the_unseen_had_never_been(tmp_path):
    report = sampled("graph-leaks", tmp_path)
    report.holds()
    assert report.figures["calls"] == counts("graph-leaks")["calls"]
    assert all(report.figures[f"by {verb}"] for verb in graph_leaking.VERBS)


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["links", "traverse", "clusters", "neighbourhood", "episodes"])
def test_the_suite_notices_an_answer_that_knows_too_much(tmp_path, monkeypatch, verb):
    """A twin for a reader who may see less: every honest answer tells of more."""
    monkeypatch.setattr(graph_leaking, "VERBS", {verb: graph_leaking.VERBS[verb]})
    monkeypatch.setattr(graph_world, "sees", lambda _reader, audience: audience == Scope())
    report = graph_leaking.leaks(tmp_path, calls=20, seed=SEED, memories=40, readers=1)
    assert report.figures["differs"]
    assert report.figures["leaks"]
