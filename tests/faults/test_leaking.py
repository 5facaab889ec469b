"""No reader is ever shown what is not for it."""

import pytest

from memory_mesh.model import Scope
from tests.faults import leaking
from tests.faults.suites import counts, sampled

SEED = 20260505  # of the planted faults alone: these few reads meet one


@pytest.mark.slow
def test_a_thousand_random_reads_leak_nothing_and_leave_nothing_out(tmp_path):
    report = sampled("leaking", tmp_path)
    report.holds()
    assert report.figures["reads"] == counts("leaking")["reads"]
    assert report.figures["conflicts"]


@pytest.mark.parametrize("verb", sorted({*leaking._VERBS} - {"stats", "errors"}))
def test_the_suite_notices_what_its_model_keeps_from_a_reader(tmp_path, monkeypatch, verb):
    """With a stricter model than the store's, every honest answer looks like a leak."""
    monkeypatch.setattr(leaking, "_sees", lambda reader, audience: audience == Scope())
    monkeypatch.setattr(leaking, "_VERBS", {verb: leaking._VERBS[verb]})
    report = leaking.leaks(tmp_path, reads=100, seed=SEED, memories=32)
    assert report.figures["leaks"]


@pytest.mark.parametrize("verb", ["get_all", "get_many", "skills", "lessons", "conflicts"])
def test_the_suite_notices_what_a_reader_is_denied(tmp_path, monkeypatch, verb):
    monkeypatch.setattr(leaking, "_sees", lambda reader, audience: True)
    monkeypatch.setattr(leaking, "_VERBS", {verb: leaking._VERBS[verb]})
    report = leaking.leaks(tmp_path, reads=60, seed=SEED, memories=32)
    assert report.figures["left out"]
