"""No reading method of any face shows a reader what is not for it."""

import pytest

from memory_mesh.model import Scope
from memory_mesh.sync import MemoryMesh
from tests.faults import audience_calls, audience_leaking, graph_world
from tests.faults.suites import counts, sampled

SEED = 20261504  # of the planted fault alone: these few calls meet it


def test_every_public_method_is_asked_or_listed_as_one_that_writes():
    assert audience_calls.uncovered() == []


def test_a_new_reading_method_would_be_noticed(monkeypatch):
    monkeypatch.setattr(MemoryMesh, "whisper", lambda self: self, raising=False)
    assert audience_calls.uncovered() == ["mesh.whisper"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_random_calls_over_every_face_are_answered_as_if_the_unseen_had_never_been(tmp_path):
    report = sampled("leaks", tmp_path)
    report.holds()
    assert report.figures["calls"] == counts("leaks")["calls"]
    assert all(
        report.figures[f"by {name}"] for name in (*audience_calls.READS, *audience_calls.USES)
    )


@pytest.mark.slow
def test_the_suite_notices_answers_that_know_too_much(tmp_path, monkeypatch):
    """Twins for a reader who may see less: every honest answer tells of more."""
    wanted = {name: audience_calls.READS[f"mesh.care.{name}"] for name in ("blocks", "recalls")}
    monkeypatch.setattr(audience_calls, "READS", wanted)
    monkeypatch.setattr(audience_calls, "USES", wanted)
    monkeypatch.setattr(graph_world, "sees", lambda _reader, audience: audience == Scope())
    report = audience_leaking.leaks(tmp_path, calls=12, seed=SEED, memories=30, readers=1)
    assert report.figures["differs"]
    assert report.figures["leaks"]
