"""Whatever goes wrong around a hook, the prompt goes on; the full counts run in `just prove`."""

import pytest

from tests.faults.hook_blocking import KINDS
from tests.faults.suites import counts, sampled

pytestmark = pytest.mark.slow


def test_no_fault_holds_up_a_prompt(tmp_path):
    """Counted, not timed: every blocker outlasts the test, so a hook that ended did not wait."""
    report = sampled("hooks", tmp_path)
    report.holds()
    assert report.figures["runs"] == counts("hooks")["runs"] >= len(KINDS)
    assert report.figures["blocked"] == 0


def test_no_fault_holds_up_a_tool(tmp_path):
    """As above, before a command of Claude Code: a stopped store and a stopped daemon too."""
    report = sampled("tool-hooks", tmp_path)
    report.holds()
    assert report.figures["runs"] == counts("tool-hooks")["runs"] >= len(KINDS)
    assert report.figures["blocked"] == 0
