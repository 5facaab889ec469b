"""The service under those who mean no good.

What needs processes of its own (`service-kills`, `-restarts`, `-shares`, `-fuzzing`) runs at night.
"""

import pytest

from tests.faults.suites import counts, sampled


@pytest.mark.slow
def test_no_call_crosses_tenants(tmp_path):
    report = sampled("service-tenants", tmp_path)
    report.holds()
    assert report.figures["calls"] == counts("service-tenants")["calls"]
    assert int(str(report.figures["answered"])) > 20  # where the key is good for
    assert int(str(report.figures["refused"])) > 200
