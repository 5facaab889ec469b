"""Whatever goes wrong around a hook, the prompt goes on; the full counts run in `just prove`."""

import pytest

from tests.faults import hook_blocking

SEED = 20261116
RUNS = 24
pytestmark = pytest.mark.slow


def test_no_fault_holds_up_a_prompt(tmp_path):
    """Counted, not timed: every blocker outlasts the test, so a hook that ended did not wait."""
    report = hook_blocking.blocking(tmp_path, runs=RUNS, seed=SEED, strict=False)
    report.holds()
    assert report.figures["runs"] == RUNS
    assert report.figures["blocked"] == 0
