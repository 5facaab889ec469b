"""No verb, channel or payload flag is a way around trust."""

import pytest

from memory_mesh.model import Channel
from tests.faults import side_door_steps, side_doors
from tests.faults.suites import counts, sampled


def test_the_machine_tries_every_verb_that_changes_memories():
    tried = {verb.__name__ for verb in (*side_door_steps.LOW_VERBS, *side_door_steps.USER_VERBS)}
    assert len(tried) > 30
    assert set(side_doors.LOW) | set(side_doors.USERS) < set(Channel)


@pytest.mark.req("R-003-095")
@pytest.mark.slow
def test_a_less_trusted_channel_changes_nothing_that_a_reader_sees_of_a_more_trusted_one(tmp_path):
    report = sampled("side-doors", tmp_path)
    report.holds()
    assert report.figures["steps"] == counts("side-doors")["steps"]
    assert report.figures["refused"]
    assert report.figures["proposals"]
