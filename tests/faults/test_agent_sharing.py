"""Agents that share a store through hooks and MCP lose and double nothing when the daemon dies."""

import pytest

from tests.faults.suites import sampled

pytestmark = pytest.mark.slow


def test_agents_at_once_lose_and_double_nothing_while_the_daemon_is_killed(tmp_path):
    report = sampled("agents", tmp_path)
    report.holds()
    assert report.figures["acknowledged"]
    assert report.figures["prompts"]
    assert report.figures["daemons killed"]
